"""Which branch can be taken in which box, and what the possible ones have in common."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import cast

import numpy as np

from vernal.interpret.numbers.rounding import Array, Backend, float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value, as_range
from vernal.model.expr import Expr, If, Switch


def possibilities(node: Expr, subject: Value) -> list[Array]:
    """For each branch of an `if` or `match` the boxes (and components) in which it may be taken."""
    if isinstance(node, If):
        assert isinstance(subject, Truth)
        return [subject.may, ~subject.must]
    assert isinstance(node, Switch)
    named = [case for case in node.cases if case is not None]
    masks = [_may_equal(subject, case) for case in named]
    if len(named) < len(node.cases):
        masks.append(_may_differ(subject, named))
    return masks


def _may_equal(subject: Value, case: Fraction) -> Array:
    if isinstance(subject, Truth):
        return subject.may if case == 1 else ~subject.must
    if isinstance(subject, Finite):
        column = _column(subject.values, case)
        return subject.mask[..., 0] & ~subject.mask[..., 0] if column is None else subject.mask[..., column]
    return (subject.lower <= float_above(case)) & (subject.upper >= float_below(case))


def _column(values: Sequence[Fraction], case: Fraction) -> int | None:
    """Where a value stands; labels and indices stand in their own place, so that one comparison finds them."""
    guess = case.numerator
    if 0 <= guess < len(values) and values[guess] == case:
        return guess
    return values.index(case) if case in values else None


def _may_differ(subject: Value, cases: Sequence[Fraction]) -> Array:
    """Whether the subject may be something else than these cases."""
    if isinstance(subject, Truth):
        others = [_may_equal(subject, value) for value in (Fraction(0), Fraction(1)) if value not in cases]
        return reduce(lambda a, b: a | b, others, subject.may & ~subject.may)
    if isinstance(subject, Finite):
        others = [subject.mask[..., index] for index, value in enumerate(subject.values) if value not in cases]
        return reduce(lambda a, b: a | b, others, subject.mask[..., 0] & ~subject.mask[..., 0])
    floats = [low for case in cases if (low := float_below(case)) == float_above(case)]
    equal = [(subject.lower == value) & (subject.upper == value) for value in floats]
    return cast(Array, ~reduce(lambda a, b: a | b, equal, subject.lower != subject.lower))


def merge(backend: Backend, masks: Sequence[Array], branches: Sequence[Value | None]) -> Value:
    """The smallest set that holds the value of every branch its mask allows; a missing branch is never allowed."""
    taken = [(mask, branch) for mask, branch in zip(masks, branches, strict=True) if branch is not None]
    first = taken[0][1]
    if isinstance(first, Truth):
        may = reduce(lambda a, b: a | b, [mask & p.may for mask, p in taken if isinstance(p, Truth)])
        return Truth(reduce(lambda a, b: a & b, [~mask | p.must for mask, p in taken if isinstance(p, Truth)]), may)
    if all(isinstance(branch, Finite) and branch.values == first.values for _, branch in taken):  # type: ignore[union-attr]
        allowed = [mask[..., None] & branch.mask for mask, branch in taken if isinstance(branch, Finite)]
        assert isinstance(first, Finite)
        return Finite(reduce(lambda a, b: a | b, allowed), first.values)
    return _hull(backend, [(mask, as_range(backend, branch)) for mask, branch in taken])


def _hull(backend: Backend, taken: Sequence[tuple[Array, Range]]) -> Range:
    lower = reduce(backend.xp.minimum, [backend.where(mask, x.lower, np.inf) for mask, x in taken])
    return Range(lower, reduce(backend.xp.maximum, [backend.where(mask, x.upper, -np.inf) for mask, x in taken]))
