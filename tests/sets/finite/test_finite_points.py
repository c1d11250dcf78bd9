"""Values at many states at once are the exact ones, where floats would be wrong, too."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.cases import read
from tests.loops import condition, value
from tests.portion import seeds
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.interpret.numbers.rounding import Backend
from vernal.interpret.value_sets import Range
from vernal.model import build as b
from vernal.model.expr import Affine, Argmax, Expr, Function, Matrix
from vernal.model.graph import decisions
from vernal.model.sorts import BOOL, INT, REAL
from vernal.model.tick import idle
from vernal.sets.finite.columns import Columns, NotFinite
from vernal.sets.finite.layers import layer
from vernal.sets.finite.points import Points, RowBatch

X, Y, FLAG, R = b.var("x", INT), b.var("y", INT), b.var("flag", BOOL), b.var("r", REAL)


def batch(columns: Columns, *rows: tuple[Fraction | int, ...]) -> RowBatch:
    codes = [[columns.code(Fraction(v), var.sort) for v, var in zip(row, columns.places, strict=True)] for row in rows]
    return RowBatch(np.array(codes, np.int64), {})


def test_a_comparison_that_floats_get_wrong() -> None:
    columns = Columns([X])
    points = Points(columns, idle)
    (truth,) = points.truths([b.eq(X * Fraction(1, 10), Fraction(3, 10))], batch(columns, (2,), (3,), (4,)))
    assert truth.tolist() == [False, True, False]
    assert points.doubts == 1, "only 3 * 0.1 is close to 0.3"


def test_a_value_in_doubt_is_computed_once_for_all_states_that_agree() -> None:
    columns = Columns([X, Y])
    points = Points(columns, idle)
    many = batch(columns, *((3, y) for y in range(50)))
    assert points.truths([b.eq(X * Fraction(1, 10), Fraction(3, 10))], many)[0].all()
    assert points.doubts == 1


def _row(rng: random.Random) -> tuple[Fraction, ...]:
    x, y, flag = rng.randint(-5, 5), rng.randint(-5, 5), rng.randint(0, 1)
    return Fraction(x), Fraction(y), Fraction(flag), Fraction(rng.randint(-6, 6), 3)


@pytest.mark.parametrize("seed", seeds(40))
def test_random_expressions_agree_with_rational_arithmetic(seed: int) -> None:
    rng = random.Random(seed)
    columns = Columns([X, Y, FLAG, R])
    points = Points(columns, idle)
    seen: list[Expr] = [X, Y, FLAG, R]
    roots = [value(rng, INT, seen, 3), condition(rng, seen, 2), b.floor(value(rng, REAL, seen, 2))]
    if decisions(roots):
        return
    rows = [_row(rng) for _ in range(30)]
    given = batch(columns, *rows)
    found = points.codes([roots[0], roots[2]], [X, Y], given)
    truths = points.truths([roots[1]], given)[0]
    for number, row in enumerate(rows):
        inputs: dict[Expr, Given] = dict(zip(columns.places, row, strict=True))
        first, truth, last = exact.evaluate(roots, inputs)
        assert found[number, :2].tolist() == [first, last]
        assert truths[number] == truth


def test_every_winner_of_a_tie_and_no_other() -> None:
    """0.1 + 0.2 is not the float 0.3; a tie and a difference of 1e-17 are told apart."""
    scores = b.concat(X * Fraction(1, 10) + Fraction(2, 10), b.const(Fraction(3, 10)) + 0 * X, X * 0 + b.const(0))
    node = b.argmax(scores)
    assert isinstance(node, Argmax)
    columns = Columns([X])
    won = Points(columns, idle).winners(node, batch(columns, (0,), (1,), (2,)))
    assert won.tolist() == [[False, True, False], [True, True, False], [True, False, False]]
    near = b.argmax(b.concat(X * Fraction(1, 10), b.const(Fraction(3, 10) - Fraction(1, 10**30)) + 0 * X))
    assert isinstance(near, Argmax)
    assert Points(columns, idle).winners(near, batch(columns, (3,))).tolist() == [[True, False]]


def test_undefined_and_irrational_values_are_refused() -> None:
    columns = Columns([X, R])
    points, rows = Points(columns, idle), batch(columns, (0, 0), (1, 2))
    with pytest.raises(NotFinite, match="undefined"):
        points.codes([X, 1 / X], [X, R], rows)
    with pytest.raises(NotFinite, match="not rational"):
        points.codes([X, b.apply(Function.EXP, R)], [X, R], rows)
    ((must, may),) = points.kleene([b.compare("<", 1 / X, 2)], rows)
    assert (must.tolist(), may.tolist()) == ([False, True], [True, True])


def test_layers_of_short_numbers_do_not_round() -> None:
    x = b.var("x", REAL, (2,))
    short = b.affine(x, Matrix(np.array([[0.5, -3.0], [1.25, 2.0]])), Matrix(np.array([0.0, 7.0])))
    point = np.array([[3.0, 5.0], [0.25, -1.0]])
    assert isinstance(short, Affine)
    known = layer(Backend(), short, Range(point, point))
    assert isinstance(known, Range)
    assert (known.lower == known.upper).all()
    assert known.lower.tolist() == [[-13.5, 20.75], [3.125, 5.3125]]
    for weight, numbers in (([[0.1, 0.2]], [[3.0, 1.0]]), ([[1.0, 1.0]], [[2.0**52, 0.5]]), ([[1.0, 1e-30]], [[1, 1]])):
        long = b.affine(x, Matrix(np.array(weight)), Matrix(np.array([0.0])))
        assert isinstance(long, Affine)
        array = np.array(numbers, np.float64)
        bounds = layer(Backend(), long, Range(array, array))
        assert isinstance(bounds, Range)
        exactly = sum(Fraction(w) * Fraction(n) for w, n in zip(weight[0], array[0].tolist(), strict=True))
        assert Fraction(float(bounds.lower[0, 0])) < exactly < Fraction(float(bounds.upper[0, 0]))


def test_reals_are_numbers_of_their_values() -> None:
    task = read('[state]\nx = "real"\n[init]\nx = "{0, 1/3}"\n')
    columns = Columns(task.system.step.inputs)
    rows = columns.starts(task.system.initial, 10)
    assert [columns.valuation(row)[task.system.state[0].var] for row in rows.tolist()] == [(0,), (Fraction(1, 3),)]
