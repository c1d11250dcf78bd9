"""Numbers that depend on the state: affine forms over symbols with an error.

A form stands for `const + sum(coefficient * symbol) + e` with e in [low, high]. Every symbol has a range; the value of
a form over all of these contains what it stands for. `Exact` forms are rational numbers, and at a single state a form
is a constant, and all is exact. Forms in floats are in `directed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any

from vernal_check.errors import Endless

Interval = tuple[Any, Any]  # two rational numbers or infinities, or two floats in the directed mode
Ranges = Mapping[int, Interval]
ZERO, ONE = Fraction(0), Fraction(1)
NO_TERMS: Mapping[int, Fraction] = {}
MAX_BITS = 256  # of a numerator or denominator, before a form that is no constant is shortened
KEPT_BITS = 192


class Form:
    """What both kinds of forms can do."""

    terms: Mapping[int, Any]
    is_constant: bool

    @property
    def value(self) -> Fraction:
        """The number that a constant is."""
        raise NotImplementedError

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it apart from others."""
        raise NotImplementedError

    def range(self, ranges: Ranges) -> Interval:
        """The least and the largest value."""
        raise NotImplementedError

    def ends(self, ranges: Ranges) -> Interval:
        """The same, with an infinity where there is no end."""
        return self.range(ranges)

    def plus(self, other: Form) -> Form:
        raise NotImplementedError

    def times(self, a: Fraction) -> Form:
        raise NotImplementedError

    def product(self, other: Form, ranges: Ranges) -> Form:
        raise NotImplementedError

    def rectified(self, ranges: Ranges) -> Form:
        """max(a, 0)."""
        raise NotImplementedError

    def widened(self, low: Fraction, high: Fraction) -> Form:
        """The form with an error from low to high more."""
        raise NotImplementedError

    def shortened(self, ranges: Ranges) -> Form:
        """The same form, or one with shorter numbers that contains it."""
        raise NotImplementedError

    def limit(self, low: Any, a: Any, at: Any) -> Any:
        """How far a symbol goes from `at`, where the form is `low`, until it is 0; `a` is the symbol's coefficient."""
        raise NotImplementedError

    def minus(self, other: Form) -> Form:
        if self.is_constant and other.is_constant:
            return Exact(self.value - other.value)
        return self.plus(other.times(-ONE))

    def power(self, exponent: int, ranges: Ranges) -> Form:
        """A natural power."""
        if exponent == 0:
            return Exact(ONE)
        half = self.power(exponent // 2, ranges) if exponent > 1 else None
        made = self if half is None else half.product(half, ranges)
        return made.product(self, ranges) if exponent > 1 and exponent % 2 else made


class Exact(Form):
    """`const + sum(terms) + [low, high]` in rational numbers."""

    __slots__ = ("const", "high", "is_constant", "low", "terms")

    def __init__(
        self, const: Fraction, terms: Mapping[int, Fraction] = NO_TERMS, low: Fraction = ZERO, high: Fraction = ZERO
    ) -> None:
        self.const, self.terms, self.low, self.high = const, terms, low, high
        self.is_constant = not terms and (low is high is ZERO or (not low and not high))

    @property
    def value(self) -> Fraction:
        return self.const

    @property
    def key(self) -> tuple[object, ...]:
        return self.const, self.low, self.high, *sorted(self.terms.items())

    def range(self, ranges: Ranges) -> Interval:
        low, high = self.ends(ranges)
        if isinstance(low, float) or isinstance(high, float):
            raise Endless("a value has no end over this set")
        return low, high

    def ends(self, ranges: Ranges) -> Interval:
        if self.is_constant:
            return self.const, self.const
        low, high = self.const + self.low, self.const + self.high
        endless = [False, False]
        for symbol, a in self.terms.items():
            at_low, at_high = ranges[symbol] if a > 0 else reversed(ranges[symbol])
            if isinstance(at_low, float) or isinstance(at_high, float):  # an infinity, which is not computed with
                endless = [endless[0] or isinstance(at_low, float), endless[1] or isinstance(at_high, float)]
            low = low if isinstance(at_low, float) else low + a * at_low
            high = high if isinstance(at_high, float) else high + a * at_high
        return -inf if endless[0] else low, inf if endless[1] else high

    def plus(self, other: Form) -> Form:
        if not isinstance(other, Exact):
            return other.plus(self)
        if self.is_constant and other.is_constant:
            return Exact(self.const + other.const)
        terms = {**other.terms, **self.terms}
        for symbol in self.terms.keys() & other.terms.keys():
            terms[symbol] = self.terms[symbol] + other.terms[symbol]
            if not terms[symbol]:
                del terms[symbol]
        return Exact(self.const + other.const, terms, self.low + other.low, self.high + other.high)

    def times(self, a: Fraction) -> Form:
        if not a or self.is_constant:
            return Exact(self.const * a)
        low, high = (self.low * a, self.high * a) if a > 0 else (self.high * a, self.low * a)
        return Exact(self.const * a, {symbol: a * b for symbol, b in self.terms.items()}, low, high)

    def product(self, other: Form, ranges: Ranges) -> Form:
        """a b = m b + n a - m n + (a - m)(b - n), with m and n in the middle of their ranges."""
        if self.is_constant:
            return other.times(self.const)
        if not isinstance(other, Exact) or other.is_constant:
            return other.product(self, ranges)
        (a_low, a_high), (b_low, b_high) = self.range(ranges), other.range(ranges)
        m, n = below((a_low + a_high) / 2), below((b_low + b_high) / 2)
        rest = max(a_high - m, m - a_low) * max(b_high - n, n - b_low)
        least = ZERO if self is other else -rest  # equal forms of different terms have errors of their own
        return other.times(m).plus(self.times(n)).plus(Exact(-m * n)).widened(least, rest)

    def rectified(self, ranges: Ranges) -> Form:
        """Where the sign is open, between its chord and the chord's parallel below."""
        low, high = self.range(ranges)
        if low >= 0:
            return self
        if high <= 0:
            return Exact(ZERO)
        slope = below(high / (high - low), 64)
        # a -> max(a, 0) - slope a is convex, so largest at an end and least at 0
        return self.times(slope).widened(ZERO, max(-slope * low, (1 - slope) * high))

    def widened(self, low: Fraction, high: Fraction) -> Form:
        return Exact(self.const, self.terms, self.low + low, self.high + high)

    def shortened(self, ranges: Ranges) -> Form:
        if self.is_constant:
            return self
        numbers = (self.const, self.low, self.high, *self.terms.values())
        if all(bits(a) <= MAX_BITS for a in numbers):
            return self
        error, terms = ZERO, {}
        for symbol, a in self.terms.items():
            if isinstance(ranges[symbol][0], float) or isinstance(ranges[symbol][1], float):
                terms[symbol] = a  # of a symbol without an end nothing may be left out
                continue
            terms[symbol] = below(a)
            error += abs(a - terms[symbol]) * max(map(abs, ranges[symbol]))
        const = below(self.const)
        error += abs(self.const - const)
        return Exact(const, terms, below(self.low - error), above(self.high + error))

    def without(self, symbol: int) -> Exact:
        """The form with 0 for one symbol."""
        return Exact(self.const, {s: a for s, a in self.terms.items() if s != symbol}, self.low, self.high)

    def limit(self, low: Fraction, a: Fraction, at: Fraction) -> Fraction:
        return at - low / a


def constant(value: Fraction | int) -> Form:
    return Exact(Fraction(value))


def between(low: Fraction, high: Fraction) -> Form:
    """Any value of an interval."""
    return Exact(low, {}, ZERO, high - low)


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
