"""Convex polygons cut by half-planes, in floats or in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

N = TypeVar("N", float, Fraction)


def clipped(corners: Sequence[tuple[N, N]], a: N, b: N, c: N) -> list[tuple[N, N]]:
    """The part of a convex polygon, its corners in order, with a x + b y <= c."""
    left = [c - a * x - b * y for x, y in corners]
    made: list[tuple[N, N]] = []
    for i, (x, y) in enumerate(corners):
        here, there, (u, v) = left[i - 1], left[i], corners[i - 1]
        if here * there < 0:
            share = here / (here - there)
            made.append((u + share * (x - u), v + share * (y - v)))
        if there >= 0:
            made.append((x, y))
    return made
