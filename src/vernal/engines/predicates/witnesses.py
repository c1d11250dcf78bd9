"""Is there an integer point in a box at which conditions are true and the policy may say so? For batches of questions.

Points are tried first. Then bounds over the box exclude what the policy says, or it is cut in two across the column
that counts most; where few points are left they are all looked at, which is exact. A point counts after everything was
evaluated at it exactly; a box is closed by rounded bounds or by its points. Equal questions are asked once: two are
equal if they agree in what they depend on, whatever else their states differ in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from vernal.engines.predicates.atoms import NEVER, Comparison, Condition, conjuncts
from vernal.engines.predicates.box_draws import BoxDraws, box_keys
from vernal.engines.predicates.boxes import (
    BoxJudge,
    IntegerArray,
    IntegerBoxes,
    all_points,
    number_of_points,
)
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds
from vernal.engines.predicates.program_tests import ProgramTests
from vernal.engines.predicates.witness_batches import SharedWork, grouped, numbered
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.run.budget import Budget

BOXES_PER_BATCH = 4096  # boxes
POINTS_PER_BOX = 16  # drawn from a box, and from each of its parts
FEW_POINTS = 48  # of a box, which are all looked at
MAX_BOXES = 20_000  # of one question
TIGHTENING_ROUNDS = 3  # of tightening a box by its comparisons


NOWHERE = PointQuestion((NEVER,))


class Existence(IntEnum):
    """Whether there is a point."""

    OPEN = -1
    NONE = 0
    SOME = 1


RecordTest = Callable[[IntegerBoxes, PointQuestion, Existence], None]


@dataclass(slots=True)
class Found:
    """The answers to a batch of questions, and a point for each that has one."""

    answers: IntegerArray
    points: Floats


class WitnessSearch:
    """Answers questions, and remembers the answers."""

    def __init__(
        self,
        judge: BoxJudge,
        policy: PolicyBounds,
        budget: Budget,
        *,
        points: int = POINTS_PER_BOX,
        few_points: int = FEW_POINTS,
        most_boxes: int = MAX_BOXES,
        recorder: RecordTest | None = None,
        programs: ProgramTests | None = None,
    ) -> None:
        """So many points are drawn from a box, and from each of its parts.

        A box of at most `few_points` (at least one) is decided by all of them; a question that needs more than
        `most_boxes` is left to `programs`, or open. `recorder` is told every test that is answered by a search.
        """
        self.judge, self.policy, self.budget = judge, policy, budget
        self.drawn_points, self.recorder, self.programs = points, recorder, programs
        self.few_points, self.most_boxes = few_points, most_boxes
        self.assurance = Assurance.RIGOROUS  # the least that an answer rests on
        self._draws = BoxDraws(budget.seed, len(policy.columns))
        self.counts: Counter[str] = Counter()
        self._known: dict[Hashable, tuple[int, Floats | None]] = {}
        self._columns: dict[PointQuestion, Mask] = {}

    # Questions --------------------------------------------------------------------------------------------------------

    def ask(self, boxes: IntegerBoxes, questions: Sequence[PointQuestion], relaxed: bool = False) -> Found:
        """For each box and its question whether there is a point; `relaxed` is content with bounds over the reals."""
        boxes, questions = self._simplified(boxes, questions)
        keys = [self._key(boxes, row, question, relaxed) for row, question in enumerate(questions)]
        fresh = {key: row for row, key in enumerate(keys) if key not in self._known}
        rows = np.array(list(fresh.values()), np.int64)
        if len(rows):
            found = self._search(boxes.take(rows), [questions[row] for row in rows], relaxed)
            for key, answer, point in zip(fresh, found.answers.tolist(), found.points, strict=True):
                if self.recorder is not None and not relaxed:
                    row = fresh[key]
                    self.recorder(boxes.take(slice(row, row + 1)), questions[row], Existence(answer))
                self._known[key] = answer, point if answer == Existence.SOME else None
        self.counts["asked"] += len(keys)
        self.counts["searched"] += len(rows)
        return self._collected(boxes, questions, keys)

    def _simplified(
        self, boxes: IntegerBoxes, questions: Sequence[PointQuestion]
    ) -> tuple[IntegerBoxes, list[PointQuestion]]:
        """Conditions without what the boxes decide, and boxes tightened by what is left of them."""
        made = list(questions)
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        for _ in range(TIGHTENING_ROUNDS):
            before = lower.copy(), upper.copy()
            for conditions, rows in grouped(*numbered([question.conditions for question in made])):
                if not conditions:
                    continue
                part = self._tightened(IntegerBoxes(lower[rows], upper[rows]), conditions)
                lower[rows], upper[rows] = part.lower, part.upper
                for row, left in zip(rows.tolist(), self.judge.simplified(conditions, part), strict=True):
                    made[row] = PointQuestion(left, made[row].selection)
            if (before[0] == lower).all() and (before[1] == upper).all():
                break
        for row in np.flatnonzero(IntegerBoxes(lower, upper).empty).tolist():
            made[row] = NOWHERE  # what is left of its conditions says nothing of an empty box
        return IntegerBoxes(lower, upper), made

    def _key(self, boxes: IntegerBoxes, row: int, question: PointQuestion, relaxed: bool) -> Hashable:
        columns = self.columns(question)
        ends = boxes.lower[row, columns].tobytes(), boxes.upper[row, columns].tobytes()
        return question.conditions, question.selection, relaxed, *ends

    def columns(self, question: PointQuestion) -> Mask:
        """The columns that a question depends on."""
        if question not in self._columns:
            asked = [*question.conditions]
            found = self.judge.columns([])
            if question.selection is not None:
                asked += [row.unless for row in question.selection.rows]
                found = found | self.policy.relevant(question.selection)
            self._columns[question] = found | self.judge.columns(asked)
        return self._columns[question]

    def _collected(self, boxes: IntegerBoxes, questions: Sequence[PointQuestion], keys: Sequence[Hashable]) -> Found:
        """The remembered answers; a remembered point is moved into the box where nothing depends on it."""
        answers, points = np.empty(len(keys), np.int64), boxes.lower.copy()
        for row, (key, question) in enumerate(zip(keys, questions, strict=True)):
            answers[row], point = self._known[key]
            if point is not None:
                columns = self.columns(question)
                points[row, columns] = point[columns]
        return Found(answers, points)

    # Search -----------------------------------------------------------------------------------------------------------

    def _search(self, boxes: IntegerBoxes, questions: Sequence[PointQuestion], relaxed: bool) -> Found:
        work = SharedWork(
            self.judge.table, boxes, questions, np.stack([self.columns(question) for question in questions])
        )
        while work.stack:
            self.budget.check()
            part, owner = work.stack.pop()
            if len(part) > BOXES_PER_BATCH:
                work.stack.append((part.take(slice(BOXES_PER_BATCH, None)), owner[BOXES_PER_BATCH:]))
                part, owner = part.take(slice(0, BOXES_PER_BATCH)), owner[:BOXES_PER_BATCH]
            self._step(part, owner, work, relaxed)
        if self.programs is not None and not relaxed:
            for row in np.flatnonzero(work.answers == Existence.OPEN).tolist():
                self._ask_program(self.programs, boxes.take(slice(row, row + 1)), questions[row], row, work)
        return Found(work.answers, work.points)

    def _ask_program(
        self, programs: ProgramTests, box: IntegerBoxes, question: PointQuestion, row: int, work: SharedWork
    ) -> None:
        """The last resort of a question that has used up its boxes."""
        found = programs.ask(box, question)
        self.counts["programs"] += 1
        if found.excluded is not None:
            work.answers[row] = Existence.NONE
            self.assurance = min(self.assurance, found.excluded)
        elif found.point is not None and ((box.lower[0] <= found.point) & (found.point <= box.upper[0])).all():
            self._try(found.point[None], np.array([row]), work)

    def _step(self, boxes: IntegerBoxes, owner: IntegerArray, work: SharedWork, relaxed: bool) -> None:
        """One batch of boxes: what stays open is cut and put back."""
        boxes, owner, certain = self._within(boxes, owner, work)
        np.add.at(work.boxes_used, owner, 1)
        boxes, owner, certain = self._without_answered(boxes, owner, certain, work)
        if not len(boxes):
            return
        self._try(self._moved(np.floor((boxes.lower + boxes.upper) / 2), boxes, owner, work), owner, work)
        boxes, owner, certain = self._without_answered(boxes, owner, certain, work)
        self._try_drawn(boxes, owner, work)
        boxes, owner, certain = self._without_answered(boxes, owner, certain, work)
        boxes, owner, certain = self._enumerate(boxes, owner, certain, work)
        if not len(boxes):
            return
        boxes, impossible, steep = self._bounded(boxes, owner, certain, work)
        if relaxed:
            work.answers[owner[~impossible]] = Existence.OPEN
            return
        left = np.flatnonzero(~impossible)
        boxes, owner, certain, steep = boxes.take(left), owner[left], certain[left], steep[left]
        self._try(self._moved(np.where(steep > 0, boxes.lower, boxes.upper), boxes, owner, work), owner, work)
        self._cut(boxes, owner, certain, steep, work)

    def _within(
        self, boxes: IntegerBoxes, owner: IntegerArray, work: SharedWork
    ) -> tuple[IntegerBoxes, IntegerArray, Mask]:
        """The boxes in which conditions can be true, tightened, and whether they are true everywhere there."""
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        possible, certain = ~boxes.empty, np.ones(len(boxes), bool)
        for conditions, rows in work.alike(owner):
            part = self._tightened(IntegerBoxes(lower[rows], upper[rows]), conditions)
            must, may = self.judge.decide(conditions, part)
            lower[rows], upper[rows] = part.lower, part.upper
            possible[rows] &= may.all(axis=1) & ~part.empty
            certain[rows] = must.all(axis=1)
        return IntegerBoxes(lower, upper).take(possible), owner[possible], certain[possible]

    def _tightened(self, boxes: IntegerBoxes, conditions: Sequence[Condition]) -> IntegerBoxes:
        parts = [part for condition in conditions for part in conjuncts(condition) if isinstance(part, Comparison)]
        for _ in range(TIGHTENING_ROUNDS if len(parts) > 1 else 1):
            for part in parts:
                boxes = self.judge.tightened(boxes, part)
        return boxes

    def _without_answered(
        self, boxes: IntegerBoxes, owner: IntegerArray, certain: Mask, work: SharedWork
    ) -> tuple[IntegerBoxes, IntegerArray, Mask]:
        left = np.flatnonzero(work.answers[owner] == Existence.NONE)
        return boxes.take(left), owner[left], certain[left]

    # Points -----------------------------------------------------------------------------------------------------------

    def _try_drawn(self, boxes: IntegerBoxes, owner: IntegerArray, work: SharedWork) -> None:
        """Some points drawn from each box."""
        points, whose = self._draws.points(boxes, self.drawn_points, box_keys(boxes, work.columns[owner]))
        if len(points):
            self._try(self._moved(points, boxes.take(whose), owner[whose], work), owner[whose], work)

    def _moved(self, points: Floats, boxes: IntegerBoxes, owner: IntegerArray, work: SharedWork) -> Floats:
        """Points of boxes, moved to where relations are satisfied."""
        rows = np.flatnonzero(work.related[owner])
        if len(rows):
            asked, columns = work.relations(owner[rows]), work.columns[owner[rows]]
            points[rows] = self._draws.moved(points[rows], boxes.take(rows), asked, columns)
        return points

    def _try(self, points: Floats, owner: IntegerArray, work: SharedWork) -> None:
        """Answer the questions of which one of these points is a witness."""
        good = np.ones(len(points), bool)
        for conditions, rows in work.alike(owner):
            must, _ = self.judge.decide(conditions, IntegerBoxes.points(points[rows]))
            good[rows] = must.all(axis=1)
        left = np.flatnonzero(good)
        points, owner = points[left], owner[left]
        good = np.ones(len(points), bool)
        for selection, rows in work.selected(owner):
            good[rows] = self.policy.says(selection, points[rows])
        self.counts["points"] += len(points)
        answered, first = np.unique(owner[good], return_index=True)
        fresh = work.answers[answered] != Existence.SOME
        work.answers[answered] = Existence.SOME
        work.points[answered[fresh]] = points[good][first[fresh]]

    def _enumerate(
        self, boxes: IntegerBoxes, owner: IntegerArray, certain: Mask, work: SharedWork
    ) -> tuple[IntegerBoxes, IntegerArray, Mask]:
        """Look at all points of boxes that have few, in the columns the question depends on."""
        if not len(boxes):
            return boxes, owner, certain
        columns = work.columns[owner]
        few = number_of_points(boxes, columns) <= self.few_points
        rows = np.flatnonzero(few)
        if len(rows):
            points, whose = all_points(boxes.take(rows), columns[rows])
            self._try(points, owner[rows][whose], work)
        left = np.flatnonzero(~few)
        return self._without_answered(boxes.take(left), owner[left], certain[left], work)

    # Boxes ------------------------------------------------------------------------------------------------------------

    def _bounded(
        self, boxes: IntegerBoxes, owner: IntegerArray, certain: Mask, work: SharedWork
    ) -> tuple[IntegerBoxes, Mask, Floats]:
        """What bounds leave of boxes, which of them they close, and the slopes of what the policy says."""
        impossible, steep = np.zeros(len(boxes), bool), np.zeros(boxes.lower.shape)
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        for selection, rows in work.selected(owner):
            related = work.related[owner[rows]] & ~certain[rows]
            for own, asked in ((rows[~related], None), (rows[related], work.relations(owner[rows[related]]))):
                if len(own):
                    found = self.policy.bounded(selection, boxes.take(own), asked)
                    impossible[own], steep[own] = found.excluded | found.left.empty, found.slopes
                    lower[own], upper[own] = found.left.lower, found.left.upper
        self.counts["boxes"] += len(boxes)
        return IntegerBoxes(lower, upper), impossible, steep

    def _cut(self, boxes: IntegerBoxes, owner: IntegerArray, certain: Mask, steep: Floats, work: SharedWork) -> None:
        """Halves of the open boxes; a question that has used up its boxes stays open."""
        open_questions = (work.answers[owner] == Existence.NONE) & (work.boxes_used[owner] <= self.most_boxes)
        spent = owner[(work.answers[owner] == Existence.NONE) & ~open_questions]
        work.answers[spent] = Existence.OPEN
        rows = np.flatnonzero(open_questions)
        if not len(rows):
            return
        boxes, owner = boxes.take(rows), owner[rows]
        columns = self._scores(boxes, owner, certain[rows], steep[rows], work).argmax(axis=1)
        work.stack.append((boxes.halves(columns), np.concatenate([owner, owner])))

    def _scores(
        self, boxes: IntegerBoxes, owner: IntegerArray, certain: Mask, steep: Floats, work: SharedWork
    ) -> Floats:
        """What cutting each column may gain: the slope times the width, and where conditions are open their columns."""
        relevant = work.columns[owner]
        width = np.where(relevant, boxes.widths, 0.0)
        asked = np.abs(steep) * width
        asked = asked / np.maximum(asked.max(axis=1, keepdims=True), 1e-300)
        depends = np.zeros(width.shape, bool)
        for conditions, rows in work.alike(owner):
            depends[rows] = self.judge.columns(conditions)
        undecided = np.where(depends & ~certain[:, None], width, 0.0)
        undecided = undecided / np.maximum(undecided.max(axis=1, keepdims=True), 1.0)
        share = width / np.maximum(width.max(axis=1, keepdims=True), 1.0)
        return np.where(relevant & (width > 0), asked + undecided + 1e-3 * share + 1e-9, 0.0)
