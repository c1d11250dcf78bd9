"""Claims of all paths over the samples of a loop, by sets of states that are followed from instant to instant.

Boxes of initial states from which a path may fail are cut, and followed again in shorter steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from vernal.engines.flow.recurrence import CLOCK
from vernal.engines.refusals import OF_SOME_SAMPLES
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.flow.integration import Pace
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.claim import position_claim
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.model.clock import clock_of
from vernal.model.flow import Flow
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided
from vernal.sets.flow_starts import StartBoxes, cut, start_boxes
from vernal.sets.sampled.loop_space import LoopFollower, LoopSpace, LoopStates
from vernal.sets.sampled.sample_graphs import bounded_forms
from vernal.sets.search import Search, Stage

DEGREE = 8  # of Taylor polynomials
STEPS_PER_STRETCH, SHORTEST = 400, 2.0**-18  # of a stretch of time: how many, and how much of it the shortest is
FINEST = 1 / 8  # of the steps of the first round
MAX_SAMPLES = 10_000
LIMITS = CuttingLimits(rounds=10, most=1024, patience=5)
ENDS = {
    CuttingEnd.IDLE: "cutting {} parts of the initial set once more does not help",
    CuttingEnd.MANY: "more than {} parts of the initial set stay open",
    CuttingEnd.ROUNDS: "{} parts of the initial set stay open after ten rounds of cutting them",
}


def refusal(question: Question) -> str | None:
    """Why a claim over samples is not taken, if it is not."""
    claim = question.claim
    if claim.mentions_some and claim.sufficient is None and claim.refuting is None:
        return OF_SOME_SAMPLES
    if claim.horizon is None:
        return CLOCK if clock_of(question.model) is not None and not any(sooner(question)) else None
    if claim.horizon > MAX_SAMPLES:
        return f"a horizon of {claim.horizon:,} samples is too long; at most {MAX_SAMPLES:,} are followed"
    return None


def sooner(question: Question) -> Iterator[Question]:
    """With bounds, more and more of them: questions that imply one without a last sample, as `F[0,8] p` does `F p`."""
    yield from (replace(question, formula=formula) for formula in bounded_forms(question.claim))


class SampleSearch:
    """Rounds in which boxes of initial states are followed from sample to sample, and those that stay open are cut."""

    def __init__(self, question: Question, engine: str, budget: Budget) -> None:
        claim, flow = question.claim, question.model
        assert claim.linear is not None
        assert claim.horizon is not None
        assert flow.grid is not None
        self.question, self.engine, self.budget = question, engine, budget
        self.path: Formula = claim.linear
        self.steps, self.horizon = claim.horizon, claim.horizon * flow.grid
        self.loop = LoopFollower(plant_of(flow), np.eye(len(flow.vars)), self._stepper, budget.check)
        self.rounds = self.boxes = 0
        self.margin, self.inside = inf, True
        self.why: str | None = None  # sets were followed no further

    def _stepper(self, flow: Flow, directions: Floats) -> TaylorStepper:
        return TaylorStepper(flow, directions, DEGREE, 1, self.budget.check)

    def run(self) -> Known:
        """A proof, or why there is none."""
        first = start_boxes(self.question.model)
        end = cut_until_decided(first, self._decide, self._cut, LIMITS, self.budget.check) if len(first) else None
        if end is not None and end.end is not CuttingEnd.DECIDED:
            told = ENDS[end.end].format(len(end.boxes))
            reason = told if self.why is None else f"{self.why}; {told}"
            return Open(engine=self.engine, reason=reason, statistics=self._statistics)
        return Proof(
            engine=self.engine,
            direction=LoopSpace.direction,
            assurance=Assurance.RIGOROUS,
            empty=not len(first),
            margin=self.margin if self.margin < inf else None,
            stays_inside=self.inside,
            statistics=self._statistics,
        )

    @property
    def _statistics(self) -> dict[str, int | float | str]:
        return {"boxes": self.boxes, "rounds": self.rounds}

    def _decide(self, boxes: StartBoxes) -> OpenBoxes:
        """The boxes from which a path may fail, or is not known to the end."""
        self.rounds += 1
        self.boxes += len(boxes)
        space = LoopSpace(self.loop, boxes.lower, boxes.upper, self.horizon, self._pace)
        heard = SampledFailures(space, self.path)
        try:
            Search(self.path, space, heard, total=False, tick=self.budget.check).levels(self.steps)
        except Stopped as stop:
            self.budget.check()  # its own limits end the search
            self.why = stop.reason
            return OpenBoxes(boxes, space.influence + 1.0)
        closed = ~heard.open
        self.margin = min(self.margin, float(np.min(heard.least[closed], initial=inf)))
        self.inside &= not np.isfinite(space.inside[closed]).any()
        return OpenBoxes(boxes[heard.open], space.influence[heard.open] + 1e-9)

    def _pace(self, length: float) -> Pace:
        finer = max(2.0 ** (1 - self.rounds), FINEST)
        step = length * finer
        return Pace(step, step / 16, 1e-7 * finer, step * 4 * SHORTEST, int(STEPS_PER_STRETCH / finer))

    def _cut(self, left: OpenBoxes) -> StartBoxes:
        return cut(self.question.model, left.boxes, left.influence)


@dataclass(frozen=True, eq=False)
class OpenBoxes:
    """Boxes that stay open, and what influences the sets that begin there."""

    boxes: StartBoxes
    influence: Floats

    def __len__(self) -> int:
        return len(self.boxes)


class SampledFailures:
    """Handles the sets of a search: from which boxes a path may fail, and by what margin the others do not."""

    done = False

    def __init__(self, space: LoopSpace, path: Formula) -> None:
        count = len(space.starts[0])
        self.space, self.claim = space, position_claim(path)
        self.open: Mask = np.zeros(count, dtype=bool)
        self.least = np.full(count, inf)  # margin, where it is measured position by position

    def reached(self, stage: Stage, states: LoopStates) -> None:
        """Sets at a sample."""
        if self.claim is not None and self.claim.covers(stage.t):
            group, loop = states.group, self.space.loop
            (margin,) = loop.resetter.specialised([loop.plant.resolve(self.claim.margin)], group.values)
            lower = loop.resetter.bounds(group.sets).range(margin).lower
            np.minimum.at(self.least, group.origins, np.broadcast_to(lower, group.origins.shape))

    def kept(self, stage: Stage, states: LoopStates) -> None:
        """Nothing is left to ask of these."""

    def failed(self, stage: Stage, states: LoopStates) -> None:
        """Some path from these may break the claim."""
        self.open[states.group.origins] = True

    def passed(self, t: int) -> None:
        """All sets of a sample are looked at."""
