"""Elementary functions, enclosed: values and ranges that certainly contain the true ones, and their curvature.

Batches go through `kernels`, whose margins are proven, and fractional powers through `roots`. What these do not cover
(the root of 0, the sine of a very large number) goes point by point through Arb's ball arithmetic (python-flint),
rounded outward. A function is named by its member of `Function`, a power by its exponent. Where a function is undefined
its enclosure is the whole line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.kernels import KERNELS, atan2, is_reduced
from vernal.interpret.numbers.roots import is_rooted, powers
from vernal.interpret.numbers.rounding import PI, UNIT, Array, Backend, Floats, float_above, float_below, torch_tensor
from vernal.model.expr import Function
from vernal.model.traits import FUNCTIONS

Elementary = Function | Fraction
Ball = Any  # flint.arb
Enclosed = tuple[Array, Array]

BITS = 53
WAVES = tuple(function for function, entry in CALCULUS.items() if entry.curvature is None)
PER_PI = 0.3183098861837907


def values(backend: Backend, name: Elementary, x: Array) -> Enclosed:
    """The function at points."""
    kernel = KERNELS.get(name)
    if kernel is None:
        return _by_balls(backend, name, x)
    if backend.traces:  # what is traced is covered, see `is_covered`
        return kernel(backend, x)
    covered = is_reduced(name, x)
    if bool(covered.all()):
        return kernel(backend, x)
    low, high = kernel(backend, backend.where(covered, x, 1.0))
    below, above = _by_balls(backend, name, x[~covered])
    low[~covered], high[~covered] = below, above
    return low, high


def is_covered(name: Elementary, *ends: Array) -> bool:
    """Whether kernels have a proof for the function at all these points."""
    return name in KERNELS and (name not in WAVES or all(bool(is_reduced(name, x).all()) for x in ends))


# Ball by ball ---------------------------------------------------------------------------------------------------------


def _by_balls(backend: Backend, name: Elementary, x: Array) -> Enclosed:
    points = np.asarray(x if backend.native else torch_tensor(x).cpu())
    if isinstance(name, Fraction) and is_rooted(name):
        low, high = by_roots(name, points)
    else:
        low, high = by_balls(name, points)
    return backend.array(low), backend.array(high)


def by_roots(exponent: Fraction, x: Floats) -> tuple[Floats, Floats]:
    """A fractional power at points: at once where that is proven, by Arb elsewhere."""
    low, high, proven = powers(x, exponent)
    if not proven.all():
        low[~proven], high[~proven] = by_balls(exponent, x[~proven])
    return low, high


def by_balls(name: Elementary, x: Floats) -> tuple[Floats, Floats]:
    """The function at points, by Arb."""
    from flint import arb, ctx

    function = CALCULUS[name].ball if isinstance(name, Function) else lambda ball: _power(ball, name)
    with ctx.workprec(BITS):
        pairs = [_ends(function(arb(point))) for point in x.ravel().tolist()]
    lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    least, most = limits(name)
    return np.maximum(lower, least).reshape(x.shape), np.minimum(upper, most).reshape(x.shape)


def limits(name: Elementary) -> tuple[float, float]:
    """Floats between which all values of a function lie; where it is undefined, there are none."""
    least, most = CALCULUS[name].ends if isinstance(name, Function) and FUNCTIONS[name].total else (None, None)
    return -math.inf if least is None else float_below(least), math.inf if most is None else float_above(most)


def _power(x: Ball, exponent: Fraction) -> Ball:
    """x ^ (p/q) on a ball; nan where it is undefined."""
    if exponent.denominator == 1:
        return x ** int(exponent)
    if x.is_zero():
        return x if exponent > 0 else x.log()  # log(0) is nan
    return x.root(exponent.denominator) ** exponent.numerator


def _ends(ball: Ball) -> tuple[float, float]:
    """Floats below and above a ball; infinite where it is unbounded."""
    if not ball.is_finite():
        return -math.inf, math.inf
    lower, upper = float(ball.lower()), float(ball.upper())
    if lower == upper and abs(lower) > 1e-300 and ball.is_exact() and math.isfinite(lower):
        return lower, upper
    if ball.is_zero():
        return 0.0, 0.0
    # one more step outward: the conversion may have rounded to the nearest (subnormal numbers, overflow)
    return math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)


# Ranges over intervals ------------------------------------------------------------------------------------------------


def ranges(backend: Backend, name: Elementary, lower: Array, upper: Array) -> Enclosed:
    """The function's values over intervals: ends, critical points and poles."""
    at_lower, at_upper = values(backend, name, lower), values(backend, name, upper)
    if name in (Function.SIN, Function.COS):
        return _wave(backend, name, lower, upper, at_lower, at_upper)
    if isinstance(name, Function) and not FUNCTIONS[name].monotone:
        raise LookupError(f"the range of {name.value} is not known from the ends of an interval")
    falling = isinstance(name, Fraction) and name < 0
    low, high = (at_upper[0], at_lower[1]) if falling else (at_lower[0], at_upper[1])
    if isinstance(name, Fraction) or CALCULUS[name].ends[0] == 0:
        low = backend.positive(low)
    if isinstance(name, Function) and FUNCTIONS[name].total:
        return low, high
    undefined = _undefined(backend, name, lower, upper)
    return backend.where(undefined, -np.inf, low), backend.where(undefined, np.inf, high)


def _undefined(backend: Backend, name: Elementary, lower: Array, upper: Array) -> Array:
    """Where an interval may hold a point outside the domain."""
    if isinstance(name, Fraction):
        return lower <= 0 if name < 0 else lower < 0
    if CALCULUS[name].poles:
        return crossings(backend, name, lower, upper, pole=True)[1] > 0
    domain = CALCULUS[name].domain
    assert domain is not None
    return lower < domain.edge if domain.closed else lower <= domain.edge


def angles(backend: Backend, y: Enclosed, x: Enclosed) -> Enclosed:
    """The angles of the points of boxes (lower and upper ends of y and of x): from the corners, since along an edge
    the angle rises or falls; any angle where the box meets the jump at y = 0, x < 0 from below.
    """
    corners = [atan2(backend, b, a) for a in x for b in y]
    low, high = reduce(backend.xp.minimum, [p for p, _ in corners]), reduce(backend.xp.maximum, [q for _, q in corners])
    smooth, defined = is_smooth_angle(y, x)
    low, high = backend.where(smooth, low, -PI[1]), backend.where(smooth, high, PI[1])
    return backend.where(defined, low, -np.inf), backend.where(defined, high, np.inf)


def is_smooth_angle(y: Enclosed, x: Enclosed) -> tuple[Array, Array]:
    """Boxes over which the angle is continuous, and boxes without the origin."""
    defined = (x[0] > 0) | (x[1] < 0) | (y[0] > 0) | (y[1] < 0)
    return defined & ((x[0] >= 0) | (y[0] >= 0) | (y[1] < 0)), defined


def _wave(backend: Backend, name: Elementary, lower: Array, upper: Array, first: Enclosed, last: Enclosed) -> Enclosed:
    """sin and cos: the ends, and 1 or -1 where a crest or a trough is inside."""
    crest, trough = (0.25, 0.75) if name is Function.SIN else (0.0, 0.5)
    low, high = backend.xp.minimum(first[0], last[0]), backend.xp.maximum(first[1], last[1])
    for offset, value in ((crest, 1.0), (trough, -1.0)):
        _, count = _multiples(backend, lower, upper, offset, 0.5 * PER_PI)
        inside = ~(count <= 0)  # not finite: in doubt, yes
        if value > 0:
            high = backend.where(inside, value, high)
        else:
            low = backend.where(inside, value, low)
    return low, high


def crossings(
    backend: Backend, name: Elementary, lower: Array, upper: Array, *, pole: bool = False
) -> tuple[Array, Array]:
    """The first k and the number of k for which the k-th inflection (or pole) may lie in an interval."""
    return _multiples(backend, lower, upper, 0.5 if pole or name is Function.COS else 0.0, PER_PI)


def _multiples(backend: Backend, lower: Array, upper: Array, offset: float, per: float) -> tuple[Array, Array]:
    """The first integer k with (k + offset) / per possibly in an interval, and how many there may be; in doubt, more.

    x * per - offset is off by the rounding of `per`, of the product and of the difference: less than 8 u (|x| per + 1).
    """

    def turns(x: Array, side: float) -> Array:
        t = x * per
        return t - offset + side * (8 * UNIT * (abs(t) + 1.0))

    first = backend.xp.ceil(turns(lower, -1.0))
    count = backend.xp.floor(turns(upper, 1.0)) - first + 1.0
    return first, backend.where(backend.xp.isfinite(count), count, np.inf)


# Curvature ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """The curvature of a function on intervals: 1 convex, -1 concave at the left and the right end; 0 is not known.

    Where the two differ there is one inflection, between `before` and `after`.
    """

    left: Array
    right: Array
    before: Array
    after: Array


def curvature(backend: Backend, name: Elementary, lower: Array, upper: Array) -> Curvature:
    """Where a function is convex and where concave; on intervals where it is defined."""
    zero = backend.xp.zeros_like(lower)
    if name in WAVES:
        return _wave_bend(backend, name, lower, upper)
    below, above = _signs(name)
    return _around(backend, zero + below, zero + above, zero, zero, lower, upper)


def may_bend(name: Elementary) -> bool:
    """Whether a function has an inflection anywhere."""
    if name in WAVES:
        return True
    below, above = _signs(name)
    return below != above


def _signs(name: Elementary) -> tuple[float, float]:
    """The curvature below and above 0."""
    if isinstance(name, Fraction):
        right = -1.0 if 0 < name < 1 else 1.0
        if name.denominator != 1:
            return right, right  # defined from 0 on
        return (1.0 if name % 2 == 0 else -1.0), right
    signs = CALCULUS[name].curvature
    assert signs is not None
    return float(signs[0]), float(signs[1])


def _wave_bend(backend: Backend, name: Elementary, lower: Array, upper: Array) -> Curvature:
    """Inflections are the zeros; sin and cos are concave above 0, tan is convex there."""
    first, count = crossings(backend, name, lower, upper)
    place = (first + (0.5 if name is Function.COS else 0.0)) * np.pi
    slack = 4 * UNIT * abs(place)  # of the circle number and of the product
    odd = first - 2.0 * backend.xp.floor(0.5 * first)
    if name is Function.TAN:
        right = backend.xp.ones_like(first)
        alone = backend.where(lower > place - 0.5 * np.pi, -1.0, 1.0)  # between a pole and the inflection, or before
    else:
        right = 2.0 * odd - 1.0 if name is Function.SIN else 1.0 - 2.0 * odd
        alone = -right
    found = _around(backend, -right, right, place - slack, place + slack, lower, upper)
    known, none = (count <= 1) & backend.xp.isfinite(place), count <= 0
    left, right = (backend.where(none, alone, side) for side in (found.left, found.right))
    left, right = (backend.where(known, side, 0.0) for side in (left, right))
    return Curvature(left, right, found.before, found.after)


def _around(
    backend: Backend, left: Array, right: Array, before: Array, after: Array, lower: Array, upper: Array
) -> Curvature:
    """Intervals on one side of the inflection have one curvature; an end that may be on either side is not known."""
    doubt = ((lower > before) & (lower < after)) | ((upper > before) & (upper < after))
    first, last = backend.where(lower >= after, right, left), backend.where(upper <= before, left, right)
    return Curvature(backend.where(doubt, 0.0, first), backend.where(doubt, 0.0, last), before, after)
