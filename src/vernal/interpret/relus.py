"""ReLU networks as equations between columns and pairs of columns, one of which is the other's positive part.

That is the language of solvers made for such networks. A variable of the state is a column, and so is every number that
an operator computes; a truth value is a column from 0 to 1. Weights are floats, as they are: EXACT over the reals, a
relaxation where variables are integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.errors import VernalError
from vernal.interpret.numbers.rounding import Floats
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.sorts import BOOL


class NoColumn(VernalError):
    """A node that is no part of a ReLU network; says which."""


@dataclass(frozen=True, slots=True)
class ReluRow:
    """A sum over columns that equals a number, or is at most that."""

    factors: Mapping[int, float]
    constant: float
    equal: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReluProgram:
    """Columns between ends (infinite where there are none), rows, and pairs: the second is max(the first, 0)."""

    lower: Floats
    upper: Floats
    inputs: int  # the first columns
    rows: tuple[ReluRow, ...]
    relus: tuple[tuple[int, int], ...]


class ReluColumns:
    """The columns of some variables, and of the networks over them that are needed."""

    def __init__(self, variables: Sequence[Expr]) -> None:
        self.inputs = len(variables)
        self.count = self.inputs
        self.rows: list[ReluRow] = []
        self.relus: list[tuple[int, int]] = []
        self.values: dict[Expr, Sequence[int]] = {var: (column,) for column, var in enumerate(variables)}

    def need(self, node: Expr) -> Sequence[int]:
        """The columns of a node's components, after those of its arguments."""
        for here in order([node], self.values):
            if here not in self.values:
                self.values[here] = self._columns(here)
        return self.values[node]

    def program(self, lower: Floats, upper: Floats, rows: Sequence[ReluRow] = ()) -> ReluProgram:
        """With these ends of the variables, and further rows."""
        free = np.full(self.count - self.inputs, np.inf)
        ends = np.concatenate([lower, -free]), np.concatenate([upper, free])
        return ReluProgram(*ends, self.inputs, (*self.rows, *rows), tuple(self.relus))

    def _columns(self, node: Expr) -> Sequence[int]:
        args = [self.values.get(arg, ()) for arg in node.args]
        match node:
            case e.Const() if node.sort != BOOL:
                return [self._sum({}, float(value)) for value in node.values]
            case e.Concat():
                return [column for arg in args for column in arg]
            case e.Gather():
                return [args[0][index] for index in node.indices]
            case e.Affine():
                rows = zip(node.weight.array.tolist(), node.bias.array.tolist(), strict=True)
                return [self._sum(dict(zip(args[0], row, strict=True)), bias) for row, bias in rows]
            case e.Relu():
                return [self._positive(column) for column in args[0]]
            case e.If(args=(e.Var() as var, e.Const() as then, e.Const() as otherwise)) if not node.shape:
                low, high = float(otherwise.value), float(then.value)
                return [self._sum({self.values[var][0]: high - low}, low)]
        raise NoColumn(f"{type(node).__name__.lower()} is no part of a ReLU network")

    def _sum(self, factors: Mapping[int, float], constant: float) -> int:
        """A column for a sum."""
        column = self._new()
        self.rows.append(ReluRow({**factors, column: -1.0}, -constant, equal=True))
        return column

    def _positive(self, argument: int) -> int:
        column = self._new()
        self.relus.append((argument, column))
        return column

    def _new(self) -> int:
        self.count += 1
        return self.count - 1
