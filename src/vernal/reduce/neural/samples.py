"""The largest error of a network at points: sampled, improved by local search, and enclosed."""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import Tick
from vernal.reduce.neural.difference import ErrorField

FIRST_POINTS = 2000  # that are sampled first
RANDOM_POINTS = 16  # of the region, beside the worst so far
SEARCH_STARTS = 4  # best points of each side, from which the local search begins
NEIGHBOURS = 12  # points around each of these
SEARCH_ROUNDS = 14
SHRINK = 0.6  # of the distance of neighbours, from round to round


class WorstPoints:
    """For each rate, and each side of its error, the point where that is largest so far."""

    def __init__(self, difference: ErrorField, lower: Floats, upper: Floats) -> None:
        self.difference, self.lower, self.upper = difference, lower, upper
        self.sides = np.full(2 * difference.outputs, -np.inf)  # the largest f - N, then N - f
        self.places = np.repeat(0.5 * lower[None] + 0.5 * upper[None], 2 * difference.outputs, axis=0)
        self.rates = np.zeros(difference.outputs)  # the largest absolute values of f at points
        self._random = np.random.default_rng(0)

    def look(self, points: Floats) -> Floats:
        """Note the errors at points (points, coordinates); returns f - N there. Raises where f is undefined."""
        found = self.difference.at(points)
        if not len(points):
            return found
        both = np.concatenate([found, -found], axis=1)
        wrong = ~np.isfinite(both)
        if wrong.any():
            self.difference.refuse(points[np.flatnonzero(wrong.any(1))[0]])
            both = np.where(wrong, -np.inf, both)
        best = both.argmax(0)
        for row in np.flatnonzero(both.max(0) > self.sides):
            self.sides[row] = both[best[row], row]
            self.places[row] = points[best[row]]
        return found

    @property
    def worst(self) -> Floats:
        """The largest error of each rate."""
        above, below = self.sides.reshape(2, -1)
        return np.asarray(np.maximum(np.maximum(above, below), 0.0))

    @property
    def points(self) -> Floats:
        """Where the largest errors are: a point for each rate."""
        above, below = self.places.reshape(2, -1, self.places.shape[1])
        larger = self.sides[: len(above)] >= self.sides[len(above) :]
        return np.where(larger[:, None], above, below)

    def some(self) -> Floats:
        """A few points of the region, the worst so far among them."""
        return np.concatenate(
            [self.places, self._random.uniform(self.lower, self.upper, (RANDOM_POINTS, len(self.lower)))]
        )

    def search(self, tick: Tick) -> None:
        """Sample, and climb from the best points of each variable and side."""
        points = self._random.uniform(self.lower, self.upper, (FIRST_POINTS, len(self.lower)))
        centre = 0.5 * self.lower + 0.5 * self.upper
        points = np.concatenate([points, [centre, self.lower, self.upper]])
        found = self.look(points)
        self.rates = np.nan_to_num(abs(self.difference.rates_at(points)), posinf=0.0).max(0)
        both = np.concatenate([found, -found], axis=1)
        both = np.nan_to_num(both, nan=-np.inf)
        best = np.argpartition(-both, SEARCH_STARTS, axis=0)[:SEARCH_STARTS]  # (starts, 2 variables)
        self._climb(points[best], np.take_along_axis(both, best, axis=0), tick)

    def _climb(self, points: Floats, values: Floats, tick: Tick) -> None:
        """Local search from points (starts, 2 variables, coordinates) at which f - N, then N - f, has these values."""
        starts, rows, size = points.shape
        distance = 0.25 * (self.upper - self.lower) * FIRST_POINTS ** (-1.0 / size)
        for _ in range(SEARCH_ROUNDS):
            tick()
            moves = self._random.normal(size=(NEIGHBOURS, starts, rows, size)) * distance
            tried = np.clip(points + moves, self.lower, self.upper)
            found = self.look(tried.reshape(-1, size)).reshape(NEIGHBOURS, starts, rows, rows // 2)
            both = np.concatenate([found, -found], axis=-1)
            own = np.nan_to_num(np.diagonal(both, axis1=2, axis2=3), nan=-np.inf)  # (neighbours, starts, rows)
            best = own.argmax(0)
            top = np.take_along_axis(own, best[None], axis=0)[0]
            better = top > values
            nearest = np.take_along_axis(tried, best[None, ..., None], axis=0)[0]
            points, values = np.where(better[..., None], nearest, points), np.where(better, top, values)
            distance = SHRINK * distance

    def certain(self, above: Floats | None = None) -> Floats:
        """The largest errors, rounded down by enclosures; with `above`, 0 where they are not above it anyway."""
        if above is not None and not (self.worst > above).any():
            return np.zeros(len(self.worst))
        return certain_errors(self.difference, self.points)


def certain_errors(difference: ErrorField, points: Floats) -> Floats:
    """The error of each rate at its own point, rounded down by an enclosure."""
    found = difference.enclosed(points)
    low: Floats = np.diagonal(np.maximum(found.lower, -found.upper))
    return np.maximum(low, 0.0)
