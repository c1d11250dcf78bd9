"""Numbers that depend on the state: affine forms over symbols with an error, in exact rational arithmetic.

A form stands for `const + sum(coefficient * symbol) + e` with e in [low, high]. Every symbol has a range; the value of
a form over all of these contains what it stands for. At a single state a form is a constant, and all is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

Interval = tuple[Fraction, Fraction]
Ranges = Mapping[int, Interval]
ZERO, ONE = Fraction(0), Fraction(1)
MAX_BITS = 256  # of a numerator or denominator, before a form that is no constant is rounded outward
KEPT_BITS = 192


@dataclass(frozen=True)
class Form:
    """`const + sum(terms) + [low, high]`."""

    const: Fraction
    terms: Mapping[int, Fraction] = field(default_factory=dict)
    low: Fraction = ZERO
    high: Fraction = ZERO

    @property
    def is_constant(self) -> bool:
        return not self.terms and self.low == self.high == 0

    def range(self, ranges: Ranges) -> Interval:
        """The least and the largest value."""
        low, high = self.const + self.low, self.const + self.high
        for symbol, a in self.terms.items():
            at_low, at_high = ranges[symbol]
            low, high = (low + a * at_low, high + a * at_high) if a > 0 else (low + a * at_high, high + a * at_low)
        return low, high

    def plus(self, other: Form) -> Form:
        if not other.terms and not self.terms:
            return Form(self.const + other.const, {}, self.low + other.low, self.high + other.high)
        terms = dict(self.terms)
        for symbol, a in other.terms.items():
            terms[symbol] = terms.get(symbol, ZERO) + a
        kept = {symbol: a for symbol, a in terms.items() if a}
        return Form(self.const + other.const, kept, self.low + other.low, self.high + other.high)

    def times(self, a: Fraction) -> Form:
        if not a:
            return Form(ZERO)
        low, high = (self.low * a, self.high * a) if a > 0 else (self.high * a, self.low * a)
        return Form(self.const * a, {symbol: a * b for symbol, b in self.terms.items()}, low, high)

    def minus(self, other: Form) -> Form:
        return self.plus(other.times(-ONE))

    def widened(self, low: Fraction, high: Fraction) -> Form:
        """The form with an error from low to high more."""
        return Form(self.const, self.terms, self.low + low, self.high + high)

    def rounded(self, ranges: Ranges) -> Form:
        """The same form, or one with shorter numbers that contains it."""
        numbers = (self.const, self.low, self.high, *self.terms.values())
        if self.is_constant or all(bits(a) <= MAX_BITS for a in numbers):
            return self
        error, terms = ZERO, {}
        for symbol, a in self.terms.items():
            terms[symbol] = shortened(a)
            error += abs(a - terms[symbol]) * max(map(abs, ranges[symbol]))
        const = shortened(self.const)
        error += abs(self.const - const)
        return Form(const, terms, below(self.low - error), above(self.high + error))


def constant(value: Fraction | int) -> Form:
    return Form(Fraction(value))


def between(low: Fraction, high: Fraction) -> Form:
    """Any value of an interval."""
    return Form(low, {}, ZERO, high - low)


# Short numbers --------------------------------------------------------------------------------------------------------


def bits(a: Fraction) -> int:
    return max(a.numerator.bit_length(), a.denominator.bit_length())


def below(a: Fraction, kept: int = KEPT_BITS) -> Fraction:
    """A number with about so many bits, not larger."""
    if bits(a) <= kept:
        return a
    shift = kept - (a.numerator.bit_length() - a.denominator.bit_length())
    if shift >= 0:
        return Fraction((a.numerator << shift) // a.denominator, 1 << shift)
    return Fraction(a.numerator // (a.denominator << -shift) << -shift)


def above(a: Fraction, kept: int = KEPT_BITS) -> Fraction:
    return -below(-a, kept)


def shortened(a: Fraction) -> Fraction:
    return below(a)


# Products and powers --------------------------------------------------------------------------------------------------


def product(a: Form, b: Form, ranges: Ranges) -> Form:
    """a b = m b + n a - m n + (a - m)(b - n), with m and n in the middle of their ranges."""
    if a.is_constant:
        return b.times(a.const)
    if b.is_constant:
        return a.times(b.const)
    (a_low, a_high), (b_low, b_high) = a.range(ranges), b.range(ranges)
    m, n = below((a_low + a_high) / 2), below((b_low + b_high) / 2)
    rest = max(a_high - m, m - a_low) * max(b_high - n, n - b_low)
    least = ZERO if a is b else -rest  # equal forms of different terms have errors of their own
    return b.times(m).plus(a.times(n)).plus(Form(-m * n)).widened(least, rest)


def power(a: Form, exponent: int, ranges: Ranges) -> Form:
    """A natural power: of a constant exactly, else by the range, and squares by their tangent in the middle."""
    if a.is_constant:
        return Form(a.const**exponent)
    if exponent == 0:
        return Form(ONE)
    if exponent == 1:
        return a
    if exponent == 2:
        return product(a, a, ranges)
    low, high = a.range(ranges)
    ends = (low**exponent, high**exponent)
    return between(ZERO if exponent % 2 == 0 and low <= 0 <= high else min(ends), max(ends))


def reciprocal(a: Form, ranges: Ranges) -> Form | None:
    """1 / a; None where a may be zero."""
    low, high = a.range(ranges)
    if low <= 0 <= high:
        return None
    return Form(1 / a.const) if a.is_constant else between(below(1 / high), above(1 / low))


def rectified(a: Form, ranges: Ranges) -> Form:
    """max(a, 0): where the sign is open, between its chord and the chord's parallel below."""
    low, high = a.range(ranges)
    if low >= 0:
        return a
    if high <= 0:
        return Form(ZERO)
    slope = below(high / (high - low), 64)
    # a -> max(a, 0) - slope a is convex, so largest at an end and least at 0
    return a.times(slope).widened(ZERO, max(-slope * low, (1 - slope) * high))
