"""Satisfiability modulo theories for bounded claims of small loops: a cross-check that shares no bounds with others.

The condition under which a path refutes the claim (see `conditions`) is handed to a solver that computes with rationals
and polynomials, term by term as the graph says it: no bounds, no big-M, no tolerance. A model is a path and is replayed
like every candidate; that there is none proves the claim. The arithmetic is exact,
but the proof is the solver's and comes without a certificate: the assurance is `solver`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.engines.options import SmtOptions
from vernal.engines.programs.milp import UNSUPPORTED, WHOLE, Refuter
from vernal.engines.programs.program import Asking, End, ProgramAnswer, Tally
from vernal.evidence.replay import NodeDecisions
from vernal.interpret.smt import NoTerm, Script
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula
from vernal.model import expr as e
from vernal.model.expr import Expr, Occurrence
from vernal.model.initial import InitialSet, Valuation
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.refutation import BoundedStarts, Case
from vernal.solvers import registry
from vernal.solvers.base import Satisfiable, SmtSolver

SmtValues = Mapping[str, Fraction]


class Smt(Refuter):
    """The engine `smt`."""

    name = "smt"
    encoding = WHOLE

    def __init__(self, options: SmtOptions = SmtOptions()) -> None:
        self.solver = registry.find_smt(options.solver) if isinstance(options.solver, str) else options.solver
        self.deepen = options.deepen

    def asking(self, unrolling: Unrolling, system: System, goal: Formula, steps: int, budget: Budget) -> Asking:
        return SmtAsking(self.name, system, goal, steps, budget, self.solver)


class UnboundedStarts(BoundedStarts):
    """Starts of which no bounds are known: what is asked is for the solver alone to decide."""

    def may_be(self, condition: Expr) -> bool:
        return bool(condition.value) if isinstance(condition, e.Const) else True


@dataclass(frozen=True)
class SmtAsking(Asking):
    """One script for each question, and the solver it goes to."""

    solver: SmtSolver

    @property
    def direction(self) -> Direction:
        return Unrolling.direction.then(Script.direction)

    def space(self, initial: InitialSet) -> BoundedStarts:
        return UnboundedStarts(initial, self.budget.check)

    def answer(self, space: BoundedStarts, case: Case) -> ProgramAnswer:
        script = Script(space.initial.starts, self.budget.check)
        try:
            for condition in (*self.system.init.where, case.condition):
                script.require(condition)
        except NoTerm as refusal:
            return ProgramAnswer(End.UNSUITABLE, reason=f"{UNSUPPORTED}: {refusal}; try --engine auto")
        self.budget.check()
        booleans = sum(sort == "Bool" for sort in script.unknowns.values())
        self.tally.add(Tally(1, len(script.unknowns), script.assertions, booleans))
        with self.tally.timed():
            outcome = self.solver.check(script.text, script.unknowns, self.budget.left, self.budget.check)
        if outcome.status is Satisfiable.NO:
            return ProgramAnswer(End.INFEASIBLE)
        if outcome.status is Satisfiable.UNKNOWN:
            self.budget.check()
            return ProgramAnswer(End.DOUBT, reason=f"the solver {self.solver.name} ended with: {outcome.said}")
        return self._lift(SmtModel(self.system, InitialSet(space.initial.starts), script, outcome.values))

    def _lift(self, model: SmtModel) -> ProgramAnswer:
        """The model as an exact path; a model with irrational numbers, or of undefined values, may be none."""
        trace = self.path(model.first(), model.decisions(self.steps))
        if trace is not None:
            return ProgramAnswer(End.FOUND, trace)
        return ProgramAnswer(
            End.DOUBT,
            reason="the path that the solver found is no counterexample in exact arithmetic; try --engine auto",
        )


@dataclass(frozen=True)
class SmtModel:
    """Values of the unknowns, read as a first state and decisions."""

    system: System
    initial: InitialSet
    script: Script
    values: SmtValues

    def first(self) -> Valuation:
        """The first state and memory, inside the starts: irrational values were rounded."""
        names = self.script.names
        found = {var: [self.values[name] for name in names[var]] for var in self.initial.starts if var in names}
        return self.initial.nearest(found)

    def decisions(self, steps: int) -> list[NodeDecisions]:
        """What is taken at each position; where the script does not say, anything goes."""
        nodes = self.system.step.names
        return [
            {node: self._decision(node, replace(node.occurrence, step=t)) for node in nodes} for t in range(steps + 1)
        ]

    def _decision(self, node: Expr, occurrence: Occurrence) -> int | Fraction | tuple[Fraction, ...]:
        if isinstance(node, e.Between):
            names = self.script.disturbances.get(occurrence)
            drawn = [self.values[name] for name in names] if names else [Fraction(0)] * node.size
            return tuple(drawn) if node.shape else drawn[0]
        if isinstance(node, e.Argmax):
            return int(self.values[self.script.winners[occurrence]]) if occurrence in self.script.winners else 0
        options = self.script.options.get(occurrence, ())
        return next((index for index, name in enumerate(options) if self.values[name]), len(options))
