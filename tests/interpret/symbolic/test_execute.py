"""Symbolic execution against exact evaluation: every sample lies on a piece that says the same."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.interpret.sets import Ends, boxes, items, samples
from tests.strategies import expressions
from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm, fraction, rational
from vernal.interpret.geometry.polyhedra import from_box
from vernal.interpret.numbers.reals import Undefined
from vernal.interpret.symbolic.cases import SymbolicScalar, SymbolicValue, constant
from vernal.interpret.symbolic.execute import NotPiecewiseLinear, Piece, execute
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix, Var
from vernal.model.graph import order
from vernal.model.network import Network, network_input
from vernal.model.sorts import REAL, enum

X, Y = build.var("x"), build.var("y")
MOST = 300  # pieces looked at


def piece(ends: Ends) -> Piece:
    known: dict[Expr, SymbolicValue] = {}
    wide = {}
    for var, pairs in ends.items():
        values: list[SymbolicScalar] = []
        for i, (low, high) in enumerate(pairs):
            if low != high and var.sort == REAL:
                wide[var, i] = low, high
            values.append(AffineForm(ZERO, {(var, i): ONE}) if (var, i) in wide else constant(low, var))
        known[var] = tuple(values)
    return Piece(from_box(wide), known)


def pinned(ends: Ends) -> Ends:
    """Discrete variables start with one value."""
    return {v: pairs if v.sort == REAL else [(low, low) for low, _ in pairs] for v, pairs in ends.items()}


def pieces(ends: Ends, *roots: Expr) -> list[Piece]:
    return list(execute(piece(ends), roots))


def unit(*variables: Var) -> Ends:
    return {var: [(Fraction(0), Fraction(1))] * var.size for var in variables}


def lies_on(part: Piece, inputs: dict[Expr, Any]) -> bool:
    """Whether a sample satisfies a piece's rows and has its winners (which options it took, it does not tell)."""
    point = {}
    for name in part.polyhedron.box:
        node = next((drawn for drawn in inputs if _is_draw_of(drawn, name[0])), name[0])
        if node not in inputs:
            return False
        point[name] = rational(items(inputs[node])[name[1]])
    if not all(row.holds_at(point) for row in part.polyhedron.all_rows()):
        return False
    winners = {node: what for node, what in part.taken.items() if isinstance(node, e.Argmax)}
    return all(inputs.get(node, what) == what for node, what in winners.items())


def _is_draw_of(node: Expr, named: Expr) -> bool:
    if not isinstance(node, e.Between) or not isinstance(named, e.Between):
        return False
    return (node.occurrence.name, node.occurrence.serial) == (named.occurrence.name, named.occurrence.serial)


def agrees(value: SymbolicScalar, x: Any, part: Piece, inputs: dict[Expr, Any]) -> bool:
    if isinstance(value, bool):
        return value is x
    if isinstance(value, fmpq):
        return bool(fraction(value) == x)
    assert value is not None
    point = {}
    for node, component in value.coefficients:
        drawn = next((other for other in inputs if _is_draw_of(other, node)), node)
        point[node, component] = rational(items(inputs[drawn])[component])
    return bool(fraction(value.at(point)) == x)


@given(data=st.data())
def test_every_sample_lies_on_a_piece_that_says_the_same(data: st.DataObject) -> None:
    roots = data.draw(expressions(8, smooth=False, undefined=False))
    root = data.draw(st.sampled_from(roots))
    ends = pinned(data.draw(boxes()))
    try:
        found = list(itertools.islice(execute(piece(ends), [root]), MOST))
    except NotPiecewiseLinear:
        assert any(isinstance(node, e.Mul | e.Div | e.Pow | e.Floor | e.Between) for node in order([root]))
        return
    assume(len(found) < MOST)
    for part in found:
        assert all(row.holds_at(part.polyhedron.point) for row in part.polyhedron.all_rows())
    for _ in range(3):
        ((result,), inputs) = data.draw(samples(ends, [root]))
        assert not isinstance(result, Undefined)
        on = [part for part in found if lies_on(part, inputs)]
        matching = [all(agrees(v, x, p, inputs) for v, x in zip(p.known[root], items(result), strict=True)) for p in on]
        assert any(matching), root
        if not any(isinstance(node, e.Choose | e.Argmax) for node in order([root])):
            assert all(matching), root


@pytest.mark.parametrize(
    ("node", "count"),
    [
        (build.relu(X + 1), 1),
        (build.relu(X - 1), 1),  # at 1 both phases agree
        (build.relu(X - Fraction(1, 2)), 2),
        (build.absolute(X - Fraction(1, 3)), 2),
        (build.maximum(X, 1 - X), 2),
        (build.maximum(X, X + Y, -1), 1),
        (build.sign(X - Fraction(1, 2)), 3),
        (build.sign(X), 2),
        (build.floor(3 * X), 4),
        (build.floor(3 * X - Fraction(1, 2)), 4),
        (build.compare("<", X, Y), 2),
        (build.eq(X, Y), 3),
        (build.eq(X, X), 1),
        (build.if_(X < 0, build.relu(X - Fraction(1, 2)), 1), 1),  # a branch not taken is not looked at
        (build.choose(X, Y, X), 2),  # equal options are one
        (build.choose(0, 1) + build.choose(0, 1), 4),  # two draws stay two
        (build.argmax(build.concat(X, X)), 2),  # a tie everywhere
        (build.argmax(build.concat(X, X - 1)), 1),
        (build.argmax(build.concat(X, 1 - Y, -1)), 2),
        (build.conj(X < 0, build.eq(X, Y)), 1),
        (build.disj(build.eq(X, Y), X >= 0), 3),
        (build.switch(build.floor(2 * X), [Fraction(0), None], [X, Y]), 3),
        (X + build.between(X, 1), 1),
    ],
)
def test_forks(node: Expr, count: int) -> None:
    assert len(pieces(unit(X, Y), node)) == count


def test_equality_is_a_thin_cell_between_two_open_sides() -> None:
    condition = build.eq(X, Y)
    (thin,) = [part for part in pieces(unit(X, Y), condition) if part.truth(condition)]
    assert thin.polyhedron.point[X, 0] == thin.polyhedron.point[Y, 0]
    both = [part.polyhedron.meet(thin.polyhedron.all_rows()) for part in pieces(unit(X, Y), condition)]
    assert sum(part is not None for part in both) == 1


def test_a_disturbance_with_ends_that_move() -> None:
    wind = build.between(X - 1, X + Y)
    (part,) = pieces(unit(X, Y), wind)
    assert len(part.polyhedron.box) == 3
    above_it = wind > X + Y
    assert [p.truth(above_it) for p in execute(part, [above_it])] == [False]


@pytest.mark.parametrize(
    "node",
    [X * Y, build.apply(e.Function.SIN, X), build.PI * X, X / Y, build.power(X, 2), build.floor(X * 10**6)],
)
def test_what_is_not_piecewise_linear_is_refused(node: Expr) -> None:
    with pytest.raises(NotPiecewiseLinear):
        pieces(unit(X, Y), node)


def test_an_interval_that_may_be_inverted_is_refused() -> None:
    with pytest.raises(NotPiecewiseLinear, match="inverted"):
        pieces(unit(X, Y), e.Between((X, Y), REAL, (), e.Occurrence("wind")))
    assert len(pieces(unit(X, Y), build.between(X, Y))) == 2  # the builder orders them


def test_a_product_is_refused_only_where_it_is_met() -> None:
    node = build.if_(X > 1, X * Y, build.if_(build.eq(Y, 0), X * Y, X))
    with pytest.raises(NotPiecewiseLinear):
        pieces(unit(X, Y), node)
    assert len(pieces({X: [(Fraction(0), Fraction(1))], Y: [(Fraction(0), Fraction(0))]}, node)) == 1


def test_networks() -> None:
    inner = network_input(2)
    hidden = build.relu(build.affine(inner, Matrix(np.array([[1.0, -1.0], [-1.0, 1.0]])), Matrix(np.zeros(2))))
    net = Network("distance", inner, build.affine(hidden, Matrix(np.array([[1.0, 1.0]])), Matrix(np.zeros(1))))
    distance = net(X, Y)[0]
    found = pieces(unit(X, Y), build.eq(distance, build.absolute(X - Y)))
    assert all(part.truth(build.eq(distance, build.absolute(X - Y))) for part in found)


def test_labels() -> None:
    colours = enum("RED", "GREEN")
    light = build.if_(2 * X < 1, build.label(colours, "RED"), build.label(colours, "GREEN"))
    found = pieces(unit(X), light, build.eq(light, build.label(colours, "RED")))
    assert [part.scalar(light) for part in found] == [fmpq(0), fmpq(1)]


def test_depth_does_not_matter() -> None:
    nested: Expr = X
    for _ in range(3_000):
        nested = e.Neg((nested,), nested.sort, nested.shape)
    (part,) = pieces(unit(X), nested)
    assert part.scalar(nested) == AffineForm(ZERO, {(X, 0): ONE})
