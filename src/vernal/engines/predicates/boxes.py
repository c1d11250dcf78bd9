"""Batches of boxes of integers, and what linear comparisons say about them.

The numbers are integers below 2^52 in magnitude, so float64 computes with them exactly, by matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.engines.predicates.atoms import (
    ALWAYS,
    NEVER,
    AtomTable,
    Comparison,
    Condition,
    Connected,
    NotLinear,
    conjuncts,
    connected,
    substituted,
)
from vernal.interpret.geometry.box_halves import halves
from vernal.interpret.numbers.rounding import Floats, Mask

IntegerArray = NDArray[np.int64]
LARGEST_INTEGER = 2.0**52


@dataclass(frozen=True, slots=True, eq=False)
class IntegerBoxes:
    """Boxes of integers, one in each row; where a lower end is above the upper one, a box is empty."""

    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, which: IntegerArray | Mask | slice) -> IntegerBoxes:
        """Some of the boxes, perhaps several times."""
        return IntegerBoxes(self.lower[which], self.upper[which])

    @property
    def empty(self) -> Mask:
        return np.asarray((self.lower > self.upper).any(axis=1))

    @property
    def widths(self) -> Floats:
        found: Floats = self.upper - self.lower
        return found

    @staticmethod
    def joined(parts: Sequence[IntegerBoxes]) -> IntegerBoxes:
        """All boxes of several batches."""
        return IntegerBoxes(
            np.concatenate([part.lower for part in parts]), np.concatenate([part.upper for part in parts])
        )

    @staticmethod
    def points(rows: Floats) -> IntegerBoxes:
        """Boxes of one point each."""
        return IntegerBoxes(rows, rows)

    def halves(self, columns: IntegerArray) -> IntegerBoxes:
        """The lower halves, and then the upper ones, cut across one column each."""
        return IntegerBoxes(*halves(self.lower, self.upper, columns, np.ones(self.lower.shape[1], bool)))


class BoxJudge:
    """Decides conditions over batches of boxes: each is true everywhere, false everywhere, or neither."""

    def __init__(self, table: AtomTable, domain: IntegerBoxes) -> None:
        """`domain` is one box that holds all states."""
        self.table, self.domain = table, domain
        self._rows: Floats = np.zeros((0, len(table.columns)))
        self._most: Floats = np.zeros(0)
        self._compiled: dict[Condition, CompiledCondition] = {}

    def _matrix(self) -> tuple[Floats, Floats]:
        """The coefficients of all atoms, (atoms, columns), and what each is at most."""
        if len(self._rows) < len(self.table.atoms):
            rows = np.zeros((len(self.table.atoms), len(self.table.columns)))
            for number, (terms, _) in enumerate(self.table.atoms):
                for column, factor in terms:
                    rows[number, column] = factor
            most = np.array([float(most) for _, most in self.table.atoms])
            largest = np.maximum(np.abs(self.domain.lower), np.abs(self.domain.upper))[0]
            if (np.abs(rows) @ largest >= LARGEST_INTEGER).any() or (np.abs(most) >= LARGEST_INTEGER).any():
                raise NotLinear("the numbers of a comparison are too large")
            self._rows, self._most = rows, most
        return self._rows, self._most

    def atoms(self, boxes: IntegerBoxes, which: IntegerArray) -> tuple[Mask, Mask]:
        """(atoms, boxes): which of some atoms are true everywhere, and which somewhere."""
        rows, most = self._matrix()
        own = rows[which]
        above, below = np.maximum(own, 0.0), np.minimum(own, 0.0)
        limits = most[which, None]
        highest = above @ boxes.upper.T + below @ boxes.lower.T
        lowest = above @ boxes.lower.T + below @ boxes.upper.T
        return highest <= limits, lowest <= limits

    def compiled(self, condition: Condition) -> CompiledCondition:
        """A condition as arrays, made once."""
        if condition not in self._compiled:
            self._compiled[condition] = _compile(condition)
        return self._compiled[condition]

    def decide(self, conditions: Sequence[Condition], boxes: IntegerBoxes) -> tuple[Mask, Mask]:
        """(boxes, conditions): which are true everywhere, and which may be true somewhere.

        May: the parts of a condition are looked at one by one.
        """
        asked = [self.compiled(condition) for condition in conditions]
        mentioned = [own.mentioned for own in asked]
        atoms = np.unique(np.concatenate([np.zeros(0, np.int64), *mentioned]))
        must, may = self._decided(asked, atoms, *self.atoms(boxes, atoms))
        return must.T, may.T

    def _decided(
        self, asked: Sequence[CompiledCondition], atoms: IntegerArray, must: Mask, may: Mask
    ) -> tuple[Mask, Mask]:
        """(conditions, boxes): the same from what is known of (atoms, boxes)."""
        places = np.zeros(len(self.table.atoms), np.int64)
        places[atoms] = np.arange(len(atoms))
        literals = Literals(np.stack([np.concatenate([must, ~may]), np.concatenate([may, ~must])]), places, len(atoms))
        found = np.ones((2, len(asked), must.shape[1]), bool)
        for number, own in enumerate(asked):
            found[:, number] = _decided(own, literals)
        return found[0], found[1]

    def simplified(self, conditions: Sequence[Condition], boxes: IntegerBoxes) -> list[tuple[Condition, ...]]:
        """For each box what is left of a conjunction once the comparisons that the box decides are filled in."""
        atoms = np.unique(np.concatenate([self.compiled(condition).mentioned for condition in conditions]))
        must, may = self.atoms(boxes, atoms)
        patterns, which = np.unique(np.concatenate([must, may]).T, axis=0, return_inverse=True)
        asked = [self.compiled(condition) for condition in conditions]
        decided, open_ones = self._decided(asked, atoms, patterns.T[: len(atoms)], patterns.T[len(atoms) :])
        left: list[tuple[Condition, ...]] = [(NEVER,)] * len(patterns)
        for place in np.flatnonzero(open_ones.all(axis=0)).tolist():
            undecided = [conditions[number] for number in np.flatnonzero(~decided[:, place]).tolist()]
            left[place] = _left_of(undecided, atoms.tolist(), patterns[place])
        return [left[place] for place in which.reshape(-1).tolist()]

    def columns(self, conditions: Iterable[Condition]) -> Mask:
        """Which columns some conditions mention."""
        rows, _ = self._matrix()
        atoms = [self.compiled(condition).mentioned for condition in conditions]
        found: Mask = rows[np.concatenate([np.zeros(0, np.int64), *atoms])].any(axis=0)
        return found

    def tightened(self, boxes: IntegerBoxes, comparison: Comparison) -> IntegerBoxes:
        """The least boxes around the integer points at which a comparison is true."""
        terms, most = self.table.atoms[comparison.atom]
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        sign = 1 if comparison.wanted else -1
        limit = most if comparison.wanted else -most - 1
        signed = [(column, sign * factor) for column, factor in terms]
        least = {column: factor * (lower if factor > 0 else upper)[:, column] for column, factor in signed}
        total = sum(least.values(), np.zeros(len(boxes)))
        for column, factor in signed:
            room = (
                limit - (total - least[column])
            ) / factor  # a quotient of integers: its floor may be off by rounding
            if factor > 0:
                upper[:, column] = np.minimum(upper[:, column], _floor(room, factor, limit - (total - least[column])))
            else:
                lower[:, column] = np.maximum(
                    lower[:, column], -_floor(-room, -factor, limit - (total - least[column]))
                )
        return IntegerBoxes(lower, upper)


def _floor(quotient: Floats, divisor: int, dividend: Floats) -> Floats:
    """The floor of dividend / divisor for integers, where the rounded quotient may be one off."""
    found: Floats = np.floor(quotient)
    found = np.where(found * divisor > dividend, found - 1, found)
    return np.where((found + 1) * divisor <= dividend, found + 1, found)


def _left_of(conditions: Sequence[Condition], atoms: Sequence[int], pattern: Mask) -> tuple[Condition, ...]:
    """A conjunction in which some comparisons are known: those that must be true, and those that cannot be."""
    count = len(atoms)
    known = {atom: bool(pattern[n]) for n, atom in enumerate(atoms) if pattern[n] or not pattern[count + n]}
    whole = connected(True, [substituted(condition, known) for condition in conditions])
    return () if whole == ALWAYS else conjuncts(whole)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledCondition:
    """A condition whose comparisons are arrays: of this level, and of all levels."""

    every: bool
    atoms: IntegerArray
    negative: Mask
    parts: tuple[CompiledCondition, ...]
    mentioned: IntegerArray


@dataclass(frozen=True, slots=True, eq=False)
class Literals:
    """(2, atoms, boxes): of each comparison, and then of each negation, whether it must, and may, be true."""

    truths: Mask
    places: IntegerArray  # of atoms in these arrays
    count: int


def _compile(condition: Condition) -> CompiledCondition:
    parts = condition.parts if isinstance(condition, Connected) else (condition,)
    own = [part for part in parts if isinstance(part, Comparison)]
    inner = tuple(_compile(part) for part in parts if isinstance(part, Connected))
    atoms = np.array([part.atom for part in own], np.int64)
    negative = np.array([not part.wanted for part in own], bool)
    every = not isinstance(condition, Connected) or condition.every
    return CompiledCondition(
        every, atoms, negative, inner, np.unique(np.concatenate([atoms, *(part.mentioned for part in inner)]))
    )


def _decided(condition: CompiledCondition, literals: Literals) -> Mask:
    """(2, boxes): whether a condition must, and may, be true."""
    places = literals.places[condition.atoms] + literals.count * condition.negative
    join = np.logical_and if condition.every else np.logical_or
    found: Mask = join.reduce(literals.truths[:, places], axis=1)
    for part in condition.parts:
        found = join(found, _decided(part, literals))
    return found


def number_of_points(boxes: IntegerBoxes, columns: Mask) -> Floats:
    """How many integer points each box has in some columns; (boxes, columns) says which."""
    found: Floats = np.where(columns, boxes.widths + 1, 1.0).prod(axis=1)
    return found


def all_points(boxes: IntegerBoxes, columns: Mask) -> tuple[Floats, IntegerArray]:
    """Every integer point of each box in some columns (elsewhere the lower end), and whose it is."""
    widths = np.where(columns, boxes.widths + 1, 1.0).astype(np.int64)
    counts = widths.prod(axis=1)
    owner = np.repeat(np.arange(len(boxes)), counts)
    rest = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    points = boxes.lower[owner].copy()
    for column in np.flatnonzero(widths.max(axis=0, initial=1) > 1):
        width = widths[owner, column]
        points[:, column] += rest % width
        rest = rest // width
    return points, owner


def random_points(boxes: IntegerBoxes, each: int, rng: np.random.Generator) -> tuple[Floats, IntegerArray]:
    """Some points of each box, drawn evenly from it, and whose they are."""
    owner = np.repeat(np.arange(len(boxes)), each)
    shares = rng.random((len(owner), boxes.lower.shape[1]))
    points = boxes.lower[owner] + np.floor(shares * (boxes.widths[owner] + 1))
    return np.minimum(points, boxes.upper[owner]), owner
