"""Sets of states that keep their dependencies: zonotopes, in batches.

A set is { c + G s : |s| <= weights }. The first generators, one for each component, are what the linearised flow makes
of the box in which the set began; what cannot be said linearly is a box, whose axes become generators and move with the
flow from then on. So no step wraps anything. Where generators become too many, the least of them are put into a box (A.
Girard, Reachability of uncertain linear systems using zonotopes, 2005), but never the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.flow.balls import SLACK, BallArrays, around, points
from vernal.interpret.numbers.rounding import TINY, Array, Floats, Mask, all_along, gamma

MAX_ORDER = 32  # generators for each component, before they are fewer
KEPT_ORDER = 20  # of them that are left


@dataclass(frozen=True, slots=True, eq=False)
class Zonotopes:
    """A batch of sets, each of them cut by a box; every float is meant exactly."""

    centre: Floats  # (batch, n)
    generators: Floats  # (batch, n, m)
    weights: Floats  # (batch, m)
    lower: Floats  # (batch, n): the box
    upper: Floats

    def __getitem__(self, index: Array) -> Zonotopes:
        return Zonotopes(*(getattr(self, name)[index] for name in Zonotopes.__slots__))

    @property
    def radius(self) -> Floats:
        """Of the box around the centre that contains each set, whatever cuts it."""
        return weighted(np.abs(self.generators), self.weights)

    @property
    def influence(self) -> Floats:
        """How much each component of the box in which a set began moves it: (batch, n)."""
        n = self.centre.shape[1]
        found: Floats = np.linalg.norm(self.generators[:, :, :n], axis=1) * self.weights[:, :n]
        return found

    @property
    def finite(self) -> Mask:
        parts = (self.centre, self.generators.reshape(len(self.centre), -1), self.weights)
        return all_along(np.isfinite(np.concatenate(parts, 1)))

    def reach(self, rows: BallArrays) -> Floats:
        """How far each row (..., d, n) goes from what it is at the centre: (..., d)."""
        generators, rest = spanned(rows, self)
        return np.asarray((weighted(np.abs(generators), self.weights) + rest) * SLACK)

    def support(self, directions: Floats) -> BallArrays:
        """What each direction (d, n) is over each set: (batch, d)."""
        middle = (points(self.centre[:, None]) @ points(directions.T))[:, 0]
        return BallArrays(middle.mid, (middle.rad + self.reach(points(directions))) * SLACK + TINY)


def boxes(lower: Floats, upper: Floats) -> Zonotopes:
    """Boxes (batch, n) as sets."""
    ball = around(lower, upper)
    batch, n = lower.shape
    return Zonotopes(ball.mid, np.broadcast_to(np.eye(n), (batch, n, n)), ball.rad, lower, upper)


def joined(parts: list[Zonotopes]) -> Zonotopes:
    """Batches as one, of as many generators as the one that has the most."""
    most = max(part.weights.shape[1] for part in parts)
    columns = [[getattr(_padded(part, most), name) for part in parts] for name in Zonotopes.__slots__]
    return Zonotopes(*(np.concatenate(column) for column in columns))


def _padded(sets: Zonotopes, most: int) -> Zonotopes:
    more = most - sets.weights.shape[1]
    if not more:
        return sets
    generators = np.pad(sets.generators, ((0, 0), (0, 0), (0, more)))
    return Zonotopes(sets.centre, generators, np.pad(sets.weights, ((0, 0), (0, more))), sets.lower, sets.upper)


def weighted(matrix: Floats, vector: Floats) -> Floats:
    """Matrices (batch, m, n) times vectors (batch, n), none of them negative, rounded up."""
    return np.asarray((matrix @ vector[..., None])[..., 0] * (SLACK + gamma(2 * vector.shape[-1])) + TINY)


def spanned(rows: BallArrays, sets: Zonotopes) -> tuple[Floats, Floats]:
    """Floats near R G for rows R (..., d, n), and by how much (R - their floats) s is off at most: (..., d).

    A product of floats is off by at most gamma(n) |R| |G|, and by what underflows.
    """
    lost = (rows.rad + gamma(rows.mid.shape[-1] + 2) * np.abs(rows.mid)) * SLACK
    rest = weighted(lost, sets.radius) + TINY * sets.weights.sum(-1)[:, None]
    return rows.mid @ sets.generators, np.asarray(rest * SLACK)


def moved(sets: Zonotopes, centre: BallArrays, slopes: BallArrays, doubt: Floats) -> Zonotopes:
    """The sets { phi(c) + J (x - c) + w : x in a set, J in slopes, |w| <= doubt }, enclosed; `centre` is phi(c)."""
    generators, rest = spanned(slopes, sets)
    rest = (rest + centre.rad + doubt) * SLACK + TINY
    return widened(centre.mid, generators, sets.weights, np.arange(centre.mid.shape[1]), rest)


def widened(centre: Floats, generators: Floats, weights: Floats, places: Array, rest: Floats) -> Zonotopes:
    """Sets that are wider by some rest (batch, places) in some components, of not too many generators."""
    axes = np.broadcast_to(np.eye(centre.shape[1])[:, places], (*centre.shape, len(places)))
    generators, weights = np.concatenate([generators, axes], 2), np.concatenate([weights, rest], 1)
    if weights.shape[1] > MAX_ORDER * centre.shape[1]:
        generators, weights = _reduced(generators, weights)
    reach = weighted(np.abs(generators), weights)
    return Zonotopes(centre, generators, weights, *BallArrays(centre, reach).ends)


def _reduced(generators: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The first generators, those of which a box would be much larger, and a box around the others."""
    batch, n, _ = generators.shape
    size = np.abs(generators[:, :, n:])
    order = n + np.argsort(-(size.sum(1) - size.max(1)) * weights[:, n:], axis=1, kind="stable")
    kept, small = np.split(order, [(KEPT_ORDER - 2) * n], axis=1)
    kept = np.concatenate([np.broadcast_to(np.arange(n), (batch, n)), kept], axis=1)
    (few, own), (others, theirs) = (
        (np.take_along_axis(generators, some[:, None], axis=2), np.take_along_axis(weights, some, axis=1))
        for some in (kept, small)
    )
    axes = np.broadcast_to(np.eye(n), (batch, n, n))
    return np.concatenate([few, axes], 2), np.concatenate([own, weighted(np.abs(others), theirs)], 1)
