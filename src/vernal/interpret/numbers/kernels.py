"""Elementary functions for whole batches, with margins that are proven and not measured.

Every kernel uses only operations that IEEE 754 rounds correctly (sums, products, quotients, square roots, rounding to
integers) and moves of bits, so the usual bound holds: an operation is off by at most u = 2^-53 relative, n of them in a
row by gamma(n). Compilers that fuse a product and a sum only leave roundings out. Margins are a little larger than what
is derived, and much larger than what ever occurs: a few 1e-15 relative do not matter to a bound.

A polynomial by Horner's rule of degree n, its coefficients rounded, is off by at most gamma(2n + 1) sum |c_i| |r|^i
(Higham 2002, section 5.1); a rounded square as the argument adds gamma(i) to term i, hence gamma(3n + 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from vernal.interpret.numbers.rounding import PI, TINY, UNIT, Array, Backend, torch_tensor
from vernal.model.expr import Function

Pair = tuple[Array, Array]  # floats below and above

# ln 2 and pi / 2 in parts: LN2[0] has 32 bits, HALF_PI[0] and HALF_PI[1] have 33, so that products with integers of at
# most 20 bits are exact. The sums are off by less than 1e-25 and 1e-36.
LN2 = (float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33"))
HALF_PI = tuple(
    float.fromhex(part) for part in ("0x1.921fb54400000p+0", "0x1.0b4611a600000p-34", "0x1.3198a2e037073p-69")
)
PER_LN2 = 1.4426950408889634
PER_HALF_PI = 0.6366197723675814

STEEP = 700.0  # e^x neither over- nor underflows up to here
MAX_REDUCED = float(2**17)  # beyond, the argument of sin and cos is not reduced here
TANH_SERIES = 0.17  # tanh has a series of its own up to here
EXPM1_SERIES = 0.34  # and so has e^x - 1
LOG1P_SERIES = (-0.29, 0.41)  # between these, log(1 + x) is computed from x
SMALLEST_NORMAL = 2.0**-1022  # of the floats with full precision
LOG_LEAST = (-746.0, -708.0)  # contains the logarithms of all smaller positive floats
LOG_MOST = 709.0  # less than the logarithm of the largest float

EXP = [1.0 / math.factorial(i) for i in range(14)]
EXPM1 = [1.0 / math.factorial(i + 1) for i in range(13)]
SIN = [(-1.0) ** i / math.factorial(2 * i + 1) for i in range(9)]
COS = [(-1.0) ** i / math.factorial(2 * i) for i in range(9)]
ATANH = [1.0 / (2 * i + 1) for i in range(11)]
ATAN = [(-1.0) ** i / (2 * i + 1) for i in range(21)]
ERF = [2.0**i / math.prod(range(1, 2 * i + 2, 2)) for i in range(45)]
ERF_SERIES, ERF_MOST = 2.0, 6.0  # up to where erf has a series, and from where on it is 1 but for rounding
PER_ROOT_PI = 1.1283791670955126  # 2 / sqrt(pi)
EIGHTH = (0.4142135, 2.4142135)  # the tangents of pi / 8 and 3 pi / 8, about


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    value = x * coefficients[-1]
    for c in reversed(coefficients[1:-1]):
        value += c
        value *= x
    value += coefficients[0]
    return value


def _around(value: Array, slack: Array) -> Pair:
    """The value give or take the slack; margins have room for these two roundings as well."""
    return value - slack, value + slack


def _clip(backend: Backend, x: Array, limit: float) -> Array:
    return np.clip(x, -limit, limit) if backend.native else torch_tensor(x).clamp(-limit, limit)


def _integer(backend: Backend, x: Array) -> Array:
    return x.astype(np.int64) if backend.native else torch_tensor(x).to(backend.xp.int64)


def _real(backend: Backend, x: Array) -> Array:
    return x.astype(np.float64) if backend.native else torch_tensor(x).to(backend.xp.float64)


# The exponential and its family ---------------------------------------------------------------------------------------


def _exp(backend: Backend, x: Array) -> Array:
    """e^x for |x| <= 700, off by at most 60 u relative.

    x = k ln 2 + r with |r| < 0.35: k LN2[0] is exact (10 + 32 bits), the two differences are at most 0.36 large and
    lose u times that each, k LN2[1] is less than 2.5e-7 and loses nothing that counts; so r is off by less than u,
    which is as much relative to e^r. Taylor's polynomial of degree 13 leaves out less than
    0.35^14 / 14! e^0.35 < 1e-17, and Horner's rule costs gamma(27) e^0.35 < 39 u, of e^r > 0.704: 56 u.
    The product with 2^k is exact.
    """
    k = backend.xp.round(x * PER_LN2)
    r = x - k * LN2[0]
    r -= k * LN2[1]
    power: Array = (_integer(backend, k) + 1023) << 52
    return cast(Array, _horner(r, EXP) * power.view(backend.xp.float64))


def exp(backend: Backend, x: Array) -> Pair:
    """e^x; where it is extreme, only that."""
    value = _exp(backend, _clip(backend, x, STEEP))
    low, high = _around(value, 64 * UNIT * value)
    low, high = backend.where(x < -STEEP, 0.0, low), backend.where(x > STEEP, np.inf, high)
    return backend.where(x == 0, 1.0, low), backend.where(x == 0, 1.0, high)


def expm1(backend: Backend, x: Array) -> Pair:
    """e^x - 1, off by at most 220 u relative.

    Up to 0.34 it is x q(x) with q of degree 12: Horner's rule costs gamma(25) (e^0.34 - 1) / 0.34 < 30 u of
    q >= (1 - e^-0.34) / 0.34 > 0.847, so less than 36 u relative, and the product u; what is left out is less than
    0.34^13 / 14! < 0.1 u. Beyond, e^x is off by 60 u: of e^x - 1 that is at most 60 u * 1.405 / 0.404 < 209 u above
    and 60 u * 0.712 / 0.288 < 149 u below, and the difference adds u.
    """
    inside = _clip(backend, x, STEEP)
    near = _clip(backend, x, EXPM1_SERIES)
    value = backend.where(abs(x) < EXPM1_SERIES, near * _horner(near, EXPM1), _exp(backend, inside) - 1.0)
    low, high = _around(value, 256 * UNIT * abs(value) + TINY)
    low, high = backend.where(low > -1, low, -1.0), backend.where(x > STEEP, np.inf, high)
    return backend.where(x == 0, 0.0, low), backend.where(x == 0, 0.0, high)


def sigmoid(backend: Backend, x: Array) -> Pair:
    """1 / (1 + e^-x), from E = e^-|x| <= 1, off by 60 u: 1 / (1 + E) by 32 u, E / (1 + E) by less than 95 u."""
    E = _exp(backend, -abs(_clip(backend, x, STEEP)))
    value = backend.where(x >= 0, 1.0, E) / (1.0 + E)
    low, high = _around(value, 128 * UNIT * value)
    low, high = backend.where(x < -STEEP, 0.0, low), backend.where(high < 1, high, 1.0)
    return backend.where(x == 0, 0.5, low), backend.where(x == 0, 0.5, high)


def tanh(backend: Backend, x: Array) -> Pair:
    """The hyperbolic tangent, off by at most 190 u relative.

    Up to 0.17 it is q / (q + 2) with q = e^y - 1, y = 2|x| <= 0.34, as y times a polynomial with positive terms only:
    relative errors do not grow in it, so q is off by gamma(28) and the quotient by less than 60 u (left out: less than
    y^13 / 14! < 1e-16 u). Beyond it is (1 - E) / (1 + E) with E = e^-2|x| < 0.712, off by 60 u: the numerator by
    60 u E / (1 - E) + u < 150 u, the denominator by less than 30 u.
    """
    size = abs(_clip(backend, x, STEEP / 2))
    E = _exp(backend, -2.0 * size)
    y = 2.0 * backend.where(size < TANH_SERIES, size, TANH_SERIES)
    q = y * _horner(y, EXPM1)
    value = backend.where(size < TANH_SERIES, q / (q + 2.0), (1.0 - E) / (1.0 + E))
    low, high = _around(value, 256 * UNIT * value + TINY)
    high = backend.where(high < 1, high, 1.0)
    low, high = backend.where(x >= 0, low, -high), backend.where(x >= 0, high, -low)
    return backend.where(x == 0, 0.0, low), backend.where(x == 0, 0.0, high)


def erf(backend: Backend, x: Array) -> Pair:
    """The error function, off by at most 220 u relative.

    Up to 2 it is 2 / sqrt(pi) x e^-z S(z) with z = x^2 and S(z) = sum (2 z)^n / (1 * 3 * ... * (2n + 1)), whose terms
    are positive: with 45 of them S is off by gamma(3 * 44 + 2) relative, e^-z by 60 u and by 4 u from z, factors and
    products by 6 u. What is left out is less than 1e-28: (2z)^45 / 91!! < 2e-30 at z = 4, and each further term is less
    than a tenth of the one before.
    Beyond it is 1 - e^-z / (sqrt(pi) t) with Laplace's continued fraction t = x + (1/2) / (x + (2/2) / (x + ...)), cut
    off after 40 quotients. Two consecutive convergents have the value between them. They differ by
    prod (k/2) / (q_40 q_41), where the denominators q_k(x) have positive coefficients, so the more the smaller x is: at
    2 by less than 8e-14 relative to t. Each quotient adds 2 u, z <= 36 adds 36 u to the 60 u of e^-z, so the part that
    is taken from 1 is off by less than 190 u + 8e-14, of at most 0.0047: less than 5 u. From 6 on it is under u / 4.
    """
    size = abs(_clip(backend, x, ERF_MOST))
    small = backend.where(size < ERF_SERIES, size, ERF_SERIES)
    near = small * small
    series = PER_ROOT_PI * small * _horner(near, ERF) * _exp(backend, -near)
    large = backend.where(size > ERF_SERIES, size, ERF_SERIES)
    t = large
    for k in range(40, 0, -1):
        t = large + (0.5 * k) / t
    tail = _exp(backend, -(large * large)) * (0.5 * PER_ROOT_PI) / t
    value = backend.where(size < ERF_SERIES, series, 1.0 - tail)
    low, high = _around(value, 256 * UNIT * value + TINY)
    high = backend.where(high < 1, high, 1.0)
    low, high = backend.where(x >= 0, low, -high), backend.where(x >= 0, high, -low)
    return backend.where(x == 0, 0.0, low), backend.where(x == 0, 0.0, high)


# Logarithms and roots -------------------------------------------------------------------------------------------------


def log(backend: Backend, x: Array) -> Pair:
    """The natural logarithm of a positive number, off by at most 50 u relative; anything for others.

    x = 2^k m with sqrt(1/2) <= m <= sqrt(2) up to rounding; log m = 2 atanh s with s = (m - 1) / (m + 1), |s| < 0.172;
    m - 1 is exact, so s is off by 2 u. The series in s^2 < 0.0296 has positive terms, so that its relative error is
    gamma(3 * 10 + 2) and some from s, less than 40 u in all; what is left out is less than 1e-18. k LN2[0] is exact
    (11 + 32 bits), and for k != 0 the sum is at least 0.34 large: 40 u of log m are at most 40 u of it, sums add 3 u.
    """
    full = (x >= SMALLEST_NORMAL) & (x < np.inf)
    bits = backend.where(full, x, 1.0).view(backend.xp.int64)
    k = (bits >> 52) - 1023
    m = ((bits & ((1 << 52) - 1)) | (1023 << 52)).view(backend.xp.float64)
    large = m > 1.4142135
    m = backend.where(large, 0.5 * m, m)
    k = _real(backend, backend.where(large, k + 1, k))
    s = (m - 1.0) / (m + 1.0)
    value = k * LN2[0] + (2.0 * s * _horner(s * s, ATANH) + k * LN2[1])
    low, high = _around(value, 64 * UNIT * abs(value))
    low, high = backend.where(x == 1, 0.0, low), backend.where(x == 1, 0.0, high)
    low = backend.where(full, low, backend.where(x > 1, LOG_MOST, LOG_LEAST[0]))
    high = backend.where(full, high, backend.where(x > 1, np.inf, LOG_LEAST[1]))
    return backend.where(x > 0, low, -np.inf), backend.where(x > 0, high, np.inf)


def log1p(backend: Backend, x: Array) -> Pair:
    """log(1 + x), off by at most 60 u relative; anything where 1 + x is not positive.

    Near 0 it is 2 atanh s with s = x / (2 + x), |s| < 0.171, off by 2 u: as in `log`, less than 45 u in all. Elsewhere
    1 + x is off by u relative, which is u of the logarithm, absolutely, and that is at least 0.34 large.
    """
    near = (x > LOG1P_SERIES[0]) & (x < LOG1P_SERIES[1])
    small = backend.where(near, x, 0.0)
    s = small / (2.0 + small)
    value = 2.0 * s * _horner(s * s, ATANH)
    below, above = _around(value, 64 * UNIT * abs(value) + TINY)
    low, high = log(backend, 1.0 + x)
    low, high = backend.where(near, below, low - 4 * UNIT), backend.where(near, above, high + 4 * UNIT)
    return backend.where(x == 0, 0.0, low), backend.where(x == 0, 0.0, high)


def sqrt(backend: Backend, x: Array) -> Pair:
    """The square root, which IEEE 754 rounds correctly; a point where it is short."""
    root = backend.xp.sqrt(backend.positive(x))
    point = backend.short(root) & (root * root == x)
    low, high = backend.where(point, root, backend.down(root)), backend.where(point, root, backend.up(root))
    return backend.where(x >= 0, low, -np.inf), backend.where(x >= 0, high, np.inf)


# Waves ----------------------------------------------------------------------------------------------------------------


def _wave(backend: Backend, x: Array, quarters: int) -> Pair:
    """sin(x + quarters * pi / 2) for |x| <= 2^17, off by at most 40 u; where x is not reduced, 40 u relative for sin.

    x = k pi / 2 + r with |r| < 0.7855: k has at most 17 bits, so the first two products are exact, and three
    differences of at most 0.79 lose 3 u. Taylor's polynomials leave out less than 1e-17, and Horner's rule costs
    gamma(26) cosh 0.7855 < 35 u for the cosine, gamma(27) sinh 0.7855 < 24 u for the sine; that is gamma(27) 1.107 |r|,
    and |sin r| > 0.9 |r|, so less than 34 u relative. With k = 0 it is r = x, exactly.
    """
    k = backend.xp.round(x * PER_HALF_PI)
    r = x - k * HALF_PI[0]
    r -= k * HALF_PI[1]
    r -= k * HALF_PI[2]
    square = r * r
    quadrant = _integer(backend, k) + quarters
    value = backend.where((quadrant & 1) == 0, r * _horner(square, SIN), _horner(square, COS))
    value = backend.where((quadrant & 2) == 0, value, -value)
    relative = (quadrant == 0) if quarters == 0 else (quadrant != quadrant)
    low, high = _around(value, 64 * UNIT * backend.where(relative, abs(value), 1.0))
    low, high = backend.where(low > -1, low, -1.0), backend.where(high < 1, high, 1.0)
    point = x == 0
    return backend.where(point, float(quarters), low), backend.where(point, float(quarters), high)


def sin(backend: Backend, x: Array) -> Pair:
    """The sine; near 0 with a relative margin, which underflow cannot break by more than TINY."""
    low, high = _wave(backend, x, 0)
    tiny = abs(x) < TINY  # |sin x| <= |x|
    return backend.where(tiny, -abs(x), low), backend.where(tiny, abs(x), high)


def cos(backend: Backend, x: Array) -> Pair:
    """The cosine."""
    return _wave(backend, x, 1)


def tan(backend: Backend, x: Array) -> Pair:
    """sin / cos; anything where the cosine may be 0."""
    (a, b), (c, d) = sin(backend, x), cos(backend, x)
    corners = [backend.quotients(p, q) for p in (a, b) for q in (c, d)]
    low, high = corners[0]
    for below, above in corners[1:]:
        low, high = backend.xp.minimum(low, below), backend.xp.maximum(high, above)
    defined = (c > 0) | (d < 0)
    return backend.where(defined, low, -np.inf), backend.where(defined, high, np.inf)


# Angles ---------------------------------------------------------------------------------------------------------------


def _atan(backend: Backend, size: Array) -> Array:
    """The angle of a slope that is not negative, off by at most 90 u relative, or by 2^-1000.

    It is base + atan r with r = x, (x - 1) / (x + 1) or -1 / x and base = 0, pi / 4 or pi / 2, so that |r| < 0.41422.
    The series in r^2 < 0.17158 leaves out less than r^42 / 43 < 2e-18, and Horner's rule costs
    gamma(3 * 20 + 2) atanh(0.41422) / 0.41422 < 67 u, of atan(r) / r > 0.948; with the last product less than 72 u
    relative. Where the base is not 0, r is off by 3 u relative, atan r < 0.3927 by less than 75 u, so by 30 u, base and
    sum add 2 u, and the whole is at least 0.3926: 82 u. Below 2^-1000 a product may underflow.
    """
    middle, steep = size > EIGHTH[0], size > EIGHTH[1]
    top = backend.where(steep, -1.0, backend.where(middle, size - 1.0, size))
    r = top / backend.where(steep, size, backend.where(middle, size + 1.0, 1.0))
    base = backend.where(steep, 0.5 * PI[0], backend.where(middle, 0.25 * PI[0], 0.0))
    return base + r * _horner(r * r, ATAN)


def atan(backend: Backend, x: Array) -> Pair:
    """The angle of a slope, between -pi / 2 and pi / 2."""
    value = _atan(backend, abs(x))
    low, high = _around(value, 128 * UNIT * value + TINY)
    high = backend.where(high < 0.5 * PI[1], high, 0.5 * PI[1])
    low, high = backend.where(x >= 0, low, -high), backend.where(x >= 0, high, -low)
    return backend.where(x == 0, 0.0, low), backend.where(x == 0, 0.0, high)


def atan2(backend: Backend, y: Array, x: Array) -> Pair:
    """The angle of a point, off by at most 110 u relative; pi where y is 0 and x < 0, any angle where it is not known.

    The quotient of the smaller by the larger coordinate is off by u, its angle by less than 91 u, which is at most
    72 u absolute. pi / 2 less that is at least pi / 4 and off by 75 u, that is 96 u relative; pi less either is at
    least pi / 2 and off by 80 u.
    """
    a, b = abs(y), abs(x)
    steep = a > b
    top, below = backend.where(steep, b, a), backend.where(steep, a, b)
    angle = _atan(backend, top / backend.where(below == 0, 1.0, below))
    angle = backend.where(steep, 0.5 * PI[0] - angle, angle)
    angle = backend.where(x < 0, PI[0] - angle, angle)
    low, high = _around(angle, 128 * UNIT * angle + TINY)
    low, high = backend.where(y >= 0, low, -high), backend.where(y >= 0, high, -low)
    level = (y == 0) & (x > 0)
    low, high = backend.where(level, 0.0, low), backend.where(level, 0.0, high)
    return backend.where(low > -PI[1], low, -PI[1]), backend.where(high < PI[1], high, PI[1])


# The table ------------------------------------------------------------------------------------------------------------

KERNELS: dict[Function | Fraction, Callable[[Backend, Array], Pair]] = {
    Function.SIN: sin,
    Function.COS: cos,
    Function.TAN: tan,
    Function.ATAN: atan,
    Function.TANH: tanh,
    Function.ERF: erf,
    Function.EXP: exp,
    Function.EXPM1: expm1,
    Function.LOG: log,
    Function.LOG1P: log1p,
    Function.SQRT: sqrt,
    Function.SIGMOID: sigmoid,
    Fraction(1, 2): sqrt,
}


def is_reduced(name: Function | Fraction, x: Array) -> Array:
    """Where a kernel's proof covers the argument."""
    if name in (Function.SIN, Function.COS, Function.TAN):
        return abs(x) <= MAX_REDUCED
    return cast(Array, x == x)
