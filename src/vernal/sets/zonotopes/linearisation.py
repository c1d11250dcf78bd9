"""One affine field near all those of the locations that a set touches: x' = A x + b, as good as least squares find it.

Any matrix is sound, since what it misses is bounded afterwards (`miss`): a good one makes that small. In a single
location the field is its own, and misses nothing. Where neighbours agree on their common facet, as the locations of a
neural abstraction do, what is missed is at most about a quarter of the kink times the width of the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vernal.interpret.geometry.zonotope import Zonotope
from vernal.interpret.numbers.rounding import Floats, gamma
from vernal.model.hybrid import Location
from vernal.sets.zonotopes.duals import FramedSet, greatest

COMPARED_POINTS = 48  # points in which fields are compared
RIDGE = 1e-3  # weight of staying near a location's own matrix
THIN = 1e-4  # extents below this fraction of the largest do not count


@dataclass(frozen=True, slots=True)
class AffineField:
    """x' = A x + b + e with |e_i| <= radius_i."""

    matrix: Floats
    drift: Floats
    radius: Floats

    def moved(self, lower: Floats, upper: Floats) -> AffineField:
        """The same field with another drift, such that e is in the middle of what it may be."""
        drift = self.drift + 0.5 * (lower + upper)
        shift = drift - self.drift
        sizes = np.abs(drift) + np.abs(self.drift) + np.abs(lower) + np.abs(upper)
        return AffineField(self.matrix, drift, np.maximum(upper - shift, shift - lower) + gamma(4) * sizes)


@lru_cache
def _cube(n: int) -> Floats:
    """Points of the cube [-1, 1]^n, the same every time."""
    if n == 1:
        return np.linspace(-1.0, 1.0, COMPARED_POINTS)[:, None]
    return np.random.default_rng(0).uniform(-1.0, 1.0, (COMPARED_POINTS * n, n))


def fit(near: Zonotope, locations: Sequence[Location], radius: Floats) -> AffineField:
    """A field near those of the locations around a set; its radius is a guess."""
    scale, points = _points(near)
    values, owner = _values(points, locations)
    known = owner >= 0
    if known.sum() < 2 * len(radius) + 2:
        return AffineField(locations[0].matrix, locations[0].drift, radius)
    base = locations[int(np.bincount(owner[known]).argmax())]
    cube = np.concatenate([_cube(len(radius)), np.ones((len(points), 1))], axis=1)[known]
    wanted = (values - points @ base.matrix.T - base.drift)[known]
    weights = np.diag([RIDGE * len(cube)] * len(radius) + [0.0])
    found = np.linalg.solve(cube.T @ cube + weights, cube.T @ wanted)  # (n + 1, n)
    slope = np.linalg.solve(scale.T, found[:-1]).T
    missed = np.abs(wanted - cube @ found).max(axis=0)
    matrix = base.matrix + slope
    drift = base.drift + found[-1] - slope @ near.center
    return AffineField(matrix, drift, np.asarray(radius + 1.25 * missed))


def _points(near: Zonotope) -> tuple[Floats, Floats]:
    """Points of about the shape of a set, center + scale u for u in a cube, and the scale."""
    shape = near.generators
    extent = np.abs(shape).sum(axis=1)
    extent = np.maximum(extent, max(THIN * extent.max(), 1e-9))
    spread = np.sqrt((shape**2).sum(axis=1)) + THIN * extent
    mixed = np.linalg.cholesky(shape @ shape.T / np.outer(spread, spread) + THIN * np.eye(len(shape)))
    scale = extent[:, None] * mixed
    return scale, near.center + _cube(len(shape)) @ scale.T


def _values(points: Floats, locations: Sequence[Location]) -> tuple[Floats, np.ndarray]:
    """The field at points, and which location each point is in; -1 where it is in none."""
    values, owner = np.zeros_like(points), np.full(len(points), -1)
    for index, location in enumerate(locations):
        inside = (points @ location.invariant.normals.T <= location.invariant.offsets + 1e-9).all(axis=1) & (owner < 0)
        values[inside] = points[inside] @ location.matrix.T + location.drift
        owner[inside] = index
    return values, owner


def miss(
    field: AffineField, shape: FramedSet, locations: Iterable[Location], radius: Floats
) -> tuple[Floats, Floats] | None:
    """Ends of x' - A x - b over the part of the shape within the locations; None where there is none."""
    lower, upper, n = np.full(len(radius), np.inf), np.full(len(radius), -np.inf), len(radius)
    for location in locations:
        slope, shift = location.matrix - field.matrix, location.drift - field.drift
        found = greatest(np.concatenate([slope, -slope]), shape, location.invariant)
        if found is None or bool(np.any(found[:n] + found[n:] < 0)):
            continue
        sizes = (
            (np.abs(location.matrix) + np.abs(field.matrix)) @ shape.size + np.abs(location.drift) + np.abs(field.drift)
        )
        slack = gamma(n + 6) * (sizes + radius) + radius
        upper = np.maximum(upper, found[:n] + shift + slack)
        lower = np.minimum(lower, -found[n:] + shift - slack)
    return None if bool(np.any(lower > upper)) else (lower, upper)
