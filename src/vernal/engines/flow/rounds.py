"""Boxes of initial states followed through time, in batches; round after round in shorter steps.

Of a loop that samples the boxes are of its state and of what its agents hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice

import numpy as np

from vernal.engines.flow.monotone import kept_sides
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.flow.integration import Follower, Pace, Segments
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.sampled.plant import plant_of
from vernal.model.held_loop import loop_of
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.sets.flow_starts import StartBoxes
from vernal.sets.sampled.loop_space import LoopFollower

DEGREE = 8  # of Taylor polynomials
RECORDED_PARTS_PER_STEP = 4  # of a step, for which bounds are recorded
FIRST_ROUND_STEPS, SHORTEST = 400, 2.0**-18  # of the first round: how many, and how much of the horizon the shortest is
AT_ONCE = 512  # boxes followed in one batch
BATCH_MEMORY, MAX_MEMORY = 2**28, 2**30  # bytes of a batch of several boxes, and of a single one


def _pace(time: float, finer: float) -> Pace:
    """Steps of at most this time in the first round, and shorter ones in every round after it."""
    step = time * finer
    return Pace(step, step / 16, 1e-7 * finer, step * 4 * SHORTEST, int(FIRST_ROUND_STEPS / finer))


class BoxRounds:
    """Follows boxes of one flow up to a horizon; what is recorded are bounds along directions, for parts of a step."""

    def __init__(
        self, flow: Model, horizon: float, directions: Floats, tick: Tick, parts: int = RECORDED_PARTS_PER_STEP
    ) -> None:
        self.flow, self.horizon, self.directions, self.tick, self.parts = flow, horizon, directions, tick, parts
        self.number = self.boxes = 0  # rounds and boxes so far
        self.loop: LoopFollower | None = None
        if loop_of(flow) is not None:
            self.loop = LoopFollower(plant_of(flow), directions, self._stepper, tick)
            self.memory = max(self.loop.stepper(one).memory for one in islice(self.loop.first_values(), 1))
        else:
            self.stepper = self._stepper(flow, directions)
            self.memory, self.kept = self.stepper.memory, kept_sides(flow)
        self.at_once = max(1, min(AT_ONCE, BATCH_MEMORY // self.memory))

    def _stepper(self, flow: Model, directions: Floats) -> TaylorStepper:
        return TaylorStepper(flow, directions, DEGREE, self.parts, self.tick)

    @property
    def is_too_large(self) -> bool:
        """Whether a single box would take too much memory."""
        return self.memory > MAX_MEMORY

    def follow(self, boxes: StartBoxes) -> Iterator[Segments]:
        """One round: the segments of the boxes, in order, batch by batch."""
        self.number += 1
        self.boxes += len(boxes)
        for first in range(0, len(boxes), self.at_once):
            part = boxes[np.arange(first, min(first + self.at_once, len(boxes)))]
            yield self._followed(part)

    def _followed(self, part: StartBoxes) -> Segments:
        finer = 2.0 ** (1 - self.number)
        if self.loop is not None:
            pace = partial(_pace, finer=finer)
            return self.loop.follow(part.lower, part.upper, Fraction(self.horizon), pace)
        whole = _pace(self.horizon / 4, finer)
        return Follower(self.stepper, self.horizon, whole, self.tick, self.kept).follow(part.lower, part.upper)

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
