"""Boxes for random graphs, exact samples from them, and the question whether a set contains a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from hypothesis import strategies as st

from tests.strategies import VARIABLES, integers, numbers, one_of
from vernal.interpret import exact
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import expr as e
from vernal.model import graph
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL, INT

WIDTHS = (Fraction(0), Fraction(1, 10), Fraction(1), Fraction(3))
POSITIONS = (Fraction(-100), Fraction(0), Fraction(1, 3), Fraction(100))  # of disturbances: two beyond their ends
Ends = dict[Expr, list[tuple[Fraction, Fraction]]]


@st.composite
def boxes(draw: st.DrawFn, variables: Sequence[e.Var] = VARIABLES) -> Ends:
    """For each variable the ends of its components; some are points."""
    ends: Ends = {}
    for var in variables:
        if var.sort.kind.value == "real":
            lows = [draw(numbers(4)) for _ in range(var.size)]
            ends[var] = [(low, low + one_of(draw, WIDTHS)) for low in lows]
        else:
            top = 4 if var.sort == INT else 1 if var.sort == BOOL else len(var.sort.labels) - 1
            first, last = sorted((draw(integers(0, top)), draw(integers(0, top))))
            ends[var] = [(Fraction(first), Fraction(last))]
    return ends


def abstract(batch: Sequence[Ends]) -> dict[Expr, Value]:
    """Boxes as a batch of sets."""
    return {var: _abstract(var, [box[var] for box in batch]) for var in batch[0]}


def _abstract(var: Expr, ends: Sequence[list[tuple[Fraction, Fraction]]]) -> Value:
    lower = np.array([[float_below(low) for low, _ in box] for box in ends]).reshape((len(ends), *var.shape))
    upper = np.array([[float_above(high) for _, high in box] for box in ends]).reshape((len(ends), *var.shape))
    if var.sort == BOOL:
        return Truth(lower > 0, upper > 0)
    if var.sort.is_number:
        return Range(lower, upper)
    labels = np.arange(len(var.sort.labels))
    mask = (labels >= lower[..., None]) & (labels <= upper[..., None])
    return Finite(mask, tuple(Fraction(int(label)) for label in labels))


@st.composite
def samples(draw: st.DrawFn, ends: Ends, roots: Sequence[Expr]) -> tuple[list[exact.ExactValue], dict[Expr, Any]]:
    """Exact values of the roots at a point of the box under some decisions; and the values the inputs had."""
    point: dict[Expr, Any] = {}
    for var, pairs in ends.items():
        whole = var.sort.kind.value != "real"
        chosen = [_between(draw, low, high, whole=whole) for low, high in pairs]
        point[var] = tuple(chosen) if var.shape else chosen[0]
    taken: dict[Expr, Any] = {}
    for node in graph.draws(roots):
        if isinstance(node, e.Choose):
            taken[node] = Fraction(draw(integers(0, len(node.options) - 1)))
        else:
            value = one_of(draw, POSITIONS)
            taken[node] = (value,) * node.size if node.shape else value
    outcome = exact.run(roots, point, taken, lenient=True)
    reached: dict[Expr, Any] = dict(outcome.reached.items())
    return outcome.values, point | reached


def _between(draw: st.DrawFn, low: Fraction, high: Fraction, *, whole: bool) -> Fraction:
    if whole:
        return Fraction(draw(integers(int(low), int(high))))
    return low + Fraction(draw(integers(0, 4)), 4) * (high - low)


def items(result: exact.ExactValue) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def contains(value: Value, box: int, result: exact.ExactValue) -> bool:
    """Whether a set has the exact value in it; a value that is undefined or undecided proves nothing."""
    return all(
        _contains(value, (box, i) if isinstance(result, tuple) else (box,), x) for i, x in enumerate(items(result))
    )


def _contains(value: Value, at: tuple[int, ...], x: Any) -> bool:
    match value:
        case Truth(must, may):
            return not isinstance(x, bool) or (x <= bool(may[at]) and bool(must[at]) <= x)
        case Finite(mask, values):
            return not isinstance(x, Fraction) or bool(mask[at][values.index(x)])
        case Range(lower, upper):
            return inside(float(lower[at]), float(upper[at]), x)


def inside(lower: float, upper: float, x: Any) -> bool:
    """lower <= x <= upper, exactly; a ball only has to touch."""
    if isinstance(x, arb):
        low, high = reals.ends(x)
    elif isinstance(x, Fraction):
        low = high = x
    else:
        return True
    assert not math.isnan(lower)
    assert not math.isnan(upper)
    above = lower == -math.inf or (lower < math.inf and Fraction(lower) <= high)
    return above and (upper == math.inf or (upper > -math.inf and low <= Fraction(upper)))


def exact_value(coefficients: Any, constant: float, inputs: Sequence[tuple[Expr, int]], at: Mapping[Expr, Any]) -> Any:
    """A linear form at exact inputs, None where an input was not drawn."""
    total = Fraction(constant)
    for weight, (node, component) in zip(coefficients.tolist(), inputs, strict=True):
        if weight == 0:
            continue
        value = at.get(node)
        number = value[component] if isinstance(value, tuple) else value
        if not isinstance(number, Fraction):
            return None
        total += Fraction(weight) * number
    return total
