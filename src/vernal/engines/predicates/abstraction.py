"""The part of the policy predicate abstraction that is reachable from the initial states, by forward search.

There is a transition from one abstract state to another if a state of the first has an operator whose guard is true,
that the policy selects, and that leads into the second (M. Vinzent, M. Steinmetz, J. Hoffmann, ICAPS 2022). What the
next state has to satisfy is substituted into a condition on the present one, so every test is about one state. A layer
of abstract states is expanded together: operators, successor cells and tests are batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import inf
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
from vernal.logic.direction import Direction
from vernal.model.expr import Expr
from vernal.run.budget import Budget

AT_ONCE = 8192  # abstract states that are expanded in one batch
FIRST_AT_ONCE = 64  # the same at first where exploring may end early; then as many as were expanded before


@dataclass(frozen=True, slots=True, eq=False)
class AbstractTransition:
    """Why there is a transition: an operator, and a state from which it leads there; none where it is not known."""

    operator: int
    state: Floats | None


@dataclass(eq=False)
class AbstractGraph:
    """Abstract states by number, the transitions between them, where they begin and which are unsafe."""

    starts: dict[int, Floats] = field(default_factory=dict)  # with an initial state in each
    transitions: dict[tuple[int, int], AbstractTransition] = field(default_factory=dict)
    unsafe: dict[int, Floats | None] = field(default_factory=dict)  # with an unsafe state in each, if one is known
    open_starts: set[int] = field(default_factory=set)  # of which it is not known whether they hold an initial state
    labels: dict[tuple[int, int], dict[str | None, None]] = field(default_factory=dict)  # where they are asked for


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


class Abstraction:
    """One set of predicates: its abstract states, and the graph as far as it was explored.

    A step that is possible from some state of a cell is one of the whole cell, and one that is undecided counts.
    """

    direction = Direction.OVER

    def __init__(
        self,
        model: OperatorModel,
        predicates: Sequence[Expr],
        search: PointTests,
        options: PredicateOptions,
        budget: Budget,
    ) -> None:
        self.model, self.search, self.options, self.budget = model, search, options, budget
        self.predicates = tuple(dict.fromkeys((*model.labels, *predicates)))
        self.cells = PredicateCells(model.judge, [model.table.condition(p) for p in self.predicates])
        self.graph = AbstractGraph()
        self.tests: Counter[str] = Counter()
        self._branching = CellBranching(model.judge, budget.check)
        self._waiting: list[int] | None = None  # abstract states that are to be expanded; None before the start
        self._weakest = [self._weakest_of(operator) for operator in model.operators]
        self._asked_apart = [operator.label if options.abstraction else None for operator in model.operators]

    def _weakest_of(self, operator: PlanOperator) -> WeakestConditions:
        before = self.model.after(operator, self.predicates)
        changed = [n for n, (old, new) in enumerate(zip(self.predicates, before, strict=True)) if old is not new]
        return WeakestConditions(tuple(changed), tuple(self.model.table.condition(before[n]) for n in changed))

    def weakest(self, operator: int) -> WeakestConditions:
        """What the predicates that an operator may change say of the state before it."""
        return self._weakest[operator]

    # Exploring --------------------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether everything that is reachable was explored."""
        return self._waiting == []

    def explore(self, most_with_unsafe: float = inf, most: float = inf) -> AbstractGraph:
        """Everything that is reachable from the initial states; about so many, starts apart, where limits are given.

        What a limit leaves out is waiting: the next call goes on there, and until then the graph is not `complete`.
        """
        if self._waiting is None:
            self._enter_starts()
            self._waiting = [*self.graph.starts, *self.graph.open_starts]
        starts = len(self.graph.starts) + len(self.graph.open_starts)
        while self._waiting and len(self.cells) - starts <= (most_with_unsafe if self.graph.unsafe else most):
            self.budget.check()
            self.budget.progress(f"predicates: {len(self.cells):,} abstract states", None)
            known = len(self.cells)
            at_once = AT_ONCE if most == inf else min(max(FIRST_AT_ONCE, known - len(self._waiting)), AT_ONCE)
            part = self._waiting[:at_once]
            self._look_at(part)
            self._expand(part)
            self._waiting = [*self._waiting[at_once:], *range(known, len(self.cells))]
        return self.graph

    def _enter_starts(self) -> None:
        """The abstract states that hold an initial state."""
        boxes, condition = self.model.starts(self.budget.check)
        boxes = tightened(self.model.judge, boxes, [condition])
        for leaves in self._branching.leaves(boxes, self.cells.predicates, condition):
            sure = ~leaves.unsure.any(axis=1)
            for values, point in zip(leaves.values[sure], leaves.boxes.lower[sure], strict=True):
                self.graph.starts.setdefault(self.cells.number(values), point)
            self._ask_for_starts(leaves, np.flatnonzero(~sure), condition)
        self.graph.open_starts -= self.graph.starts.keys()

    def _ask_for_starts(self, leaves: CellLeaves, rows: IntegerArray, condition: Condition) -> None:
        """Whether boxes that do not say it hold an initial state of their cell."""
        questions = [
            PointQuestion((condition, *self.cells.literals(leaves.values[row], leaves.unsure[row, :-1])))
            for row in rows.tolist()
        ]
        found = self.search.ask(leaves.boxes.take(rows), questions)
        self.tests["starts"] += len(questions)
        for row, answer, point in zip(rows, found.answers.tolist(), found.points, strict=True):
            if answer == Existence.SOME:
                self.graph.starts.setdefault(self.cells.number(leaves.values[row]), point)
            elif answer == Existence.OPEN:
                self.graph.open_starts.add(self.cells.number(leaves.values[row]))

    def _look_at(self, numbers: Sequence[int]) -> None:
        """Which of some new abstract states hold an unsafe state."""
        values = np.stack([self.cells.values[number] for number in numbers])
        boxes = self.cells.boxes(values)
        unsure = self.cells.unsure(values, boxes)
        for way in self.model.unsafe:
            _, may = self.model.judge.decide(way.conditions, boxes)
            possible = np.flatnonzero(may.all(axis=1)).tolist()
            rows = np.array([row for row in possible if numbers[row] not in self.graph.unsafe], np.int64)
            questions = [
                PointQuestion((*self.cells.literals(values[row], unsure[row]), *way.conditions), way.selection)
                for row in rows.tolist()
            ]
            found = self.search.ask(boxes.take(rows), questions)
            self.tests["unsafe"] += len(questions)
            for row, answer, point in zip(rows.tolist(), found.answers.tolist(), found.points, strict=True):
                if answer != Existence.NONE:
                    self.graph.unsafe[numbers[row]] = point if answer == Existence.SOME else None

    # Expanding --------------------------------------------------------------------------------------------------------

    def _expand(self, numbers: Sequence[int]) -> None:
        """All transitions from some abstract states."""
        values = np.stack([self.cells.values[number] for number in numbers])
        boxes = self.cells.boxes(values)
        unsure = self.cells.unsure(values, boxes)
        literals = [self.cells.literals(own, open_ones) for own, open_ones in zip(values, unsure, strict=True)]
        _, applicable = self.model.judge.decide([operator.guard for operator in self.model.operators], boxes)
        selected = self._selected(boxes, literals, applicable)
        asked = Candidates()
        for place, operator in enumerate(self.model.operators):
            rows = np.flatnonzero(selected[:, place])
            if len(rows):
                self._expand_by(place, operator, rows, boxes, literals, values, asked)
        self._settle(numbers, asked)

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
        weakest = self._weakest[place]
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
        self.tests[kind] += len(questions)
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

    def _settle(self, numbers: Sequence[int], asked: Candidates) -> None:
        """Ask for each pair of cells whether there is a transition; one operator is enough, or one of each label."""
        pairs = asked.pairs(self._asked_apart)
        turn = 0
        while pairs:
            rows = np.array([own[turn] for own in pairs.values()], np.int64)
            found = self.search.ask(asked.boxes().take(rows), [asked.questions[row] for row in rows])
            self.tests["transitions"] += len(rows)
            left: dict[Hashable, list[int]] = {}
            for (key, own), answer, point in zip(pairs.items(), found.answers.tolist(), found.points, strict=True):
                self._settle_pair(numbers, asked, own, turn, answer, point)
                if answer != Existence.SOME and turn + 1 < len(own):
                    left[key] = own
            pairs, turn = left, turn + 1

    def _settle_pair(
        self, numbers: Sequence[int], asked: Candidates, own: Sequence[int], turn: int, answer: int, point: Floats
    ) -> None:
        if answer == Existence.NONE:
            return
        row = own[turn]
        pair = numbers[asked.sources[row]], self.cells.number(asked.after[row])
        state = point if answer == Existence.SOME else None
        known = self.graph.transitions.get(pair)
        if known is None or known.state is None:
            self.graph.transitions[pair] = AbstractTransition(asked.operators[row], state)
        if self.options.abstraction:
            self.graph.labels.setdefault(pair, {})[self.model.operators[asked.operators[row]].label] = None


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
