"""Tests of transitions as data, and the configurations of the ICAPS 2022 paper that answer them.

A search that is given a recorder writes down every test it answers: the box, what is asked there, and its answer. Each
configuration answers such a test by its own means, so that a run can be compared test by test: the solver alone
(`SOLVER`); bounds over the reals first (`RELAXED_SOLVER`), and their phases of neurons fixed in the solver's script
(`FIXED_SOLVER`); bounds and branch and bound, without points to begin with (`BRANCHING`); bounds alone (`RELAXED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.model import OperatorModel
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.interpret.abstract import Range
from vernal.interpret.linear.placed import bounds_over
from vernal.interpret.smt import Script
from vernal.model import build
from vernal.model.expr import Expr, Relu
from vernal.model.graph import order, substitute
from vernal.model.initial import OneOf, Span, Start
from vernal.model.sorts import INT
from vernal.run.budget import Budget
from vernal.solvers.base import Satisfiable, SmtSolver


class Configuration(StrEnum):
    """How a test is answered."""

    SOLVER = "solver"
    RELAXED_SOLVER = "relaxed+solver"
    FIXED_SOLVER = "relaxed+fixed+solver"
    BRANCHING = "relaxed+branching"
    RELAXED = "relaxed"


@dataclass(frozen=True, eq=False)
class RecordedTest:
    """A test that was answered."""

    box: IntegerBoxes  # one
    question: PointQuestion
    answer: Existence


class RecordedTestAnswerer:
    """Answers recorded tests in one configuration."""

    def __init__(
        self, model: OperatorModel, configuration: Configuration, budget: Budget, solver: SmtSolver | None = None
    ) -> None:
        self.model, self.configuration, self.budget, self.solver = model, configuration, budget, solver
        self.policy = PolicyBounds(model.variables, model.judge, budget.check)
        self.search = WitnessSearch(model.judge, self.policy, budget, first_points=0, points=0)

    def answer(self, test: RecordedTest) -> Existence:
        """Whether there is a point; OPEN where this configuration cannot tell."""
        if self.configuration is Configuration.SOLVER:
            return self._solved(test, fixed=False)
        if self.configuration is Configuration.BRANCHING:
            return Existence(int(self.search.ask(test.box, [test.question]).answers[0]))
        if self.search.ask(test.box, [test.question], relaxed=True).answers[0] == Existence.NONE:
            return Existence.NONE
        if self.configuration is Configuration.RELAXED:
            return Existence.OPEN
        return self._solved(test, fixed=self.configuration is Configuration.FIXED_SOLVER)

    # The solver -------------------------------------------------------------------------------------------------------

    def _solved(self, test: RecordedTest, fixed: bool) -> Existence:
        assert self.solver is not None, "this configuration needs a solver"
        script = Script(self._starts(test.box), self.budget.check)
        for condition in self._conditions(test, fixed):
            script.require(condition)
        outcome = self.solver.check(script.text, script.unknowns, self.budget.left, self.budget.check)
        known = {Satisfiable.YES: Existence.SOME, Satisfiable.NO: Existence.NONE}
        return known.get(outcome.status, Existence.OPEN)

    def _starts(self, box: IntegerBoxes) -> Mapping[Expr, list[Start]]:
        ends = zip(self.model.variables, self.model.exact(box.lower[0]), self.model.exact(box.upper[0]), strict=True)
        return {var: [_start(var, low, high)] for var, low, high in ends}

    def _conditions(self, test: RecordedTest, fixed: bool) -> list[Expr]:
        """Everything a test asks, as expressions over the state."""
        made = [self.model.table.expression(condition) for condition in test.question.conditions]
        selection = test.question.selection
        for row in selection.rows if selection is not None else ():
            made.append(build.disj(self.model.table.expression(row.unless), row.said))
        return substitute(made, self._phases(test)) if fixed and selection is not None else made

    def _phases(self, test: RecordedTest) -> dict[Expr, Expr]:
        """Activations of which bounds know that they pass their argument, or stop it, component by component."""
        assert test.question.selection is not None
        nodes = test.question.selection.nodes
        linear = bounds_over(self.policy.inputs(test.question.selection, test.box))
        found: dict[Expr, Expr] = {}
        for node in order(nodes):
            if isinstance(node, Relu):
                argument = substitute([node.args[0]], found)[0]
                found[node] = _fixed(argument, linear.range(node.args[0]))
        return found


def _start(var: Expr, low: Fraction, high: Fraction) -> Start:
    if var.sort == INT:
        return Span(low, high)
    return OneOf(tuple(Fraction(value) for value in range(int(low), int(high) + 1)))


def _fixed(argument: Expr, known: Range) -> Expr:
    """max(x, 0) with the components of which the sign is known written without it."""
    if not argument.shape:
        lower, upper = (float(np.asarray(end).reshape(-1)[0]) for end in (known.lower, known.upper))
        return argument if lower >= 0 else build.const(0) if upper <= 0 else build.relu(argument)
    lowers, uppers = (np.asarray(end)[0] for end in (known.lower, known.upper))
    parts = [build.component(argument, place) for place in range(argument.size)]
    signs = zip(parts, lowers.tolist(), uppers.tolist(), strict=True)
    return build.concat(*(p if low >= 0 else build.const(0) if up <= 0 else build.relu(p) for p, low, up in signs))
