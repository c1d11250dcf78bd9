"""Exact ends contain every value, and are exact where operators say so."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from vernal.interpret import exact
from vernal.interpret.ends import EndsProgram, PartialEnds, shortened
from vernal.model import build as b
from vernal.model.expr import Expr, Function
from vernal.model.sorts import INT

X, Y = b.var("x"), b.var("y")
tenth = Fraction(1, 10)
numbers = st.fractions(min_value=-3, max_value=3, max_denominator=7)


def shapes() -> list[Expr]:
    """One expression for each operator that has ends of its own."""
    return [
        b.clip(X + Y, -6 * tenth, 6 * tenth),
        b.maximum(X, Y, 0) - b.minimum(X, 2),
        b.absolute(X) + b.relu(Y) * Fraction(-3),
        b.if_(X < Y, X * 2, Y - 1),
        b.floor(X + Fraction(1, 2)),
        b.sign(X) - -Y / Fraction(-3, 7),
        X * Y,
        b.minimum(X * Y, Fraction(7, 10)),
    ]


@given(numbers, numbers, numbers, numbers)
def test_ends_contain_values(a: Fraction, c: Fraction, x: Fraction, y: Fraction) -> None:
    box: dict[Expr, PartialEnds] = {X: (min(a, x), max(a, x)), Y: (min(c, y), max(c, y))}
    for expression in shapes():
        ((low, high),) = EndsProgram([expression])(box)
        (value,) = exact.evaluate([expression], {X: x, Y: y})
        assert isinstance(value, Fraction)
        assert low is None or low <= value
        assert high is None or value <= high


def test_a_clip_has_the_ends_that_were_written() -> None:
    """0.6 is no float: in floating point the end would be a little more."""
    clipped = b.clip(X, Fraction(-12, 10), Fraction(6, 10))
    assert EndsProgram([clipped])({}) == [(Fraction(-12, 10), Fraction(6, 10))]


def test_long_ends_are_rounded_outward() -> None:
    long = Fraction(1, 3**200)
    low, high = shortened((long, long))
    assert low is not None
    assert high is not None
    assert low < long < high
    assert shortened((None, Fraction(10**400) + long)) == (None, None)


def test_some_ends_are_no_values() -> None:
    """tanh is below 1 everywhere, and so is what is made of it, as far as that can be told."""
    squashed, twice = b.apply(Function.TANH, X), -2 * b.apply(Function.SIGMOID, Y)
    roots = [squashed, twice, b.maximum(squashed, 1), b.minimum(squashed, 1), b.if_(X < Y, squashed, 1), squashed + X]
    reached = [flags for _, flags in EndsProgram(roots).reached({X: (Fraction(0), Fraction(1))})]
    assert reached == [(False, False), (False, False), (True, True), (False, False), (False, True), (False, False)]


def test_a_remainder_is_below_its_divisor() -> None:
    n, m = b.var("n", INT), b.var("m", INT)
    for x in (n, n + m, n + 3, 2 * n - m):
        assert EndsProgram([x % 5])({}) == [(Fraction(0), Fraction(4))]
        assert EndsProgram([x % -5])({}) == [(Fraction(-4), Fraction(0))]
    assert EndsProgram([n - 5 * (m // 5)])({}) == [(None, None)]
    assert EndsProgram([n - 4 * (n // 5)])({}) == [(None, None)]


def test_ends_of_a_root_are_known_where_it_is_defined() -> None:
    root = b.apply(Function.SQRT, X)
    assert EndsProgram([root])({X: (Fraction(0), Fraction(1))}) == [(Fraction(0), None)]
    assert EndsProgram([root])({X: (Fraction(-1), Fraction(1))}) == [(None, None)]
