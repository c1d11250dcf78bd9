"""Numbers as text, however large or small they are."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vernal.model.numbers import nearest, rounded, show, written

HUGE = Fraction(10) ** 999_999  # Python writes no integer of so many digits
digits = st.integers(-(10**40), 10**40).filter(bool)
exponents = st.integers(-5000, 5000)


@given(digits, st.integers(1, 10**30), exponents)
def test_a_rounded_number_is_near(numerator: int, denominator: int, exponent: int) -> None:
    value = Fraction(numerator, denominator) * Fraction(10) ** exponent
    assert abs(Fraction(rounded(value)) / value - 1) <= Fraction(1, 10**5)


@given(digits, exponents)
def test_rounding_is_that_of_decimals(numerator: int, exponent: int) -> None:
    short = Fraction(str(numerator)[:5]) * Fraction(10) ** exponent
    assert Fraction(rounded(short)) == short
    wide = Context(prec=6, Emax=10**6, Emin=-(10**6))
    assert Decimal(rounded(short)) == wide.create_decimal(Decimal(str(numerator)[:5]).scaleb(exponent, wide))


@pytest.mark.parametrize("value", [HUGE, -HUGE, 1 / HUGE, HUGE + Fraction(1, 3), Fraction(2, 3) - HUGE])
def test_every_number_has_a_text(value: Fraction) -> None:
    for text in (rounded(value), show(value), written(value)):
        assert len(text) < 20
        assert (Fraction(text) > 0) is (value > 0)
    assert nearest(value) in (float("inf"), float("-inf"), 0.0)


@pytest.mark.parametrize(
    ("value", "shown", "exact"),
    [
        (Fraction(1, 2), "0.5", "1/2"),
        (Fraction(1, 3), "1/3", "1/3"),
        (Fraction(-7), "-7", "-7"),
        (Fraction(0), "0", "0"),
        (Fraction(10**20), str(10**20), str(10**20)),
    ],
)
def test_short_numbers_are_shown_exactly(value: Fraction, shown: str, exact: str) -> None:
    assert (show(value), written(value)) == (shown, exact)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(10) ** 400, "1e+400"),
        (-(Fraction(10) ** 400), "-1e+400"),
        (Fraction(9_999_999) * 10**400, "1e+407"),
        (Fraction(1, 3) * 10**400, "3.33333e+399"),
        (Fraction(1, 10**400), "1e-400"),
        (Fraction(1, 3), "0.333333"),
    ],
)
def test_numbers_beyond_floats_are_rounded_alike(value: Fraction, text: str) -> None:
    assert rounded(value) == text
