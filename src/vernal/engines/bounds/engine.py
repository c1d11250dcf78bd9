"""Linear bounds propagated through time: instant, incomplete, and sound for every bounded formula.

The initial set is covered by boxes and the loop unrolled. At every position each atom is true of all states that can be
there, false of all, or mixed; the formula is evaluated over these levels in three values. Boxes that stay open are cut
a few times. What bounds in floating point cannot settle because the margin is zero is asked of exact affine forms.
Without tightening the bounds are those of intervals, to compare.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from vernal.engines.options import BoundsOptions
from vernal.engines.refusals import within_steps
from vernal.errors import Stopped
from vernal.evidence.candidates import failing_path, failing_state
from vernal.evidence.knowledge import (
    NO_STATISTICS,
    UNBOUNDED,
    Counterexample,
    FailingState,
    Known,
    Open,
    Proof,
    Statistics,
    Subject,
)
from vernal.evidence.result import Assurance
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.linear.score_slopes import Sloped
from vernal.logic.formula import Always, Bound, Formula
from vernal.logic.normal import horizon, steps
from vernal.logic.question import Question
from vernal.model.graph import order
from vernal.model.initial import Box
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.model.traits import branches, nonlinear_node
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided
from vernal.sets.halving import Halving
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import Levels, OpenRows
from vernal.sets.winners import OpenWinners

LOOK_AHEAD = 20  # steps looked at for a formula without a bound, to say what is proven


@dataclass(frozen=True)
class Effort(CuttingLimits):
    """How long boxes are cut before `auto` goes on to other engines: beyond, bounds alone will not do."""

    rounds: float = 8
    most: float = 512
    patience: float = 3
    trial: float = 7
    few: int = 1  # boxes that cost hardly more to look at than one, so that they are cut at once


NONLINEAR = Effort(rounds=40, most=4096, patience=9, few=16)
SMOOTH = Effort(rounds=24, most=4096, patience=9, trial=24, few=8)  # without decisions, narrower boxes are all there is


def effort(system: System) -> Effort:
    """How long to try: a nonlinear loop that never branches is for this engine alone."""
    step = system.step
    moves = [*step.next_state, *step.next_memory]
    if nonlinear_node(moves) is None:
        return Effort()
    return NONLINEAR if any(map(branches, order(moves))) else SMOOTH


@dataclass
class BoxTally:
    """What has become of the boxes so far."""

    proven: int = 0
    empty: int = 0
    margin: float = np.inf
    exact: bool = True

    def note(self, levels: Levels, formula: Formula, index: int) -> bool | None:
        """Whether a box is proven or empty, and counted as such; False where every state of it fails, None if open."""
        answer = levels.evaluate(formula, index)
        if levels.is_empty(index):
            self.empty += 1
            return True
        if answer is True:
            self.proven += 1
            self.margin = min(self.margin, levels.margin(formula, index))
        return answer

    def proof(self) -> Proof:
        """What follows where no box is open."""
        return Proof(
            engine=Bounds.name,
            direction=Levels.direction,
            subject=Subject.STATES,
            assurance=Assurance.EXACT if self.exact else Assurance.RIGOROUS,
            margin=self.margin,
            empty=self.proven == 0,
            statistics={"boxes": self.proven + self.empty},
        )


class BoundingRounds:
    """Boxes of the initial set, bounded and cut round by round."""

    def __init__(self, question: Question, budget: Budget, method: type[Linear], limits: Effort) -> None:
        self.question, self.budget, self.method, self.limits = question, budget, method, limits
        self.tally = BoxTally()
        self.boxes = list(initial_boxes(question.system).boxes)
        self.halving = Halving(self.boxes)
        self.winners = OpenWinners(len(self.halving.widths))
        self.number, self.open = 0, len(self.boxes)  # rounds so far, and boxes that are not decided
        self.first: Levels | None = None  # of the first round
        self.refuted: Known | None = None

    def run(self) -> CuttingEnd:
        """Until every box is decided, or a limit is met."""
        return cut_until_decided(self.boxes, self._decide, self._cut, self.limits, self.budget.check).end

    def _decide(self, boxes: list[Box]) -> OpenRows | None:
        """The boxes that are neither proven nor empty; None where one is refuted, with its evidence."""
        self.budget.progress(f"bounds: {len(boxes)} boxes, round {self.number + 1}", self.number / self.limits.rounds)
        self.number += 1
        reach = self.question.claim.horizon
        levels = Levels(self.question.system, boxes, self.budget, reach or 0, self.method, self.winners.put_off())
        self.first = self.first or levels
        left: list[int] = []
        for index, box in enumerate(boxes):
            settled = self.tally.note(levels, self.question.formula, index)
            if settled is False:
                self.refuted = refuted_by(self.question, box, self.budget.check)
                if self.refuted is not None:
                    return None
            if not settled:
                left.append(index)
        levels.raise_if_stopped()
        self.tally.exact &= levels.exact
        self.open = len(left)
        return OpenRows(levels, left)

    def _cut(self, left: OpenRows) -> list[Box] | None:
        parts = self.halving.parts_and_wholes(left.boxes, left.weights(), self.limits.few)
        if len(parts) == len(left):
            return None
        doubts = partial(left.levels.doubts, left.rows)
        self.winners.follow(doubts, left.rows, [whole for _, whole in parts])
        self.open = len(parts)
        return [box for box, _ in parts]


class Bounds:
    """The engine `bounds`."""

    name = "bounds"

    def __init__(
        self,
        options: BoundsOptions = BoundsOptions(),
        patience: int | None = None,
        most: int | None = None,
        share: float = 0.0,
    ) -> None:
        """Linear bounds, or intervals.

        `patience`: rounds in which cutting settles less than the `share` of the boxes (at least one) before giving up;
        `most`: boxes looked at together. Without them the effort that fits the system is made.
        """
        self.method = Sloped if options.tighten else Plain
        self.patience, self.most, self.share = patience, most, share

    def takes(self, question: Question) -> str | None:
        """Claims with a last step."""
        return within_steps(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof or a refutation where every box is settled; else what bounds leave open."""
        reach, refused, before = question.claim.horizon, self.takes(question), len(budget.stops)
        if reach is None:
            return self._unbounded(question, budget)
        if refused is not None:
            return self._open(refused)
        limits = effort(question.system)
        patience, most = self.patience or limits.patience, self.most or limits.most
        limits = replace(limits, patience=patience, most=most, share=self.share)
        rounds = BoundingRounds(question, budget, self.method, limits)
        reason = "the bounds are too loose to decide"
        try:
            end = rounds.run()
        except Stopped as stop:
            reason = stop.reason
        else:
            if rounds.refuted is not None:
                return rounds.refuted
            if end is CuttingEnd.DECIDED:
                return rounds.tally.proof()
        proven = None if rounds.first is None else proven_steps(question.formula, rounds.first)
        return self._open(
            f"{budget.cut_since(before) or reason}; try a smaller initial set, a shorter bound or another engine",
            proven,
            {"boxes proven": rounds.tally.proven, "boxes open": rounds.open},
        )

    def _open(self, reason: str, proven: int | None = None, statistics: Statistics = NO_STATISTICS) -> Open:
        return Open(engine=self.name, reason=reason, proven_steps=proven, statistics=statistics)

    def _unbounded(self, question: Question, budget: Budget) -> Open:
        """An unbounded formula is not for this engine, but what holds for the first steps is worth saying."""
        proven = None
        if isinstance(question.formula, Always) and horizon(question.formula.arg) is not None:
            lower = int(question.formula.bound.lower)
            cut = replace(question.formula, bound=Bound(Fraction(lower), Fraction(lower + LOOK_AHEAD)))
            reach = horizon(cut)
            assert reach is not None
            levels = Levels(question.system, list(initial_boxes(question.system).boxes), budget, reach, self.method)
            proven = proven_steps(cut, levels)
        return self._open(UNBOUNDED, proven)


def refuted_by(question: Question, box: Box, tick: Tick) -> Known | None:
    """A box in which every state fails; None where no concrete state of it could be shown."""
    if not question.claim.mentions_some:
        trace = failing_path(question, box, tick)
        return None if trace is None else Counterexample(engine=Bounds.name, trace=trace)
    trace = failing_state(question, box, tick)
    if trace is None:
        return None
    return FailingState(
        engine=Bounds.name,
        trace=trace,
        direction=Levels.direction,
        assurance=Assurance.RIGOROUS,
        excluded_by="bounds on all paths from this state exclude the claim",
    )


def proven_steps(formula: Formula, levels: Levels) -> int | None:
    """For `G` and `AG`: the last step up to which the claim is proven of all boxes."""
    if not isinstance(formula, Always):
        return None
    lower, upper = steps(formula.bound)
    assert upper is not None

    def holds_to(last: int) -> bool:
        cut = replace(formula, bound=Bound(Fraction(lower), Fraction(last)))
        return all(levels.evaluate(cut, index) is True for index in range(len(levels.boxes)))

    first = bisect.bisect_left(range(lower, upper + 1), True, key=lambda last: not holds_to(last))
    return lower + first - 1 if first else None
