"""Exact numbers stay below the cap on their bits, on every road; what is beyond it is open."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from vernal.errors import TooLong
from vernal.interpret import exact
from vernal.interpret.geometry import simplex
from vernal.interpret.geometry.affine_form import AffineForm, affine_layer, arithmetic, at_least
from vernal.interpret.geometry.polyhedra import from_box, normal
from vernal.interpret.numbers import number_size, reals
from vernal.interpret.numbers.number_size import MAX_BITS, common_denominator, fit
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.symbolic.execute import Piece, execute
from vernal.model import build as b
from vernal.model.expr import Affine, Component, Expr, Matrix

X, Y = b.var("x"), b.var("y")
LONG = fmpq(3) ** (MAX_BITS // 2)  # some 52,000 bits
OTHER = fmpq(5) ** (MAX_BITS // 3)
NAMES: list[Component] = [(X, 0), (Y, 0)]


def form(constant: fmpq, *coefficients: fmpq) -> AffineForm:
    return AffineForm(constant, dict(zip(NAMES, coefficients, strict=False)))


def test_a_power_is_counted_before_it_is_made() -> None:
    assert number_size.power(fmpq(2, 3), 100) == fmpq(2**100, 3**100)
    assert number_size.power(fmpq(-1), 10**12) == 1
    for base, exponent in ((LONG, 10**9), (1 / LONG, -(10**9)), (fmpq(2), 10**15)):
        with pytest.raises(TooLong, match="bits"):
            number_size.power(base, exponent)


def test_common_denominators_are_given_up_early() -> None:
    assert common_denominator([fmpq(1, 4), fmpq(1, 6)]) == 12
    assert common_denominator([1 / LONG, 1 / OTHER, 1 / fmpq(7) ** 10**4]) is None
    assert fit(LONG) == LONG
    with pytest.raises(TooLong):
        fit(LONG * OTHER)


ROADS: dict[str, Callable[[], object]] = {
    "product": lambda: arithmetic(b.mul(X, Y), [form(LONG), form(fmpq(0), OTHER)]),
    "sum": lambda: arithmetic(b.add(X, Y, 1), [form(1 / LONG), form(1 / OTHER), form(fmpq(1))]),
    "power": lambda: arithmetic(b.power(X, 1000), [form(LONG)]),
    "layer": lambda: affine_layer(layer(), [form(1 / LONG), form(1 / OTHER)]),
    "value": lambda: form(LONG, LONG).at({NAMES[0]: OTHER}),
    "range": lambda: from_box({NAMES[0]: (Fraction(0), big(OTHER))}).measure(form(fmpq(0), LONG)),
    "row": lambda: normal(at_least(form(fmpq(1), 1 / LONG, 1 / OTHER))),
    "simplex": lambda: simplex.solve(
        [[LONG, OTHER]],
        [simplex.VariableBounds((fmpq(0), fmpq(0)), (OTHER, fmpq(0)))] * 2,
        [simplex.VariableBounds((LONG, fmpq(1)), None)],
        [OTHER, OTHER],
    ),
}


def layer() -> Affine:
    node = b.affine(b.var("v", shape=(2,)), Matrix(np.ones((2, 2))), Matrix(np.zeros(2)))
    assert isinstance(node, Affine)
    return node


def big(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


@pytest.mark.parametrize("road", ROADS)
def test_affine_forms_and_polyhedra_refuse_what_is_too_long(road: str) -> None:
    with pytest.raises(TooLong):
        ROADS[road]()


def test_forms_are_open_where_they_would_be_too_long() -> None:
    squared: Expr = X
    for _ in range(60):
        squared = b.mul(squared, squared)
    over = Forms({X: [(Fraction(3), Fraction(3))]})
    assert over.values(squared) == (None,)
    assert over.values(b.power(b.power(X, 1000), 1000)) == (None,)
    assert over.truth(b.compare("<", squared, 1)) is None
    assert over.truth(b.compare("<", b.mul(X, X), 10)) is True


def test_symbolic_execution_stops_with_the_reason() -> None:
    squared: Expr = X
    for _ in range(60):
        squared = b.mul(squared, squared)
    piece = Piece(from_box({}), {X: (AffineForm(fmpq(3)),)})
    with pytest.raises(TooLong, match="65,536 bits"):
        list(execute(piece, [squared]))


def test_replay_goes_on_in_balls_and_is_undecided_beyond_them() -> None:
    with ctx.workprec(128):
        assert isinstance(reals.mul(1 / LONG, 1 + 1 / OTHER), arb)
        beyond = reals.mul(LONG, OTHER)
        assert isinstance(beyond, arb)
        assert reals.mul(beyond, beyond) is None
        assert reals.power(LONG, Fraction(1000)) is None
    (value,) = exact.evaluate([b.power(b.power(X, 1000), 1000)], {X: Fraction(3)})
    assert value is None


def test_a_layer_over_long_fractions_is_enclosed() -> None:
    vector = b.var("v", shape=(2,))
    node = b.affine(vector, Matrix(np.ones((1, 2))), Matrix(np.zeros(1)))
    (value,) = exact.evaluate([node], {vector: (big(1 / LONG), big(1 + 1 / OTHER))})
    assert isinstance(value, tuple)
    assert isinstance(value[0], arb)
    assert value[0].overlaps(arb(1 / LONG + 1 + 1 / OTHER))
