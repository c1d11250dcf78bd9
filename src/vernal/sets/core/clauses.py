"""A requirement compiled for batches: rows over nodes, and what follows from their bounds for each box or point."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vernal.interpret import concrete
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Array, Floats, Mask, float_below
from vernal.interpret.program import ArrayInputs, Program
from vernal.interpret.value_sets import Truth
from vernal.model.expr import Expr
from vernal.model.graph import draws, order, variables
from vernal.model.lazy import cached_property
from vernal.sets.core.cases import CaseFinder, Cases, by_pivots, measure
from vernal.sets.core.requirement import Combined, Difference, Fixed, Requirement, requirement
from vernal.sets.pieces.batches import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """What is known of every leaf of a requirement, box by box (or point by point).

    A leaf is a number that has to be at most zero: `low` has a lower bound of each, (boxes, leaves), and `impossible`
    says where it is above zero for certain.
    """

    low: Floats
    impossible: Mask


@dataclass(frozen=True, slots=True, eq=False)
class RowNumbers:
    """The numbers in the rows of a requirement; the first axis is that of the questions, or boxes, they belong to.

    One entry there stands for all boxes.
    """

    matrices: Mapping[Expr, Floats]  # of each node, the factors of its components: (questions, rows, components)
    constants: Floats  # (questions, rows)
    strict: Mask

    def take(self, which: Indices) -> RowNumbers:
        """For each of some boxes the numbers of its question."""
        if len(self.constants) == 1:
            return self
        matrices = {node: matrix[which] for node, matrix in self.matrices.items()}
        return RowNumbers(matrices, self.constants[which], self.strict[which])


class Clauses:
    """The leaves of a requirement in a fixed order, and its junctions, parts before wholes."""

    def __init__(self, asked: Requirement, where: tuple[Requirement, ...] = ()) -> None:
        """`where` has to be satisfied besides: a box without such states is *outside*."""
        root = Combined(True, (asked, *where))
        self.junctions: list[tuple[bool, list[int]]] = []
        self._places: dict[Requirement, int] = {}
        parts = _parts_first(root)
        self.differences = [part for part in parts if isinstance(part, Difference)]
        self.fixed = [part for part in parts if isinstance(part, Fixed)]
        self._cancelled = any(isinstance(part, Combined) and part.of_numbers for part in parts)
        leaves: list[Requirement] = [*self.differences, *self.fixed]
        self._places.update((leaf, number) for number, leaf in enumerate(leaves))
        for part in parts:
            if isinstance(part, Combined):
                self._places[part] = self.leaves + len(self.junctions)
                self.junctions.append((part.every, [self._places[own] for own in part.parts]))
        self._parts = [_as_slice(parts) for _, parts in self.junctions]
        self.root, self.asked = self._places[root], self._places[asked]
        self.outside = [self._places[part] for part in where]
        self.numbers = self._numbers()

    @property
    def leaves(self) -> int:
        return len(self.differences) + len(self.fixed)

    @property
    def nodes(self) -> list[Expr]:
        """The expressions that are asked about: first those that rows begin at, then conditions."""
        return [*self.numbers.matrices, *(leaf.node for leaf in self.fixed)]

    @cached_property
    def pattern(self) -> Hashable:
        """What clauses have in common that differ in their numbers only."""
        junctions = tuple((every, tuple(parts)) for every, parts in self.junctions)
        conditions = tuple((leaf.node, leaf.wanted) for leaf in self.fixed)
        winners = tuple(leaf.of_winner for leaf in self.differences)
        whole = (self.root, self.asked, tuple(self.outside), self._cancelled)
        return tuple(self.numbers.matrices), conditions, winners, junctions, whole

    @cached_property
    def components(self) -> int:
        """How many numbers a box has on the way to the nodes."""
        return sum(node.size for node in order(self.nodes))

    @cached_property
    def program(self) -> Program:
        """The nodes in floating point."""
        return concrete.compile(self.nodes)

    @cached_property
    def measured(self) -> bool:
        """Whether the value of what is asked is the margin of the claim: only comparisons of numbers have one."""
        whole = not self.fixed and not self._cancelled
        return whole and not any(leaf.of_winner for leaf in self.differences)

    @cached_property
    def has_draws(self) -> bool:
        """Whether the nodes depend on a draw."""
        return bool(draws(self.nodes))

    @cached_property
    def variables(self) -> frozenset[Expr]:
        """The variables that the nodes depend on."""
        return frozenset(variables(self.nodes))

    @cached_property
    def cases(self) -> Cases:
        """What boxes may be cut at, besides their inputs."""
        return self._finder.cases

    @cached_property
    def inner(self) -> tuple[Expr, ...]:
        """The arguments of activations, and what else decides cases."""
        return self._finder.inner()

    @cached_property
    def _finder(self) -> CaseFinder:
        return CaseFinder(self.nodes)

    def _numbers(self) -> RowNumbers:
        """A row for each difference, over every node that one of them has."""
        rows = len(self.differences)
        matrices: dict[Expr, Floats] = {}
        for row, leaf in enumerate(self.differences):
            for (node, index), factor in leaf.terms.items():
                matrix = matrices.setdefault(node, np.zeros((1, rows, node.size)))
                matrix[0, row, index] = factor
        constants = [float_below(leaf.constant) for leaf in self.differences]
        strict = [leaf.strict for leaf in self.differences]
        return RowNumbers(matrices, np.array([constants]), np.array([strict], dtype=bool))

    # Leaves -----------------------------------------------------------------------------------------------------------

    def bounded(self, linear: Linear, numbers: RowNumbers | None = None) -> tuple[Readings, Floats]:
        """Readings for every box, and the slopes of the rows' lower bounds, (boxes, differences, inputs).

        `numbers` are those of each box, where boxes belong to different questions.
        """
        self.evaluate(linear)
        numbers = numbers or self.numbers
        batch, rows = linear.batch, len(self.differences)
        slopes = np.zeros((batch, rows, linear.inputs.count))
        low = np.zeros((batch, rows))
        if rows:
            seeds = {node: for_all(m, batch) for node, m in numbers.matrices.items()}
            slopes, low = linear.rows(seeds, for_all(numbers.constants, batch))
        may = [self._may(leaf, linear) for leaf in self.fixed]
        return self._readings(low, may, numbers.strict), slopes

    def evaluate(self, linear: Linear) -> None:
        """All nodes, and the pivots of cases as far as something is known of them."""
        for node in self.nodes:
            linear.need(node)
        measure(self.cases, linear)

    def _may(self, leaf: Fixed, linear: Linear) -> Mask:
        truth = linear.truth(leaf.node)
        assert isinstance(truth, Truth)
        return np.asarray(truth.may if leaf.wanted else ~truth.must)

    def at(self, inputs: ArrayInputs, points: int, numbers: RowNumbers | None = None) -> Readings:
        """Readings at points, in floating point."""
        numbers = numbers or self.numbers
        values = self.program(inputs, points)
        low = np.zeros((points, len(self.differences))) + numbers.constants
        with np.errstate(all="ignore"):
            for matrix, value in zip(numbers.matrices.values(), values, strict=False):
                flat = value.reshape(points, -1)
                low += flat @ matrix[0].T if len(matrix) == 1 else (matrix @ flat[:, :, None])[:, :, 0]
        conditions = values[len(numbers.matrices) :]
        may = [value == leaf.wanted for leaf, value in zip(self.fixed, conditions, strict=True)]
        return self._readings(np.where(np.isnan(low), np.inf, low), may, numbers.strict)

    def _readings(self, low: Array, may: Sequence[Mask], strict: Mask) -> Readings:
        """Conditions have -1 where they may be as wanted, else 1."""
        sure = np.where(strict, low >= 0, low > 0)
        if not may:
            return Readings(low, sure)
        flags = np.stack([np.broadcast_to(flag, low.shape[:1]) for flag in may], axis=1)
        return Readings(np.concatenate([low, np.where(flags, -1.0, 1.0)], 1), np.concatenate([sure, ~flags], 1))

    # Wholes -----------------------------------------------------------------------------------------------------------

    def impossible(self, known: Readings) -> Mask:
        """(boxes, leaves and junctions): what certainly no state of the box satisfies."""
        made = np.empty((len(known.low), self.leaves + len(self.junctions)), dtype=bool)
        made[:, : self.leaves] = known.impossible
        for place, ((every, _), parts) in enumerate(zip(self.junctions, self._parts, strict=True), self.leaves):
            (np.logical_or if every else np.logical_and).reduce(made[:, parts], axis=1, out=made[:, place])
        return made

    def values(self, known: Readings) -> Floats:
        """(boxes, leaves and junctions): a lower bound of what has to be at most zero; the value itself at a point."""
        made = np.empty((len(known.low), self.leaves + len(self.junctions)))
        made[:, : self.leaves] = known.low
        for place, ((every, _), parts) in enumerate(zip(self.junctions, self._parts, strict=True), self.leaves):
            pick, least = (np.maximum, -np.inf) if every else (np.minimum, np.inf)
            pick.reduce(made[:, parts], axis=1, initial=least, out=made[:, place])
        return made

    def open_leaves(self, impossible: Mask) -> Mask:
        """(boxes, leaves): those on which it depends whether the whole is impossible."""
        asked = np.zeros_like(impossible)
        asked[:, self.root] = ~impossible[:, self.root]
        for number in range(len(self.junctions) - 1, -1, -1):
            here = asked[:, self.leaves + number]
            for part in self.junctions[number][1]:
                asked[:, part] |= here & ~impossible[:, part]
        return asked[:, : self.leaves]


def stacked(clauses: Sequence[Clauses]) -> RowNumbers:
    """The numbers of clauses with one pattern, question by question."""
    parts = [own.numbers for own in clauses]
    if len(parts) == 1:
        return parts[0]
    matrices = {node: np.concatenate([part.matrices[node] for part in parts]) for node in parts[0].matrices}
    constants, strict = (np.concatenate(some) for some in zip(*((p.constants, p.strict) for p in parts), strict=True))
    return RowNumbers(matrices, constants, strict)


@lru_cache(maxsize=256)
def compiled(condition: Expr, where: tuple[Expr, ...]) -> Clauses:
    """The clauses of a condition under constraints; made once for all boxes that are asked the same."""
    return Clauses(requirement(by_pivots(condition)), tuple(map(requirement, where)))


def for_all(array: Array, batch: int) -> Array:
    """The same numbers for every box, unless each has its own."""
    return array if len(array) == batch else np.broadcast_to(array, (batch, *array.shape[1:]))


def _as_slice(places: list[int]) -> slice | list[int]:
    """Neighbours as a slice, which costs less to look up."""
    first = places[0] if places else 0
    return slice(first, first + len(places)) if places == list(range(first, first + len(places))) else places


def _parts_first(root: Requirement) -> list[Requirement]:
    """Every part once, each after its own parts."""
    done: dict[Requirement, None] = {}
    waiting = [root]
    while waiting:
        part = waiting[-1]
        missing = [own for own in part.parts if own not in done] if isinstance(part, Combined) else []
        if missing:
            waiting += missing
        else:
            done[waiting.pop()] = None
    return list(done)
