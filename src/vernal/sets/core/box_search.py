"""Branch and bound over boxes: bounds in batches, points that refute, and cuts where they are worth most.

A box is closed when its bounds exclude what is required of a counterexample. An open one is cut across the input that
counts most in the rows that keep it open: the sum over them of |slope| times width. (The nearest row alone is a poor
guide: it asks for cuts that leave the other rows as they are.) The stack is worked off from its end, in batches whose
size follows the clock, so that limits are looked at often and memory stays small whatever the depth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Self

import numpy as np

from vernal.evidence.knowledge import Statistics
from vernal.evidence.trace import Trace
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.device_bounds import batch_sizes, bounds_over
from vernal.interpret.numbers.device import current
from vernal.interpret.numbers.rounding import Floats, Mask, any_along
from vernal.logic.direction import Direction
from vernal.model.lazy import cached_property
from vernal.run.budget import Budget, silent
from vernal.sets.core.clauses import Clauses, Readings, RowNumbers
from vernal.sets.core.cut_trees import ClosedBoxes
from vernal.sets.core.descent import Descent
from vernal.sets.core.finishing import Drained
from vernal.sets.core.improvement import INPUTS_LAST, Improver
from vernal.sets.core.open_boxes import DomainFrame, Domains, joined
from vernal.sets.core.witness import Replays
from vernal.sets.pieces.batches import Indices

FIRST_BATCH, MAX_FIRST_BATCH, MAX_BATCH = 64, 512, 4096  # boxes
BATCH_SECONDS = (0.08, 0.25)  # seconds of the processor: batches that take less grow, those that take more shrink
CHEAP_BOXES = 16  # boxes that cost hardly more to bound than one, so that they are cut at once
MIN_WIDTH_SHARE = 2.0**-40  # relative to the magnitude of its ends: a side that is not cut any more
MAX_CUTS_AT_ZERO = 10  # of a box of which only a part of what is open is at zero
FLAT_SLOPE_SHARE = 0.05  # the share of the steepest slope that a column without any counts with
MANY_BOXES, FINE = 50_000, 2.0**-6  # from so many boxes on, those of such relative widths may be too fine
SHARE_OF_DESCENT, BEFORE_DESCENT = 0.08, 0.05  # of the time of a search, after so many seconds: moving points
AT_ZERO = ((0, 1e-9), (50_000, 1e-7), (200_000, 1e-5), (800_000, 1e-3))  # from so many boxes of a question on:
# relative, how close below zero a bound is left to exact arithmetic; else no cutting ends along a region at zero


@dataclass
class BoxCount:
    """What has become of the boxes so far, question by question."""

    bounded: Indices
    closed: Indices
    margin: Floats  # the least bound of a closed box that may have initial states
    inside: Mask  # whether there was a closed box that may have initial states
    batches: int = 0
    traces: dict[int, Trace] = field(default_factory=dict)
    left: list[Domains] = field(default_factory=list)  # for exact arithmetic
    given_up: set[int] = field(default_factory=set)  # questions that need more boxes than they may have
    kept: list[ClosedBoxes] | None = None  # the boxes that are closed, where they are asked for

    @classmethod
    def of(cls, questions: int) -> Self:
        """Nothing yet."""
        zeros = np.zeros(questions, np.intp)
        return cls(zeros, zeros.copy(), np.full(questions, np.inf), np.zeros(questions, bool))

    def add(self, owner: Indices, closed: Mask, outside: Mask, value: Floats) -> None:
        """Another batch: whose boxes, which are closed, which have no initial state, and bounds of what is asked."""
        self.batches += 1
        count = len(self.bounded)
        self.bounded += np.bincount(owner, minlength=count)
        self.closed += np.bincount(owner[closed], minlength=count)
        inside = closed & ~outside
        np.minimum.at(self.margin, owner[inside], value[inside])
        self.inside[owner[inside]] = True

    def keep(self, boxes: Domains, closed: Mask) -> None:
        """Remember boxes that are closed, for a certificate."""
        if self.kept is not None:
            self.kept.append(ClosedBoxes.of(boxes, closed))

    def statistics(self, question: int = 0) -> Statistics:
        """Boxes of a question, and batches of all of them."""
        return {"boxes": int(self.bounded[question]), "batches": self.batches}


def pace_clock() -> Callable[[], float]:
    """What the size of batches follows: on a busy machine the clock on the wall would make them ever smaller.

    A card works while the processor waits, so there it is the clock on the wall.
    """
    return time.process_time if current() is None else time.monotonic


class BoxSearch:
    """One search for any number of questions, which may be stopped at any time and then knows the best bound so far.

    A box is closed by bounds around all paths from its states.
    """

    direction = Direction.OVER

    def __init__(
        self,
        clauses: Clauses,
        numbers: RowNumbers,
        frame: DomainFrame,
        replays: Replays,
        budget: Budget,
        most: float = inf,
        first: Linear | None = None,
        neurons_first: bool = False,
    ) -> None:
        """`numbers` are those of the questions' rows; a question that needs more than `most` boxes is given up.

        `first` has bounds of the first batch, where it is a single box that was looked at before. With `neurons_first`
        boxes are cut across inputs only where there is nothing else to cut.
        """
        self.clauses, self.numbers, self.frame, self.replays, self.budget = clauses, numbers, frame, replays, budget
        self.patience, self._first, self._neurons_first = most, first, neurons_first
        self.tally = BoxCount.of(len(replays.questions))
        self.tally.kept = [] if budget.keeps_sets else None
        self.stack: list[Domains] = [frame.enter()]
        self.size, self.most = batch_sizes(FIRST_BATCH, MAX_BATCH, clauses.components)
        self.size = max(self.size, min(len(frame.whole), MAX_FIRST_BATCH))
        self._discrete = frame.discrete
        self._first_width = self.stack[0].width
        self._ended = 0  # questions whose boxes were dropped
        self._elsewhere: set[int] = set()  # those that another search has answered
        self._cuts_at_zero = 0  # how many boxes at zero may still be cut, though nothing says that it helps
        self._began, self._moved_for = time.monotonic(), 0.0
        self.clock = pace_clock()
        self._working = 0.0  # seconds by that clock

    @cached_property
    def improver(self) -> Improver:
        """Made when bounds have left something open."""
        return Improver(self.clauses, self.frame, self._neurons_first, self.budget.check)

    @cached_property
    def _descent(self) -> Descent:
        return Descent(self.clauses, self.numbers, self.frame, self.budget.check)

    @property
    def waiting(self) -> int:
        return sum(map(len, self.stack))

    @property
    def questions(self) -> int:
        return len(self.replays.questions)

    @property
    def closed_share(self) -> float:
        """How much of the whole is closed, or left to exact arithmetic, where every cut counts half."""
        return 1.0 - float(sum(part.part.sum() for part in self.stack))

    def drop(self, questions: Sequence[int]) -> None:
        """Ask no more about what another search has answered."""
        self._elsewhere.update(questions)
        self._end_questions()

    def best_bound(self, question: int = 0) -> float:
        """A lower bound of the least value over everything of a question that is not closed."""
        parts = [part.rows(self.frame.question(part) == question) for part in [*self.stack, *self.tally.left]]
        return min((float(part.bound.min()) for part in parts if len(part)), default=np.inf)

    def left_of(self, question: int) -> int:
        """How many boxes of a question are left to exact arithmetic."""
        return sum(int((self.frame.question(part) == question).sum()) for part in self.tally.left)

    def cut_at_zero(self, boxes: int) -> None:
        """Take back the boxes that are left to exact arithmetic, and cut so many at zero before any is left again."""
        self._cuts_at_zero = boxes
        self.stack += self.tally.left
        self.tally.left = []

    def answered(self) -> list[int]:
        """The questions that are refuted, or have no box that is open or left to exact arithmetic."""
        pending = self.tally.given_up | self._elsewhere
        for part in (*self.stack, *self.tally.left):
            pending.update(self.frame.question(part).tolist())
        return [n for n in range(self.questions) if n in self.tally.traces or n not in pending]

    def run(self, seconds: float = inf) -> bool:
        """Work until every box is closed, left to exact arithmetic, or of a question that is answered.

        After so many seconds it pauses, and is not done.
        """
        began = time.monotonic()
        while self.stack and time.monotonic() - began < seconds:
            self.budget.check()
            if not self._neurons_first and self._has_neurons and self.improver.finishing.is_due(self._working):
                self.improver.finishing.try_both(self, self._working)
            else:
                self.step()
        return not self.stack

    def step(self) -> None:
        """One batch."""
        batch = self._take(self.size)
        if self.budget.progress is not silent:
            self.budget.progress(f"split: {self.waiting:,} boxes, {int(self.tally.closed.sum()):,} closed", None)
        began = self.clock()
        try:
            children = self._work(batch)
        except BaseException:
            self.stack.append(batch)  # not lost: its bound counts
            raise
        seconds = self.clock() - began
        self._working += seconds
        self._pace(seconds, len(batch))
        if children is not None and len(children):
            self.stack.append(children)
        self._end_questions()

    def _end_questions(self) -> None:
        """Drop the boxes of questions that have ended."""
        tally = self.tally
        if self.patience < inf:
            tally.given_up |= set(np.flatnonzero(tally.bounded > self.patience).tolist())
        ended = tally.given_up | set(tally.traces) | self._elsewhere
        if len(ended) > self._ended:
            self._ended = len(ended)
            kept = [part.rows(~np.isin(self.frame.question(part), list(ended))) for part in self.stack]
            self.stack = [part for part in kept if len(part)]

    # Trials of finishing by neurons (see `finishing`) ----------------------------------------------------------------

    @cached_property
    def _has_neurons(self) -> bool:
        return bool(self.clauses.cases.activations)

    def open_neurons(self, boxes: Domains) -> Indices:
        """How many neurons of each may still be cut."""
        return self.improver.open_neurons(boxes)

    def hardest(self, boxes: int) -> Domains:
        """Take so many boxes off the stack."""
        return self._take(boxes)

    def drain(self, boxes: Domains, most: int, seconds: float) -> Drained:
        """Work some boxes off alone, those with up to so many open neurons by cutting these.

        Where a limit ends it, all that is not closed is on the stack.
        """
        finishing, zero, began, size = self.improver.finishing, len(self.tally.left), self.clock(), self.size
        before, finishing.most = finishing.most, most
        rest, self.stack = self.stack, [boxes]
        try:
            while self.stack and self.clock() - began < seconds:
                self.budget.check()
                self.step()
            left = Drained(self.stack, self.tally.left[zero:], self.clock() - began)
            self.stack = []
            del self.tally.left[zero:]
        finally:
            self.stack, finishing.most, self.size = rest + self.stack, before, size
        return left

    def put_back(self, left: Drained) -> None:
        """Go on with what is left of them."""
        self.stack += left.stack
        self.tally.left += left.at_zero
        self._ended = -1  # boxes of questions that ended meanwhile may be among all of these
        self._end_questions()

    def _take(self, wanted: int) -> Domains:
        """The next batch: from the end of the stack, where the boxes with the lowest bounds are."""
        parts = []
        while self.stack and wanted > 0:
            last = self.stack.pop()
            if len(last) > wanted:
                self.stack.append(last.rows(slice(0, len(last) - wanted)))
                last = last.rows(slice(len(last) - wanted, None))
            parts.append(last)
            wanted -= len(last)
        return joined(parts[::-1])

    def _pace(self, seconds: float, boxes: int) -> None:
        if seconds > BATCH_SECONDS[1]:
            self.size = max(1, self.size // 2)
        elif seconds < BATCH_SECONDS[0] and boxes == self.size:
            self.size = min(2 * self.size, self.most)

    def _work(self, batch: Domains) -> Domains | None:
        """Bound a batch; what of it is still open, cut."""
        owner = self.frame.question(batch)
        so_far = self.tally.bounded[owner]
        branches = self.frame.cases.branch_pivots  # mostly none, and then no improver is needed to say so
        at_branches = self.improver.at_branches(so_far) if branches else np.zeros(len(batch), dtype=bool)
        numbers = self.numbers.take(owner)
        linear = self._linear(batch, bool(at_branches.any()))
        found, slopes = self.clauses.bounded(linear, numbers)
        known = Readings(np.maximum(found.low, batch.low), found.impossible | batch.excluded)
        if self._closes(batch, owner, known):
            return None
        if linear.mode == "interval":
            linear.sharpen()
            found, slopes = self.clauses.bounded(linear, numbers)
            known = Readings(np.maximum(found.low, batch.low), found.impossible | batch.excluded)
        batch = self.frame.learn(batch, linear)
        empty = self.frame.empty(batch)
        at_neurons = self.improver.at_neurons(batch, so_far)
        improved = self.improver.improve(linear, numbers, batch, known, empty, at_neurons, at_branches, so_far)
        known, batch = improved.known, improved.domains
        impossible = self.clauses.impossible(known) | empty[:, None]
        values = np.where(empty[:, None], np.inf, self.clauses.values(known))
        value, closed = values[:, self.clauses.root], impossible[:, self.clauses.root]
        outside = any_along(impossible[:, self.clauses.outside]) | empty
        self.tally.add(owner, closed, outside, values[:, self.clauses.asked])
        self.tally.keep(batch, closed)
        rows = np.flatnonzero(~closed)
        if not len(rows):
            return None
        rest = replace(batch.with_bound(value), low=known.low, excluded=known.impossible).rows(rows)
        asked = self.clauses.open_leaves(impossible[rows])
        steep = self._steepness(linear, slopes[rows], asked)
        points = np.concatenate([self._points(rest, steep), improved.points])
        self._refute(points, np.concatenate([rest.origin, rest.origin, batch.origin[improved.owners]]))
        rest, at_zero = self._near_zero(rest, known.low[rows], asked)
        by_input = self._scores(rest, steep) * np.where(improved.inside[rows], INPUTS_LAST, 1.0)[:, None]
        return self._cut(rest, at_zero, np.concatenate([by_input, improved.scores[rows]], axis=1))

    def _linear(self, batch: Domains, sides: bool) -> Linear:
        """Bounds of a batch; of a single box that is new first those that take few calls, and mostly are enough.

        A box that they close has a smaller bound than it might have, which is to be seen only where it is the margin.
        """
        if self._first is not None:
            linear, self._first = self._first, None
            return linear
        known, box = self.frame.known(batch, sides=sides), self.frame.abstract(batch)
        if len(batch) > 1 or known or self.clauses.measured:
            return bounds_over(box, tick=self.budget.check, batch=len(batch), known=known)
        return Linear(box, mode="interval", tick=self.budget.check)

    def _closes(self, batch: Domains, owner: Indices, known: Readings) -> bool:
        """Whether every box of a batch without phases is closed by its bounds; if so they are counted.

        A single small box mostly is. What follows (`_work`) would come to the same, with more calls.
        """
        impossible = self.clauses.impossible(known)
        closed = impossible[:, self.clauses.root]
        if batch.phases.any() or not closed.all():
            return False
        outside = any_along(impossible[:, self.clauses.outside])
        self.tally.add(owner, closed, outside, self.clauses.values(known)[:, self.clauses.asked])
        self.tally.keep(batch, closed)
        return True

    def _refute(self, points: Floats, origin: Indices) -> None:
        """Look for counterexamples at points; once in a while they are moved to where one is more likely."""
        owners = self.frame.owners
        self.tally.traces |= self.replays.found(points, owners[origin], self.numbers)
        began = time.monotonic()
        if self._moved_for <= SHARE_OF_DESCENT * (began - self._began - BEFORE_DESCENT):
            moved, origin = self._descent.moved(points, origin)
            self.tally.traces |= self.replays.found(moved, owners[origin], self.numbers)
            self._moved_for += time.monotonic() - began

    def _near_zero(self, rest: Domains, low: Floats, asked: Mask) -> tuple[Domains, Mask]:
        """The boxes that cutting may not close, since only a margin of zero keeps them open.

        That is so where every open leaf is at zero. Where others are not, one of them may exclude the box once it is
        smaller; but not for ever. A bound of zero need not be a margin of zero: some are cut on trial (`cut_at_zero`).
        """
        boxes = self.tally.bounded[self.frame.question(rest)]
        near = np.array([closeness for _, closeness in AT_ZERO])
        near = near[np.searchsorted([count for count, _ in AT_ZERO], boxes, side="right") - 1]
        least = -near * (1.0 + np.where(np.isfinite(low), np.abs(low), 0.0).max(axis=1, initial=0.0))
        touching = rest.bound >= least
        rest = replace(rest, cuts_at_zero=rest.cuts_at_zero + touching)
        hopeless = ((low >= least[:, None]) | ~asked).all(axis=1) | (rest.cuts_at_zero > MAX_CUTS_AT_ZERO)
        return rest, self._beyond_trial(touching & hopeless) | self._too_fine(rest, boxes, asked)

    def _beyond_trial(self, at_zero: Mask) -> Mask:
        """Of some boxes at zero those that are left to exact arithmetic, since enough have been cut all the same."""
        tried = at_zero & (np.cumsum(at_zero) <= self._cuts_at_zero)
        self._cuts_at_zero -= int(np.count_nonzero(tried))
        return at_zero & ~tried

    def _too_fine(self, rest: Domains, boxes: Indices, asked: Mask) -> Mask:
        """Boxes that only conditions without a margin keep open, however small they are."""
        without = ~asked[:, : len(self.clauses.differences)].any(axis=1)
        if not (without & (boxes > MANY_BOXES)).any():
            return np.zeros(len(rest), dtype=bool)
        with np.errstate(all="ignore"):
            relative = np.nan_to_num(rest.width / self._first_width[rest.origin], posinf=0.0)
        fine: Mask = without & (boxes > MANY_BOXES) & (relative.max(axis=1, initial=0.0) < FINE)
        return fine

    def _steepness(self, linear: Linear, slopes: Floats, asked: Mask) -> Floats:
        """(boxes, columns): sums over the open rows, with their sign, and with the absolute value as size."""
        open_rows = asked[:, : slopes.shape[1], None]
        with np.errstate(all="ignore"):
            usable = np.nan_to_num(np.where(open_rows, slopes, 0.0), posinf=0.0, neginf=0.0)
            total = np.copysign(np.abs(usable).sum(axis=1), usable.sum(axis=1))
        return self.frame.by_column(total, linear.inputs.names)

    def _points(self, rest: Domains, steep: Floats) -> Floats:
        """Of each box the centre, and the corner at which the open rows are lowest together."""
        centre = 0.5 * rest.lower + 0.5 * rest.upper
        centre = np.where(self._discrete, np.floor(centre), centre)
        return np.concatenate([np.where(steep > 0, rest.lower, rest.upper), centre])

    def _cut(self, rest: Domains, at_zero: Mask, scores: Floats) -> Domains:
        """Halves of the boxes, and of their halves as long as they are few; what cannot be cut is left aside."""
        rest, scores = self._cuttable(rest, scores, at_zero)
        order = np.argsort(-rest.bound, kind="stable")
        rest, scores = rest.rows(order), scores[order]
        while len(rest):
            column = scores.argmax(axis=1)
            rest = rest.halves(column, self._discrete)
            scores[np.arange(len(scores)), column] *= np.where(column < rest.lower.shape[1], 0.5, 0.0)
            scores = np.concatenate([scores, scores])
            if 2 * len(rest) > CHEAP_BOXES:
                break
            rest, scores = self._cuttable(rest, scores, np.zeros(len(rest), dtype=bool))
        return rest

    def _scores(self, rest: Domains, steep: Floats) -> Floats:
        """(boxes, columns): what a cut may gain, the slope times the width.

        A row may have no slope in a column because the lines below its neurons are flat there, and cutting that column
        may then be the only way to close the box: so every column counts with a share of the steepest one's slope.
        Conditions have no slopes at all: for them the column is cut that is widest in proportion to its first width.
        """
        whole = self._first_width[rest.origin]
        steepest = (np.abs(steep) * whole).max(axis=1, keepdims=True, initial=0.0)
        steepest = np.where(steepest > 0, steepest, 1.0)  # without any slope the widest column is cut
        with np.errstate(all="ignore"):
            relative = np.nan_to_num(rest.width / whole, posinf=0.0)
        scores: Floats = np.abs(steep) * rest.width + FLAT_SLOPE_SHARE * steepest * relative
        return scores

    def _cuttable(self, rest: Domains, scores: Floats, at_zero: Mask) -> tuple[Domains, Floats]:
        """Boxes with a side to cut, and scores that are above zero only for such sides."""
        width = rest.width
        inputs = width.shape[1]
        least = np.where(self._discrete, 0.5, MIN_WIDTH_SHARE * np.maximum(np.abs(rest.lower), np.abs(rest.upper)))
        allowed = (width > least) & np.isfinite(width)
        share = width / np.maximum(width.max(axis=1, keepdims=True, initial=0.0), 1e-300)
        own = scores[:, :inputs]
        own = np.where(allowed, own + 1e-300 + 1e-6 * share * own.max(axis=1, keepdims=True, initial=0.0), 0.0)
        neurons = (rest.least < 0) & (rest.most > 0) & self.improver.cuttable
        scores = np.concatenate([own, np.where(neurons, scores[:, inputs:], 0.0)], axis=1)
        stuck = at_zero | ~(scores > 0).any(axis=1)
        if stuck.any():
            self.tally.left.append(rest.rows(stuck))
        return rest.rows(~stuck), scores[~stuck]
