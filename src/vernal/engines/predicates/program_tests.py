"""Tests that a search gives up, asked of mixed-integer programs.

A test becomes a question like any other: the initial states are the integer points of the box at which the conditions
are true, and the claim is that the policy does not say so at any of them. The engine `milp` is asked it, so nothing is
encoded here, and its answers mean what they mean there: that there is no point rests on bounds, or on a solver whose
program stays infeasible with every row relaxed by more than its tolerance (assurance `solver`); a point is evaluated
exactly once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.engines.base import Engine, within
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PointQuestion
from vernal.evidence.knowledge import Counterexample, Known, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, start_among
from vernal.run.budget import Budget

TEST_SHARE, MAX_TEST_SECONDS = 0.05, 10.0  # of the time that is left, and at most, for one test


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """What became of a test: there is no point, by this assurance; or a point to look at; or neither is known."""

    excluded: Assurance | None = None
    point: Floats | None = None


class ProgramTests:
    """Asks an engine for bounded claims about tests of a model."""

    def __init__(self, model: OperatorModel, budget: Budget, engine: Callable[[], Engine]) -> None:
        self.model, self.budget, self._make = model, budget, engine
        self._engine: Engine | None = None  # made when a test is given up: mostly none is

    def ask(self, box: IntegerBoxes, question: PointQuestion) -> Resolved:
        """One box, and what is asked of its points."""
        self._engine = self._engine or self._make()
        known = within(self._engine, self._question(box, question), self.budget.part(TEST_SHARE, MAX_TEST_SECONDS))
        self.budget.check()
        return self._resolved(known)

    def _resolved(self, known: Known) -> Resolved:
        match known:
            case Proof(assurance=assurance):
                return Resolved(excluded=assurance)
            case Counterexample(trace=trace):
                first = [trace.steps[0].state[var.name] for var in self.model.variables]
                known_exactly = [value for value in first if isinstance(value, Fraction)]
                return Resolved(point=np.array(known_exactly, np.float64)) if known_exactly == first else Resolved()
        return Resolved()

    def _question(self, box: IntegerBoxes, question: PointQuestion) -> Question:
        model = self.model
        ends = zip(model.variables, model.exact(box.lower[0]), model.exact(box.upper[0]), strict=True)
        starts = {var.name: start_among(range(int(low), int(high) + 1), var.sort) for var, low, high in ends}
        where = tuple(model.table.expression(condition) for condition in question.conditions)
        claim = Atom(build.negate(build.conj(*said_by(model, question))))
        return Question(model.system.starting(Init(starts, where)), claim)


def said_by(model: OperatorModel, question: PointQuestion) -> list[Expr]:
    """What a test asks of the policy, as expressions over the state."""
    rows = () if question.selection is None else question.selection.rows
    return [build.disj(model.table.expression(row.unless), row.said) for row in rows]
