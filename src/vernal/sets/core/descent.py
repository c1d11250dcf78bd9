"""Points that move along slopes towards a counterexample, in batches and in floating point.

The slopes of a requirement's rows at a point are those of their bounds over a tiny box around it, so there is no second
meaning of a gradient. A point follows the rows that keep it from being a counterexample: of a conjunction all that are
above zero, of a disjunction those of the alternative that is nearest.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.lazy import cached_property
from vernal.model.tick import Tick
from vernal.sets.core.clauses import Clauses, RowNumbers
from vernal.sets.core.open_boxes import DomainFrame, Domains
from vernal.sets.pieces.batches import Indices

MOVING_POINTS = 64  # that move together
DESCENT_ROUNDS = 8
STRIDES = (0.5, 0.15, 0.05, 0.015, 0.004, 0.001)  # relative to the widths of the box
PROBE = 1e-7  # half the width of the box around a point, relative to that of the whole


class Descent:
    """Moves points of the initial set to where what is required is nearest to being met."""

    def __init__(self, clauses: Clauses, numbers: RowNumbers, frame: DomainFrame, tick: Tick) -> None:
        self.clauses, self.numbers, self.frame, self.tick = clauses, numbers, frame, tick
        self._random = np.random.default_rng(0)

    @cached_property
    def whole(self) -> Domains:
        """The boxes that points may not leave."""
        return self.frame.enter()

    @cached_property
    def _moving(self) -> Mask:
        return ~self.frame.discrete

    def moved(self, points: Floats, origin: Indices) -> tuple[Floats, Indices]:
        """The most promising of the points, and of as many random ones, moved; with the whole boxes they belong to."""
        points, origin = np.concatenate([points, self._anywhere(origin)]), np.tile(origin, 2)
        chosen = np.argsort(self._value(points, origin), kind="stable")[:MOVING_POINTS]
        points, origin = points[chosen], origin[chosen]
        least = self._value(points, origin)
        for _ in range(DESCENT_ROUNDS):
            if (least < 0).any():
                break
            points, least = self._step(points, origin, least)
        return points, origin

    def _anywhere(self, origin: Indices) -> Floats:
        """A random point of the same whole box for each."""
        lower, upper = self.whole.lower[origin], self.whole.upper[origin]
        bounded = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        found = lower + self._random.random(lower.shape) * bounded
        return np.clip(np.where(self._moving, found, np.round(found)), lower, upper)

    def _value(self, points: Floats, origin: Indices) -> Floats:
        """(points,): what has to be at most zero."""
        numbers = self.numbers.take(self.frame.owners[origin])
        known = self.clauses.at(self.frame.inputs(points), len(points), numbers)
        return self.clauses.values(known)[:, self.clauses.root]

    def _step(self, points: Floats, origin: Indices, least: Floats) -> tuple[Floats, Floats]:
        """Down the slopes to the best of a few places, not out of the box; with the values there."""
        lower, upper = self.whole.lower[origin], self.whole.upper[origin]
        width = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        down = -self._slopes(points, origin, lower, upper) * width * self._moving
        down /= np.maximum(np.abs(down).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        start = points
        for direction in (np.sign(down), down):
            tried = np.concatenate([np.clip(start + a * width * direction, lower, upper) for a in STRIDES])
            values = self._value(tried, np.tile(origin, len(STRIDES))).reshape(len(STRIDES), -1)
            best = values.argmin(axis=0)
            places, found = best * len(points) + np.arange(len(points)), values.min(axis=0)
            points = np.where((found < least)[:, None], tried[places], points)
            least = np.minimum(found, least)
        return points, least

    def _slopes(self, points: Floats, origin: Indices, lower: Floats, upper: Floats) -> Floats:
        """(points, columns): the sum of the slopes of the rows to follow."""
        half = PROBE * np.where(np.isfinite(upper - lower), upper - lower, 0.0) * self._moving
        around = self.whole.rows(origin).between(np.maximum(points - half, lower), np.minimum(points + half, upper))
        linear = Linear(self.frame.abstract(around), mode="interval", tick=self.tick, batch=len(points))
        known, slopes = self.clauses.bounded(linear, self.numbers.take(self.frame.owners[origin]))
        followed = pressing(self.clauses, self.clauses.values(known))[:, : slopes.shape[1], None]
        return self.frame.by_column(np.where(followed, slopes, 0.0).sum(axis=1), linear.inputs.names)


def pressing(clauses: Clauses, values: Floats) -> Mask:
    """(points, leaves): those that keep the whole above zero; of alternatives the nearest counts."""
    asked = np.zeros(values.shape, dtype=bool)
    asked[:, clauses.root] = True
    for number in range(len(clauses.junctions) - 1, -1, -1):
        every, parts = clauses.junctions[number]
        here = asked[:, clauses.leaves + number]
        nearest = values[:, parts].argmin(axis=1) if parts else None
        for place, part in enumerate(parts):
            asked[:, part] |= here & ((values[:, part] > 0) if every else (nearest == place))
    return asked[:, : clauses.leaves]
