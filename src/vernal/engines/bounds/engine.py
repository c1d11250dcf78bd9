"""Linear bounds propagated through time: instant, incomplete, and sound for every bounded formula.

The initial set is covered by boxes and the loop unrolled. At every position each atom is true of all states that can be
there, false of all, or mixed; the formula is evaluated over these levels in three values. Boxes that stay open are cut
a few times. What bounds in floating point cannot settle because the margin is zero is asked of exact affine forms.
Without tightening the bounds are those of intervals, to compare.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field, replace
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
from vernal.sets.halving import Halving
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import Levels
from vernal.sets.winners import OpenWinners

LOOK_AHEAD = 20  # steps looked at for a formula without a bound, to say what is proven


@dataclass(frozen=True)
class Effort:
    """How many rounds boxes are cut in before `auto` goes on to other engines."""

    rounds: int = 8
    most: int = 512  # boxes looked at together; beyond, bounds alone will not do
    patience: int = 3  # rounds in which cutting settles no box, before giving up
    trial: int = 7  # cuts after which half of the initial set should be settled
    few: int = 1  # boxes that cost hardly more to look at than one, so that they are cut at once

    def is_vain(self, cuts: int, first: int, count: int) -> bool:
        """Whether so many open boxes, each cut so many times, show that others had better try."""
        return cuts >= self.trial and 2 * count > first << cuts


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
    open: list[Box] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # of the levels that leave them open
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
        reach, refused = question.claim.horizon, self.takes(question)
        if reach is None:
            return self._unbounded(question, budget)
        if refused is not None:
            return self._open(refused)
        tally = BoxTally(open=list(initial_boxes(question.system).boxes))
        reason = "the bounds are too loose to decide"
        first: Levels | None = None
        cut = Halving(tally.open)
        winners = OpenWinners(len(cut.widths))
        try:
            idle, cuts, limits = 0, 0, effort(question.system)
            patience, most = self.patience or limits.patience, self.most or limits.most
            for number in range(limits.rounds):
                budget.check()
                budget.progress(f"bounds: {len(tally.open)} boxes, round {number + 1}", number / limits.rounds)
                levels = Levels(question.system, tally.open, budget, reach, self.method, winners.put_off())
                first = first or levels
                refuted = self._round(question, levels, tally, budget.check)
                if refuted is not None:
                    return refuted
                if not tally.open:
                    return proof_of(tally)
                settled = len(levels.boxes) - len(tally.open)
                idle = idle + 1 if settled < max(1, self.share * len(levels.boxes)) else 0
                vain = idle == patience or limits.is_vain(cuts, cut.first, len(tally.open))
                if vain or 2 * len(tally.open) > most:
                    break
                parts = cut.parts_and_wholes(tally.open, levels.weights(tally.rows), limits.few)
                if len(parts) == len(tally.open):
                    break
                cuts += (len(parts) // len(tally.open)).bit_length() - 1
                winners.follow(partial(levels.doubts, tally.rows), tally.rows, [whole for _, whole in parts])
                tally.open = [box for box, _ in parts]
        except Stopped as stop:
            reason = stop.reason
        return self._open(
            f"{reason}; try a smaller initial set, a shorter bound or another engine",
            None if first is None else proven_steps(question.formula, first),
            {"boxes proven": tally.proven, "boxes open": len(tally.open)},
        )

    def _open(self, reason: str, proven: int | None = None, statistics: Statistics = NO_STATISTICS) -> Open:
        return Open(engine=self.name, reason=reason, proven_steps=proven, statistics=statistics)

    def _round(self, question: Question, levels: Levels, tally: BoxTally, tick: Tick) -> Known | None:
        """Sort the boxes into proven, empty and open; a refuted one with its evidence ends the search."""
        still_open: list[int] = []
        for index, box in enumerate(levels.boxes):
            settled = tally.note(levels, question.formula, index)
            if settled is False and (refuted := refuted_by(question, box, tick)) is not None:
                return refuted
            if not settled:
                still_open.append(index)
        levels.raise_if_stopped()
        tally.exact &= levels.exact
        tally.open, tally.rows = [levels.boxes[index] for index in still_open], still_open
        return None

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


def proof_of(tally: BoxTally) -> Proof:
    """What follows where no box is open."""
    return Proof(
        engine=Bounds.name,
        direction=Levels.direction,
        subject=Subject.STATES,
        assurance=Assurance.EXACT if tally.exact else Assurance.RIGOROUS,
        margin=tally.margin,
        empty=tally.proven == 0,
        statistics={"boxes": tally.proven + tally.empty},
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
