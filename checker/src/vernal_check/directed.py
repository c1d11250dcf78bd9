"""Forms in floats, with an error that contains every rounding on the way: the directed mode.

`const + sum(coefficient * symbol) + e` with |e| <= error, and every symbol between -1 and 1. A sum or product of floats
is off by at most half a unit in its last place, which is less than `UNIT` times its size, unless it is so small that
`TINY` is more. What is not finite any more is refused where it is asked for its range.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import lru_cache
from math import floor, frexp, isfinite, ldexp

from vernal_check.errors import Unshown
from vernal_check.forms import Exact, Form, Interval, Ranges

UNIT = 2.0**-52  # twice what a rounding to the nearest float is off by
TINY = 1e-290  # more than all that is lost where results are close to 0
COARSE_BITS = 40  # of numbers, relative to the size of their form
GROW = 1 + 2.0**-40  # more than what a sum of a thousand positive numbers loses


class Rounded(Form):
    """A form in floats."""

    __slots__ = ("const", "error", "terms")

    def __init__(self, const: float, terms: Mapping[int, float], error: float) -> None:
        self.const, self.terms, self.error = const, terms, error

    is_constant = False

    @property
    def key(self) -> tuple[object, ...]:
        return self.const, self.error, *self.terms.items()

    def range(self, ranges: Ranges) -> Interval:
        low = high = self.const
        size, count = abs(self.const), 4
        for symbol, a in self.terms.items():
            at_low, at_high = ranges[symbol]
            if a < 0:
                at_low, at_high = at_high, at_low
            low, high = low + a * at_low, high + a * at_high
            size, count = size + abs(a), count + 1
        error = (self.error + size * count * UNIT) * GROW + TINY
        if not isfinite(high - low + error):
            raise Unshown("numbers become too large for floats")
        return low - error, high + error

    def plus(self, other: Form) -> Form:
        if other.is_constant and not other.value:
            return self
        b = rounded(other)
        const = self.const + b.const
        terms, size = dict(self.terms), abs(const)
        for symbol, a in b.terms.items():
            terms[symbol] = total = terms.get(symbol, 0.0) + a
            size += abs(total)
        return Rounded(const, terms, (self.error + b.error + size * UNIT) * GROW)

    def times(self, a: Fraction) -> Form:
        if not a:
            return Exact(Fraction(0))
        factor, error = near(a)
        return self.scaled(factor, error)

    def scaled(self, factor: float, error: float) -> Rounded:
        """The form times a number that is off by at most an error."""
        size, terms, const = abs(self.const), {}, self.const * factor
        for symbol, b in self.terms.items():
            size += abs(b)
            terms[symbol] = b * factor
        lost = size * (error + UNIT * abs(factor)) + self.error * (abs(factor) + error)
        return Rounded(const, terms, lost * GROW + TINY)

    def widened(self, low: Fraction, high: Fraction) -> Form:
        return self.off(*near((low + high) / 2), above(abs(high - low) / 2))

    def off(self, shift: float, error: float, more: float) -> Rounded:
        """The form and a number around shift, each off by so much."""
        const = self.const + shift
        return Rounded(const, self.terms, (self.error + error + more + abs(const) * UNIT) * GROW + TINY)

    def shortened(self, ranges: Ranges) -> Form:
        return self

    def coarse(self) -> Rounded:
        """A form around this one whose numbers are multiples of a power of two, so that others have the same ones."""
        size = abs(self.const) + self.error + sum(map(abs, self.terms.values()))
        if not TINY < size < 1 / TINY:
            return self
        unit = ldexp(1.0, frexp(size)[1] - COARSE_BITS)
        terms = {symbol: round(a / unit) * unit for symbol, a in sorted(self.terms.items())}
        lost = (self.error / unit + (len(terms) + 1) / 2) * GROW
        return Rounded(round(self.const / unit) * unit, terms, (floor(lost) + 1) * unit)

    def merged(self, kept: Collection[int]) -> float:
        """The error with all terms in it but those of some symbols, each of which is between -1 and 1."""
        total: float = self.error + sum(abs(a) for symbol, a in self.terms.items() if symbol not in kept)
        return total * GROW + TINY

    def product(self, other: Form, ranges: Ranges) -> Form:
        """a b = m b + n a - m n + (a - m)(b - n), with m and n in the middle of their ranges."""
        if other.is_constant:
            return self.times(other.value)
        b = rounded(other)
        (a_low, a_high), (b_low, b_high) = self.range(ranges), b.range(ranges)
        m, n = (a_low + a_high) / 2, (b_low + b_high) / 2
        rest = max(a_high - m, m - a_low) * max(b_high - n, n - b_low) * GROW + TINY
        made = b.scaled(m, 0.0).plus(self.scaled(n, 0.0))
        assert isinstance(made, Rounded)
        both = m * n
        lost = abs(both) * UNIT + TINY
        if self is b:  # a square, whose rest is not negative
            return made.off(rest / 2 - both, lost + rest * UNIT, rest / 2)
        return made.off(-both, lost, rest)

    def rectified(self, ranges: Ranges) -> Form:
        """max(a, 0): where the sign is open, between its chord and the chord's parallel below."""
        low, high = self.range(ranges)
        if low >= 0:
            return self
        if high <= 0:
            return Exact(Fraction(0))
        slope = high / (high - low)
        # a -> max(a, 0) - slope a is convex, so largest at an end and least at 0
        half = max(-slope * low, (1 - slope) * high) * GROW / 2 + TINY
        return self.scaled(slope, 0.0).off(half, 0.0, half)

    def limit(self, low: float, a: float, at: float) -> float:
        """Where a symbol has to stay if the form is at most 0: from `at` on, where it is `low`."""
        step = low / a
        far = at - step
        lost = (abs(at) + abs(step)) * 4 * UNIT + TINY
        return far + lost if a > 0 else far - lost


@lru_cache(maxsize=65536)
def near(a: Fraction) -> tuple[float, float]:
    """A float next to a number, and by how much it is off at most."""
    try:
        value = float(a)
    except OverflowError:
        raise Unshown("numbers become too large for floats") from None
    return value, 0.0 if Fraction(value) == a else abs(value) * UNIT + TINY


def above(a: Fraction) -> float:
    value, error = near(a)
    return (value + error) * GROW


def rounded(form: Form) -> Rounded:
    """A form as one in floats; exact ones have no symbols where others are in floats."""
    if isinstance(form, Rounded):
        return form
    assert isinstance(form, Exact)
    assert not form.terms
    const, error = near(form.const + (form.low + form.high) / 2)
    return Rounded(const, {}, (error + above((form.high - form.low) / 2)) * GROW)


def spanned(symbol: int, low: Fraction, high: Fraction) -> Rounded:
    """A number between two others, over a symbol of its own."""
    const, lost = near((low + high) / 2)
    radius = above((high - low) / 2) + lost + abs(const) * UNIT
    return Rounded(const, {symbol: radius * GROW}, 0.0)
