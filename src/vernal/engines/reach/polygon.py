"""A convex polygon between bounds in several directions, with vertices in floating point that contain it.

Half-planes are intersected in rational arithmetic. Then vertices are rounded, and the hull of rounded vertices may miss
a sliver of the exact polygon; so the half-planes are moved outward first, in both coordinates by far more than rounding
moves a vertex: the support of that hull is then at least that of the exact polygon, in every direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import frexp

from vernal.engines.reach.sets import NumberBounds, Vertex
from vernal.interpret.geometry.clipping import clipped

# Sixteen sides, about evenly spread: the axes are the bounds of the two numbers themselves.
SLOPES = ((5, 2), (1, 1), (2, 5), (-2, 5), (-1, 1), (-5, 2))
OUTWARD = Fraction(1, 1 << 40)  # of the largest coordinate; rounding moves a vertex by 2^-53 of its own at most
SMALLEST = Fraction(1, 1 << 1000)  # coordinates below count as this large: there rounding is no longer relative

ExactVertex = tuple[Fraction, Fraction]
Slope = tuple[Fraction, Fraction]  # how often each of two numbers is in a sum
Slopes = Sequence[Slope]


def directions(x: NumberBounds, y: NumberBounds) -> list[tuple[Fraction, Fraction]]:
    """Directions that are about evenly spread where the two numbers are measured by their own extents."""
    units = [_unit(bounds) for bounds in (x, y)]
    return [(a * units[0], b * units[1]) for a, b in SLOPES]


def _unit(bounds: NumberBounds) -> Fraction:
    """One over a power of two about as large as the extent; 1 for a single value."""
    width = bounds.upper - bounds.lower
    return Fraction(1) if not 0 < width < float("inf") else Fraction(2) ** -frexp(width)[1]


def polygon(
    x: NumberBounds, y: NumberBounds, others: Sequence[tuple[Fraction, Fraction, NumberBounds]]
) -> list[Vertex]:
    """The vertices, in order, around all points with x, y and each a*x + b*y between their bounds."""
    size = [max(abs(Fraction(end)) for end in (one.lower, one.upper)) for one in (x, y)]
    slack = [OUTWARD * max(one, SMALLEST) for one in size]
    (left, right), (bottom, top) = (
        (Fraction(one.lower) - by, Fraction(one.upper) + by) for one, by in zip((x, y), slack, strict=True)
    )
    corners: list[ExactVertex] = [(left, bottom), (right, bottom), (right, top), (left, top)]
    for a, b, bounds in others:
        by = abs(a) * slack[0] + abs(b) * slack[1]
        for sign, end in ((1, bounds.upper), (-1, bounds.lower)):
            if abs(end) < float("inf"):
                corners = clipped(corners, sign * a, sign * b, sign * Fraction(end) + by)
    return _hull(corners)


def _hull(points: Sequence[ExactVertex]) -> list[Vertex]:
    """The convex hull of the nearest floats, counterclockwise: vertices that were close may have changed places."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    below, above = _chain(ordered), _chain(ordered[::-1])
    return [*below[:-1], *above[:-1]] or ordered


def _chain(ordered: Sequence[Vertex]) -> list[Vertex]:
    """The points of an ordered list that turn left, one after the other; decided exactly."""
    made: list[Vertex] = []
    for point in ordered:
        while len(made) > 1 and _turn(made[-2], made[-1], point) <= 0:
            made.pop()
        made.append(point)
    return made


def _turn(first: Vertex, second: Vertex, third: Vertex) -> Fraction:
    (x, y), (u, v), (p, q) = (tuple(map(Fraction, point)) for point in (first, second, third))
    return (u - x) * (q - y) - (v - y) * (p - x)
