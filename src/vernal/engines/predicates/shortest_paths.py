"""Is there a shorter unsafe path than one that is known? Breadth first through concrete states, all of them.

A state that is met after t steps is followed only if an unsafe abstract state is so few abstract steps away that the
path would still be shorter. The abstraction has a path for every path of the system, so nothing is missed; where
the abstract starts are as far away as the known path is long, there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vernal.engines.predicates.abstraction import AbstractGraph, Abstraction
from vernal.engines.predicates.boxes import IntegerBoxes, all_points, number_of_points
from vernal.engines.predicates.concrete_states import ConcretePath, ConcreteStates, StateGraph
from vernal.engines.predicates.danger import leading_to_unsafe
from vernal.errors import Stopped
from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Counterexample
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.logic.question import Question
from vernal.run.budget import Budget

STATES_PER_BATCH = 4096
NONE_SHORTER = "no unsafe path is shorter"


def steps_to_unsafe(graph: AbstractGraph) -> dict[int, int]:
    """The number of steps from abstract states to an unsafe one, where one can be reached."""
    found: dict[int, int] = {}
    for cell, after in leading_to_unsafe(graph).items():  # nearer ones first
        found[cell] = 0 if after == cell else found[after] + 1
    return found


class ShorterPath:
    """Looks for an unsafe path of fewer than so many steps, in an abstraction that was explored to its end."""

    def __init__(self, abstraction: Abstraction, states: ConcreteStates, budget: Budget, length: int) -> None:
        self.abstraction, self.states, self.budget, self.length = abstraction, states, budget, length
        self.distances = steps_to_unsafe(abstraction.graph)
        self.found = StateGraph()

    def find(self) -> ConcretePath | None:
        """A shortest one; None where there is none."""
        first = self._first()
        level = list(range(len(self.found.states)))
        for steps in range(self.length):
            unsafe, after = self._step(level, self.length - 1 - steps)
            if unsafe:
                following = self.found.paths_to(unsafe)
                return self.found.path(next(number for number in first if number in following), following)
            level = after
        return None

    def _first(self) -> range:
        """Enter all initial states that are near enough."""
        graph = self.abstraction.graph
        nearest = min(
            (self.distances.get(cell, self.length) for cell in (*graph.starts, *graph.open_starts)), default=0
        )
        if nearest < self.length:
            for points in self._initial_states():
                for state in points[self._near(points, self.length - 1)]:
                    self.found.enter(state)
        return range(len(self.found.states))

    def _initial_states(self) -> Iterator[Floats]:
        """All of them, in batches."""
        model = self.abstraction.model
        boxes, condition = model.starts(self.budget.check)
        for part in _small(boxes):
            self.budget.check()
            points, _ = all_points(part, np.ones(part.lower.shape, bool))
            must, _ = model.judge.decide([condition], IntegerBoxes.points(points))
            yield points[must[:, 0]]

    def _near(self, states: Floats, most: int) -> Mask:
        """Which states are in an abstract state that is at most so many steps from an unsafe one."""
        cells = self.abstraction.cells
        numbers = [cells.find(values) for values in cells.of(IntegerBoxes.points(states))]
        return np.array([n is not None and self.distances.get(n, most + 1) <= most for n in numbers], bool)

    def _step(self, level: list[int], left: int) -> tuple[list[int], list[int]]:
        """The unsafe states of a level, and the new states after it from which so few steps are enough."""
        unsafe: list[int] = []
        after: list[int] = []
        for begin in range(0, len(level), STATES_PER_BATCH):
            self.budget.check()
            numbers = level[begin : begin + STATES_PER_BATCH]
            states = np.stack([self.found.states[number] for number in numbers])
            bad = self.states.unsafe(states)
            unsafe += [number for number, is_bad in zip(numbers, bad.tolist(), strict=True) if is_bad]
            if left:
                after += self._entered(numbers, states, left - 1)
        return unsafe, after

    def _entered(self, numbers: list[int], states: Floats, most: int) -> list[int]:
        found = self.states.successors(states)
        if not len(found.origin):
            return []
        new: list[int] = []
        for row in np.flatnonzero(self._near(found.states, most)).tolist():
            number, is_new = self.found.enter(found.states[row])
            self.found.edges.setdefault(number, []).append((numbers[int(found.origin[row])], int(found.operator[row])))
            if is_new:
                new.append(number)
        return new


def _small(boxes: IntegerBoxes) -> Iterator[IntegerBoxes]:
    """The same boxes in batches of few points; larger ones are cut."""
    stack = [boxes]
    while stack:
        part = stack.pop()
        points = number_of_points(part, np.ones(part.lower.shape, bool))
        if points.sum() <= STATES_PER_BATCH:
            yield part
        elif len(part) > 1:
            stack += [part.take(slice(len(part) // 2, None)), part.take(slice(0, len(part) // 2))]
        else:
            stack.append(part.halves(part.widths.argmax(axis=1)))


def with_shortest_path(
    question: Question, known: Counterexample, abstraction: Abstraction, states: ConcreteStates, budget: Budget
) -> Counterexample:
    """The counterexample with a shortest path, or with a note why one is not excluded to be shorter."""
    try:
        path = ShorterPath(abstraction, states, budget, len(known.trace) - 1).find()
    except Stopped as stop:
        return replace(known, notes=(*known.notes, f"a shorter unsafe path is not excluded: {stop.reason}"))
    if path is None:
        return replace(known, notes=(*known.notes, NONE_SHORTER))
    trace = refuting_path(question.system, path.candidate(abstraction.model), question.claim.path, budget.check)
    if trace is None:
        return replace(known, notes=(*known.notes, "a shorter unsafe path is not excluded: one did not replay"))
    return replace(known, trace=trace, notes=(*known.notes, NONE_SHORTER))
