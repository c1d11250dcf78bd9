"""Trails: how each piece came about, so that a suspicious one can be walked again exactly."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Candidate
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.initial import Box
from vernal.model.tick import Tick, idle
from vernal.sets.pieces.batches import Indices, Pairs

Taken = tuple[tuple[str, int], ...]  # names of choices and ties of a step, and what was taken

MAX_TRAILS = 32  # of a merged piece, tried one after the other
MAX_ANCESTORS = 20_000  # of a piece, looked at to find its roots


class Trails:
    """A tree of pieces: parents, what was decided on the way, and which trails were merged into which."""

    def __init__(self, question: Question, boxes: Sequence[Box]) -> None:
        self.question, self.boxes = question, boxes
        self._roots: list[tuple[int, list[tuple[Expr, int]]]] = []  # box, and the components that are parameters
        self._chunks: list[tuple[Indices, Taken, tuple[str, ...]]] = []
        self._starts: list[int] = []
        self._size = 0
        self._from = np.zeros(1024, dtype=np.intp)  # the initial box of each trail, with room for more
        self._pairs: list[Pairs] = []
        self._merged: dict[int, list[int]] = {}

    def root(self, box: int, components: list[tuple[Expr, int]]) -> int:
        """The trail of an initial piece; negative, so that it is no index of the tree."""
        self._roots.append((box, components))
        return -len(self._roots)

    def parameters(self) -> dict[int, list[tuple[Expr, int]]]:
        """For each box the components that are parameters of its pieces, in order."""
        return dict(reversed(self._roots))  # of several roots of a box the first

    def extend(self, parents: Indices, taken: Taken, draws: tuple[str, ...]) -> Indices:
        """Trails one step longer."""
        self._starts.append(self._size)
        self._chunks.append((parents, taken, draws))
        self._size += len(parents)
        if self._size > len(self._from):
            self._from = np.concatenate([self._from, np.zeros(self._size, dtype=np.intp)])
        self._from[self._size - len(parents) : self._size] = self.origin(parents)
        return np.arange(self._size - len(parents), self._size)

    def origin(self, trails: Indices) -> Indices:
        """The numbers of the initial boxes that trails come from; of a merged one, of the trail that was kept."""
        roots = np.array([box for box, _ in self._roots], dtype=np.intp)
        return np.where(trails < 0, roots[np.where(trails < 0, -trails - 1, 0)], self._from[np.maximum(trails, 0)])

    def merged(self, pairs: Pairs) -> None:
        """Trails that were given up for others."""
        self._pairs.append(pairs)

    def _all_merged(self) -> dict[int, list[int]]:
        """The same as a table, made on first use: most explorations never need it."""
        for kept, given_up in self._pairs:
            for trail, other in zip(kept.tolist(), given_up.tolist(), strict=True):
                self._merged.setdefault(trail, []).append(other)
        self._pairs = []
        return self._merged

    def _histories(self, trail: int) -> Iterator[tuple[int, list[tuple[Taken, tuple[str, ...]]]]]:
        """The ways a piece came about: its root, and the steps from there."""
        merged = self._all_merged()
        stack: list[tuple[int, list[tuple[Taken, tuple[str, ...]]]]] = [(trail, [])]
        while stack:
            here, steps = stack.pop()
            for way in (*merged.get(here, []), here):
                if way < 0:
                    yield -way - 1, steps[::-1]
                    continue
                at = bisect.bisect_right(self._starts, way) - 1
                parents, taken, draws = self._chunks[at]
                stack.append((int(parents[way - self._starts[at]]), [*steps, (taken, draws)]))

    def _origins(self, trail: int) -> list[int]:
        """Every root from which a piece may come; all there are, where finding out would take too long."""
        if len(self._roots) == 1:
            return [0]
        merged = self._all_merged()
        seen, stack = {trail}, [trail]
        while stack:
            here = stack.pop()
            ways = merged.get(here, [])
            if here >= 0:
                at = bisect.bisect_right(self._starts, here) - 1
                ways = [*ways, int(self._chunks[at][0][here - self._starts[at]])]
            stack += (new := [way for way in dict.fromkeys(ways) if way not in seen])
            seen.update(new)
            if len(seen) > MAX_ANCESTORS:
                return list(range(len(self._roots)))
        return sorted(-way - 1 for way in seen if way < 0)

    def box_of(self, trail: int, lower: Floats, upper: Floats) -> list[Box]:
        """The initial boxes from which a piece may come, cut to its parameters."""
        found = []
        for root in self._origins(trail):
            index, components = self._roots[root]
            ends = {var: list(entry) for var, entry in self.boxes[index].ends.items()}
            for (var, component), low, high in zip(components, lower, upper, strict=False):
                first, last = ends[var][component]
                ends[var][component] = (_into(low, first, last), _into(high, first, last))
            found.append(Box({var: tuple(entry) for var, entry in ends.items()}))
        return found

    def violation(self, trail: int, point: Floats, last: Taken, tick: Tick = idle) -> Trace | None:
        """The exact path through this point of the piece, if the formula is false on it."""
        for root, steps in itertools.islice(self._histories(trail), MAX_TRAILS):
            candidate = self._candidate(root, steps, point, last)
            trace = refuting_path(self.question.system, candidate, self.question.claim.path, tick)
            if trace is not None:
                return trace
        return None

    def _candidate(
        self, root: int, steps: Sequence[tuple[Taken, tuple[str, ...]]], point: Floats, last: Taken
    ) -> Candidate:
        """The path from this point of an initial box under the decisions of a trail."""
        system = self.question.system
        index, components = self._roots[root]
        values = {var: [low for low, _ in entry] for var, entry in self.boxes[index].ends.items()}
        for (var, component), number in zip(components, point, strict=False):
            low, high = self.boxes[index].ends[var][component]
            exact = Fraction(round(_written(number))) if var.sort.is_discrete else _written(number)
            values[var][component] = min(max(exact, low), high)
        column = len(components)
        decisions: list[dict[str, int | Fraction | Sequence[Fraction]]] = []
        for taken, draws in (*steps, (last, ())):
            made: dict[str, int | Fraction | Sequence[Fraction]] = dict.fromkeys(system.step.names.values(), 0)
            made.update(taken)
            for name in draws:
                made[name] = _written(point[column])
                column += 1
            decisions.append(made)
        return Candidate(*system.pack(values), decisions, len(steps))


def _written(number: float) -> Fraction:
    """The decimal a float is written as; one beyond all floats is the last of them."""
    return Fraction(repr(float(np.nan_to_num(number))))


def _into(number: float, low: Fraction, high: Fraction) -> Fraction:
    """An end of a parameter as one of an initial box; one beyond all floats cuts nothing off."""
    if not np.isfinite(number):
        return high if number > 0 else low
    return min(max(Fraction(float(number)), low), high)
