"""Boxes of initial states followed through time, in batches; round after round, in shorter steps where that may help.

Where a flow is smooth and not linear, sets are images of their boxes under polynomials. In a loop that samples they are
so only if its flow turned out to lose more than its networks do: polynomials take longer. There the boxes are of its
state and of what its agents hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.flow.integration import Pace, Segments, horizon_on_grid
from vernal.interpret.flow.polynomials import CONSTANT
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.flow.zonotope_batches import ring_of
from vernal.interpret.geometry.template_sets import joined, no_sets
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.sampled.plant import plant_of
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.model.traits import nonlinear_node
from vernal.sets.flow_starts import StartBoxes
from vernal.sets.sampled.loop_space import LoopFollower, LoopStates, Spoiling, spoils_nothing
from vernal.sets.search import Handler

DEGREE = 8  # of Taylor polynomials
RECORDED_PARTS_PER_STEP = 4  # of a step, for which bounds are recorded
FIRST_ROUND_STEPS = 2**15  # at most
SHORTEST = 2.0**-24  # of the time, the shortest step of the first round
FEWEST_STEPS = 4  # of the first round through a flow
SHORT_HORIZON, MIN_EXPONENT = 2.0**-10, -900  # below which a unit of time is chosen that is as short, a power of two
MOSTLY = 0.75  # of what is lost, by steps: then sets have to be curved
HARDLY = 0.01  # of what is lost, by steps: then shorter ones hardly help,
STAGNANT_ROUNDS = 3  # and are tried after so many rounds that come no further
AT_ONCE = 512  # boxes followed in one batch
BATCH_MEMORY, MAX_MEMORY = 2**28, 2**30  # bytes of a batch of several boxes, and of a single one


def _pace(time: float, steps: int, finer: float) -> Pace:
    """At least so many steps during this time in the first round, and shorter ones in every round after it."""
    step = time / steps * finer
    return Pace(step, step / 16, 3e-8 * finer, step * 4 * SHORTEST, int(FIRST_ROUND_STEPS / finer))


def unit_for(flow: Model, horizon: float) -> Fraction | None:
    """A unit of time in which a plain flow's horizon is no tiny number; None: its own will do."""
    if flow.grid is not None or horizon >= SHORT_HORIZON or horizon <= 0:
        return None
    return Fraction(2) ** max(math.floor(math.log2(horizon)), MIN_EXPONENT)


def on_time_grid(flow: Model, horizon: float) -> float:
    """A horizon that can be followed exactly, not before this one."""
    return horizon_on_grid(horizon) if unit_for(flow, horizon) is None else horizon


class BoxRounds:
    """Follows boxes of one flow up to a horizon; what is recorded are bounds along directions, for parts of a step."""

    def __init__(
        self, flow: Model, horizon: float, directions: Floats, tick: Tick, parts: int = RECORDED_PARTS_PER_STEP
    ) -> None:
        self.flow, self.horizon, self.directions, self.tick, self.parts = flow, horizon, directions, tick, parts
        self.number = self.boxes = self.finer = 0  # rounds and boxes so far, and how often steps became shorter
        self.stagnant = 0  # rounds that came no further
        self.loop = LoopFollower(plant_of(flow), directions, self._stepper, tick, unit_for(flow, horizon))
        steppers = [self.loop.stepper(one) for one in islice(self.loop.first_values(), 1)]
        smooth = not any(stepper.nominal.kinked for stepper in steppers)  # over kinks steps are linear
        self.curved = smooth and flow.grid is None and nonlinear_node(flow.vector_field) is not None
        self.memory = max(stepper.memory for stepper in steppers)

    def _stepper(self, flow: Model, directions: Floats) -> TaylorStepper:
        return TaylorStepper(flow, directions, DEGREE, self.parts, self.tick)

    @property
    def is_too_large(self) -> bool:
        """Whether a single box would take too much memory."""
        return self.memory > MAX_MEMORY

    def resume(self, finer: int, *, curved: bool) -> None:
        """Go on as another search did that came so far."""
        self.finer, self.curved = finer, curved

    def follow(
        self,
        boxes: StartBoxes,
        spoils: Spoiling = spoils_nothing,
        horizon: float | None = None,
        handler: Handler[LoopStates] | None = None,
    ) -> Iterator[Segments]:
        """One round: the segments of the boxes, in order, batch by batch; spoilt boxes are followed no further.

        A horizon of its own is a later one. A `handler` is told of the sets at instants, of one batch after the other.
        """
        self.number += 1
        self.boxes += len(boxes)
        count = self._at_once(boxes)
        for first in range(0, len(boxes), count):
            part = boxes[np.arange(first, min(first + count, len(boxes)))]
            yield self._followed(part, spoils, horizon or self.horizon, handler)

    def _at_once(self, boxes: StartBoxes) -> int:
        """How many boxes go into one batch."""
        steppers = [self.loop.stepper(one) for one in islice(self.loop.first_values(), 1)]
        ring = ring_of(boxes.lower, boxes.upper) if self.curved else CONSTANT
        memory = self.memory + max(stepper.polynomial_memory(ring) for stepper in steppers)
        return max(1, min(AT_ONCE, BATCH_MEMORY // memory))

    def _followed(
        self, part: StartBoxes, spoils: Spoiling, horizon: float, handler: Handler[LoopStates] | None
    ) -> Segments:
        fewest = FEWEST_STEPS if self.flow.grid is None else 1  # a loop has a step, or more, for each of its periods
        pace = partial(_pace, steps=fewest, finer=2.0**-self.finer)
        lower, upper, time = part.lower, part.upper, Fraction(horizon)
        return self.loop.follow(lower, upper, time, pace, curved=self.curved, spoils=spoils, handler=handler)

    def adapt(self, left: Sequence[Segments], *, stagnates: bool) -> None:
        """Choose how to follow the next round by what lost the boxes that this one leaves open."""
        rough = any(np.isfinite(part.rough).any() for part in left)
        bent = np.concatenate([np.zeros(0), *(part.bent for part in left)])
        share = float(np.median(bent)) if len(bent) else 0.0
        followed = all((part.until >= self.horizon).all() for part in left)
        self.stagnant += stagnates
        if (
            rough
            or (stagnates and self.stagnant % STAGNANT_ROUNDS == 0)
            or ((stagnates or followed) and (self.flow.grid is None or share > HARDLY))
        ):
            self.finer += 1
        self.curved = self.curved or share > MOSTLY

    def pipe(self, parts: Sequence[Segments]) -> Flowpipe:
        """Segments as one pipe."""
        firsts = np.cumsum([0, *(len(part.until) for part in parts)])  # boxes are numbered through
        trailed = [
            replace(part.sets, trail=part.sets.trail + first) for part, first in zip(parts, firsts, strict=False)
        ]
        sets = joined([no_sets(self.loop.template), *trailed])
        times = np.concatenate([np.empty((0, 2)), *(part.times for part in parts)])
        until = min([self.horizon, *(float(time) for part in parts for time in part.until)])
        inside = min([until, *(float(time) for part in parts for time in part.inside)])
        names = tuple(variable.name for variable in self.flow.state)
        starts = np.stack(sets.rows(times[:, 1] == 0).ranges(), axis=1)  # of time 0 the boxes themselves are recorded
        return Flowpipe(names, sets, times, inside, until, starts)
