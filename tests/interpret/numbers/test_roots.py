"""Fractional powers: enclosures agree with ball arithmetic, are narrow, and say where they prove nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vernal.interpret.numbers import enclosures
from vernal.interpret.numbers.roots import is_rooted, powers

EXPONENTS = [Fraction(p, q) for p, q in ((1, 2), (1, 3), (2, 3), (3, 2), (5, 4), (7, 3), (1, 32), (31, 32), (32, 3))]


@pytest.mark.parametrize("exponent", EXPONENTS, ids=str)
def test_they_contain_what_balls_say(exponent: Fraction) -> None:
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(0, 3, 300), 10.0 ** random.uniform(-8, 8, 300), [1.0, 4.0, 8.0, 27.0]])
    low, high, proven = powers(x, exponent)
    below, above = enclosures.by_balls(exponent, x)
    assert proven.mean() > 0.9
    assert (low[proven] <= above[proven]).all()
    assert (high[proven] >= below[proven]).all()
    assert (high - low <= 1e-13 * high)[proven].all()
    for number, least, most in list(zip(x, low, high, strict=True))[:50]:  # exactly, by integer powers of rationals
        value = Fraction(float(number)) ** exponent.numerator
        assert Fraction(float(least)) ** exponent.denominator <= value
        assert value <= Fraction(float(most)) ** exponent.denominator


def test_nothing_is_proven_where_it_is_undefined_or_out_of_range() -> None:
    x = np.array([0.0, -1.0, np.inf, np.nan, 1e300, 5e-324])
    assert not powers(x, Fraction(2, 3))[2].any()
    low, high = enclosures.by_roots(Fraction(2, 3), x[:2])
    assert low[0] == high[0] == 0
    assert low[1] == -np.inf
    assert high[1] == np.inf


def test_which_exponents() -> None:
    assert is_rooted(Fraction(2, 3))
    assert not any(is_rooted(exponent) for exponent in (Fraction(2), Fraction(-1, 2), Fraction(1, 99), Fraction(99, 2)))
