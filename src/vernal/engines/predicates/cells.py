"""Truth assignments to predicates: the boxes of their states, and which of them conditions can reach.

An assignment is found by branching: a predicate that a box decides has its value, one that it does not decide is taken
both ways, and the box is tightened by what was taken. So a branch that no state can be in is seldom entered, and never
left with more than what the box does not say, which is asked of `WitnessSearch` at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.engines.predicates.atoms import Comparison, Condition, conjuncts, negated
from vernal.engines.predicates.boxes import BoxJudge, IntegerArray, IntegerBoxes
from vernal.interpret.numbers.rounding import Mask
from vernal.model.tick import Tick

BOXES_PER_BATCH = 8192  # boxes that are branched on together
UNTAKEN = -1
TruthValues = NDArray[np.int8]  # 1, 0, or UNTAKEN


@dataclass(frozen=True, slots=True, eq=False)
class CellLeaves:
    """Assignments found from some boxes: whose box, the box that is left, the values, and what the box does not say.

    `unsure` has a column for each target, and a last one for the condition.
    """

    owner: IntegerArray
    boxes: IntegerBoxes
    values: Mask
    unsure: Mask

    def __len__(self) -> int:
        return len(self.owner)


class CellBranching:
    """Enumerates the values that targets can take in boxes where a condition can be true."""

    def __init__(self, judge: BoxJudge, tick: Tick) -> None:
        self.judge, self.tick = judge, tick

    def leaves(self, boxes: IntegerBoxes, targets: Sequence[Condition], condition: Condition) -> Iterator[CellLeaves]:
        """All assignments to the targets, in batches."""
        untaken = np.full((len(boxes), len(targets)), UNTAKEN, np.int8)
        stack = [(boxes, np.arange(len(boxes)), untaken)]
        while stack:
            self.tick()
            part, owner, taken = stack.pop()
            if len(owner) > BOXES_PER_BATCH:
                stack.append(
                    (part.take(slice(BOXES_PER_BATCH, None)), owner[BOXES_PER_BATCH:], taken[BOXES_PER_BATCH:])
                )
                part, owner, taken = (
                    part.take(slice(0, BOXES_PER_BATCH)),
                    owner[:BOXES_PER_BATCH],
                    taken[:BOXES_PER_BATCH],
                )
            must, may = self.judge.decide([*targets, condition], part)
            taken, possible = _entailed(taken, must, may)
            kept = np.flatnonzero(possible & ~part.empty)
            part, owner, taken, must, may = part.take(kept), owner[kept], taken[kept], must[kept], may[kept]
            ended = (taken != UNTAKEN).all(axis=1)
            if ended.any():
                yield _ended(part, owner, taken, must, may, ended)
            left = np.flatnonzero(~ended)
            if len(left):
                stack.append(self._branched(part.take(left), owner[left], taken[left], targets))

    def _branched(
        self, boxes: IntegerBoxes, owner: IntegerArray, taken: TruthValues, targets: Sequence[Condition]
    ) -> tuple[IntegerBoxes, IntegerArray, TruthValues]:
        """Every row twice: with its first open target true, and with it false."""
        chosen = (taken == UNTAKEN).argmax(axis=1)
        parts: list[tuple[IntegerBoxes, IntegerArray, TruthValues]] = []
        for target in np.unique(chosen).tolist():
            rows = np.flatnonzero(chosen == target)
            for value, wanted in ((1, targets[target]), (0, negated(targets[target]))):
                own = taken[rows].copy()
                own[:, target] = value
                parts.append((tightened(self.judge, boxes.take(rows), [wanted]), owner[rows], own))
        joined = IntegerBoxes.joined([part for part, _, _ in parts])
        return joined, np.concatenate([own for _, own, _ in parts]), np.concatenate([own for _, _, own in parts])


def _entailed(taken: TruthValues, must: Mask, may: Mask) -> tuple[TruthValues, Mask]:
    """The values that boxes decide, and which rows are not contradicted; the last column is the condition's."""
    own, allowed = must[:, :-1], may[:, :-1]
    possible = may[:, -1] & ~((taken == 1) & ~allowed).any(axis=1) & ~((taken == 0) & own).any(axis=1)
    decided = np.where(own, 1, np.where(allowed, UNTAKEN, 0)).astype(np.int8)
    return np.where(taken == UNTAKEN, decided, taken), possible


def _ended(
    boxes: IntegerBoxes, owner: IntegerArray, taken: TruthValues, must: Mask, may: Mask, ended: Mask
) -> CellLeaves:
    rows = np.flatnonzero(ended)
    values: Mask = taken[rows] == 1
    unsure = np.where(values, ~must[rows, :-1], may[rows, :-1])
    return CellLeaves(owner[rows], boxes.take(rows), values, np.concatenate([unsure, ~must[rows, -1:]], axis=1))


def tightened(judge: BoxJudge, boxes: IntegerBoxes, conditions: Sequence[Condition]) -> IntegerBoxes:
    """The boxes, smaller where a comparison that has to be true says so."""
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, Comparison):
                boxes = judge.tightened(boxes, part)
    return boxes


class PredicateCells:
    """The abstract states of some predicates: each a row of truth values, with a number and a box."""

    def __init__(self, judge: BoxJudge, predicates: Sequence[Condition]) -> None:
        self.judge, self.predicates = judge, tuple(predicates)
        self.negations = tuple(map(negated, predicates))
        self.values: list[Mask] = []
        self._numbers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.values)

    def number(self, values: Mask) -> int:
        """The number of an assignment, which is entered where it is new."""
        key = values.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(values)
        return self._numbers[key]

    def find(self, values: Mask) -> int | None:
        """The number of an assignment that was entered."""
        return self._numbers.get(values.tobytes())

    def of(self, points: IntegerBoxes) -> Mask:
        """(points, predicates): the assignment of each point."""
        return self.judge.decide(self.predicates, points)[0]

    def boxes(self, values: Mask) -> IntegerBoxes:
        """The boxes around the states of some assignments."""
        count = len(values)
        found = IntegerBoxes(
            np.repeat(self.judge.domain.lower, count, axis=0), np.repeat(self.judge.domain.upper, count, axis=0)
        )
        for place, pair in enumerate(zip(self.negations, self.predicates, strict=True)):
            for value, condition in enumerate(pair):
                rows = np.flatnonzero(values[:, place] == value)
                part = tightened(self.judge, found.take(rows), [condition])
                found.lower[rows], found.upper[rows] = part.lower, part.upper
        return found

    def unsure(self, values: Mask, boxes: IntegerBoxes) -> Mask:
        """(cells, predicates): which values the box of a cell does not say."""
        must, may = self.judge.decide(self.predicates, boxes)
        return np.where(values, ~must, may)

    def literals(self, values: Mask, which: Mask) -> tuple[Condition, ...]:
        """Some of the values of one assignment as conditions."""
        return tuple(
            (self.predicates if values[place] else self.negations)[place] for place in np.flatnonzero(which).tolist()
        )
