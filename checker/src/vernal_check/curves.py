"""Elementary functions over forms: rational enclosures of their values, by series whose remainders are known.

Every value is enclosed in rationals of `BITS` bits. Monotone functions are enclosed by their values at the ends of a
range; `tanh` and `sigmoid` keep the slope that they have at least everywhere in it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt

from vernal_check.errors import Unreadable
from vernal_check.forms import ONE, ZERO, Exact, Form, Interval, Ranges, above, below, between

BITS = 160
SMALL = Fraction(1, 1 << BITS)


class Undefined(Unreadable):
    """A value that does not exist: the root of a negative number, a division by zero."""


def _series(y: Fraction, divisor: Callable[[int], int]) -> Interval:
    """1 + y / d(1) + y^2 / (d(1) d(2)) + ..., in integers that count SMALL; the terms halve from some term on."""
    ratio = (y.numerator << BITS) // y.denominator
    size = (abs(ratio) >> BITS) + 1
    total, term, off, lost, n = 0, 1 << BITS, 0, 0, 0
    while True:
        total, lost, n = total + term, lost + off, n + 1
        d = divisor(n)
        term, off = (term * ratio >> BITS) // d, (off * size + (abs(term) >> BITS) + 1) // d + 3
        if 2 * size <= d and abs(term) <= 1:
            lost += 2 * (abs(term) + off)  # what follows is less than this term once more
            return Fraction(total - lost, 1 << BITS), Fraction(total + lost, 1 << BITS)


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
    low, high = _series(y, lambda n: n)
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
def nth_root(n: int, x: Fraction) -> Interval:
    """The n-th root of a number that is not negative, exact where it is rational."""
    if x < 0:
        raise Undefined("the root of a negative number")
    p, q = whole_root(n, x.numerator), whole_root(n, x.denominator)
    if p**n == x.numerator and q**n == x.denominator:
        return Fraction(p, q), Fraction(p, q)
    shift = BITS + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    low = whole_root(n, (x.numerator << shift * n) // x.denominator)
    return Fraction(low, 1 << shift), Fraction(low + 1, 1 << shift)


def whole_root(n: int, a: int) -> int:
    """The largest integer whose n-th power is at most a, by Newton's iteration from above."""
    if a < 2:
        return a
    x = 1 << -(-a.bit_length() // n)
    while True:
        y = ((n - 1) * x + a // x ** (n - 1)) // n
        if y >= x:
            return x
        x = y


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
    found = _series(-m * m, lambda n: (2 * n - 1) * (2 * n))
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


def minus_inverse(x: Fraction) -> Interval:
    """-1 / x, which rises on both sides of 0."""
    return below(-1 / x, BITS), above(-1 / x, BITS)


RISING: dict[str, Callable[[Fraction], Interval]] = {
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": lambda x: log(1 + x),
    "sqrt": sqrt,
    "atan": atan,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "minus inverse": minus_inverse,
}
# A lower bound of the slope at x, where the function is between p and q; between two ends it is least at one of them.
SLOPES: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
    "exp": lambda x, p, q: p,
    "expm1": lambda x, p, q: p + 1,
    "log": lambda x, p, q: 1 / x,
    "log1p": lambda x, p, q: 1 / (1 + x),
    "sqrt": lambda x, p, q: 1 / (2 * q) if q else ZERO,
    "atan": lambda x, p, q: 1 / (1 + x * x),
    "tanh": lambda x, p, q: 1 - max(p * p, q * q),
    "sigmoid": lambda x, p, q: min(p * (1 - p), q * (1 - q)),
    "minus inverse": lambda x, p, q: 1 / (x * x),
}
EXACT_POINTS = {"exp": (0, 1), "expm1": (0, 0), "log": (1, 0), "log1p": (0, 0), "atan": (0, 0), "tanh": (0, 0)}
EXACT_POINTS |= {"sin": (0, 0), "tan": (0, 0), "cos": (0, 1)}
NAMES = frozenset(EXACT_POINTS) | {"sqrt", "sigmoid"}


def apply(name: str, a: Form, ranges: Ranges) -> Form:
    """An elementary function of a form."""
    low, high = map(Fraction, a.range(ranges))
    if low == high and name in EXACT_POINTS and low == EXACT_POINTS[name][0]:
        return Exact(Fraction(EXACT_POINTS[name][1]))
    if name in RISING:
        return _rising(name, a, low, high)
    if name == "tan":
        return _tangent(low, high)
    if name == "cos":
        return _wave(a, low, high, ZERO, ZERO)
    p, q = pi()
    return _wave(a, low, high, p / 2, q / 2)


def inverse(a: Form, ranges: Ranges) -> Form:
    """1 / a."""
    if a.is_constant and a.value:
        return Exact(1 / a.value)
    low, high = map(Fraction, a.range(ranges))
    if low <= 0 <= high:
        raise Undefined("a division by zero")
    return _rising("minus inverse", a, low, high).times(-ONE)


def root(n: int, a: Form, ranges: Ranges, is_even_power: bool = False) -> Form:
    """The n-th root of a form, whose values are not negative if it is an even power, whatever its ends are."""
    low, high = map(Fraction, a.range(ranges))
    low = max(low, ZERO) if is_even_power else low
    high = max(low, high)

    def slope(x: Fraction, p: Fraction, q: Fraction) -> Fraction:
        """It falls, so that it is least at the upper end."""
        return 1 / (n * q ** (n - 1)) if q else ZERO

    return raised(a, low, high, sqrt if n == 2 else partial(nth_root, n), slope)


def _rising(name: str, a: Form, low: Fraction, high: Fraction) -> Form:
    return raised(a, low, high, RISING[name], SLOPES[name])


def raised(
    a: Form,
    low: Fraction,
    high: Fraction,
    function: Callable[[Fraction], Interval],
    slope: Callable[[Fraction, Fraction, Fraction], Fraction],
) -> Form:
    """f(a) = s a + e: with 0 <= s <= f' between the ends, f(x) - s x rises."""
    at_low, at_high = function(low), function(high)
    if low == high:
        return between(*at_low)
    steep = below(max(ZERO, min(slope(low, *at_low), slope(high, *at_high))), 64)
    ends = at_low[0] - steep * low, at_high[1] - steep * high
    return a.times(steep).plus(Exact(ends[0])).widened(ZERO, ends[1] - ends[0])


def _wave(a: Form, low: Fraction, high: Fraction, p: Fraction, q: Fraction) -> Form:
    """cos(a - t) with t between p and q: by Taylor's formula at the middle m, or between its extremes.

    cos y = cos m - sin m (y - m) - cos z (y - m)^2 / 2 with z between y and m, so that |cos z - cos m| <= r.
    """
    r = above((high - low) / 2, 64)
    if r > Fraction(1, 2) or not r:
        return between(*_cosine(below(low - q, BITS), above(high - p, BITS)))
    m = below((low + high) / 2, 64)
    r = max(high - m, m - low) + (q - p)
    value, turned = _cosine(m - q, m - p), _cosine(m - q + pi()[0] / 2, m - p + pi()[1] / 2)
    slope = below((turned[0] + turned[1]) / 2, 64)  # cos(y + pi/2) = -sin y
    bend = (-value[1] - r) * r * r / 2, (r - value[0]) * r * r / 2
    off = max(turned[1] - slope, slope - turned[0]) * r
    least, most = value[0] + min(bend[0], ZERO) - off, value[1] + max(bend[1], ZERO) + off
    shift = below(least - slope * m, BITS)
    return a.times(slope).plus(Exact(shift)).widened(ZERO, above(most - slope * m - shift, 64))


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
