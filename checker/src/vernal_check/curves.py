"""Elementary functions over forms: rational enclosures of their values, by series whose remainders are known.

Every value is enclosed in rationals of `BITS` bits. Monotone functions are enclosed by their values at the ends of a
range; `tanh` and `sigmoid` keep the slope that they have at least everywhere in it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from vernal_check.forms import ONE, ZERO, Form, Interval, Ranges, above, below, between

BITS = 160
SMALL = Fraction(1, 1 << BITS)


class Undefined(Exception):
    """A value that does not exist: the root of a negative number, a division by zero."""


def _series(x: Fraction, first: Fraction, ratio: Callable[[int], Fraction]) -> Interval:
    """The sum of first * ratio(1) * ratio(2) ..., whose terms at least halve from some term on."""
    total, term, n = ZERO, first, 0
    while True:
        total += term
        n += 1
        step = ratio(n)
        term = _near(term * step)
        if abs(step) <= Fraction(1, 2) and abs(term) < SMALL:
            error = 4 * abs(term) + (4 * n + 8) * SMALL  # each term is off by less than 2 SMALL, and so is what follows
            return below(total - error, BITS), above(total + error, BITS)


def _near(a: Fraction) -> Fraction:
    """A multiple of SMALL next to a number, towards zero: off by less than SMALL."""
    count = (abs(a.numerator) << BITS) // a.denominator
    return Fraction(count if a.numerator >= 0 else -count, 1 << BITS)


@lru_cache(maxsize=65536)
def exp(x: Fraction) -> Interval:
    """The exponential function: exp(x / 2^k)^(2^k), with |x / 2^k| at most 1/2."""
    if x > 20_000:
        raise Undefined("an exponential is too large to be written down")
    if x < -20_000:
        return ZERO, exp(Fraction(-20_000))[1]
    k = max(0, (abs(x.numerator) // x.denominator).bit_length() + 1)
    y = x / (1 << k)
    low, high = _series(y, ONE, lambda n: y / n)
    for _ in range(k):
        low, high = below(low * low, 2 * BITS), above(high * high, 2 * BITS)
    return max(low, ZERO), high


@lru_cache(maxsize=65536)
def log(x: Fraction) -> Interval:
    """The natural logarithm: 2 artanh((m - 1)/(m + 1)) + k log 2, with x = m 2^k and m between 1/2 and 2."""
    if x <= 0:
        raise Undefined("the logarithm of a number that is not positive")
    k = x.numerator.bit_length() - x.denominator.bit_length()
    low, high = _artanh_twice(x / Fraction(2) ** k)
    two = _artanh_twice(Fraction(2))
    return (low + k * two[0], high + k * two[1]) if k >= 0 else (low + k * two[1], high + k * two[0])


def _artanh_twice(m: Fraction) -> Interval:
    z = (m - 1) / (m + 1)
    total, power, n = ZERO, z, 0
    while abs(power) >= SMALL or n == 0:
        total += _near(power / (2 * n + 1))
        power = _near(power * z * z)
        n += 1
    error = 4 * SMALL + 4 * (n + 1) * SMALL  # |z| <= 1/3: what is left out is less than twice the last power
    return 2 * (total - error), 2 * (total + error)


@lru_cache(maxsize=1)
def pi() -> Interval:
    """Machin's formula."""
    a, b = _atan_small(Fraction(1, 5)), _atan_small(Fraction(1, 239))
    return 16 * a[0] - 4 * b[1], 16 * a[1] - 4 * b[0]


def _atan_small(x: Fraction) -> Interval:
    """The arc tangent for |x| at most 1/2."""
    total, power, n = ZERO, x, 0
    while abs(power) >= SMALL or n == 0:
        total += _near(power / (2 * n + 1)) * (-1) ** n
        power = _near(power * x * x)
        n += 1
    error = 2 * SMALL + 4 * (n + 1) * SMALL
    return total - error, total + error


def atan(x: Fraction) -> Interval:
    """atan x = pi/2 - atan(1/x) beyond 1, and 2 atan(x / (1 + sqrt(1 + x^2))) below."""
    if x < 0:
        low, high = atan(-x)
        return -high, -low
    if x > 1:
        (low, high), (p, q) = atan(1 / x), pi()
        return p / 2 - high, q / 2 - low
    p, q = sqrt(1 + x * x)
    return 2 * _atan_small(below(x / (1 + q), BITS))[0], 2 * _atan_small(above(x / (1 + p), BITS))[1]


@lru_cache(maxsize=65536)
def sqrt(x: Fraction) -> Interval:
    """Square roots, exact where they are rational."""
    if x < 0:
        raise Undefined("the square root of a negative number")
    p, q = isqrt(x.numerator), isqrt(x.denominator)
    if p * p == x.numerator and q * q == x.denominator:
        return Fraction(p, q), Fraction(p, q)
    shift = 2 * (BITS + max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    low = isqrt((x.numerator << shift) // x.denominator)
    return Fraction(low, 1 << shift // 2), Fraction(low + 1, 1 << shift // 2)


@lru_cache(maxsize=65536)
def cos(x: Fraction) -> Interval:
    """cos by its series, which alternates; the argument is at most about 2^20."""
    if abs(x) > 1 << 20:
        return -ONE, ONE
    p, q = pi()
    turns = round(x / (p + q))  # 2 pi lies between 2 p and 2 q
    ends = (x - 2 * turns * p, x - 2 * turns * q)
    low, high = min(ends), max(ends)
    m = below((low + high) / 2, BITS)
    found = _series(m, ONE, lambda n: -m * m / ((2 * n - 1) * (2 * n)))
    error = max(high - m, m - low)  # the slope is at most 1
    return max(found[0] - error, -ONE), min(found[1] + error, ONE)


def sigmoid(x: Fraction) -> Interval:
    if x < 0:
        low, high = sigmoid(-x)
        return 1 - high, 1 - low
    low, high = exp(-x)
    return below(1 / (1 + high), BITS), above(1 / (1 + low), BITS)


def tanh(x: Fraction) -> Interval:
    low, high = sigmoid(2 * x)
    return 2 * low - 1, 2 * high - 1


def expm1(x: Fraction) -> Interval:
    low, high = exp(x)
    return low - 1, high - 1


RISING: dict[str, Callable[[Fraction], Interval]] = {
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": lambda x: log(1 + x),
    "sqrt": sqrt,
    "atan": atan,
    "tanh": tanh,
    "sigmoid": sigmoid,
}
EXACT_POINTS = {"exp": (0, 1), "expm1": (0, 0), "log": (1, 0), "log1p": (0, 0), "atan": (0, 0), "tanh": (0, 0)}
NAMES = frozenset((*RISING, "sin", "cos", "tan"))


def apply(name: str, a: Form, ranges: Ranges) -> Form:
    """An elementary function of a form."""
    low, high = a.range(ranges)
    if low == high and name in ("sin", "tan") and low == 0:
        return Form(ZERO)
    if low == high == 0 and name == "cos":
        return Form(ONE)
    if low == high and name in EXACT_POINTS and low == EXACT_POINTS[name][0]:
        return Form(Fraction(EXACT_POINTS[name][1]))
    if name in ("tanh", "sigmoid") and low < high:
        return _squashed(name, a, low, high)
    if name in RISING:
        return between(RISING[name](low)[0], RISING[name](high)[1])
    if name == "tan":
        return _tangent(low, high)
    if name == "sin":
        p, q = pi()
        low, high = below(low - q / 2, BITS), above(high - p / 2, BITS)
    return between(*_cosine(low, high))


def _squashed(name: str, a: Form, low: Fraction, high: Fraction) -> Form:
    """f(a) = s a + e: with 0 <= s <= f' between the ends, f(x) - s x rises."""
    function = RISING[name]
    at_low, at_high = function(low), function(high)
    slope = max(ZERO, min(_slope(name, at_low), _slope(name, at_high)))
    ends = at_low[0] - slope * low, at_high[1] - slope * high
    return a.times(slope).plus(Form(ends[0])).widened(ZERO, ends[1] - ends[0])


def _slope(name: str, value: Interval) -> Fraction:
    """A lower bound of the slope where the value of the function is enclosed."""
    low, high = value
    if name == "tanh":
        return below(1 - max(low * low, high * high), 64)
    return below(min(low * (1 - low), high * (1 - high)), 64)


def _cosine(low: Fraction, high: Fraction) -> Interval:
    """The range of the cosine: its values at the ends, and 1 or -1 where a multiple of pi may lie between them."""
    p, q = pi()
    if high - low >= 2 * q:
        return -ONE, ONE
    values = [cos(low), cos(high)]
    least, most = min(v[0] for v in values), max(v[1] for v in values)
    first, last = _floor(low / q) - 1, _floor(high / p) + 2
    for k in range(min(first, last), max(first, last) + 1):
        ends = (k * p, k * q)
        if max(ends) >= low and min(ends) <= high:
            least, most = (least, ONE) if k % 2 == 0 else (-ONE, most)
    return max(least, -ONE), min(most, ONE)


def _tangent(low: Fraction, high: Fraction) -> Form:
    if low <= Fraction(-3, 2) or high >= Fraction(3, 2):
        raise Undefined("a tangent beyond 3/2 is not enclosed")
    ends = []
    for x in (low, high):
        (c, d), (s, t) = cos(x), _cosine(x - pi()[1] / 2, x - pi()[0] / 2)
        ends.append((min(s / c, s / d), max(t / c, t / d)))
    return between(below(ends[0][0], BITS), above(ends[1][1], BITS))


def _floor(a: Fraction) -> int:
    return a.numerator // a.denominator
