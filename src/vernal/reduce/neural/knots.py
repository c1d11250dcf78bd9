"""Where a piecewise linear function of one variable should break, so that few pieces have a small largest error.

Between two candidates the best line is taken to be parallel to the chord, which is exact where the function is convex
or concave; the best breaks for any number of pieces then follow by dynamic programming over all candidates. Outputs
that share the variable share the breaks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Floats
from vernal.reduce.neural.part_samples import PartSamples

CANDIDATES = 160
SAMPLES_PER_SIDE = 10  # samples on each side of a place


class Knots:
    """The best breaks of samples on a line, for any number of them."""

    def __init__(self, samples: PartSamples, scale: Floats, near: Floats | None = None) -> None:
        """With `near` only every other candidate, but all samples around these places."""
        chosen = _candidates(samples, CANDIDATES) if near is None else _around(samples, near)
        self.places = samples.points[chosen, 0]
        lower, upper = samples.lower[chosen] / scale, samples.upper[chosen] / scale
        self.costs = np.max([_costs(self.places, lower[:, q], upper[:, q]) for q in range(len(scale))], axis=0)
        self._levels = [self.costs[0]]  # the least largest cost of the candidates up to each one, by number of knots
        self._before: list[NDArray[np.intp]] = []

    def ratio(self, knots: int) -> float:
        """About the least largest error, relative to the scale, with so many knots."""
        self._extend(knots)
        return float(self._levels[knots][-1])

    def best(self, knots: int) -> Floats:
        """Where that many knots should be (fewer where the candidates are too few)."""
        self._extend(knots)
        places, here = [], len(self.places) - 1
        for level in range(knots - 1, -1, -1):
            here = int(self._before[level][here])
            places.append(self.places[here])
        inside = [place for place in places if self.places[0] < place < self.places[-1]]
        return np.unique(np.array(inside, dtype=np.float64))

    def _extend(self, knots: int) -> None:
        while len(self._levels) <= knots:
            through = np.maximum(self._levels[-1][:, None], self.costs)  # last knot i, end j
            self._before.append(np.argmin(through, axis=0))
            self._levels.append(np.min(through, axis=0))


def _around(samples: PartSamples, near: Floats) -> NDArray[np.intp]:
    at = np.searchsorted(samples.points[:, 0], near)
    around = (at[:, None] + np.arange(-SAMPLES_PER_SIDE, SAMPLES_PER_SIDE + 1)).ravel().clip(0, len(samples.points) - 1)
    return np.union1d(_candidates(samples, CANDIDATES // 2), around)


def _candidates(samples: PartSamples, count: int) -> NDArray[np.intp]:
    """Indices of samples, ends included: half of them evenly placed, half as dense as the samples themselves."""
    places, last = samples.points[:, 0], len(samples.points) - 1
    even = np.searchsorted(places, np.linspace(places[0], places[-1], count // 2)).clip(0, last)
    dense = np.linspace(0, last, count // 2).astype(int)
    return np.unique(np.concatenate([even, dense, [0, last]]))


def _costs(places: Floats, lower: Floats, upper: Floats) -> Floats:
    """For i < j the error of the best line parallel to the chord from i to j; infinite elsewhere, 0 for i = j."""
    count = len(places)
    middle = (lower + upper) / 2
    costs = np.full((count, count), np.inf)
    np.fill_diagonal(costs, 0.0)
    for i in range(count - 1):
        run = places[i + 1 :] - places[i]
        slopes = (middle[i + 1 :] - middle[i]) / run
        chords = slopes[:, None] * (places[i:] - places[i])[None]  # (j, k): the chord to j at point k
        inside = np.arange(count - i)[None] <= np.arange(1, count - i)[:, None]
        high = np.where(inside, upper[i:][None] - chords, -np.inf).max(axis=1)
        low = np.where(inside, lower[i:][None] - chords, np.inf).min(axis=1)
        costs[i, i + 1 :] = (high - low) / 2
    return costs
