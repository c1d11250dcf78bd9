"""Upper bounds of linear functions over the part of a convex set inside a polyhedron, by weak duality.

For every y >= 0: max {g x : x in T, N x <= o} <= y o + max {(g - y N) x : x in T}. Any y gives a bound, so the choice
needs no care: y is chosen such that g - y N vanishes along some directions in which T is wide, for one or two rows of N
at a time; the values are rounded upward. This is what a linear program would answer, taken from its dual.
"""

from __future__ import annotations

from itertools import combinations
from typing import Protocol

import numpy as np

from vernal.interpret.numbers.rounding import Floats, gamma
from vernal.model.hybrid import Facets

LEAST_PIVOT = 1e-9


class SupportedSet(Protocol):
    """A convex set by its support function, rounded upward."""

    @property
    def size(self) -> Floats: ...

    @property
    def frame(self) -> Floats: ...

    def support(self, directions: Floats) -> Floats: ...


def greatest(goals: Floats, shape: SupportedSet, facets: Facets) -> Floats | None:
    """Upper bounds of the goals (k, n) over the points of the shape within facets; None where there are none."""
    normals, offsets = facets.normals, facets.offsets
    if len(offsets) == 0:
        return shape.support(goals)
    if bool(np.any(shape.support(-normals) < -offsets)):  # some row fails everywhere
        return None
    active = shape.support(normals) > offsets
    if not active.any():
        return shape.support(goals)
    return _bounds(goals, shape, normals[active], offsets[active])


def _bounds(goals: Floats, shape: SupportedSet, normals: Floats, offsets: Floats) -> Floats:
    multipliers = _candidates(goals @ shape.frame, normals @ shape.frame)  # (k, c, r)
    k, c, r = multipliers.shape
    left = goals[:, None] - multipliers @ normals
    lost = (np.abs(goals)[:, None] + multipliers @ np.abs(normals)) @ shape.size * gamma(r + 4)
    value = shape.support(left.reshape(k * c, -1)).reshape(k, c) + multipliers @ offsets
    value += lost + (multipliers @ np.abs(offsets) + np.abs(value)) * gamma(r + 4)
    return np.asarray(np.nanmin(value, axis=1))


def _candidates(goals: Floats, normals: Floats) -> Floats:
    """Multipliers (k, c, r), the first of which are zero."""
    k, (r, n) = len(goals), normals.shape
    found = [np.zeros((k, 1, r))]
    with np.errstate(divide="ignore", invalid="ignore"):
        single = np.where(
            np.abs(normals) > LEAST_PIVOT * np.abs(normals).max(), goals[:, None] / normals, 0.0
        )  # (k, r, n)
    for row in range(r):
        chosen = np.zeros((k, n, r))
        chosen[:, :, row] = single[:, row]
        found.append(chosen)
    for pair in combinations(range(r), 2):
        for columns in combinations(range(n), 2):
            found.append(_pair(goals, normals, pair, columns))
    return np.asarray(np.maximum(np.concatenate(found, axis=1), 0.0))


def _pair(goals: Floats, normals: Floats, rows: tuple[int, int], columns: tuple[int, int]) -> Floats:
    """Multipliers of two rows that cancel a goal in two columns."""
    (a, b), (c, d) = normals[np.ix_(rows, columns)]
    determinant = a * d - b * c
    chosen = np.zeros((len(goals), 1, len(normals)))
    if abs(determinant) > LEAST_PIVOT * (abs(a * d) + abs(b * c)):
        g, h = goals[:, columns[0]], goals[:, columns[1]]
        chosen[:, 0, rows[0]] = (g * d - h * c) / determinant
        chosen[:, 0, rows[1]] = (h * a - g * b) / determinant
    return chosen
