"""The flow itself, followed by validated steps: no abstraction, and splits of the initial set where it is not enough.

Smooth fields are followed by Taylor steps (`interpret.flow`); where a field has no bounded derivative short first-order
steps are all there is, and they give wide pipes. Every box that the pipe leaves open is cut, all of them in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vernal.engines.flow.judge import PipeJudge
from vernal.engines.flow.starts import StartBoxes, cut, start_boxes
from vernal.engines.flow.template import directions_of, octagon
from vernal.engines.knowledge import Known, Open, Proof
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import Assurance
from vernal.interpret.flow.follow import Follower, Pace, Segments, horizon_on_grid
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.flow.taylor import unknown_operators
from vernal.interpret.numbers.rounding import Floats, float_above
from vernal.logic.formula import Always
from vernal.logic.timed import FlowQuestion
from vernal.model.flow import Flow
from vernal.reduce.base import Direction
from vernal.run.budget import Budget

DEGREE = 8  # of Taylor polynomials
PARTS = 4  # of a step, for which bounds are recorded
MAX_ROUNDS = 10
PATIENCE, PROGRESS = 4, 0.02  # rounds that close no box and come no further, by this share of the horizon
STEPS, SHORTEST = 400, 2.0**-18  # of the first round: how many, and how much of the horizon the shortest is
MAX_BOXES = 4096  # that may be open at once
AT_ONCE = 512  # boxes followed in one batch
LONGEST_TIME = 2.0**20  # beyond it times are not exact
OCTAGON_DIMENSIONS = 4  # up to which all sums and differences are recorded
ABSTRACTION = "try --engine abstraction"


class DirectFlowpipe:
    """Flowpipes of smooth flows, without abstraction."""

    name = "flowpipe"

    def attempt(self, question: FlowQuestion, budget: Budget) -> Known:
        """A proof by a flowpipe, or how far one reaches."""
        horizon = float_above(question.horizon)
        strange = unknown_operators(question.flow.vector_field)
        if strange:
            return _unsupported(f"the slopes of {', '.join(strange)} are not known; {ABSTRACTION}")
        if horizon >= LONGEST_TIME:
            return _unsupported(f"a horizon of {horizon:g} units of time is too long; try other units")
        return DirectSearch(question, horizon_on_grid(horizon), budget).run()


def _unsupported(reason: str) -> Open:
    return Open(engine=DirectFlowpipe.name, reason=f"not supported by this engine: {reason}")


class DirectSearch:
    """Rounds in which boxes are followed and those that stay open are cut, each round with shorter steps."""

    def __init__(self, question: FlowQuestion, horizon: float, budget: Budget) -> None:
        self.question, self.horizon, self.budget = question, horizon, budget
        self.flow = question.flow
        n = len(self.flow.state)
        self.directions = directions_of(question, octagon(n) if n <= OCTAGON_DIMENSIONS else None)
        self.stepper = TaylorStepper(self.flow, self.directions, DEGREE, PARTS)
        self.judge = PipeJudge(question, budget.check)
        self.rounds = self.followed = self.stale = 0
        self.reached = 0.0  # until when the last round followed the boxes that it left open
        self.proven: float | None = None  # of a claim about all times, until when it is true
        self.closed: list[Segments] = []  # of boxes whose trajectories all keep the formula
        self.open: list[Segments] = []  # of those that are left, in the last round

    def run(self) -> Known:
        """Follow all boxes; then, again and again, the parts of those that stay open."""
        boxes = start_boxes(self.flow)
        empty = not len(boxes)
        try:
            while len(boxes):
                still, influence, fails = self._round(boxes)
                reason = self._hopeless(len(still), fails)
                if len(still) and reason:
                    return self._left_open(reason)
                boxes = cut(self.flow, still, influence) if len(still) else still
        except Stopped as stop:
            return self._left_open(stop.reason)
        return self._proof(empty)

    def _hopeless(self, count: int, fails: bool) -> str | None:
        """Why another round would not help."""
        if fails:
            return "all trajectories from a part of the initial set make the formula false; try --engine falsify"
        if self.stale >= PATIENCE:
            return f"cutting {count} parts of the initial set once more does not help"
        if self.rounds >= MAX_ROUNDS:
            return f"{count} parts of the initial set stay open after {MAX_ROUNDS} rounds of cutting them"
        if 2 * count > MAX_BOXES:
            return f"more than {MAX_BOXES // 2} parts of the initial set stay open"
        return None

    # One round --------------------------------------------------------------------------------------------------------

    def _round(self, boxes: StartBoxes) -> tuple[StartBoxes, Floats, bool]:
        """Follow boxes: those that stay open, what influences them, and whether the formula is false of some."""
        follower = Follower(self.stepper, self.horizon, self._pace(), self.budget.check)
        self.rounds += 1
        self.followed += len(boxes)
        left: list[Segments] = []
        influence, still, fails = [], [], False
        proven: list[float | None] = []
        for first in range(0, len(boxes), AT_ONCE):
            part = boxes[np.arange(first, min(first + AT_ONCE, len(boxes)))]
            found = follower.follow(part.lower, part.upper)
            truths, until = self._truths(found)
            proven.append(until)
            fails = fails or False in truths
            undecided = np.flatnonzero([truth is not True for truth in truths])
            self.closed.append(found.of(np.flatnonzero([truth is True for truth in truths])))
            left.append(found.of(undecided))
            influence.append(found.influence[undecided])
            still.append(first + undecided)
        self.open = left
        self._note_proven(proven)
        self.stale = self.stale + 1 if self._stagnates(len(boxes)) else 0
        return boxes[np.concatenate(still)], np.concatenate(influence), fails

    def _note_proven(self, times: Sequence[float | None]) -> None:
        """All boxes of a round keep the formula until then; those of earlier rounds keep it for all times."""
        known = [time for time in times if time is not None]
        if known:
            self.proven = max(self.proven or 0.0, min(known))

    def _stagnates(self, count: int) -> bool:
        """Whether a round closed no box and came no further in time."""
        before, self.reached = self.reached, self._pipe(self.open).until
        stuck = before == self.horizon or self.reached < before + PROGRESS * self.horizon
        return stuck and sum(len(part.until) for part in self.open) == count

    def _pace(self) -> Pace:
        """Shorter steps in every round."""
        finer = 2.0**-self.rounds
        time = self.horizon * finer
        return Pace(time / 4, time / 64, 1e-7 * finer, time * SHORTEST, int(STEPS / finer))

    def _truths(self, segments: Segments) -> tuple[list[bool | None], float | None]:
        """What the formula is of all trajectories from each box, and until when it is proven of all of them.

        It is asked of the whole batch, and then of halves until it is decided.
        """
        whole = self._pipe([segments])
        truth = self.judge.of(self.question.normal, whole)
        until = self.judge.proven_until(whole)
        truths: list[bool | None] = [truth] * len(segments.until)
        stack = [np.arange(len(truths))] if truth is None and len(truths) > 1 else []
        while stack:
            group = stack.pop()
            if isinstance(self.question.normal, Always) and not (segments.until[group] >= self.horizon).any():
                continue  # none of them was followed to the end
            truth = self.judge.of(self.question.normal, self._pipe([segments.of(group)]))
            if truth is not None or len(group) == 1:
                for index in group:
                    truths[index] = truth
            elif len(group):
                stack += np.array_split(group, 2)
        return truths, until

    # What is known ----------------------------------------------------------------------------------------------------

    def _pipe(self, parts: Sequence[Segments]) -> Flowpipe:
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
        return Flowpipe(names, self.directions, times, lower, upper, locations, inside, until)

    def _statistics(self, pipe: Flowpipe) -> dict[str, int | float | str]:
        return {"boxes": self.followed, "rounds": self.rounds, "segments": len(pipe.times)}

    def _proof(self, empty: bool) -> Proof:
        pipe = self._pipe(self.closed)
        return Proof(
            engine=DirectFlowpipe.name,
            direction=Direction.OVER,
            assurance=Assurance.RIGOROUS,
            empty=empty,
            evidence=pipe,
            statistics=self._statistics(pipe),
        )

    def _left_open(self, reason: str) -> Open:
        """Why nothing is decided, where steps were no smooth ones, and until when the formula is proven."""
        pipe = self._pipe(self.open)
        told = [reason, *_roughness(self.flow, self.open)]
        if self.reached < self.horizon:
            told.append(f"sets of states were followed up to time {self.reached:.4g}")
        return Open(
            engine=DirectFlowpipe.name,
            reason="; ".join(told),
            proven_time=self.proven or None,
            statistics=self._statistics(pipe),
        )


def _roughness(flow: Flow, parts: Sequence[Segments]) -> list[str]:
    """Where a field had no bounded derivative on a set, if that was so."""
    for part in parts:
        for box in np.flatnonzero(np.isfinite(part.rough)):
            there = np.flatnonzero((part.origins == box) & (part.times[:, 0] <= part.rough[box]))
            if len(there):
                last = there[-1]
                ends = zip(flow.state, part.lower[last], part.upper[last], strict=False)
                where = ", ".join(f"{v.name} in [{low:.3g}, {high:.3g}]" for v, low, high in ends)
                return [f"the vector field has no bounded derivative where {where}; {ABSTRACTION}"]
    return []
