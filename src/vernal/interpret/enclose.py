"""Elementary functions, enclosed: values, slopes and ranges that certainly contain the true ones.

Every number that leaves this module was computed by Arb's ball arithmetic (through python-flint) and rounded outward;
numpy's own `sin` and `exp` are close but promise nothing. A function is named by its member of `Function`, a power by
its exponent. Where a function is undefined its enclosure is the whole line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vernal.model.expr import Function

Name = Function | Fraction
Floats = NDArray[np.float64]
Ball = Any  # flint.arb
Enclosed = tuple[Floats, Floats]

BITS = 53
LIMITS = dict.fromkeys((Function.SIN, Function.COS, Function.TANH), (-1.0, 1.0)) | {Function.SIGMOID: (0.0, 1.0)}


def _sigmoid(x: Ball) -> Ball:
    return 1 / (1 + (-x).exp())


VALUES: dict[Function, Callable[[Ball], Ball]] = {
    Function.SIN: lambda x: x.sin(),
    Function.COS: lambda x: x.cos(),
    Function.TAN: lambda x: x.tan(),
    Function.TANH: lambda x: x.tanh(),
    Function.EXP: lambda x: x.exp(),
    Function.LOG: lambda x: x.log(),
    Function.SQRT: lambda x: x.sqrt(),
    Function.SIGMOID: _sigmoid,
}

SLOPES: dict[Function, Callable[[Ball], Ball]] = {
    Function.SIN: lambda x: x.cos(),
    Function.COS: lambda x: -x.sin(),
    Function.TAN: lambda x: 1 + x.tan() ** 2,
    Function.TANH: lambda x: 1 - x.tanh() ** 2,
    Function.EXP: lambda x: x.exp(),
    Function.LOG: lambda x: 1 / x,
    Function.SQRT: lambda x: 1 / (2 * x.sqrt()),
    Function.SIGMOID: lambda x: _sigmoid(x) * _sigmoid(-x),
}


def _value(name: Name) -> Callable[[Ball], Ball]:
    if isinstance(name, Function):
        return VALUES[name]
    return lambda x: _power(x, name)


def _slope(name: Name) -> Callable[[Ball], Ball]:
    if isinstance(name, Function):
        return SLOPES[name]
    from flint import arb, fmpq

    factor = arb(fmpq(name.numerator, name.denominator))
    return lambda x: factor * _power(x, name - 1)


def _power(x: Ball, exponent: Fraction) -> Ball:
    """x ^ (p/q) on a ball; nan where it is undefined."""
    if exponent.denominator == 1:
        return x ** int(exponent)
    if x.is_zero():
        return x if exponent > 0 else x.log()  # log(0) is nan
    return x.root(exponent.denominator) ** exponent.numerator


# From balls to floats -------------------------------------------------------------------------------------------------


def _floats(balls: list[Ball], limits: tuple[float, float]) -> Enclosed:
    """Floats below and above each ball; the limits (often infinite) where a ball says nothing."""
    pairs = [_ends(ball) for ball in balls]
    lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return np.maximum(lower, limits[0]), np.minimum(upper, limits[1])


def _ends(ball: Ball) -> tuple[float, float]:
    if not ball.is_finite():
        return -math.inf, math.inf
    lower, upper = float(ball.lower()), float(ball.upper())
    if lower == upper and abs(lower) > 1e-300 and ball.is_exact() and math.isfinite(lower):
        return lower, upper
    if ball.is_zero():
        return 0.0, 0.0
    # one more step outward: the conversion may have rounded to the nearest (subnormal numbers, overflow)
    return math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)


def _limits(name: Name) -> tuple[float, float]:
    return LIMITS.get(name, (-math.inf, math.inf)) if isinstance(name, Function) else (-math.inf, math.inf)


def values(name: Name, x: Floats) -> Enclosed:
    """The function at points."""
    from flint import arb, ctx

    function = _value(name)
    with ctx.workprec(BITS):
        lower, upper = _floats([function(arb(point)) for point in x.ravel().tolist()], _limits(name))
    return lower.reshape(x.shape), upper.reshape(x.shape)


def slopes(name: Name, lower: Floats, upper: Floats) -> Enclosed:
    """The derivative over intervals."""
    from flint import ctx

    function = _slope(name)
    with ctx.workprec(BITS):
        balls = [function(_ball(a, b)) for a, b in zip(lower.ravel().tolist(), upper.ravel().tolist(), strict=True)]
        low, high = _floats(balls, (-math.inf, math.inf))
    return low.reshape(lower.shape), high.reshape(lower.shape)


def _ball(lower: float, upper: float) -> Ball:
    """A ball around an interval."""
    from flint import arb

    return arb(lower) if lower == upper else arb(lower).union(arb(upper))


# Ranges over intervals ------------------------------------------------------------------------------------------------


def ranges(name: Name, lower: Floats, upper: Floats) -> Enclosed:
    """The function's values over intervals: ends, critical points and poles."""
    if name in (Function.SIN, Function.COS):
        return _wave(name, lower, upper)
    at_lower, at_upper = values(name, lower), values(name, upper)
    if name is Function.TAN:
        undefined = _crosses(lower, upper, 0.5, 1)
    elif name is Function.EXP or name in LIMITS:
        undefined = np.zeros(lower.shape, dtype=bool)
    elif name is Function.LOG or (isinstance(name, Fraction) and name < 0):
        undefined = lower <= 0
    else:
        undefined = lower < 0
    falling = isinstance(name, Fraction) and name < 0
    low, high = (at_upper[0], at_lower[1]) if falling else (at_lower[0], at_upper[1])
    if isinstance(name, Fraction) or name in (Function.EXP, Function.SQRT):
        low = np.maximum(low, 0.0)
    return np.where(undefined, -np.inf, low), np.where(undefined, np.inf, high)


def _wave(name: Name, lower: Floats, upper: Floats) -> Enclosed:
    """sin and cos: the ends, and 1 or -1 where a crest or a trough is inside."""
    (a, b), (c, d) = values(name, lower), values(name, upper)
    crest, trough = (0.25, 0.75) if name is Function.SIN else (0.0, 0.5)
    low = np.where(_crosses(lower, upper, trough, 2), -1.0, np.minimum(a, c))
    return low, np.where(_crosses(lower, upper, crest, 2), 1.0, np.maximum(b, d))


def _crosses(lower: Floats, upper: Floats, offset: float, half_turns: int) -> NDArray[np.bool_]:
    """Whether (offset + k) * half_turns * pi may lie in an interval for some integer k; in doubt, yes."""
    from flint import arb, ctx

    def turns(x: float) -> Ball:
        return arb(x) / (half_turns * arb.pi()) - offset

    def inside(a: float, b: float) -> bool:
        first, last = turns(a), turns(b)
        if not (first.is_finite() and last.is_finite()):
            return True
        return bool(last.upper().floor() >= first.lower().ceil())

    with ctx.workprec(BITS):
        found = [inside(a, b) for a, b in zip(lower.ravel().tolist(), upper.ravel().tolist(), strict=True)]
    return np.array(found, dtype=bool).reshape(lower.shape)


# Curvature ------------------------------------------------------------------------------------------------------------


def curvature(name: Name, lower: Floats, upper: Floats) -> NDArray[np.int_]:
    """1 where the function is certainly convex on an interval, -1 where concave, 0 where neither is known."""
    if isinstance(name, Fraction):
        return _power_curvature(name, lower, upper)
    match name:
        case Function.EXP:
            return np.ones(lower.shape, dtype=int)
        case Function.LOG | Function.SQRT:
            return -np.ones(lower.shape, dtype=int)
        case Function.TANH | Function.SIGMOID:
            return np.where(upper <= 0, 1, np.where(lower >= 0, -1, 0))
        case Function.TAN:
            low, high = ranges(name, lower, upper)  # tan'' has the sign of tan
            return np.where(low >= 0, 1, np.where(high <= 0, -1, 0))
    low, high = ranges(name, lower, upper)  # sin'' = -sin, cos'' = -cos
    return np.where(low >= 0, -1, np.where(high <= 0, 1, 0))


def _power_curvature(p: Fraction, lower: Floats, upper: Floats) -> NDArray[np.int_]:
    ones = np.ones(lower.shape, dtype=int)
    if p.denominator != 1:
        return -ones if 0 < p < 1 else ones  # on x >= 0, the domain
    if p % 2 == 0 and p > 0:
        return ones
    left = 1 if p % 2 == 0 else -1  # a negative even power is convex on both sides of its pole, an odd one is not
    return np.where(lower >= 0, 1, np.where(upper <= 0, left, 0))
