"""From which abstract states an unsafe one can be reached, and whether concrete states really get there.

Concrete states are followed, breadth first, only while they are in such an abstract state: a path that leaves them has
become safe. If all initial states were looked at and the search came to its end, what it did not find does not exist.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from vernal.engines.predicates.abstraction import AbstractGraph, Abstraction
from vernal.engines.predicates.boxes import IntegerArray, IntegerBoxes, all_points, number_of_points, random_points
from vernal.engines.predicates.concrete_states import ConcretePath, ConcreteStates, StateGraph
from vernal.engines.predicates.relations import moved, relations
from vernal.interpret.numbers.rounding import Floats
from vernal.run.budget import Budget

MAX_STARTS = 20_000  # initial states that are all looked at; of more, some are drawn
DRAWN = 8  # at least, from each box of initial states
MAX_STATES = 50_000
MAX_COMPARED = 100_000_000  # ends of boxes of initial states that states are compared with
STATES_PER_BATCH = 4096


def leading_to_unsafe(graph: AbstractGraph) -> dict[int, int]:
    """The abstract states from which an unsafe one is reachable, each with the next on a shortest way (or itself)."""
    before: dict[int, list[int]] = defaultdict(list)
    for one, other in graph.transitions:
        before[other].append(one)
    following = {number: number for number in graph.unsafe}
    waiting = list(graph.unsafe)
    for number in waiting:  # grows on the way
        for one in before[number]:
            if one not in following:
                following[one] = number
                waiting.append(one)
    return following


@dataclass(frozen=True, eq=False)
class Followed:
    """What became of concrete states: unsafe paths by the abstract state they begin in, and what was looked at."""

    paths: dict[int, ConcretePath]
    undecided: set[int]  # abstract starts that may be unsafe and of which no unsafe path was found
    starts: dict[int, list[Floats]]  # the initial states that were looked at, by abstract state


class UnsafeSearch:
    """Follows concrete states through one abstraction."""

    def __init__(self, abstraction: Abstraction, states: ConcreteStates, budget: Budget) -> None:
        self.abstraction, self.states, self.budget = abstraction, states, budget
        self.leading = leading_to_unsafe(abstraction.graph)
        self.rng = np.random.default_rng(budget.seed)
        self.found = StateGraph()

    @property
    def suspects(self) -> list[int]:
        """The abstract starts from which an unsafe abstract state is reachable."""
        graph = self.abstraction.graph
        return [number for number in (*graph.starts, *graph.open_starts) if number in self.leading]

    def follow(self, most: int = MAX_STATES) -> Followed:
        """Look for an unsafe path from every suspect, through so many states at most that are no initial ones."""
        states, complete = self._initial_states()
        cells = self._cells(states)
        starts: dict[int, list[Floats]] = defaultdict(list)
        first: list[tuple[int, int]] = []  # a state's number, and its abstract state
        for state, cell in zip(states, cells, strict=True):
            if cell is not None and cell in self.leading:
                starts[cell].append(state)
                first.append((self.found.enter(state)[0], cell))
        bad, ended = self._spread(len(self.found.states) + most)
        following = self.found.paths_to(bad)
        paths: dict[int, ConcretePath] = {}
        for number, cell in first:
            if number in following:
                path = self.found.path(number, following)
                if cell not in paths or len(path.steps) < len(paths[cell].steps):
                    paths[cell] = path
        left = set() if complete and ended and self.abstraction.complete else set(self.suspects) - paths.keys()
        return Followed(paths, left, dict(starts))

    def met(self, most: int) -> dict[int, list[Floats]]:
        """Abstract states that concrete states meet, each with some of them; about so many are followed."""
        states, _ = self._initial_states()
        found: dict[int, list[Floats]] = defaultdict(list)
        while len(states) and len(self.found.states) < most:
            self.budget.check()
            fresh = [state for state in states[:STATES_PER_BATCH] if self.found.enter(state)[1]]
            if not fresh:
                break
            batch = np.stack(fresh)
            for state, cell in zip(batch, self._cells(batch), strict=True):
                if cell is not None:
                    found[cell].append(state)
            states = self.states.successors(batch).states
        return found

    def _initial_states(self) -> tuple[Floats, bool]:
        """Initial states, and whether these are all."""
        model = self.abstraction.model
        boxes, condition = model.starts(self.budget.check)
        everything = np.ones(boxes.lower.shape, bool)
        complete = bool(number_of_points(boxes, everything).sum() <= MAX_STARTS)
        if complete:
            points, _ = all_points(boxes, everything)
        else:
            some = self.rng.permutation(len(boxes))[: MAX_STARTS // DRAWN]
            each = max(DRAWN, MAX_STARTS // DRAWN // max(1, len(some)))
            drawn, whose = random_points(boxes.take(some), each, self.rng)
            asked = relations(model.table, [[condition]]).take(np.zeros(len(drawn), np.int64))
            drawn = moved(drawn, boxes.take(some[whose]), asked, self.rng)
            points = np.concatenate([*self._known_starts(boxes), drawn])
        must, _ = model.judge.decide([condition], IntegerBoxes.points(points))
        return points[must[:, 0]], complete

    def _known_starts(self, boxes: IntegerBoxes) -> list[Floats]:
        """A state of every abstract start, and those that show a transition on the way to an unsafe state."""
        graph = self.abstraction.graph
        first = [
            own for (one, other), own in graph.transitions.items() if one in graph.starts and other in self.leading
        ]
        shown = [state for state in (*(own.state for own in first), *graph.unsafe.values()) if state is not None]
        few = shown[: 1 + MAX_COMPARED // boxes.lower.size]
        inside = [state for state in few if ((boxes.lower <= state) & (state <= boxes.upper)).all(axis=1).any()]
        return [state[None] for state in (*graph.starts.values(), *inside)]

    def _cells(self, states: Floats) -> list[int | None]:
        """The abstract state of each state; of one that was not explored, None."""
        return [self.abstraction.cells.find(own) for own in self.abstraction.cells.of(IntegerBoxes.points(states))]

    def _spread(self, most: int) -> tuple[list[int], bool]:
        """The unsafe states that were met, and whether nothing is left to follow; there are about so many at most."""
        bad: list[int] = []
        done = 0
        while done < len(self.found.states) and len(self.found.states) <= most:
            self.budget.check()
            numbers = np.arange(done, min(done + STATES_PER_BATCH, len(self.found.states)))
            states = np.stack([self.found.states[number] for number in numbers])
            done += len(numbers)
            unsafe = self.states.unsafe(states)
            bad += numbers[unsafe].tolist()
            self._step(numbers[~unsafe], states[~unsafe])
        return bad, done == len(self.found.states)

    def _step(self, numbers: IntegerArray, states: Floats) -> None:
        """Enter the successors that may still become unsafe."""
        if not len(states):
            return
        after = self.states.successors(states)
        if not len(after.origin):
            return
        cells = self._cells(after.states)
        for origin, operator, state, cell in zip(
            *(part.tolist() for part in after[:2]), after.states, cells, strict=True
        ):
            if cell in self.leading:
                number, _ = self.found.enter(state)
                self.found.edges.setdefault(number, []).append((int(numbers[origin]), operator))
