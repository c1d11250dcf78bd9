"""Fractional powers of many numbers at once: guessed in floating point, and proven by integer powers.

For x > 0 and y > 0, y <= x^(p/q) if and only if y^q <= x^p. Both sides are products of few floats, whose computed value
is off by a factor of at most 1 + gamma(n). A guess that this does not prove is left to others.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vernal.interpret.numbers.rounding import UNIT, Floats, Mask, gamma

MAX_FACTORS = 32  # of the integer powers
SAFE_LOWER, SAFE_UPPER = 1e-280, 1e280  # between these nothing underflows or overflows


def is_rooted(exponent: Fraction) -> bool:
    """Whether guesses are made for this exponent."""
    return 0 < exponent.numerator <= MAX_FACTORS and 1 < exponent.denominator <= MAX_FACTORS


def powers(x: Floats, exponent: Fraction) -> tuple[Floats, Floats, Mask]:
    """Floats below and above x ^ exponent, and where they are proven."""
    p, q = exponent.numerator, exponent.denominator
    with np.errstate(all="ignore"):
        known = _integer_power(x, p)
        guess = np.power(x, p / q)
        guess = guess - guess * (_integer_power(guess, q) / known - 1.0) / q  # by Newton: p / q is rounded
        margin = (2.0 * (p + q + 8) / q + 2.0) * UNIT  # so that its q-th power is more than both doubts
        low, high = guess * (1.0 - margin), guess * (1.0 + margin)
        below, above = _integer_power(low, q), _integer_power(high, q)
        own, other = gamma(q + 4), gamma(p + 4)  # four more for the sums and products here
        proven = (below * (1.0 + own) <= known * (1.0 - other)) & (known * (1.0 + other) <= above * (1.0 - own))
        usable = (x > 0) & _moderate(known) & _moderate(below) & _moderate(above)
    return low, high, proven & usable


def _moderate(x: Floats) -> Mask:
    return (x > SAFE_LOWER) & (x < SAFE_UPPER)


def _integer_power(x: Floats, n: int) -> Floats:
    """x ^ n by n - 1 products."""
    made = x
    for _ in range(n - 1):
        made = made * x
    return made
