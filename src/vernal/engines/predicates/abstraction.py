"""The part of the policy predicate abstraction that is reachable from the initial states, by forward search.

There is a transition from one abstract state to another if a state of the first has an operator whose guard is true,
that the policy selects, and that leads into the second (M. Vinzent, M. Steinmetz, J. Hoffmann, ICAPS 2022). What the
next state has to satisfy is substituted into a condition on the present one, so every test is about one state. A layer
of abstract states is expanded together, by one process or by several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from vernal.engines.options import PredicateOptions
from vernal.engines.predicates.atoms import Condition
from vernal.engines.predicates.boxes import IntegerArray
from vernal.engines.predicates.cells import CellBranching, CellLeaves, PredicateCells, tightened
from vernal.engines.predicates.expansion import (
    AbstractTransition,
    CellExpander,
    CellExpansion,
    PointTests,
    WeakestConditions,
)
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PointQuestion
from vernal.engines.predicates.portions import Portions
from vernal.engines.predicates.witnesses import Existence
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.direction import Direction
from vernal.model.expr import Expr
from vernal.run.budget import Budget

AT_ONCE = 8192  # abstract states that are expanded in one batch
FIRST_AT_ONCE = 64  # the same at first where exploring may end early; then as many as were expanded before


@dataclass(eq=False)
class AbstractGraph:
    """Abstract states by number, the transitions between them, where they begin and which are unsafe."""

    starts: dict[int, Floats] = field(default_factory=dict)  # with an initial state in each
    transitions: dict[tuple[int, int], AbstractTransition] = field(default_factory=dict)
    unsafe: dict[int, Floats | None] = field(default_factory=dict)  # with an unsafe state in each, if one is known
    open_starts: set[int] = field(default_factory=set)  # of which it is not known whether they hold an initial state
    labels: dict[tuple[int, int], dict[str | None, None]] = field(default_factory=dict)  # where they are asked for


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
        self._expander = CellExpander(model, self.cells, self.predicates, search, options, self._branching)
        self.portions = Portions(self._expander, budget)

    def weakest(self, operator: int) -> WeakestConditions:
        """What the predicates that an operator may change say of the state before it."""
        return self._expander.weakest[operator]

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

    def dismiss(self) -> None:
        """Nothing more is explored for now: processes that helped end."""
        self.portions.dismiss()

    # Expanding --------------------------------------------------------------------------------------------------------

    def _expand(self, numbers: Sequence[int]) -> None:
        """All transitions from some abstract states, and which of these are unsafe."""
        values = np.stack([self.cells.values[number] for number in numbers])
        first = 0
        for count, found in self.portions.expanded(values):
            self._enter(numbers[first : first + count], found)
            first += count

    def _enter(self, numbers: Sequence[int], found: CellExpansion) -> None:
        """Add to the graph what was found out of some abstract states."""
        self.tests.update(found.tests)
        self.graph.unsafe.update((numbers[row], state) for row, state in found.unsafe.items())
        for step in found.steps:
            pair = numbers[step.source], self.cells.number(step.after)
            known = self.graph.transitions.get(pair)
            if known is None or known.state is None:
                self.graph.transitions[pair] = step.why
            if self.options.abstraction:
                self.graph.labels.setdefault(pair, {})[self.model.operators[step.why.operator].label] = None
