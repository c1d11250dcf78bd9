"""Exploration of all paths by affine pieces: the fast front of engine `paths`.

When every piece has come to a residual formula that is true, the claim holds of all paths. A piece whose residual is
false is a candidate, replayed exactly; what cannot be confirmed is left to exact arithmetic.

Of several dimensions the surfaces between decisions are long: there it is cheaper to let pieces go all ways uncut, and
to look again, in rounds, at halves of the initial boxes from which that leaves something open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import position_claim
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Formula, Quantifier
from vernal.logic.normal import atoms, horizon
from vernal.logic.question import Question
from vernal.model.expr import Between
from vernal.model.initial import Box, Ends
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingEnd, cut_until_decided
from vernal.sets.halving import Halving
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.decisions import TOO_FEW_TO_GATHER
from vernal.sets.pieces.margins import MarginMeter
from vernal.sets.pieces.outlook import Outlook
from vernal.sets.pieces.positions import NotExplorable, Position, StepGraph
from vernal.sets.pieces.rounds import Round
from vernal.sets.pieces.samples import likely
from vernal.sets.pieces.space import AffineSpace, Cutting
from vernal.sets.search import Search, Stage

SCATTERED = 256  # pieces of one box: from here on it is better cut, twice as many in every round
SCATTERED_OPEN, SCATTERED_EARLY = 2, 16  # the same where those that cannot fail are not counted, and before it is asked
OPEN_AT_ONCE = 256  # pieces of all boxes, whatever their number
MAX_OPEN = 200  # sets left to exact arithmetic
MAX_SAMPLED = 256  # suspicious pieces of a batch that are looked at by points
MAX_REPLAYS_PER_PIECE = 3
OVERFLOWING = np.errstate(all="ignore")  # what overflows is no bound (batches, regions), and no reason to warn


@dataclass
class Exploration:
    """How an exploration ended: all paths keep the formula unless a trace or boxes left open say otherwise.

    Of a formula without a bound, paths may still be going on where the exploration ends.
    """

    trace: Trace | None = None
    open: list[Box] = field(default_factory=list)
    ongoing: bool = False  # whether something is still asked of some path after the last step that was looked at
    statistics: dict[str, int | float | str] = field(default_factory=dict)
    passed: int = -1  # the last position up to which no path is in doubt
    margin: float = np.inf  # a lower bound of the claim's margin, minus infinity where it is none of one position
    direction: Direction = Direction.EXACT  # the weakest of the sets that were explored

    def count(self, name: str, number: int) -> None:
        """Add to a statistic."""
        self.statistics[name] = int(self.statistics.get(name, 0)) + number


def kept_steps(formula: Formula, passed: int) -> int | None:
    """Of a claim about every step, the last one it is proven for if no path is in doubt up to a position."""
    if not isinstance(formula, Always) or formula.quantifier is Quantifier.SOME:
        return None
    steps = passed - (horizon(formula.arg) or 0)
    return steps if horizon(formula.arg) is not None and steps >= formula.bound.lower else None


class Explorer:
    """All paths from some initial boxes, in rounds."""

    def __init__(self, question: Question, path: Formula, boxes: Sequence[Box], budget: Budget) -> None:
        """`path` is the LTL formula that every path has to keep for the question's answer to be yes."""
        self.question, self.path, self.boxes, self.budget = question, path, boxes, budget
        self.graph = StepGraph(question.system.step, atoms(path), budget.check)
        self.halving = Halving(boxes, nonlinear=self.graph.nonlinear is not None)
        self.outlook = Outlook(self.graph)
        self.outcome = Exploration()
        self.number = 1  # of the next round
        self.round: Round | None = None  # the last one

    @OVERFLOWING
    def run(self, horizon: int) -> Exploration:
        """Explore up to the horizon, or to the first confirmed violation."""
        boxes = self.boxes
        if self.halving.useful:
            cut = cut_until_decided(boxes, partial(self._uncut, horizon), self._halves, self.halving.limits)
            if self.outcome.trace is not None or not self.outcome.open:
                return self.outcome
            draws = any(isinstance(node, Between) for node in self.graph.step.names)
            if self.graph.nonlinear is not None and not draws:
                return self.outcome  # cutting where decisions are taken makes no bound sharper
            if cut.end is not CuttingEnd.VAIN:  # where most likely all of it is open at margin zero
                boxes = self._halves(self.outcome.open) if cut.end is CuttingEnd.MANY else cut.boxes
        self._explore(boxes, horizon, Cutting.CUT, SCATTERED, None)
        return self.outcome

    def _uncut(self, horizon: int, boxes: Sequence[Box]) -> list[Box] | None:
        """A round in which pieces go all ways: the boxes it leaves open; None where a further one would not help."""
        if self.round is not None and self.halving.is_fine(boxes):
            return None
        scatter = self._scatter(self.number, len(boxes))
        self.number += 1
        self.round = self._explore(boxes, horizon, Cutting.UNCUT, scatter, self.halving.walks).round
        return None if self.outcome.trace is not None else self.outcome.open

    def _halves(self, left: Sequence[Box]) -> Sequence[Box]:
        assert self.round is not None
        few = TOO_FEW_TO_GATHER if self.graph.nonlinear is not None else 1
        parts = self.halving.parts(left, self.round.weights(), few)
        self.outcome.count("refined", len(parts))
        return parts

    def _scatter(self, number: int, boxes: int) -> int:
        """Into how many pieces a box may come apart in a round before it is given up, to be cut."""
        if not self.outlook.useful:
            return SCATTERED << number
        most = SCATTERED_OPEN if self.outlook.pays else SCATTERED_EARLY
        return max(most << number, OPEN_AT_ONCE // boxes)

    def _explore(
        self, boxes: Sequence[Box], horizon: int, cutting: Cutting, scatter: int, walks: int | None
    ) -> AffineSpace:
        """One round, from these boxes."""
        space = AffineSpace(self.question, self.graph, boxes, cutting, scatter, outlook=self.outlook)
        margins = MarginMeter(position_claim(self.path), space)

        def tell(t: int, pieces: int) -> None:
            self.budget.progress(f"paths: step {t} of {horizon}, {pieces:,} pieces", t / (horizon + 1))

        handler = Suspects(space, margins, self.outcome, walks, tell)
        search = Search(
            self.path,
            space,
            handler,
            total=self.question.is_total,
            tick=self.budget.check,
            obligations=self.outlook.obligations,
        )
        self.outcome.direction = self.outcome.direction.then(space.direction)
        ended = search.levels(horizon)
        self.outcome.ongoing |= not ended
        self.outcome.count("decided", space.decided)
        if self.outlook.closed:
            self.outcome.statistics["foreseen"] = self.outlook.closed
        if self.outcome.trace is None:
            self.outcome.margin = min(self.outcome.margin, margins.least())
        return space


class Suspects:
    """Handles the pieces of a round: measures what they keep, and replays what seems to fail."""

    def __init__(
        self,
        space: AffineSpace,
        margins: MarginMeter,
        outcome: Exploration,
        walks: int | None,
        tell: Callable[[int, int], None],
    ) -> None:
        """`walks`: how many suspicions are replayed, None is all of them; `tell` gets step and pieces so far."""
        self.space, self.margins, self.outcome, self.walks, self.tell = space, margins, outcome, walks, tell
        self.left: set[tuple[tuple[Ends, ...], ...]] = set()  # boxes of cut pieces that are left open, each once
        self.pieces = 0  # of the current step
        outcome.open = []

    @property
    def done(self) -> bool:
        return self.outcome.trace is not None

    def reached(self, stage: Stage, states: Position[Pieces]) -> None:
        self.pieces += len(states.batch)
        self.tell(stage.t, self.pieces)
        self.margins.measure(stage, states)

    def kept(self, stage: Stage, states: Position[Pieces]) -> None:
        """Nothing to do: what is kept was measured when it was reached."""

    def failed(self, stage: Stage, states: Position[Pieces]) -> None:
        """Pieces on which the formula seems false: an exact path shows it, or exact arithmetic has to look."""
        rows = self.margins.worst_first(states)
        for row, points in likely(states.asked, states.layout, states.batch, rows[:MAX_SAMPLED]):
            self.space.graph.tick()
            self.outcome.trace = self._walked(states, row, points)
            if self.outcome.trace is not None:
                return
        self._leave_open(states.batch.rows(rows))

    def passed(self, t: int) -> None:
        self.outcome.count("pieces", self.pieces)
        self.pieces = 0
        if self.space.cutting is Cutting.UNCUT:
            self.outcome.open = self.space.round.open_boxes()
        if not self.outcome.open:  # boxes that an earlier round has closed are closed for good
            self.outcome.passed = max(self.outcome.passed, t)

    def _walked(self, states: Position[Pieces], row: int, points: Floats) -> Trace | None:
        """An exact path through one of the points of a piece on which the formula is false."""
        proposed = self.space.points.get(int(states.batch.trail[row]))
        if proposed is not None:
            points = np.concatenate([proposed[None], points])
        for point in points[:MAX_REPLAYS_PER_PIECE]:
            if self.walks is not None and self.walks <= 0:
                return None
            self.walks = None if self.walks is None else self.walks - 1
            self.outcome.count("replayed", 1)
            trace = self.space.trails.violation(
                int(states.batch.trail[row]), point, states.taken, self.space.graph.tick
            )
            if trace is not None:
                return trace
        return None

    def _leave_open(self, pieces: Pieces) -> None:
        if self.space.cutting is Cutting.UNCUT:
            self.space.round.leave_open(pieces.trail)
            return
        for trail, lower, upper in zip(pieces.trail.tolist(), pieces.lower, pieces.upper, strict=True):
            for box in self.space.trails.box_of(trail, lower, upper):
                ends = tuple(box.ends.values())
                if ends not in self.left:
                    self.left.add(ends)
                    self.outcome.open.append(box)
            if len(self.outcome.open) > MAX_OPEN:
                raise NotExplorable("too many small sets stay open, in which the margin is zero or too small to tell")
