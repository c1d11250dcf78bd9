"""The outputs of a network over a set of states: form by form, or in the directed mode with numpy layer by layer."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

from vernal_check import curves
from vernal_check.directed import GROW, TINY, UNIT, Rounded, near, rounded
from vernal_check.errors import Unshown
from vernal_check.evaluation import Run
from vernal_check.forms import Exact, Form, Ranges
from vernal_check.onnx import Instruction, Network

try:
    np: Any = importlib.import_module("numpy")
except ImportError:  # then all is done form by form
    np = None
MAX_DIVIDING = 8  # rectifiers of a layer that may divide a set whose rows are kept
MOST_LAYERS = 256  # whose weights are kept as arrays

Integers = tuple[list[tuple[tuple[int, ...], list[int]]], list[int], int]  # rows, shift, what both are divided by
RATIONAL = {"affine", "relu", "leaky", "same", "add", "times", "join"}  # kinds whose values are rational

_arrays: dict[int, tuple[Instruction, Any, Any]] = {}
_integers: dict[int, tuple[Instruction, Integers]] = {}


def computed(network: Network, inputs: Sequence[Form], run: Run) -> Sequence[Form]:
    """The outputs of a network, instruction by instruction."""
    ranges = run.ranges
    if all(value.is_constant for value in inputs) and all(step.kind in RATIONAL for step in network.instructions):
        return at_point(network, [value.value for value in inputs])
    if np is not None and any(isinstance(value, Rounded) for value in inputs):
        return in_arrays(network, inputs, ranges)
    vectors: list[list[Form]] = [list(inputs)]
    for step in network.instructions:
        given = [vectors[number] for number in step.inputs]
        if step.kind == "affine":
            made = [combined(row, shift, given[0], ranges) for row, shift in zip(step.rows, step.shift, strict=True)]
        else:
            made = pointwise(step, given, ranges, run if run.rows is not None else None)
        vectors.append(made)
    return vectors[-1]


def pointwise(
    step: Instruction, given: Sequence[Sequence[Form]], ranges: Ranges, divides: Run | None = None
) -> list[Form]:
    """What an activation or a sum makes of vectors; `divides` is a run whose states few units may divide."""
    if step.kind == "relu":
        return [rectifier(value, divides if len(given[0]) <= MAX_DIVIDING else None, ranges) for value in given[0]]
    if step.kind == "leaky":
        return [v.rectified(ranges).times(1 - step.scale).plus(v.times(step.scale)) for v in given[0]]
    if step.kind == "add":
        return [a.plus(b.times(step.scale)) for a, b in zip(*given, strict=True)]
    if step.kind == "times":
        return [a.product(b, ranges) for a, b in zip(*given, strict=True)]
    if step.kind == "join":
        return [value for vector in given for value in vector]
    if step.kind == "same":
        return list(given[0])
    return [curves.apply(step.kind, value, ranges) for value in given[0]]


def rectifier(value: Form, divides: Run | None, ranges: Ranges) -> Form:
    if divides is None:
        return value.rectified(ranges)
    return Exact(Fraction(0)) if divides.is_negative(value, strict=False) else value


def combined(row: Sequence[tuple[int, Fraction]], shift: Fraction, given: Sequence[Form], ranges: Ranges) -> Form:
    """One row of an affine map."""
    total: Form = Exact(shift)
    for column, weight in row:
        total = total.plus(given[column].times(weight))
    return total.shortened(ranges)


# At a single state ----------------------------------------------------------------------------------------------------

Whole = tuple[list[int], int]  # numbers, and what all of them are divided by


def at_point(network: Network, inputs: Sequence[Fraction]) -> Sequence[Form]:
    """The outputs at one input, in integers over a common denominator."""
    vectors = [over_one(inputs)]
    for step in network.instructions:
        given = [vectors[number] for number in step.inputs]
        numbers, divisor = given[0]
        if step.kind == "affine":
            rows, shift, scale = integers(step)
            made = [
                sum(map(mul, weights, map(numbers.__getitem__, columns))) + b * divisor
                for (columns, weights), b in zip(rows, shift, strict=True)
            ]
            vectors.append((made, divisor * scale))
        elif step.kind == "relu":
            vectors.append(([max(number, 0) for number in numbers], divisor))
        elif step.kind == "same":
            vectors.append(given[0])
        else:
            forms = [[Exact(Fraction(number, below)) for number in vector] for vector, below in given]
            vectors.append(over_one([value.value for value in pointwise(step, forms, {})]))
    return [Exact(Fraction(number, vectors[-1][1])) for number in vectors[-1][0]]


def over_one(values: Sequence[Fraction]) -> Whole:
    divisor = lcm(*(value.denominator for value in values))
    return [value.numerator * (divisor // value.denominator) for value in values], divisor


def integers(step: Instruction) -> Integers:
    """The rows of an affine map as columns and integers, its shift, and what both are divided by."""
    kept = _integers.get(id(step))
    if kept is None:
        divisor = lcm(*(a.denominator for row in step.rows for _, a in row), *(b.denominator for b in step.shift))
        rows = [
            (tuple(j for j, _ in row), [a.numerator * (divisor // a.denominator) for _, a in row]) for row in step.rows
        ]
        if len(_integers) >= MOST_LAYERS:
            _integers.clear()
        shift = [b.numerator * (divisor // b.denominator) for b in step.shift]
        kept = _integers[id(step)] = step, (rows, shift, divisor)
    return kept[1]


# With numpy -----------------------------------------------------------------------------------------------------------

# A vector is (table, errors): a row for each number, the constant first, then a column for each symbol.


def in_arrays(network: Network, inputs: Sequence[Form], ranges: Ranges) -> Sequence[Form]:
    forms = [rounded(value) for value in inputs]
    symbols = sorted({symbol for form in forms for symbol in form.terms})
    lows, highs = (np.array([ranges[symbol][end] for symbol in symbols], float) for end in (0, 1))
    vectors = [table_of(forms, symbols)]
    with np.errstate(all="ignore"):
        for step in network.instructions:
            given = [vectors[number] for number in step.inputs]
            if step.kind == "affine":
                vectors.append(mapped(step, *given[0]))
            elif step.kind == "relu":
                vectors.append(rectified(*given[0], lows, highs))
            elif step.kind == "same":
                vectors.append(given[0])
            else:
                made = pointwise(step, [forms_of(*vector, symbols) for vector in given], ranges)
                vectors.append(table_of([rounded(value) for value in made], symbols))
    table, errors = vectors[-1]
    if not np.isfinite(table).all() or not np.isfinite(errors).all():
        raise Unshown("numbers become too large for floats")
    return forms_of(table, errors, symbols)


def table_of(forms: Sequence[Rounded], symbols: Sequence[int]) -> tuple[Any, Any]:
    rows = [[form.const, *(form.terms.get(symbol, 0.0) for symbol in symbols)] for form in forms]
    return np.array(rows, float), np.array([form.error for form in forms], float)


def forms_of(table: Any, errors: Any, symbols: Sequence[int]) -> list[Form]:
    return [
        Rounded(row[0], {symbol: a for symbol, a in zip(symbols, row[1:], strict=True) if a}, error)
        for row, error in zip(table.tolist(), errors.tolist(), strict=True)
    ]


def mapped(step: Instruction, table: Any, errors: Any) -> tuple[Any, Any]:
    """W x + b: a sum of n products of floats is off by less than n UNIT times the sum of their sizes, in any order."""
    weights, shift = arrays(step)
    sizes = np.abs(weights)
    made = weights @ table
    made[:, 0] += shift
    each = (weights.shape[1] + 4) * UNIT  # the weights, too, may have been rounded
    lost = sizes @ (errors * (1 + each) + each * np.abs(table).sum(axis=1)) + np.abs(shift) * 4 * UNIT
    return made, (lost + np.abs(made[:, 0]) * UNIT) * GROW + TINY


def arrays(step: Instruction) -> tuple[Any, Any]:
    """The weights of an affine map as floats next to them."""
    kept = _arrays.get(id(step))
    if kept is None:
        columns = 1 + max((column for row in step.rows for column, _ in row), default=0)
        weights = np.zeros((len(step.rows), max(columns, step.columns)))
        for i, row in enumerate(step.rows):
            for column, weight in row:
                weights[i, column] = normal(weight)
        if len(_arrays) >= MOST_LAYERS:
            _arrays.clear()
        kept = _arrays[id(step)] = step, weights, np.array([normal(b) for b in step.shift])
    return kept[1], kept[2]


def normal(a: Fraction) -> float:
    """A float next to a number, off by less than UNIT times its size."""
    value = near(a)[0]
    if abs(value) < TINY and value != a:
        raise Unshown("a weight is too small for floats")
    return value


def rectified(table: Any, errors: Any, lows: Any, highs: Any) -> tuple[Any, Any]:
    """max(x, 0), as of one form."""
    a = table[:, 1:]
    positive, negative = np.maximum(a, 0), np.minimum(a, 0)
    slack = (errors + np.abs(table).sum(axis=1) * (table.shape[1] + 4) * UNIT) * GROW + TINY
    low = table[:, 0] + positive @ lows + negative @ highs - slack
    high = table[:, 0] + positive @ highs + negative @ lows + slack
    slope = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, high / np.where(high > low, high - low, 1.0)))
    half = np.where((low >= 0) | (high <= 0), 0.0, np.maximum(-slope * low, (1 - slope) * high) * GROW / 2 + TINY)
    made = table * slope[:, None]
    made[:, 0] += half
    lost = (np.abs(made).sum(axis=1) * 2 * UNIT + TINY) * ((low < 0) & (high > 0))
    return made, (errors * slope + half + lost) * GROW
