"""Polygons of rounded vertices contain the exact set between the bounds, and not much more."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.portion import seeds
from vernal.engines.reach.polygon import directions, polygon
from vernal.engines.reach.sets import NumberBounds
from vernal.interpret.geometry.clipping import clipped

Point = tuple[Fraction, Fraction]


def bounds(values: list[Fraction]) -> NumberBounds:
    """Floats around exact values."""
    low, high = float(min(values)), float(max(values))
    return NumberBounds(
        low if Fraction(low) <= min(values) else low - abs(low) * 1e-15,
        high if Fraction(high) >= max(values) else high + abs(high) * 1e-15,
    )


def is_inside(point: Point, corners: list[tuple[float, float]]) -> bool:
    """Whether a point is in a polygon given counterclockwise, decided exactly."""
    exact = [(Fraction(x), Fraction(y)) for x, y in corners]
    return all(
        (u - x) * (point[1] - y) - (v - y) * (point[0] - x) >= 0
        for (x, y), (u, v) in zip(exact, [*exact[1:], *exact[:1]], strict=True)
    )


def cloud(rng: random.Random, scale: tuple[int, int]) -> list[Point]:
    """Points on a slanted ellipse, of any size and anywhere."""
    unit = [Fraction(10) ** power for power in scale]
    centre = [rng.randint(-1000, 1000) * size for size in unit]
    points = [(Fraction(rng.randint(-99, 99), 100), Fraction(rng.randint(-99, 99), 700)) for _ in range(20)]
    return [(centre[0] + (a + b) * unit[0], centre[1] + (a - b) * unit[1]) for a, b in points]


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("scale", [(0, 0), (6, -6), (-12, 3)])
def test_every_point_is_inside(seed: int, scale: tuple[int, int]) -> None:
    points = cloud(random.Random(seed), scale)
    x, y = bounds([x for x, _ in points]), bounds([y for _, y in points])
    sides = [(a, b, bounds([a * u + b * v for u, v in points])) for a, b in directions(x, y)]
    corners = polygon(x, y, sides)
    assert 3 <= len(corners) <= 16
    assert all(is_inside(point, corners) for point in points)


def test_a_point_and_a_segment() -> None:
    point = NumberBounds(2.0, 2.0)
    assert all(is_inside((Fraction(2), Fraction(2)), corners) for corners in [polygon(point, point, [])])
    segment = polygon(NumberBounds(0.0, 1.0), NumberBounds(0.0, 0.0), [])
    assert is_inside((Fraction(1, 3), Fraction(0)), segment)


def test_a_square_is_cut_by_its_diagonal() -> None:
    zero, one = Fraction(0), Fraction(1)
    square = [(zero, zero), (one, zero), (one, one), (zero, one)]
    assert sorted(clipped(square, one, one, one)) == [(zero, zero), (zero, one), (one, zero)]
    assert clipped(square, one, zero, -one) == []


def test_directions_are_measured_by_extents() -> None:
    wide = directions(NumberBounds(0, 1000), NumberBounds(0, 0.001))
    assert all(0.01 < abs(float(a) * 1000 / (float(b) * 0.001)) < 100 for a, b in wide)
    assert directions(NumberBounds(1, 1), NumberBounds(float("-inf"), 0))[0] == (Fraction(5), Fraction(2))
