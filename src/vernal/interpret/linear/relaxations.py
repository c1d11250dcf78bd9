"""Linear relaxations: planes that certainly lie below and above one operator over given ranges of its arguments.

A relaxation says: sum of (lower slope * argument) + lower <= value <= sum of (upper slope * argument) + upper,
componentwise and for the *floats* in its arrays, taken as exact numbers. The offsets also pay in advance for the
rounding of the products `row * slope` and `row * offset` that backward substitution will form: that error is at most
u |row| |slope| max|argument|, so it is a widening of the offset per unit of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.interpret.interval import divide
from vernal.interpret.linear.curves import lines
from vernal.interpret.linear.surfaces import angle_planes
from vernal.interpret.numbers import enclosures
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Backend, float_above, float_below, gamma
from vernal.interpret.value_sets import Range
from vernal.model import expr as e
from vernal.model.expr import Expr

CONSTANT_WIDTH = 1e-14  # a factor of smaller relative width is as good as a constant


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """One side of a relaxation: a slope for each argument, and an offset (None is 0)."""

    slopes: tuple[Array, ...]
    offset: Array | None


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """Planes below and above a node, over its arguments; `exact` if they differ by rounding only, in every box.

    A multiple has one plane with the same `doubt` on both sides, which takes half the work.
    """

    args: tuple[Expr, ...]
    lower: Plane
    upper: Plane
    exact: bool = False
    finite: bool = True
    doubt: Array | None = None


def relax(
    backend: Backend,
    node: Expr,
    own: Range,
    args: Sequence[Expr],
    ranges: Sequence[Range],
    lower: Plane,
    upper: Plane,
    *,
    exact: bool = False,
) -> Relaxation:
    """A relaxation from planes that are right before rounding; where one is not finite, the interval bound."""
    sizes = [backend.size(x.lower, x.upper) for x in ranges]
    below = _settle(backend, node, lower, sizes, own.lower, -1.0, exact)
    above = _settle(backend, node, upper, sizes, own.upper, 1.0, exact)
    kept = below.slopes is lower.slopes and above.slopes is upper.slopes
    offsets = [plane.offset for plane in (below, above) if plane.offset is not None]
    finite = kept or (backend.on_host and all(bool(backend.xp.isfinite(offset).all()) for offset in offsets))
    return Relaxation(tuple(args), below, above, exact and finite and kept, finite)


def _settle(
    backend: Backend, node: Expr, plane: Plane, sizes: Sequence[Array], fallback: Array, side: float, exact: bool
) -> Plane:
    """Pay for rounding, and fall back to a constant where the plane is not finite.

    A plane that is finite everywhere keeps its slopes. To find out, a card would have to be waited for: there it is
    only asked where the answer matters, of relaxations that may be exact.
    """
    given = () if plane.offset is None else (plane.offset,)
    static = (node.size, side, len(sizes))
    offset, good = backend.fused(_paid, static, fallback, *plane.slopes, *sizes, *given)
    if (exact or backend.on_host) and bool(good.all()):
        return Plane(plane.slopes, offset)
    offset, *slopes = backend.fused(_instead, (node.size, side), good, offset, fallback, *plane.slopes)
    return Plane(tuple(slopes), offset)


def _paid(backend: Backend, size: int, side: float, count: int, fallback: Array, *arrays: Array) -> tuple[Array, Array]:
    """The offset with what rounding may cost, and where it and the slopes are finite."""
    slopes, sizes, given = arrays[:count], arrays[count : 2 * count], arrays[2 * count :]
    zeros = backend.xp.zeros_like(fallback)
    offset = given[0] + zeros if given else zeros
    pads = [_pad(backend, slope, most) for slope, most in zip(slopes, sizes, strict=True)]
    pad = sum(pads[1:], pads[0]) if pads else backend.xp.zeros_like(offset)
    slack = pad + gamma(size + 4) * abs(offset)
    offset = offset + side * backend.where(slack > 0, (1.0 + 1e-12) * slack + TINY, slack)
    good = backend.xp.isfinite(offset)
    for slope in slopes:
        good = good & backend.xp.isfinite(slope)
    return offset, good


def _instead(
    backend: Backend, size: int, side: float, good: Array, offset: Array, fallback: Array, *slopes: Array
) -> tuple[Array, ...]:
    """The interval bound where a plane is not finite."""
    constant = fallback + side * (gamma(size + 4) * abs(fallback) + TINY)
    return backend.where(good, offset, constant), *(backend.where(good, slope, 0.0) for slope in slopes)


def _pad(backend: Backend, slope: Array, size: Array) -> Array:
    """What the rounding of row * slope may cost per unit of the row; slopes 0, 1 and -1 cost nothing."""
    steep = abs(slope)
    return backend.where((steep == 0) | (steep == 1), 0.0, 2.0 * UNIT * steep * size)


def constant(backend: Backend, node: Expr, own: Range) -> Relaxation:
    """No slope at all: the interval bounds."""
    return relax(backend, node, own, (), (), Plane((), own.lower), Plane((), own.upper))


# Piecewise linear -----------------------------------------------------------------------------------------------------


def relu(backend: Backend, node: Expr, own: Range, x: Range) -> Relaxation:
    """max(x, 0): above the chord; below 0 or x, whichever cuts off less (CROWN's adaptive choice)."""
    lo, hi = x.lower, x.upper
    if not backend.some((lo < 0) & (hi > 0)):
        plane = Plane((backend.truth(lo >= 0),), None)
        return Relaxation(node.args, plane, plane, exact=True)
    lower, chord, offset = backend.fused(_chord, (node.size,), lo, hi)
    finite = backend.on_host and not backend.some(offset == np.inf)
    return Relaxation(node.args, Plane((lower,), None), Plane((chord,), offset), finite=finite)


def _chord(backend: Backend, size: int, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
    """The slope below, and slope and offset above.

    With p and q for how far the range reaches above and below 0, w = p + q and s = fl(p / fl(w)), the line s x + t is
    above where it is above at both ends: t >= s q and t >= (1 - s) p. Since p / w exceeds s by less than
    3 u s + 2^-1074, the second is at most s q + 3 u s w + 2^-1074 w, and rounding row * s may cost u s w. So
    t = (s + 2^-1020) (q + 16 u w) pays for all that and for its own roundings; and a factor for the sums of rows
    times t. Where q is 0, s is 1 or p is 0, and t is 0, exactly.
    """
    p, q = backend.positive(hi), backend.positive(-lo)
    w = p + q
    chord = p / backend.xp.maximum(w, backend.least)
    offset = (chord + 2.0**-1020) * (q + (16.0 * UNIT) * w) * (1.0 + 2.0 * gamma(size + 4)) + TINY
    offset = backend.where(q > 0, offset, chord - chord)  # a nan where the range is not bounded
    good = offset < np.inf
    if backend.some(~good):
        chord = backend.where(good, chord, backend.truth(lo >= 0))
        offset = backend.where(good, offset, backend.where(q > 0, p, 0.0))
    return backend.truth(p > q), chord, offset


def kink(backend: Backend, node: Expr, own: Range, x: Range, slopes: Sequence[Fraction]) -> Relaxation:
    """x above 0 and slope * x below, for any slope: the chord on one side, the nearer line on the other."""
    low = backend.array(np.array([[float_below(slope) for slope in slopes]]))
    high = backend.array(np.array([[float_above(slope) for slope in slopes]]))
    lo, hi, size = x.lower, x.upper, backend.magnitude(x.lower, x.upper)
    unstable = (lo < 0) & (hi > 0)
    line = backend.where(lo >= 0, 1.0, low)
    chord = backend.where(unstable, (hi - low * lo) / (hi - lo), line)
    ends = (1.0 - chord) * hi, (low - chord) * lo
    slack = 8.0 * UNIT * (1.0 + abs(low)) * size + TINY
    doubt = backend.where((lo >= 0) | (high == low), 0.0, (high - low) * size * (1 + 1e-12))
    convex = low <= 1
    far = backend.where(convex, backend.xp.maximum(*ends) + slack, backend.xp.minimum(*ends) - slack)
    far = backend.where(unstable, far, 0.0)
    near = backend.where(unstable, backend.where(hi > -lo, 1.0, low), line)
    lower = Plane((backend.where(convex, near, chord),), backend.where(convex, 0.0, far) - doubt)
    upper = Plane((backend.where(convex, chord, near),), backend.where(convex, far, 0.0) + doubt)
    return relax(backend, node, own, node.args, [x], lower, upper, exact=not bool(unstable.any()))


def steps(backend: Backend, node: Expr, own: Range, x: Range) -> Relaxation:
    """floor(x): between x - 1 and x, or the constants where those are nearer."""
    one = backend.xp.ones_like(x.lower)
    wide = x.upper - x.lower >= 1
    slope = backend.where(wide, one, 0.0)
    lower, upper = backend.where(wide, -one, own.lower), backend.where(wide, 0.0 * one, own.upper)
    return relax(backend, node, own, node.args, [x], Plane((slope,), lower), Plane((slope,), upper))


# Products -------------------------------------------------------------------------------------------------------------


def product(backend: Backend, node: Expr, own: Range, args: Sequence[Expr], x: Range, y: Range) -> Relaxation:
    """x * y: a multiple where one factor is as good as constant, McCormick's planes else."""
    for factor, other, known, arg in ((x, y, args[0], args[1]), (y, x, args[1], args[0])):
        if isinstance(known, e.Const) or _is_narrow(backend, factor):
            return scaled(backend, node, own, arg, other, factor)
    lower, upper = planes(backend, x, y)
    return relax(backend, node, own, args, [x, y], lower, upper)


def _is_narrow(backend: Backend, x: Range) -> bool:
    return bool((x.upper - x.lower <= CONSTANT_WIDTH * backend.magnitude(x.lower, x.upper)).all())


def scaled(backend: Backend, node: Expr, own: Range, arg: Expr, x: Range, factor: Range) -> Relaxation:
    """factor * x for a factor known almost exactly."""
    less, more = backend.fused(_doubt, (), factor.lower, factor.upper, x.lower, x.upper)
    slopes = (factor.lower,)
    both = relax(backend, node, own, [arg], [x], Plane(slopes, less), Plane(slopes, more), exact=True)
    return replace(both, doubt=both.upper.offset) if both.exact else both  # else somewhere the interval bound


def _doubt(backend: Backend, low: Array, high: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """What the factor's own width may change, downward and upward."""
    doubt = (high - low) * backend.magnitude(lower, upper) * (1.0 + 1e-12)
    doubt = backend.where(high == low, 0.0, doubt + TINY)
    return -doubt, doubt


def planes(backend: Backend, x: Range, y: Range) -> tuple[Plane, Plane]:
    """McCormick's planes of x * y, below and above: of the two on each side the one with the better bound."""
    p, q, low, r, s, high = backend.fused(_mccormick, (), x.lower, x.upper, y.lower, y.upper)
    return Plane((p, q), low), Plane((r, s), high)


def _mccormick(backend: Backend, a: Array, b: Array, c: Array, d: Array) -> tuple[Array, ...]:
    x, y = Range(a, b), Range(c, d)
    below = _better(backend, x, y, (c, a), (d, b), 1.0)
    above = _better(backend, x, y, (d, a), (c, b), -1.0)
    return *below, *above


def _better(
    backend: Backend, x: Range, y: Range, first: tuple[Array, Array], second: tuple[Array, Array], side: float
) -> tuple[Array, Array, Array]:
    """p x + q y - p q for (p, q) one of two corners; side 1 is the plane below, -1 the plane above."""

    def worst(p: Array, q: Array) -> Array:
        sp, sq = side * p, side * q
        high = backend.where(sp > 0, sp * x.lower, sp * x.upper) + backend.where(sq > 0, sq * y.lower, sq * y.upper)
        return high - side * p * q

    take = worst(*first) >= worst(*second)
    p, q = backend.where(take, first[0], second[0]), backend.where(take, first[1], second[1])
    corner = p * q
    return p, q, -corner - side * (2.0 * UNIT * abs(corner) + TINY)


def quotient(backend: Backend, node: Expr, own: Range, x: Range, y: Range) -> Relaxation:
    """x / y = x * r with r = 1 / y relaxed first; a multiple where y is as good as constant."""
    one = backend.xp.ones_like(y.lower)
    inverse = divide(backend, Range(one, one), y)
    if isinstance(node.args[1], e.Const) or _is_narrow(backend, inverse):
        return scaled(backend, node, own, node.args[0], x, inverse)
    r = curve(backend, node, inverse, node.args[1], y, Fraction(-1))
    below, above = planes(backend, x, inverse)
    lower = _compose(backend, below, r.lower, r.upper, y, -1.0)
    upper = _compose(backend, above, r.upper, r.lower, y, 1.0)
    return relax(backend, node, own, node.args, [x, y], lower, upper)


def _compose(backend: Backend, plane: Plane, same: Plane, opposite: Plane, y: Range, side: float) -> Plane:
    """p x + q r + k with r replaced by a plane over y, on the same side for q >= 0 and on the opposite one else."""
    p, q = plane.slopes
    slope = backend.where(q >= 0, same.slopes[0], opposite.slopes[0])
    assert same.offset is not None
    assert opposite.offset is not None
    offset = backend.where(q >= 0, same.offset, opposite.offset)
    steep, shift = q * slope, q * offset
    size = backend.magnitude(y.lower, y.upper)
    assert plane.offset is not None
    slack = 4.0 * UNIT * (abs(steep) * size + abs(shift) + abs(plane.offset)) + TINY
    return Plane((p, steep), plane.offset + shift + side * slack)


# Smooth functions -----------------------------------------------------------------------------------------------------


def curve(backend: Backend, node: Expr, own: Range, arg: Expr, x: Range, name: enclosures.Elementary) -> Relaxation:
    """An elementary function or a power, between two lines."""
    a, c, b, d = lines(backend, name, x, own)
    return relax(backend, node, own, [arg], [x], Plane((a,), c), Plane((b,), d))


def angle(backend: Backend, node: Expr, own: Range, y: Range, x: Range) -> Relaxation:
    """atan2(y, x), between two planes."""
    a, b, c, d = angle_planes(backend, y, x, own)
    return relax(backend, node, own, node.args, [y, x], Plane((a, b), c), Plane((a, b), d))


# The table of operators -----------------------------------------------------------------------------------------------

Builder = Callable[[Backend, Expr, Range, list[Range]], Relaxation]


def _product(backend: Backend, node: Expr, own: Range, x: list[Range]) -> Relaxation:
    if node.args[0] is node.args[1]:
        return curve(backend, node, own, node.args[0], x[0], Fraction(2))
    return product(backend, node, own, node.args, *x)


def _power(backend: Backend, node: Expr, own: Range, x: list[Range]) -> Relaxation:
    assert isinstance(node, e.Pow)
    return curve(backend, node, own, node.args[0], x[0], node.exponent)


def _between(backend: Backend, node: Expr, own: Range, x: list[Range]) -> Relaxation:
    one, zero = backend.xp.ones_like(own.lower), backend.xp.zeros_like(own.lower)
    return relax(backend, node, own, node.args, x, Plane((one, zero), None), Plane((zero, one), None))


BUILDERS: dict[type[Expr], Builder] = {
    e.Relu: lambda backend, node, own, x: relu(backend, node, own, x[0]),
    e.LeakyRelu: lambda backend, node, own, x: kink(backend, node, own, x[0], node.slopes),  # type: ignore[attr-defined]
    e.Abs: lambda backend, node, own, x: kink(backend, node, own, x[0], [Fraction(-1)]),
    e.Floor: lambda backend, node, own, x: steps(backend, node, own, x[0]),
    e.Mul: _product,
    e.Div: lambda backend, node, own, x: quotient(backend, node, own, *x),
    e.Pow: _power,
    e.Nonlinear: lambda backend, node, own, x: curve(backend, node, own, node.args[0], x[0], node.function),  # type: ignore[attr-defined]
    e.Atan2: lambda backend, node, own, x: angle(backend, node, own, *x),
    e.Between: _between,
}
