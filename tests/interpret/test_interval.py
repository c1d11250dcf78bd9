"""Intervals contain everything that can happen, and are as narrow as intervals can be where that is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interpret.sets import abstract, boxes, contains, samples
from tests.strategies import expressions
from vernal.errors import TypeClash
from vernal.interpret import interval
from vernal.interpret.numbers.rounding import Backend, float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.sorts import BOOL, INT, enum

Operation = Callable[[Backend, Range, Range], Range]
X, Y = build.var("x"), build.var("y")
V = build.var("v", shape=(3,), role=e.Role.INPUT)
TENTH = Fraction(1, 10)


def evaluate(node: Expr, **ranges: tuple[float, float]) -> Value:
    """A node over one box of scalars."""
    inputs: dict[Expr, Value] = {
        build.var(name): Range(np.array([low]), np.array([high])) for name, (low, high) in ranges.items()
    }
    return interval.evaluate([node], inputs)[0]


def bounds(node: Expr, **ranges: tuple[float, float]) -> tuple[float, float]:
    value = evaluate(node, **ranges)
    assert isinstance(value, Range)
    return float(value.lower[0]), float(value.upper[0])


def truth(node: Expr, **ranges: tuple[float, float]) -> bool | None:
    value = evaluate(node, **ranges)
    assert isinstance(value, Truth)
    return True if value.must[0] else None if value.may[0] else False


@given(st.data())
def test_intervals_contain_exact_samples(data: st.DataObject) -> None:
    roots = data.draw(expressions())
    batch = [data.draw(boxes()) for _ in range(2)]
    values = interval.evaluate(roots, abstract(batch))
    for box, ends in enumerate(batch):
        for _ in range(3):
            results, _ = data.draw(samples(ends, roots))
            for root, value, result in zip(roots, values, results, strict=True):
                assert contains(value, box, result), (root, value, result)


@pytest.mark.parametrize(
    ("node", "x", "expected"),
    [
        (X + 1, (0, 2), (1, 3)),
        (X * X, (-2, 3), (0, 9)),
        (X * -3, (-2, 3), (-9, 6)),
        (X**3, (-2, 3), (-8, 27)),
        (X**0 if False else X - X, (0, 1), (-1, 1)),
        (X / 4, (1, 3), (0.25, 0.75)),
        (build.div(1, X), (2, 4), (0.25, 0.5)),
        (build.div(1, X), (-1, 1), (-math.inf, math.inf)),
        (build.div(X, X), (0, 0), (-math.inf, math.inf)),
        (X**-2, (-2, -1), (0.25, 1)),
        (build.apply(Function.SQRT, X), (0, 4), (0, 2)),
        (build.apply(Function.SQRT, X), (-1, 4), (-math.inf, math.inf)),
        (X ** Fraction(1, 2), (4, 9), (2, 3)),
        (build.apply(Function.LOG, X), (0, 1), (-math.inf, math.inf)),
        (build.apply(Function.TAN, X), (1, 2), (-math.inf, math.inf)),
        (build.apply(Function.EXP, X), (-math.inf, 0), (0, 1)),
        (build.apply(Function.SIN, X), (0, 7), (-1, 1)),
        (build.apply(Function.COS, X), (-1e300, 1e300), (-1, 1)),
        (build.absolute(X), (-3, 2), (0, 3)),
        (build.sign(X), (-3, 0), (-1, 0)),
        (build.floor(X), (-0.5, 1.5), (-1, 1)),
        (build.leaky_relu(X, [Fraction(1, 2)]), (-4, 2), (-2, 2)),
        (build.leaky_relu(X, [Fraction(-1)]), (-4, 2), (0, 4)),
        (build.clip(X, -1, 1), (-4, 0.5), (-1, 0.5)),
        (build.if_(X < 0, 1, X), (-1, 2), (-1, 2)),
        (build.if_(X < 3, 1, X), (-1, 2), (1, 1)),
        (X - X + build.div(1, X) * 0, (-1, 1), (-math.inf, math.inf)),
    ],
)
def test_ranges(node: Expr, x: tuple[float, float], expected: tuple[float, float]) -> None:
    """As narrow as they can be: what floats can hold exactly stays exact."""
    assert bounds(node, x=x) == expected


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        (Function.SIN, (1.0, 2.0), 1.0),  # the crest at pi / 2 is inside
        (Function.COS, (3.0, 3.5), -1.0),
    ],
)
def test_crests_and_troughs(function: Function, x: tuple[float, float], value: float) -> None:
    assert value in bounds(build.apply(function, X), x=x)


@pytest.mark.parametrize("function", list(Function))
@pytest.mark.parametrize("point", [0.3, 1.2])
def test_functions_are_enclosed_within_their_margins(function: Function, point: float) -> None:
    low, high = bounds(build.apply(function, X), x=(point, point))
    assert low <= high <= low + 1e-13 * abs(low)


def test_pi_is_enclosed() -> None:
    low, high = bounds(build.PI * 1)
    assert Fraction(low) < Fraction("3.14159265358979323846264338") < Fraction(high)


def test_constants_are_rounded_outward_once() -> None:
    low, high = bounds(build.const(TENTH) + X, x=(0.0, 0.0))
    assert Fraction(low) < TENTH < Fraction(high)
    assert high == np.nextafter(low, 1)
    assert (float_below(Fraction(10**400)), float_above(Fraction(10**400))) == (np.finfo(float).max, math.inf)
    assert (float_below(Fraction(1, 4)), float_above(Fraction(1, 4))) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("node", "x", "expected"),
    [
        (X <= 1, (0, 1), True),
        (X < 1, (0, 1), None),
        (X < 0, (0, 1), False),
        (build.eq(X + 2, 3), (1, 1), True),
        (build.eq(X, 3), (2, 4), None),
        (build.eq(X, 3), (4, 5), False),
        (build.compare("!=", X, 3), (3, 3), False),
        ((X < 2) & (X > 5), (0, 1), False),
        ((X < 2) | (X > 5), (0, 1), True),
        (~(X < 2), (0, 1), False),
        (build.div(1, X) > 0, (0, 1), None),
    ],
)
def test_truth(node: Expr, x: tuple[float, float], expected: bool | None) -> None:
    assert truth(node, x=x) is expected


def test_integers_are_tightened() -> None:
    n = build.var("n", INT)
    (value,) = interval.evaluate([n * 3 - 1], {n: Range(np.array([0.5]), np.array([2.5]))})
    assert isinstance(value, Range)
    assert (value.lower[0], value.upper[0]) == (1, 6)


def test_enums_and_argmax_are_sets() -> None:
    colours = enum("RED", "GREEN", "BLUE")
    best = build.argmax(V, colours)
    pick = build.switch(best, [Fraction(i) for i in range(3)], [10, 20, 30])
    inputs: dict[Expr, Value] = {V: Range(np.array([[0.0, 5, 1], [0, 0, 3]]), np.array([[1.0, 6, 5], [1, 1, 4]]))}
    is_blue, winner, number = interval.evaluate([build.eq(best, build.label(colours, "BLUE")), best, pick], inputs)
    assert isinstance(winner, Finite)
    assert winner.mask.tolist() == [[False, True, True], [False, False, True]]
    assert isinstance(number, Range)
    assert (number.lower.tolist(), number.upper.tolist()) == ([20, 30], [30, 30])
    assert isinstance(is_blue, Truth)
    assert (is_blue.must.tolist(), is_blue.may.tolist()) == ([False, True], [True, True])


def test_impossible_branches_are_not_looked_at() -> None:
    """The untaken branch has a variable nobody bounds; where it may be taken, that is an error."""
    node = build.if_(X < 0, build.var("unknown"), X)
    assert bounds(node, x=(1, 2)) == (1, 2)
    with pytest.raises(TypeClash, match="unknown"):
        bounds(node, x=(-1, 2))


def test_boxes_of_one_batch_decide_differently() -> None:
    node = build.if_(X < 0, -X, X + 10)
    (value,) = interval.evaluate([node], {X: Range(np.array([-2.0, 1, -1]), np.array([-1.0, 2, 1]))})
    assert isinstance(value, Range)
    assert (value.lower.tolist(), value.upper.tolist()) == ([1, 11, -1], [2, 12, 11])


def test_affine_layers_contain_their_exact_values() -> None:
    """Weights of 1e6 and 1e-6 together, points as boxes: only rounding is left."""
    rng = np.random.default_rng(1)
    scale = 10.0 ** rng.choice([-6, 6], (5, 3))
    W, b = rng.normal(size=(5, 3)) * scale, rng.normal(size=5)
    x = rng.normal(size=(4, 3))
    (value,) = interval.evaluate([build.affine(V, e.Matrix(W), e.Matrix(b))], {V: Range(x, x)})
    assert isinstance(value, Range)
    for box in range(4):
        for row in range(5):
            true = sum((Fraction(w) * Fraction(v) for w, v in zip(W[row], x[box], strict=True)), Fraction(b[row]))
            assert Fraction(value.lower[box, row]) <= true <= Fraction(value.upper[box, row])
    assert (value.upper - value.lower).max() <= 1e-14 * abs(W).max() * abs(x).max() * 10


def test_depth_and_length_do_not_matter() -> None:
    nested: Expr = X
    for _ in range(5_000):
        nested = e.Neg((nested,), nested.sort, nested.shape)
    assert bounds(nested, x=(1, 2)) == (1, 2)
    low, high = bounds(build.add(*(X for _ in range(10_000))), x=(1, 1))
    assert low <= 10_000 <= high < 10_000.001


def test_draws_are_hulls() -> None:
    assert bounds(build.choose(X, 5, -X), x=(1, 2)) == (-2, 5)
    assert bounds(build.between(X, X + 1), x=(1, 2)) == (1, 3)
    p, q = build.var("p", BOOL), build.choose(True, False)
    value = interval.evaluate([build.conj(p, q)], {p: Truth(np.array([False]), np.array([False]))})[0]
    assert isinstance(value, Truth)
    assert not value.may[0]


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(TypeClash, match="shape"):
        interval.evaluate([X], {X: Range(np.zeros((2, 3)), np.ones((2, 3)))})


ENDS = st.sampled_from([-np.inf, -1e300, -3.0, -0.1, -0.0, 0.0, 1e-300, 0.1, 0.3, 2.0, 1e300, np.inf])
PAIRS = st.tuples(ENDS, ENDS).map(sorted)


@given(PAIRS, PAIRS)
@pytest.mark.parametrize("operation", [interval.multiply, interval.divide])
def test_small_and_large_batches_agree(operation: Operation, x: list[float], y: list[float]) -> None:
    """Corners of small arrays are taken in one go; what comes out is the same to the last bit, signs of 0 aside."""

    def result(size: int) -> Range:
        made = [Range(*(np.full((size, 1), end) for end in ends)) for ends in (x, y)]
        with np.errstate(all="ignore"):
            return operation(Backend(), *made)

    small, large = result(1), result(interval.SMALL_ARRAY + 1)
    for one, many in ((small.lower, large.lower), (small.upper, large.upper)):
        assert (many == one).all()
