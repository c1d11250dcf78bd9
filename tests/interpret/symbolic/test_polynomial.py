"""Exact polynomials say of conditions over boxes what is true at every point."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from vernal.interpret import exact
from vernal.interpret.symbolic.polynomial import PolynomialBox
from vernal.model import build as b
from vernal.model.expr import Expr, Function
from vernal.model.initial import Ends
from vernal.model.tick import idle

X, Y = b.var("x"), b.var("y")
numbers = st.fractions(min_value=-3, max_value=3, max_denominator=7)


def truth(condition: Expr, x: tuple[int, int], y: tuple[int, int] = (0, 0)) -> bool | None:
    box: dict[Expr, Ends] = {var: (Fraction(low), Fraction(high)) for var, (low, high) in {X: x, Y: y}.items()}
    return PolynomialBox(box, idle).truth(condition)


def conditions() -> list[Expr]:
    """Of every operator that is understood, at a zero that some boxes touch."""
    return [
        X * X <= X,
        b.absolute(X) >= X * Y,
        b.maximum(X, Y) * b.minimum(X, Y) < X * Y + 1,
        b.relu(X) ** 2 - X * b.relu(X) >= 0,
        b.eq((X + Y) ** 2, X * X + 2 * X * Y + Y**2),
        X / (Y + 4) <= 1,
        b.conj(X > 0, b.disj(Y < 0, b.negate(X * Y <= 2))),
        b.if_(X < Y, X * Y, Y - 1) <= 3,
        (Y + 4) ** -2 > 0,
    ]


@given(numbers, numbers, numbers, numbers)
def test_what_is_said_of_a_box_is_true_at_its_points(a: Fraction, c: Fraction, x: Fraction, y: Fraction) -> None:
    box: dict[Expr, Ends] = {X: (min(a, x), max(a, x)), Y: (min(c, y), max(c, y))}
    for condition in conditions():
        said = PolynomialBox(box, idle).truth(condition)
        assert said is None or exact.evaluate([condition], {X: x, Y: y}) == [said]


def test_zero_at_a_corner_or_everywhere_is_no_obstacle() -> None:
    assert truth(X * X <= X, (0, 1)) is True
    assert truth(b.eq(X * X, X**2), (-1, 1)) is True
    assert truth(b.eq(X / X, 1), (1, 2)) is True
    assert truth(X * X > X, (0, 1)) is False


def test_nothing_is_said_where_a_case_is_open_or_a_value_may_be_undefined() -> None:
    assert truth(b.absolute(X) >= X * X, (-1, 1)) is None
    assert truth(b.eq(X / X, 1), (0, 2)) is None
    assert truth(b.apply(Function.SIN, X) <= 1, (0, 2)) is None


def test_powers_without_end_are_given_up() -> None:
    assert truth(X**700 * Y**700 >= 0, (0, 1), (0, 1)) is None
    assert truth(b.const(3) * X**2 >= 0, (-1, 1)) is None  # the coefficients of x^2 over [-1, 1] are 1, -1, 1
