"""Relaxed tests: whether there is a point over the reals. By our own bounds, or by a solver made for ReLU networks.

A relaxed test that finds nothing answers the exact one. What it cannot express is left out, which only adds points:
disjunctions, and comparisons of scores that need not hold everywhere in the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vernal.engines.predicates.atoms import Comparison, conjuncts
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds, Selection
from vernal.interpret.linear.device_bounds import bounds_over
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.relus import ReluColumns, ReluRow
from vernal.interpret.value_sets import Range
from vernal.model.expr import Expr, Relu
from vernal.model.graph import order
from vernal.run.budget import Budget
from vernal.solvers.base import ReluSolver, Satisfiable


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedAnswer:
    """Whether points over the reals are excluded; else perhaps one of them."""

    excluded: bool
    point: Floats | None = None


class RelaxedTest(Protocol):
    """Asks about one box."""

    def ask(self, box: IntegerBoxes, question: PointQuestion) -> RelaxedAnswer: ...

    def signs(self, box: IntegerBoxes, question: PointQuestion) -> Mapping[Expr, Range]:
        """What is known of the arguments of the policy's ReLUs, node by node."""
        ...


class BoundsRelaxation:
    """Linear bounds over the box, rounded outward."""

    def __init__(self, model: OperatorModel, policy: PolicyBounds) -> None:
        self.judge, self.policy = model.judge, policy

    def ask(self, box: IntegerBoxes, question: PointQuestion) -> RelaxedAnswer:
        _, may = self.judge.decide(question.conditions, box)
        if not may.all():
            return RelaxedAnswer(excluded=True)
        if question.selection is None:
            return RelaxedAnswer(excluded=False)
        return RelaxedAnswer(bool(self.policy.bounded(question.selection, box).excluded[0]))

    def signs(self, box: IntegerBoxes, question: PointQuestion) -> Mapping[Expr, Range]:
        assert question.selection is not None
        linear = bounds_over(self.policy.inputs(question.selection, box))
        return {node: linear.range(node.args[0]) for node in _relus(question.selection)}


class SolverRelaxation:
    """A solver of ReLU networks; it computes within tolerances, and what it excludes rests on them."""

    def __init__(self, model: OperatorModel, solver: ReluSolver, budget: Budget) -> None:
        self.model, self.solver, self.budget = model, solver, budget
        self._known: dict[Selection | None, ReluColumns] = {}

    def ask(self, box: IntegerBoxes, question: PointQuestion) -> RelaxedAnswer:
        columns = self._columns(question.selection)
        program = columns.program(box.lower[0], box.upper[0], list(self._rows(columns, box, question)))
        solved = self.solver.solve(program, self.budget.left, self.budget.check)
        return RelaxedAnswer(solved.status is Satisfiable.NO, solved.point)

    def signs(self, box: IntegerBoxes, question: PointQuestion) -> Mapping[Expr, Range]:
        assert question.selection is not None
        columns = self._columns(question.selection)
        program = columns.program(box.lower[0], box.upper[0], list(self._rows(columns, box, question)))
        known = self.solver.bounds(program, self.budget.left, self.budget.check)
        if known is None:
            return {}
        places = {node: list(columns.need(node.args[0])) for node in _relus(question.selection)}
        return {node: Range(known.lower[None, own], known.upper[None, own]) for node, own in places.items()}

    def _columns(self, selection: Selection | None) -> ReluColumns:
        if selection not in self._known:
            made = ReluColumns(self.model.variables)
            for node in selection.nodes if selection is not None else ():
                made.need(node)
            self._known[selection] = made
        return self._known[selection]

    def _rows(self, columns: ReluColumns, box: IntegerBoxes, question: PointQuestion) -> Iterator[ReluRow]:
        for condition in question.conditions:
            for part in conjuncts(condition):
                if isinstance(part, Comparison):
                    yield self._comparison(part)
        rows = question.selection.rows if question.selection is not None else ()
        _, spared = self.model.judge.decide([row.unless for row in rows], box)
        for row, spare in zip(rows, spared[0].tolist(), strict=True):
            if not spare:
                factors = {columns.need(node)[index]: factor for (node, index), factor in row.sum.terms.items()}
                yield ReluRow(factors, -float(row.sum.constant))

    def _comparison(self, part: Comparison) -> ReluRow:
        terms, most = self.model.table.atoms[part.atom]
        if part.wanted:
            return ReluRow({column: float(factor) for column, factor in terms}, float(most))
        return ReluRow({column: -float(factor) for column, factor in terms}, -float(most) - 1.0)


def _relus(selection: Selection) -> list[Expr]:
    return [node for node in order(selection.nodes) if isinstance(node, Relu)]


# Branch and bound -----------------------------------------------------------------------------------------------------

INTEGRAL = 1e-6  # how near to an integer a solver's value counts as one


def branch(box: IntegerBoxes, point: Floats) -> tuple[IntegerBoxes, IntegerBoxes]:
    """Two parts without a real point between them: cut at its first value that is no integer, else beside it.

    The box has more than one integer point.
    """
    near = np.round(point)
    fractional = np.flatnonzero(np.abs(point - near) > INTEGRAL)
    wide = np.flatnonzero(box.upper[0] > box.lower[0])
    column = int(fractional[0]) if len(fractional) else int(wide[0])
    last = np.floor(point[column]) if len(fractional) else min(near[column], box.upper[0, column] - 1)
    last = min(max(last, box.lower[0, column]), box.upper[0, column] - 1)
    low, high = box.upper.copy(), box.lower.copy()
    low[0, column], high[0, column] = last, last + 1
    return IntegerBoxes(box.lower, low), IntegerBoxes(high, box.upper)
