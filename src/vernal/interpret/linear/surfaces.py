"""Planes below and above the angle of a point, atan2(y, x), over boxes where it is continuous.

The angle is harmonic (it is the imaginary part of the logarithm of x + iy), and so is its difference from a plane: that
is largest and least on the boundary of a box. Each edge is cut into pieces; over a piece the difference is at most its
value in the middle plus the steepest slope times half the length. So any slopes give valid planes. They are the
mean slopes of opposite edges, in plain floating point; only the offsets are rounded outward.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vernal.interpret import interval
from vernal.interpret.numbers.enclosures import is_smooth_angle
from vernal.interpret.numbers.kernels import atan2
from vernal.interpret.numbers.rounding import Array, Backend
from vernal.interpret.value_sets import Range

PIECES_PER_EDGE = 8  # of an edge
SQUARE = Fraction(2)

Planes = tuple[Array, Array, Array, Array]  # the slopes along y and x, and the offsets below and above


def angle_planes(backend: Backend, y: Range, x: Range, own: Range) -> Planes:
    """a y + b x + c <= atan2(y, x) <= a y + b x + d; constants where that is narrower, or the angle may jump."""
    ends = (y.lower, y.upper, x.lower, x.upper)
    shape = np.broadcast_shapes(*(tuple(end.shape) for end in (*ends, own.lower)))
    y_low, y_high, x_low, x_high = (backend.xp.broadcast_to(end, shape) for end in ends)
    y, x = Range(y_low, y_high), Range(x_low, x_high)
    smooth, _ = is_smooth_angle((y.lower, y.upper), (x.lower, x.upper))
    a, b = _slopes(backend, y, x)
    a, b = (backend.where(backend.xp.isfinite(slope), slope, 0.0) for slope in (a, b))
    edges = [_edge(backend, end, y, a, b, along_y=True) for end in (x.lower, x.upper)]
    edges += [_edge(backend, end, x, a, b, along_y=False) for end in (y.lower, y.upper)]
    c = backend.xp.amin(backend.xp.stack([low for low, _ in edges]), 0)
    d = backend.xp.amax(backend.xp.stack([high for _, high in edges]), 0)
    narrow = smooth & (d - c < own.upper - own.lower)  # a nan is not narrow
    a, b = backend.where(narrow, a, 0.0), backend.where(narrow, b, 0.0)
    return a, b, backend.where(narrow, c, own.lower), backend.where(narrow, d, own.upper)


def _slopes(backend: Backend, y: Range, x: Range) -> tuple[Array, Array]:
    """The mean slopes of the angle on opposite edges, along y and along x; nan where an edge is a point."""
    corner = {
        (i, j): 0.5 * sum(atan2(backend, q, p))
        for i, q in enumerate((y.lower, y.upper))
        for j, p in enumerate((x.lower, x.upper))
    }
    up = 0.5 * (corner[1, 0] - corner[0, 0]) + 0.5 * (corner[1, 1] - corner[0, 1])
    right = 0.5 * (corner[0, 1] - corner[0, 0]) + 0.5 * (corner[1, 1] - corner[1, 0])
    return up / (y.upper - y.lower), right / (x.upper - x.lower)


def _edge(backend: Backend, fixed: Array, moving: Range, a: Array, b: Array, *, along_y: bool) -> tuple[Array, Array]:
    """The least and the largest of atan2(y, x) - a y - b x on an edge, rounded outward."""
    piece = _cut(backend, moving)
    middle = 0.5 * piece.lower + 0.5 * piece.upper
    fixed, a, b = fixed[..., None], a[..., None], b[..., None]
    y, x = (middle, fixed) if along_y else (fixed, middle)
    value = Range(*atan2(backend, y, x))
    for slope, place in ((a, y), (b, x)):
        value = interval.add(backend, value, interval.multiply(backend, _point(-slope), _point(place)))
    steep = interval.add(backend, _steepness(backend, fixed, piece, along_y=along_y), _point(-(a if along_y else b)))
    half = backend.up(backend.xp.maximum(piece.upper - middle, middle - piece.lower))
    reach = backend.up(backend.magnitude(steep.lower, steep.upper) * half)
    low, high = backend.down(value.lower - reach), backend.up(value.upper + reach)
    return backend.xp.amin(low, -1), backend.xp.amax(high, -1)


def _cut(backend: Backend, x: Range) -> Range:
    """An interval as neighbouring pieces, along a new last axis."""
    shares = backend.array(np.linspace(0.0, 1.0, PIECES_PER_EDGE + 1))
    ends = x.lower[..., None] + (x.upper - x.lower)[..., None] * shares
    left = backend.where(shares[:-1] > 0, ends[..., :-1], x.lower[..., None])
    right = backend.where(shares[1:] < 1, ends[..., 1:], x.upper[..., None])
    return Range(backend.xp.minimum(left, right), backend.xp.maximum(left, right))


def _steepness(backend: Backend, fixed: Array, moving: Range, *, along_y: bool) -> Range:
    """The derivative along an edge: x / (x^2 + y^2) for y, -y / (x^2 + y^2) for x, in which what moves occurs once."""
    still = _point(fixed)
    size = interval.add(backend, interval.multiply(backend, still, still), interval.power(backend, moving, SQUARE))
    return interval.divide(backend, still if along_y else interval.negate(still), size)


def _point(x: Array) -> Range:
    return Range(x, x)
