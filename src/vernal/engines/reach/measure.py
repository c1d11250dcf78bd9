"""What expressions can be at one step, from what is known of them over batches of sets of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from vernal.engines.reach.polygon import Slope, Slopes, directions, polygon
from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachedStep, ReachedValue
from vernal.interpret.numbers.rounding import Mask
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.sorts import INT, Kind, Sort

BatchValues = Callable[[Expr], Iterable[Value]]  # what an expression can be on each of the batches of a step


def measured(expressions: Sequence[Expr], ask: BatchValues, slopes: Slopes = ()) -> ReachedStep:
    """What each expression can be on all batches together; of two numbers, the polygon around both.

    `slopes` are the sums of two numbers that are asked for; without them, they are chosen by the extents of the two.
    """
    values = tuple(hull(node.sort, ask(node)) for node in expressions)
    match values:
        case (NumberBounds() as x, NumberBounds() as y) if x.is_finite and y.is_finite:
            return ReachedStep(values, _polygon(expressions, x, y, ask, slopes or directions(x, y)))
    return ReachedStep(values)


def hull(sort: Sort, values: Iterable[Value]) -> ReachedValue:
    """The least interval, or set of labels, around values of this sort."""
    return number_bounds(sort, values) if sort.is_number else _labels(sort, values)


def number_bounds(sort: Sort, values: Iterable[Value]) -> NumberBounds:
    """The least interval around numbers."""
    lower, upper = np.inf, -np.inf
    for value in values:
        assert isinstance(value, Range)
        lower = min(lower, float(np.min(value.lower, initial=np.inf)))
        upper = max(upper, float(np.max(value.upper, initial=-np.inf)))
    if sort == INT:
        lower, upper = np.ceil(lower), np.floor(upper)
    return NumberBounds(float(lower), float(upper))


def _labels(sort: Sort, values: Iterable[Value]) -> LabelSet:
    names = ("false", "true") if sort.kind is Kind.BOOL else sort.labels
    found = np.zeros(len(names), dtype=bool)
    for value in values:
        found |= _possible(value).reshape(-1, len(names)).any(axis=0)
    return LabelSet(tuple(name for name, possible in zip(names, found.tolist(), strict=True) if possible))


def _possible(value: Value) -> np.ndarray:
    if isinstance(value, Truth):
        return np.stack([~np.asarray(value.must), np.asarray(value.may)], axis=-1)
    assert isinstance(value, Finite)
    return np.asarray(value.mask)


def chosen_rows(value: Value, chosen: Mask) -> Value:
    """What is known on some of the sets of a batch."""
    match value:
        case Range(lower, upper):
            return Range(np.asarray(lower)[chosen], np.asarray(upper)[chosen])
        case Truth(must, may):
            return Truth(np.asarray(must)[chosen], np.asarray(may)[chosen])
    return Finite(np.asarray(value.mask)[chosen], value.values)


def _polygon(
    expressions: Sequence[Expr], x: NumberBounds, y: NumberBounds, ask: BatchValues, slopes: Slopes
) -> tuple[tuple[float, float], ...]:
    """The polygon between the bounds of several sums of the two numbers."""
    sides = []
    for slope in slopes:
        total = weighted(expressions, slope)
        sides.append((*slope, number_bounds(total.sort, ask(total))))
    return tuple(polygon(x, y, sides))


def weighted(expressions: Sequence[Expr], slope: Slope) -> Expr:
    """A sum of two numbers."""
    return build.add(build.mul(slope[0], expressions[0]), build.mul(slope[1], expressions[1]))
