"""Which simulated trajectories are outside a flowpipe."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats
from vernal.simulate.runs import Runs
from vernal.simulate.trajectories import column

Places = NDArray[np.intp]

ROUNDING = 1e-6  # of simulated trajectories, absolute and relative


class PipeJudge:
    """Says which trajectories are at some time in none of a flowpipe's sets."""

    def __init__(self, pipe: Flowpipe) -> None:
        self.pipe = pipe
        slack = ROUNDING * (1 + np.maximum(np.abs(pipe.lower), np.abs(pipe.upper)))
        self.lower, self.upper = pipe.lower - slack, pipe.upper + slack
        self._covers: dict[float, Places] = {}

    def outside(self, runs: Runs) -> NDArray[np.bool_]:
        """A row for each run; where a run has no number (it has left the region) there is nothing to say."""
        assert runs.times is not None
        states = np.stack([column(runs, name) for name in self.pipe.variables], axis=2)
        known = np.asarray(~np.isnan(states).all(axis=(0, 1)))  # the simulator may not keep the clock
        sides = ~self.pipe.directions[:, ~known].any(axis=1)
        rows, ends = self.pipe.directions[sides][:, known], (self.lower[:, sides], self.upper[:, sides])
        boxes = self._boxes(states[:, 0], known)
        wrong = np.zeros(len(states), dtype=bool)
        for position, now in enumerate(runs.times):
            here = states[:, position][:, known]
            gone = ~np.isfinite(here).all(axis=1)
            wrong |= ~gone & ~_within(here @ rows.T, self._covering(float(now))[boxes], *ends)
        return wrong

    def _boxes(self, first: Floats, known: NDArray[np.bool_]) -> Places:
        """A part of the initial set that each state is in; 0 where nobody said what the parts are."""
        if len(self.pipe.starts) < 2:
            return np.zeros(len(first), dtype=np.intp)
        lower, upper = (self.pipe.starts[:, side, known] for side in (0, 1))
        beyond = np.empty(len(first), dtype=np.intp)
        for chosen in np.array_split(np.arange(len(first)), -(-len(first) * len(lower) // 10**6)):
            there = first[chosen][:, None, known]
            beyond[chosen] = np.maximum(lower - there, there - upper).max(axis=2).argmin(axis=1)
        return beyond

    def _covering(self, now: float) -> Places:
        """For each part the segments that cover a time, each row filled up with its first one."""
        if now not in self._covers:
            parts = self.pipe.sets.trail if len(self.pipe.starts) > 1 else np.zeros(len(self.pipe.times), dtype=np.intp)
            rows = np.flatnonzero((self.pipe.times[:, 0] <= now) & (now <= self.pipe.times[:, 1]))
            rows = rows[np.argsort(parts[rows], kind="stable")]
            counts = np.bincount(parts[rows], minlength=max(1, len(self.pipe.starts)))
            starts = np.cumsum(counts) - counts
            offsets = np.minimum(np.arange(max(counts.max(), 1)), np.maximum(counts[:, None] - 1, 0))
            found = rows[np.minimum(starts[:, None] + offsets, len(rows) - 1)]
            self._covers[now] = np.where(counts[:, None] > 0, found, -1)
        return self._covers[now]


def _within(values: Floats, segments: Places, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
    """Which points, given along directions, are in one of their segments; -1 is none."""
    inside = np.zeros(len(values), dtype=bool)
    for one in segments.T:
        inside |= (one >= 0) & ((lower[one] <= values) & (values <= upper[one])).all(axis=1)
    return inside
