"""Boxes of initial states followed through time, in batches; round after round in shorter steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vernal.engines.flow.monotone import kept_sides
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.flow.integration import Follower, Pace, Segments
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import Floats
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.sets.flow_starts import StartBoxes

DEGREE = 8  # of Taylor polynomials
RECORDED_PARTS_PER_STEP = 4  # of a step, for which bounds are recorded
FIRST_ROUND_STEPS, SHORTEST = 400, 2.0**-18  # of the first round: how many, and how much of the horizon the shortest is
AT_ONCE = 512  # boxes followed in one batch
BATCH_MEMORY, MAX_MEMORY = 2**28, 2**30  # bytes of a batch of several boxes, and of a single one


class BoxRounds:
    """Follows boxes of one flow up to a horizon; what is recorded are bounds along directions, for parts of a step."""

    def __init__(
        self, flow: Model, horizon: float, directions: Floats, tick: Tick, parts: int = RECORDED_PARTS_PER_STEP
    ) -> None:
        self.flow, self.horizon, self.directions, self.tick = flow, horizon, directions, tick
        self.stepper = TaylorStepper(flow, directions, DEGREE, parts, tick)
        self.at_once = max(1, min(AT_ONCE, BATCH_MEMORY // self.stepper.memory))
        self.kept = kept_sides(flow)
        self.number = self.boxes = 0  # rounds and boxes so far

    @property
    def is_too_large(self) -> bool:
        """Whether a single box would take too much memory."""
        return self.stepper.memory > MAX_MEMORY

    def follow(self, boxes: StartBoxes) -> Iterator[Segments]:
        """One round: the segments of the boxes, in order, batch by batch."""
        follower = Follower(self.stepper, self.horizon, self._pace(), self.tick, self.kept)
        self.number += 1
        self.boxes += len(boxes)
        for first in range(0, len(boxes), self.at_once):
            part = boxes[np.arange(first, min(first + self.at_once, len(boxes)))]
            yield follower.follow(part.lower, part.upper)

    def _pace(self) -> Pace:
        """Shorter steps in every round."""
        finer = 2.0**-self.number
        time = self.horizon * finer
        return Pace(time / 4, time / 64, 1e-7 * finer, time * SHORTEST, int(FIRST_ROUND_STEPS / finer))

    def pipe(self, parts: Sequence[Segments]) -> Flowpipe:
        """Segments as one pipe."""
        times = np.concatenate([np.empty((0, 2)), *(part.times for part in parts)])
        lower, upper = (
            np.concatenate([np.empty((0, len(self.directions))), *(getattr(part, end) for part in parts)])
            for end in ("lower", "upper")
        )
        until = min([self.horizon, *(float(time) for part in parts for time in part.until)])
        inside = min([until, *(float(time) for part in parts for time in part.inside)])
        names = tuple(variable.name for variable in self.flow.state)
        locations = np.full(len(times), -1, dtype=np.int64)
        n, first = len(names), times[:, 1] == 0  # what is recorded of time 0 are the boxes themselves
        starts = np.stack([lower[first, :n], upper[first, :n]], axis=1)
        return Flowpipe(names, self.directions, times, lower, upper, locations, inside, until, starts)
