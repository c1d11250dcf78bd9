"""Lines below and above a curve: chords, tangents, and for S-shaped functions the tangent through an end.

A line above g on [lo, hi] with slope s needs the largest g(x) - s x. Where g is convex that is at an end. Where it is
concave it is at most h(t) plus h'(t) times the way to an end, for h(x) = g(x) - s x and any t: a tangent lies above.
With one inflection the interval has one part of each kind, and the inflection itself belongs to both. So any slope and
any t give a valid line; good ones are found in plain floating point, and only the offsets are rounded outward.
A line below g is one above -g.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np

from vernal.interpret import interval, slopes
from vernal.interpret.numbers import enclosures
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.enclosures import Curvature
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Backend, float_above, float_below
from vernal.interpret.value_sets import Range
from vernal.model.expr import Function

PIECES_PER_INTERVAL = 32  # into which an interval with several inflections is cut
PER_ROOT_PI = 1.1283791670955126  # 2 / sqrt(pi), about
HALVINGS = 12  # of the interval in which a point of tangency lies

EnclosingLines = tuple[Array, Array, Array, Array]  # slope and offset below, slope and offset above


def lines(backend: Backend, name: enclosures.Elementary, x: Range, own: Range) -> EnclosingLines:
    """Lines around a function over intervals; constants where it is not bounded or the interval is a point."""
    ends = (x.lower, x.upper, own.lower, own.upper)
    if backend.fuser is not None and _is_fusible(backend, name, *ends):
        a, c, b, d = backend.fused(_selected, (name,), *ends)
        return a, c, b, d
    shape = np.broadcast_shapes(*(tuple(end.shape) for end in ends))
    lo, hi, low, high = (backend.xp.broadcast_to(end, shape) for end in ends)
    zero = backend.xp.zeros_like(low)
    a, c, b, d = zero + 0.0, low + 0.0, zero + 0.0, high + 0.0
    usable = _usable(lo, hi, low, high)
    bend = enclosures.curvature(backend, name, lo, hi)
    curved = usable & (bend.left != 0)
    if bool(curved.all()):
        return _fitted(Curve(backend, name, lo, hi, bend))
    for mask, fit in ((curved, _fitted), (usable & ~curved, _strip)):
        if bool(mask.any()):
            some = Curvature(*(part[mask] for part in (bend.left, bend.right, bend.before, bend.after)))
            found = fit(Curve(backend, name, lo[mask], hi[mask], some))
            for whole, part in zip((a, c, b, d), found, strict=True):
                whole[mask] = part
    return a, c, b, d


def _usable(lo: Array, hi: Array, low: Array, high: Array) -> Array:
    """Where an interval is neither a point nor unbounded, and the function bounded over it."""
    return (lo < hi) & (lo > -np.inf) & (hi < np.inf) & (low > -np.inf) & (high < np.inf)


def _is_fusible(backend: Backend, name: enclosures.Elementary, lo: Array, hi: Array, low: Array, high: Array) -> bool:
    """Whether kernels cover all points, and no interval has several inflections."""
    if isinstance(name, Fraction):
        return name.denominator == 1
    if name not in enclosures.WAVES:
        return True
    (strips,) = backend.fused(_needs_strip, (name,), lo, hi, low, high)
    return enclosures.is_covered(name, lo, hi) and not backend.some(strips)


def _needs_strip(
    backend: Backend, name: enclosures.Elementary, lo: Array, hi: Array, low: Array, high: Array
) -> tuple[Array]:
    return (_usable(lo, hi, low, high) & (enclosures.curvature(backend, name, lo, hi).left == 0),)


def _selected(
    backend: Backend, name: enclosures.Elementary, lo: Array, hi: Array, low: Array, high: Array
) -> EnclosingLines:
    """Fitted lines where there is a curve, constants elsewhere."""
    bend = enclosures.curvature(backend, name, lo, hi)
    curved = _usable(lo, hi, low, high) & (bend.left != 0)
    a, c, b, d = _fitted(Curve(backend, name, lo, hi, bend))
    return (
        backend.where(curved, a, 0.0),
        backend.where(curved, c, low),
        backend.where(curved, b, 0.0),
        backend.where(curved, d, high),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A function over intervals of positive length, with its curvature there."""

    backend: Backend
    name: enclosures.Elementary
    lo: Array
    hi: Array
    bend: Curvature


def value(backend: Backend, name: enclosures.Elementary, x: Range) -> Range:
    """The function over intervals or at points."""
    if isinstance(name, Fraction):
        return interval.power(backend, x, name)
    return interval.elementary(backend, x, name)


def at(backend: Backend, name: enclosures.Elementary, x: Array) -> Range:
    """The function at points."""
    if isinstance(name, Fraction):
        return interval.power(backend, Range(x, x), name)
    return Range(*enclosures.values(backend, name, x))


def slope(backend: Backend, name: enclosures.Elementary, x: Range) -> Range:
    """The derivative over intervals or at points."""
    if isinstance(name, Function):
        return slopes.slope(backend, name, x)
    factor = Range(*(backend.array(np.array(end(name))) for end in (float_below, float_above)))
    return interval.multiply(backend, factor, interval.power(backend, x, name - 1))


def _slope_at(backend: Backend, name: enclosures.Elementary, t: Array, g: Range) -> Range:
    """The derivative at points, from the values there where it is a function of these.

    From the middle m of an enclosure with radius r: (1 - m)(1 + m) is off by at most 2 r + r^2 and three roundings, and
    m (1 - m) by r + r^2 and two; 8 u pay for these and for the middle's own.
    """
    match name:
        case Function.EXP:
            return g
        case Function.SIN:
            return at(backend, Function.COS, t)
        case Function.COS:
            return interval.negate(at(backend, Function.SIN, t))
    if name not in (Function.TANH, Function.SIGMOID):
        return slope(backend, name, Range(t, t))
    m, r = 0.5 * g.lower + 0.5 * g.upper, g.upper - g.lower
    steep = (1.0 - m) * (1.0 + m) if name is Function.TANH else m * (1.0 - m)
    slack = 2.0 * r + 8.0 * UNIT
    return Range(backend.positive(steep - slack), steep + slack)


# Chords and tangents --------------------------------------------------------------------------------------------------


def _fitted(curve: Curve) -> EnclosingLines:
    """Lines below and above where there is at most one inflection."""
    backend, name = curve.backend, curve.name
    first, last = at(backend, name, curve.lo), at(backend, name, curve.hi)
    touch = None if _is_mixed(curve) else _touch(curve, 0.5 * curve.lo + 0.5 * curve.hi)
    b, d = _above(curve, first, last, 1.0, touch)
    a, c = _above(curve, interval.negate(first), interval.negate(last), -1.0, touch)
    return -a, -c, b, d


def _is_mixed(curve: Curve) -> bool:
    """Whether some interval has an inflection inside; what is traced has no values yet, so that there it may be."""
    if not enclosures.may_bend(curve.name):
        return False
    return curve.backend.traces or bool((curve.bend.left != curve.bend.right).any())


class Touch(NamedTuple):
    """Where a line touches a curve: the points, and the function's values and slopes there."""

    t: Array
    g: Range
    steep: Range


def _touch(curve: Curve, t: Array) -> Touch:
    g = at(curve.backend, curve.name, t)
    return Touch(t, g, _slope_at(curve.backend, curve.name, t, g))


def _above(curve: Curve, first: Range, last: Range, side: float, touch: Touch | None) -> tuple[Array, Array]:
    """A line above side * f, which has the values `first` and `last` at the ends of the interval.

    `touch` is known where there is no inflection: the same for both sides.
    """
    backend, lo, hi, bend = curve.backend, curve.lo, curve.hi, curve.bend
    chord = (last.upper - first.upper) / (hi - lo)
    left, right = side * bend.left, side * bend.right  # the curvature of side * f at the two ends
    start = backend.where(left < 0, lo, bend.before)  # of the part where it is concave, if any
    end = backend.where(right < 0, hi, bend.after)
    t, g, steep = touch or _touch(curve, _touching(curve, side, chord, left, right))
    if side < 0:
        g, steep = interval.negate(g), interval.negate(steep)
    tangent = 0.5 * steep.lower + 0.5 * steep.upper
    is_chord = ((left > 0) & (right > 0)) | ((left != right) & ((t <= lo) | (t >= hi)))
    s = backend.where(is_chord, chord, tangent)
    offset = _offset(backend, g, steep, s, t, start, end)
    far = backend.xp.zeros_like(offset) - np.inf
    offset = backend.where((left > 0) & (right > 0), far, offset)
    for x, found, curvature in ((lo, first, left), (hi, last, right)):
        anchor = _minus(found.upper, s * x)
        offset = backend.where(curvature > 0, backend.xp.maximum(offset, anchor), offset)
    return s, offset


def _offset(backend: Backend, g: Range, steep: Range, s: Array, t: Array, start: Array, end: Array) -> Array:
    """At least g(x) - s x from start to end, where g is concave, has these values at t, and this slope."""
    rising, falling = backend.positive(steep.upper - s), backend.positive(s - steep.lower)
    ahead, behind = backend.positive(end - t), backend.positive(t - start)
    tilt = backend.xp.maximum(rising * ahead, falling * behind) * (1.0 + 1e-12) + TINY
    return _minus(g.upper, s * t) + tilt


def _minus(g: Array, shift: Array) -> Array:
    """At least g - shift, also after one more sum with something smaller: rounding costs u of each, four are paid."""
    return g - shift + (4.0 * UNIT * (abs(g) + abs(shift)) + TINY)


def _touching(curve: Curve, side: float, chord: Array, left: Array, right: Array) -> Array:
    """Where the line should touch: in the middle of a concave curve, and on the way from the other end of a mixed one.

    A mixed curve touches its chord at the end if it is steeper there than the chord (concave on the right) or flatter.
    """
    backend, lo, hi = curve.backend, curve.lo, curve.hi
    middle = 0.5 * lo + 0.5 * hi
    if not enclosures.may_bend(curve.name):
        return middle
    mixed = left != right
    bend = curve.bend
    if backend.traces:
        found = _tangency(backend, curve.name, side, lo, hi, bend.before, bend.after, right < 0)
        return backend.where(mixed, found, middle)
    if not bool(mixed.any()):
        return middle
    every = bool(mixed.all())
    ends = (lo, hi, bend.before, bend.after, right)
    first, last, before, after, curvature = ends if every else (end[mixed] for end in ends)
    part = _tangency(backend, curve.name, side, first, last, before, after, curvature < 0)
    if every:
        return part
    middle[mixed] = part
    return middle


def _tangency(
    backend: Backend,
    name: enclosures.Elementary,
    side: float,
    lo: Array,
    hi: Array,
    before: Array,
    after: Array,
    on_right: Array,
) -> Array:
    """The point of the concave part whose tangent meets the other end of the interval, about; or the concave end.

    A tangent further on passes above that end, and is the better one as long as it touches before the middle.
    """
    anchor, end = backend.where(on_right, lo, hi), backend.where(on_right, hi, lo)
    near = backend.where(on_right, after, before)
    base = rough(backend, name, anchor)
    far = end

    def beyond(t: Array) -> Array:
        """Whether the tangent at t passes above the anchor."""
        tangent = rough(backend, name, t) + rough_slope(backend, name, t) * (anchor - t)
        return cast(Array, side * (tangent - base) > 0)

    inside = beyond(end)
    for _ in range(HALVINGS):
        t = 0.5 * near + 0.5 * far
        above = beyond(t)
        near, far = backend.where(above, near, t), backend.where(above, t, far)
    middle = 0.5 * lo + 0.5 * hi  # the line that is lowest there encloses the least area
    t = backend.where(on_right, backend.xp.maximum(far, middle), backend.xp.minimum(far, middle))
    return backend.where(inside, t, end)


def rough(backend: Backend, name: enclosures.Elementary, x: Array) -> Array:
    """The function in plain floating point, for choices that need no guarantee."""
    if isinstance(name, Fraction):
        return x ** int(name)
    if name is Function.SIGMOID:
        return 0.5 + 0.5 * backend.xp.tanh(0.5 * x)
    if name is Function.ERF:
        return _rough_erf(backend, x)
    return cast(Array, getattr(backend.xp, "arctan" if name is Function.ATAN else name.value)(x))


def _rough_erf(backend: Backend, x: Array) -> Array:
    if not backend.native:
        return cast(Array, getattr(backend.xp, "erf")(x))  # noqa: B009 - numpy has none
    from scipy.special import erf  # few networks need it, and it takes long to import

    return np.asarray(erf(x))


@dataclass(frozen=True, slots=True)
class RoughAlgebra:
    """Plain floating point, whose numbers have operators of their own."""

    backend: Backend
    bell = PER_ROOT_PI

    def apply(self, function: Function, x: Array) -> Array:
        return rough(self.backend, function, x)


def rough_slope(backend: Backend, name: enclosures.Elementary, x: Array) -> Array:
    """The derivative in plain floating point."""
    if isinstance(name, Fraction):
        return int(name) * x ** (int(name) - 1)
    return cast(Array, CALCULUS[name].slope(x, lambda: rough(backend, name, x), RoughAlgebra(backend)))


# One slope ------------------------------------------------------------------------------------------------------------


def parallel(name: Function, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
    """A slope s, and bounds of g(x) - s x over intervals, for an S-shaped function g.

    The slope is that of the chord; where an interval is a point, or hardly more, it is 0.
    """
    backend = Backend(lo)
    with np.errstate(all="ignore"):
        first, last = at(backend, name, lo), at(backend, name, hi)
        s = (0.5 * last.lower + 0.5 * last.upper - 0.5 * first.lower - 0.5 * first.upper) / (hi - lo)
        steep = np.isfinite(s) & (s > 0)
        s = np.where(steep, s, 0.0)
        curve = Curve(backend, name, lo, hi, enclosures.curvature(backend, name, lo, hi))
        touching = _of_slope(name, s)
        below = _above_by(curve, interval.negate(first), interval.negate(last), -1.0, -s, touching)
        above = _above_by(curve, first, last, 1.0, s, touching)
    return s, np.where(steep, -below, first.lower), np.where(steep, above, last.upper)


def _above_by(curve: Curve, first: Range, last: Range, side: float, s: Array, touching: Array) -> Array:
    """At least side * g(x) - s x over the intervals; side * g has slope s near plus or minus `touching`."""
    backend, lo, hi, bend = curve.backend, curve.lo, curve.hi, curve.bend
    left, right = side * bend.left, side * bend.right
    start, end = np.where(left < 0, lo, bend.before), np.where(right < 0, hi, bend.after)
    t = np.where(side > 0, touching, -touching)  # S-shaped: convex below the inflection, concave above
    t, g, steep = _touch(curve, np.clip(t, np.minimum(start, end), end))
    if side < 0:
        g, steep = interval.negate(g), interval.negate(steep)
    offset = _offset(backend, g, steep, s, t, start, end)
    offset = np.where((left > 0) & (right > 0), -np.inf, offset)
    for x, found, curvature in ((lo, first, left), (hi, last, right)):
        offset = np.where(curvature >= 0, np.maximum(offset, _minus(found.upper, s * x)), offset)
    return offset


def _of_slope(name: Function, s: Array) -> Array:
    """Where above 0 an S-shaped function has a slope, about."""
    if name is Function.TANH:
        return np.arctanh(np.sqrt(np.clip(1.0 - s, 0.0, 1.0 - UNIT)))
    assert name is Function.SIGMOID
    return 2.0 * np.arctanh(np.sqrt(np.clip(1.0 - 4.0 * s, 0.0, 1.0 - UNIT)))


# Several inflections --------------------------------------------------------------------------------------------------


def _strip(curve: Curve) -> EnclosingLines:
    """The chord's slope, with offsets from mean values over small pieces; the interval where that is narrower."""
    backend, name, lo, hi = curve.backend, curve.name, curve.lo, curve.hi
    own = value(backend, name, Range(lo, hi))
    a = (at(backend, name, hi).lower - at(backend, name, lo).lower) / (hi - lo)
    shares = backend.array(np.linspace(0.0, 1.0, PIECES_PER_INTERVAL + 1))
    edges = lo[:, None] + (hi - lo)[:, None] * shares
    left = backend.where(shares[:-1] > 0, edges[:, :-1], lo[:, None])
    right = backend.where(shares[1:] < 1, edges[:, 1:], hi[:, None])
    left, right = backend.xp.minimum(left, right), backend.xp.maximum(left, right)
    middle = 0.5 * left + 0.5 * right
    steep, found = slope(backend, name, Range(left, right)), at(backend, name, middle)
    tilt = backend.xp.maximum(abs(steep.upper - a[:, None]), abs(steep.lower - a[:, None])) * (1.0 + 1e-12) + TINY
    reach = tilt * (backend.xp.maximum(right - middle, middle - left) * (1.0 + 1e-12))
    shift = a[:, None] * middle
    c = backend.down(backend.xp.amin(backend.down(found.lower - backend.up(shift)) - reach, -1))
    d = backend.up(backend.xp.amax(backend.up(found.upper - backend.down(shift)) + reach, -1))
    flat = ~((d - c) < (own.upper - own.lower))
    low, high = backend.where(flat, own.lower, c), backend.where(flat, own.upper, d)
    a = backend.where(flat, 0.0, a)
    return a, low, a, high
