"""The loop as invariants see it: the components a claim depends on, their next values, the guard, and what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.template_sets import Labels
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.logic.safety import SafetyClaim
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix, Var
from vernal.model.graph import order, variables
from vernal.model.lazy import cached_property
from vernal.model.sorts import INT, Kind
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.sets.cells.kinks import RunValues, taken_apart

AFFINE = (e.Var, e.Const, e.Add, e.Neg, e.Affine, e.Gather, e.Concat, e.Between, e.Choose)


@dataclass(frozen=True)
class WatchedLoop:
    """A system and a claim of safety. Components are numbers (reals, integers) or labels (truth values too)."""

    system: System
    safety: SafetyClaim
    tick: Tick
    rewritten: Mapping[Expr, Expr] | None = None  # next values, where others that are equal stand for those of the step

    def apart(self, values: RunValues | None = None) -> WatchedLoop:
        """The same loop with its kinks as comparisons; itself where that would not help.

        Of many kinks the values of expressions in simulated runs tell which.
        """
        opened = taken_apart(list(self.after.values()), values)
        return self if opened is None else replace(self, rewritten=dict(zip(self.after, opened, strict=True)))

    @cached_property
    def closed(self) -> tuple[Expr, Expr]:
        """What is to be kept, and the guard of a step, over state, memory and draws."""
        return self.safety.closed(self.system)

    @property
    def keep(self) -> Expr:
        return self.closed[0]

    @property
    def guard(self) -> Expr:
        return self.closed[1]

    @cached_property
    def after(self) -> Mapping[Expr, Expr]:
        """The next value of every variable."""
        if self.rewritten is not None:
            return self.rewritten
        step = self.system.step
        return dict(zip(step.inputs, (*step.next_state, *step.next_memory), strict=True))

    @cached_property
    def followed(self) -> tuple[Var, ...]:
        """The variables that the condition and the guard depend on, now or later."""
        needed = set(variables([self.keep, self.guard]))
        while True:
            more = needed | set(variables([self.after[var] for var in needed]))
            if more == needed:
                return tuple(var for var in self.system.step.inputs if var in needed)
            needed = more

    @cached_property
    def numbers(self) -> tuple[tuple[Var, int], ...]:
        """The numeric components, in the order of the columns of cells."""
        return tuple((var, i) for var in self.followed if var.sort.is_number for i in range(var.size))

    @cached_property
    def labels(self) -> tuple[tuple[Var, int], ...]:
        """The components that are truth values or labels."""
        return tuple((var, 0) for var in self.followed if not var.sort.is_number)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Which numbers are integers."""
        return np.array([var.sort == INT for var, _ in self.numbers], dtype=bool)

    def integral(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows only have integers as values."""
        return np.asarray(((rows == np.round(rows)) & (self.whole | (rows == 0))).all(axis=1))

    @cached_property
    def next_numbers(self) -> tuple[Expr, ...]:
        """The next value of each numeric component, as a scalar."""
        return tuple(self._scalar(self.after[var], i) for var, i in self.numbers)

    @cached_property
    def next_labels(self) -> tuple[Expr, ...]:
        """The next value of each label."""
        return tuple(self.after[var] for var, _ in self.labels)

    @property
    def roots(self) -> tuple[Expr, ...]:
        """All that a step evaluates."""
        return self.guard, *self.next_numbers, *self.next_labels

    @cached_property
    def bends(self) -> bool:
        """Whether a step is not affine: then images of smaller cells are tighter."""
        moves = order(self.roots)
        return any(not isinstance(node, AFFINE) and not _is_scaled(node) for node in moves)

    def stacked(self, rows: Floats) -> Expr:
        """Sums of the next numbers, one for each row, as one node."""
        return build.affine(build.concat(*self.next_numbers), Matrix(rows), Matrix(np.zeros(len(rows))))

    def _scalar(self, node: Expr, index: int) -> Expr:
        return build.component(node, index) if node.shape else node

    def label_count(self, place: int) -> int:
        """How many values a label can have."""
        values = self.labels[place][0].sort.values
        assert values is not None
        return len(values)

    def inputs(self, lower: Floats, upper: Floats, labels: Labels) -> dict[Expr, Value]:
        """Boxes of states as a batch of abstract values."""
        made: dict[Expr, Value] = {}
        column = 0
        for var in self.followed:
            if var.sort.is_number:
                places = slice(column, column + var.size)
                column += var.size
                ends = (
                    (lower[:, places], upper[:, places]) if var.shape else (lower[:, column - 1], upper[:, column - 1])
                )
                made[var] = Range(*ends)
        for place, (var, _) in enumerate(self.labels):
            made[var] = label_value(var, labels[:, place])
        return made


def _is_scaled(node: Expr) -> bool:
    """Whether a node is a constant times or a value over a constant."""
    match node:
        case e.Mul(args=(a, b)):
            return isinstance(a, e.Const) or isinstance(b, e.Const)
        case e.Div(args=(_, b)):
            return isinstance(b, e.Const)
    return False


def label_value(var: Expr, chosen: NDArray[np.int64]) -> Value:
    """Truth values or labels, one for each box."""
    if var.sort.kind is Kind.BOOL:
        return Truth(chosen == 1, chosen == 1)
    count = len(var.sort.labels)
    return Finite(chosen[:, None] == np.arange(count), tuple(Fraction(label) for label in range(count)))


def possible_labels(value: Value, batch: int) -> NDArray[np.bool_]:
    """Which labels a value can have, (batch, labels)."""
    if isinstance(value, Truth):
        return np.stack([~np.broadcast_to(value.must, (batch,)), np.broadcast_to(value.may, (batch,))], axis=1)
    assert isinstance(value, Finite)
    return np.broadcast_to(np.asarray(value.mask), (batch, len(value.values)))


def combinations(possible: Sequence[NDArray[np.bool_]], batch: int) -> tuple[NDArray[np.intp], Labels]:
    """Every combination of possible labels of every member of a batch: which member, and its labels."""
    index, labels = np.arange(batch), np.zeros((batch, 0), np.int64)
    for mask in possible:
        member, label = np.nonzero(mask[index])
        index, labels = index[member], np.hstack([labels[member], label[:, None]])
    return index, labels
