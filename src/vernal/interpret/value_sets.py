"""Sets of values, batched over boxes: ranges of numbers, three-valued truth, and finite sets of alternatives.

Arrays have the batch of boxes as their first dimension, then the shape of the expression. Inside the interpreters a
scalar is a vector of one component and a batch of 1 stands for every box; `flat` and `shaped` translate at the door.

An end of a range is never a nan: at the door, and in every operator that adds or multiplies (`Backend.known`), a nan
becomes infinite, which bounds nothing. So no comparison of ends is false only because a number overflowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np

from vernal.errors import TypeClash
from vernal.interpret.numbers.rounding import Array, Backend, Floats, float_above, float_below
from vernal.model.expr import Expr
from vernal.model.sorts import Kind


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Numbers from lower to upper, both included; infinite where nothing is known. Arrays (batch, *shape)."""

    lower: Array
    upper: Array


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A truth value that must be true, may be true, both or neither. Boolean arrays (batch, *shape)."""

    must: Array
    may: Array


@dataclass(frozen=True, slots=True, eq=False)
class Finite:
    """One of the masked values: enum labels by index, or the integers an argmax can give. Mask (batch, *shape, n)."""

    mask: Array
    values: tuple[Fraction, ...]


Value = Range | Truth | Finite


def first_array(value: Any) -> Array:
    """One of the arrays a value is made of; asked of every node, so without pattern matching."""
    if isinstance(value, Range):
        return value.lower
    if isinstance(value, Truth):
        return value.must
    return value.mask if isinstance(value, Finite) else cast(Array, value[0])


def flat(backend: Backend, value: Value | tuple[Array, Array], node: Expr) -> Value:
    """A value as the interpreters keep it: two-dimensional, a scalar as one component, and no end a nan."""
    if isinstance(value, Finite):
        return Finite(_flat(value.mask, node, 1), value.values)
    if isinstance(value, Truth):
        return Truth(_flat(value.must, node), _flat(value.may, node))
    lower, upper = value if isinstance(value, tuple) else (value.lower, value.upper)
    return Range(*backend.known(_flat(lower, node), _flat(upper, node)))


def _flat(array: Array, node: Expr, extra: int = 0) -> Array:
    shape, own = tuple(array.shape), node.shape
    expected = 1 + len(own) + extra
    if len(shape) != expected or shape[1 : expected - extra] != own:
        raise TypeClash(f"bounds of shape {shape} do not fit a batch of values of shape {own}")
    return array if own else array[:, None]


def shaped(backend: Backend, value: Value, node: Expr, batch: int) -> Value:
    """A value as users see it: the whole batch, in the shape of the expression."""

    def full(array: Array, extra: tuple[int, ...] = ()) -> Array:
        shape = (batch, node.size, *extra)
        whole = array if array.shape == shape else backend.xp.broadcast_to(array, shape)
        return whole.reshape((batch, *node.shape, *extra))

    match value:
        case Finite(mask, values):
            return Finite(full(mask, (len(values),)), values)
        case Truth(must, may):
            return Truth(full(must), full(may))
    return Range(full(value.lower), full(value.upper))


def point(backend: Backend, node: Expr, numbers: tuple[Fraction, ...]) -> Value:
    """Exact constants: a truth value, a label, or numbers rounded outward once. The batch is 1."""
    if node.sort.kind is Kind.BOOL:
        truth = backend.array(np.array([[bool(number) for number in numbers]]))
        return Truth(truth, truth)
    if node.sort.kind is Kind.ENUM:
        labels = range(len(node.sort.labels))
        mask = backend.array(np.array([[[number == label for label in labels] for number in numbers]]))
        return Finite(mask, indices(len(labels)))
    lower = np.array([[float_below(number) for number in numbers]])
    upper = np.array([[float_above(number) for number in numbers]])
    return Range(backend.array(lower), backend.array(upper))


@lru_cache(maxsize=256)
def indices(count: int) -> tuple[Fraction, ...]:
    """0, 1, ...: the values of labels, and what an argmax can give."""
    return tuple(Fraction(index) for index in range(count))


def as_range(backend: Backend, value: Value) -> Range:
    """A numeric value as a range; a finite set of integers becomes its hull."""
    if isinstance(value, Range):
        return value
    assert isinstance(value, Finite), "truth values are no numbers"
    lower = backend.array(np.array([float_below(number) for number in value.values]))
    upper = backend.array(np.array([float_above(number) for number in value.values]))
    least = backend.xp.amin(backend.where(value.mask, lower, np.inf), -1)
    return Range(least, backend.xp.amax(backend.where(value.mask, upper, -np.inf), -1))


def meet(backend: Backend, a: Range, b: Range) -> Range:
    """What lies in both ranges."""
    return Range(backend.xp.maximum(a.lower, b.lower), backend.xp.minimum(a.upper, b.upper))


def whole(backend: Backend, x: Range, undefined: Array) -> Range:
    """The range, but the whole line where the value may be undefined: it could then be anything."""
    return Range(backend.where(undefined, -np.inf, x.lower), backend.where(undefined, np.inf, x.upper))


def integral(backend: Backend, x: Range) -> Range:
    """The integers of a range."""
    return Range(backend.xp.ceil(x.lower), backend.xp.floor(x.upper))


def between(var: Expr, lower: Floats, upper: Floats) -> Value:
    """What is known of a variable whose components lie between these ends, (boxes, components)."""
    if not var.shape:
        lower, upper = lower[:, 0], upper[:, 0]
    match var.sort.kind:
        case Kind.BOOL:
            return Truth(lower > 0, upper > 0)
        case Kind.ENUM:
            labels = np.arange(len(var.sort.labels))
            mask = (labels >= lower[..., None]) & (labels <= upper[..., None])
            return Finite(mask, tuple(Fraction(int(label)) for label in labels))
    return Range(lower, upper)
