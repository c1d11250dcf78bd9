"""What is beyond an abstract state: the cells that its states lead to, and whether it holds an unsafe state.

A batch of abstract states is expanded together: operators, successor cells and tests are arrays. What comes out depends
on the abstract states alone, not on those beside them, so that several processes may have a portion each (portions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from vernal.engines.options import Precision, PredicateOptions
from vernal.engines.predicates.atoms import ALWAYS, Condition, NotLinear, connected, negated
from vernal.engines.predicates.boxes import IntegerArray, IntegerBoxes
from vernal.engines.predicates.cells import CellBranching, CellLeaves, PredicateCells, tightened
from vernal.engines.predicates.integer_model import OperatorModel, PlanOperator
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds
from vernal.engines.predicates.witnesses import Existence, Found
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class AbstractTransition:
    """Why there is a transition: an operator, and a state from which it leads there; none where it is not known."""

    operator: int
    state: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class AbstractStep:
    """A transition out of one of the cells that are expanded, by its row, to a cell that has no number yet."""

    source: int
    after: Mask
    why: AbstractTransition


@dataclass(eq=False)
class CellExpansion:
    """What was found out of a batch of cells, and the tests it took."""

    unsafe: dict[int, Floats | None] = field(default_factory=dict)  # by row, with an unsafe state if one is known
    steps: list[AbstractStep] = field(default_factory=list)  # by source, operator and cell
    tests: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, eq=False)
class WeakestConditions:
    """What the predicates that an operator may change say of the state before it."""

    changed: tuple[int, ...]
    conditions: tuple[Condition, ...]


class PointTests(Protocol):
    """Answers whether boxes hold points, as `WitnessSearch` does."""

    policy: PolicyBounds
    counts: Counter[str]
    assurance: Assurance  # the least that an answer rests on

    def ask(self, boxes: IntegerBoxes, questions: Sequence[PointQuestion], relaxed: bool = False) -> Found: ...


class CellExpander:
    """Expands the cells of some predicates."""

    def __init__(
        self,
        model: OperatorModel,
        cells: PredicateCells,
        predicates: Sequence[Expr],
        search: PointTests,
        options: PredicateOptions,
        branching: CellBranching,
    ) -> None:
        """`predicates` are those of the cells as expressions."""
        self.model, self.cells, self.predicates = model, cells, predicates
        self.search, self.options, self._branching = search, options, branching
        self.weakest = [self._weakest_of(operator) for operator in model.operators]
        self._asked_apart = [operator.label if options.abstraction else None for operator in model.operators]
        self._tests: Counter[str] = Counter()

    def _weakest_of(self, operator: PlanOperator) -> WeakestConditions:
        before = self.model.after(operator, self.predicates)
        changed = [n for n, (old, new) in enumerate(zip(self.predicates, before, strict=True)) if old is not new]
        return WeakestConditions(tuple(changed), tuple(self.model.table.condition(before[n]) for n in changed))

    def expanded(self, values: Mask) -> CellExpansion:
        """All transitions out of some cells, given as rows of truth values, and which of them are unsafe."""
        self._tests = Counter()
        boxes = self.cells.boxes(values)
        unsure = self.cells.unsure(values, boxes)
        literals = [self.cells.literals(own, open_ones) for own, open_ones in zip(values, unsure, strict=True)]
        unsafe = self._unsafe(boxes, literals)
        return CellExpansion(unsafe, self._steps(values, boxes, literals), self._tests)

    def _unsafe(self, boxes: IntegerBoxes, literals: Sequence[tuple[Condition, ...]]) -> dict[int, Floats | None]:
        """Which cells hold an unsafe state."""
        unsafe: dict[int, Floats | None] = {}
        for way in self.model.unsafe:
            _, may = self.model.judge.decide(way.conditions, boxes)
            possible = np.flatnonzero(may.all(axis=1)).tolist()
            rows = np.array([row for row in possible if row not in unsafe], np.int64)
            questions = [PointQuestion((*literals[row], *way.conditions), way.selection) for row in rows.tolist()]
            found = self.search.ask(boxes.take(rows), questions)
            self._tests["unsafe"] += len(questions)
            for row, answer, point in zip(rows.tolist(), found.answers.tolist(), found.points, strict=True):
                if answer != Existence.NONE:
                    unsafe[row] = point if answer == Existence.SOME else None
        return unsafe

    def _steps(
        self, values: Mask, boxes: IntegerBoxes, literals: Sequence[tuple[Condition, ...]]
    ) -> list[AbstractStep]:
        """All transitions, in an order that depends on nothing but themselves."""
        _, applicable = self.model.judge.decide([operator.guard for operator in self.model.operators], boxes)
        selected = self._selected(boxes, literals, applicable)
        asked = Candidates()
        for place, operator in enumerate(self.model.operators):
            rows = np.flatnonzero(selected[:, place])
            if len(rows):
                self._expand_by(place, operator, rows, boxes, literals, values, asked)
        return sorted(self._settled(asked), key=lambda step: (step.source, step.why.operator, step.after.tobytes()))

    def _expand_by(
        self,
        place: int,
        operator: PlanOperator,
        rows: IntegerArray,
        boxes: IntegerBoxes,
        literals: Sequence[tuple[Condition, ...]],
        values: Mask,
        asked: Candidates,
    ) -> None:
        """The abstract states that an operator may lead to, each with the question whether it does."""
        inside = tightened(self.model.judge, boxes.take(rows), [operator.guard])
        rows, inside = rows[~inside.empty], inside.take(~inside.empty)
        rows, inside = self._applicable(operator, rows, inside, literals)
        if not len(rows):
            return
        self._check_ranges(operator, rows, inside, literals)
        weakest = self.weakest[place]
        for leaves in self._branching.leaves(inside, weakest.conditions, operator.guard):
            after = values[rows[leaves.owner]]
            after[:, weakest.changed] = leaves.values
            questions = [
                PointQuestion(
                    self._conditions(operator, weakest, leaves, row, literals[rows[leaves.owner[row]]]),
                    operator.selection,
                )
                for row in range(len(leaves))
            ]
            asked.add(place, rows[leaves.owner], leaves.boxes, after, questions)

    def _conditions(
        self,
        operator: PlanOperator,
        weakest: WeakestConditions,
        leaves: CellLeaves,
        row: int,
        literals: tuple[Condition, ...],
    ) -> tuple[Condition, ...]:
        """What a box does not say of the state before, of the guard and of the state after."""
        open_ones = np.flatnonzero(leaves.unsure[row]).tolist()
        if not open_ones:
            return literals
        count = len(weakest.conditions)
        own = [operator.guard for n in open_ones if n == count]
        for n in open_ones:
            if n < count:
                own.append(weakest.conditions[n] if leaves.values[row, n] else negated(weakest.conditions[n]))
        return (*literals, *own)

    # Tests that may save others ---------------------------------------------------------------------------------------

    def _selected(self, boxes: IntegerBoxes, literals: Sequence[tuple[Condition, ...]], applicable: Mask) -> Mask:
        """Without the operators whose label the policy takes nowhere in a cell, as far as that is asked."""
        if self.options.selection is Precision.NONE:
            return applicable
        found = applicable.copy()
        selections = dict.fromkeys(o.selection for o in self.model.operators if o.selection is not None)
        for selection in selections:
            columns = np.array([o.selection is selection for o in self.model.operators])
            rows = np.flatnonzero(applicable[:, columns].any(axis=1))
            questions = [PointQuestion(literals[row], selection) for row in rows.tolist()]
            never = rows[self._never("selection", boxes.take(rows), questions, self.options.selection)]
            found[np.ix_(never, columns)] = False
        return found

    def _applicable(
        self,
        operator: PlanOperator,
        rows: IntegerArray,
        boxes: IntegerBoxes,
        literals: Sequence[tuple[Condition, ...]],
    ) -> tuple[IntegerArray, IntegerBoxes]:
        """Without the cells in which the policy takes an operator nowhere, as far as that is asked."""
        if self.options.applicability is Precision.NONE or operator.selection is None:
            return rows, boxes
        questions = [PointQuestion((*literals[row], operator.guard), operator.selection) for row in rows.tolist()]
        kept = np.flatnonzero(~self._never("applicability", boxes, questions, self.options.applicability))
        return rows[kept], boxes.take(kept)

    def _never(self, kind: str, boxes: IntegerBoxes, questions: Sequence[PointQuestion], precision: Precision) -> Mask:
        found = self.search.ask(boxes, questions, relaxed=precision is Precision.RELAXED)
        self._tests[kind] += len(questions)
        never: Mask = found.answers == Existence.NONE
        return never

    def _check_ranges(
        self,
        operator: PlanOperator,
        rows: IntegerArray,
        boxes: IntegerBoxes,
        literals: Sequence[tuple[Condition, ...]],
    ) -> None:
        """Refuse a system that leaves its declared ranges: cells have no states out there."""
        if operator.stays == ALWAYS:
            return
        must, _ = self.model.judge.decide([operator.stays], boxes)
        left = np.flatnonzero(~must[:, 0])
        leaves = connected(True, [operator.guard, negated(operator.stays)])
        questions = [PointQuestion((*literals[rows[row]], leaves), operator.selection) for row in left]
        found = self.search.ask(boxes.take(left), questions)
        if (found.answers != Existence.NONE).any():
            raise NotLinear("a variable may leave its declared range, which this engine takes for granted")

    # Settling ---------------------------------------------------------------------------------------------------------

    def _settled(self, asked: Candidates) -> list[AbstractStep]:
        """Of each pair of cells whether there is a transition; one operator is enough, or one of each label."""
        found: dict[Hashable, AbstractStep] = {}
        pairs = asked.pairs(self._asked_apart)
        turn = 0
        while pairs:
            rows = np.array([own[turn] for own in pairs.values()], np.int64)
            answers = self.search.ask(asked.boxes().take(rows), [asked.questions[row] for row in rows])
            self._tests["transitions"] += len(rows)
            left: dict[Hashable, list[int]] = {}
            for (key, own), answer, point in zip(pairs.items(), answers.answers.tolist(), answers.points, strict=True):
                if answer == Existence.SOME or (answer == Existence.OPEN and key not in found):
                    found[key] = asked.step(own[turn], point if answer == Existence.SOME else None)
                if answer != Existence.SOME and turn + 1 < len(own):
                    left[key] = own
            pairs, turn = left, turn + 1
        return list(found.values())


class Candidates:
    """Transitions that are asked for: operator, source, box, the cell that is reached, and the question."""

    def __init__(self) -> None:
        self.operators: list[int] = []
        self.sources: list[int] = []
        self.after: list[Mask] = []
        self.questions: list[PointQuestion] = []
        self._boxes: list[IntegerBoxes] = []

    def add(
        self, operator: int, sources: IntegerArray, boxes: IntegerBoxes, after: Mask, questions: Sequence[PointQuestion]
    ) -> None:
        """Some more of one operator."""
        self.operators += [operator] * len(sources)
        self.sources += sources.tolist()
        self.after += list(after)
        self.questions += questions
        self._boxes.append(boxes)

    def step(self, row: int, point: Floats | None) -> AbstractStep:
        """One of them, which is possible from a point, or may be."""
        return AbstractStep(self.sources[row], self.after[row], AbstractTransition(self.operators[row], point))

    def boxes(self) -> IntegerBoxes:
        """All boxes, in one batch."""
        self._boxes = [IntegerBoxes.joined(self._boxes)]
        return self._boxes[0]

    def pairs(self, kinds: Sequence[str | None]) -> dict[Hashable, list[int]]:
        """The candidates of each pair of source and cell that is reached, and kind of operator."""
        found: dict[Hashable, list[int]] = {}
        for row, (source, after) in enumerate(zip(self.sources, self.after, strict=True)):
            found.setdefault((source, after.tobytes(), kinds[self.operators[row]]), []).append(row)
        return found
