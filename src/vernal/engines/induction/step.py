"""The step of an induction: from any state, k positions that keep the claim are followed by one that keeps it.

Any state means any between lasting ends (lasting), cut by what the claim implies at the first of these positions; of
variables that the claim does not depend on, one value stands for all. Where all numbers have ends, this is a bounded
question about a system that starts anywhere, for any engine. Where some have none, it is a question for a solver modulo
theories, which may also suppose that all positions differ: a shortest failing path does not visit a state twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from vernal.engines.base import Engine
from vernal.engines.induction.implied_ends import implied_ends
from vernal.errors import Stopped, UnsupportedFormula, VernalError
from vernal.evidence.belief import believed
from vernal.evidence.knowledge import Counterexample, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.ends import UNKNOWN_ENDS, meet
from vernal.interpret.smt import NoTerm, PartialSpan, Script
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.formula import Always, Bound, Formula, Implies
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.graph import decisions
from vernal.model.initial import Init, OneOf, Span, Start, start_between
from vernal.model.lazy import cached_property
from vernal.model.sorts import INT
from vernal.model.system import Agent, System
from vernal.reduce.invariant_ranges import lasting_ends
from vernal.run.budget import Budget
from vernal.sets.exact.loop import Loop
from vernal.sets.refutation import refuting_condition
from vernal.solvers.base import Satisfiable, SmtSolver

AnyStart = Start | PartialSpan

ENGINE_SHARE = 0.5  # of the time left, for one engine
NEARLY_OVER = 0.1  # of a solver's time: one that gives up with less than that left had too little


def step_formula(kept: Formula, k: int) -> Formula:
    """That what holds at k positions holds at the next one, if there is one."""
    before = Always(kept, Bound(Fraction(0), Fraction(k - 1)))
    return Implies(before, Always(kept, Bound(Fraction(k), Fraction(k))))


@dataclass(frozen=True)
class InductionStep:
    """The steps of inductions on one claim: what holds at every position, of which system."""

    question: Question
    kept: Formula
    budget: Budget

    @cached_property
    def starts(self) -> Mapping[Expr, Sequence[AnyStart]]:
        """Where any reachable state that keeps the claim lies."""
        system = self.question.system
        lasting = lasting_ends(system, self.budget.check)
        implied = implied_ends(self.kept)
        made: dict[Expr, Sequence[AnyStart]] = {}
        for var, entry in system.initial.starts.items():
            if var not in self.needed:
                made[var] = tuple(OneOf((start.first,)) for start in entry)
            elif var.sort.values is not None:
                made[var] = (OneOf(tuple(map(Fraction, var.sort.values))),)
            else:
                low, high = meet(lasting.get(var, UNKNOWN_ENDS), implied.get(var, UNKNOWN_ENDS))
                made[var] = (_start(var, low, high),) * len(entry)
        return made

    @cached_property
    def needed(self) -> frozenset[Var]:
        """The variables that the claim depends on."""
        loop = Loop(self.question.system, tuple(self.question.atoms.values()), self.budget.check)
        return frozenset(loop.followed)

    @cached_property
    def anywhere(self) -> System | None:
        """The system from all of these states; None where some number has no ends."""
        if not all(isinstance(start, Span | OneOf) for entry in self.starts.values() for start in entry):
            return None
        starts: dict[Expr, tuple[Start, ...]] = {
            var: tuple(start for start in entry if isinstance(start, Span | OneOf))
            for var, entry in self.starts.items()
        }
        system = self.question.system
        init = Init({variable.name: starts[variable.var][0] for variable in system.state})
        return system.starting(init, tuple(_remembering(agent, starts) for agent in system.agents))

    @property
    def is_empty(self) -> bool:
        """Whether no state is left: the claim is false between all lasting ends."""
        return any(isinstance(start, OneOf) and not start.values for entry in self.starts.values() for start in entry)

    # By an engine -----------------------------------------------------------------------------------------------------

    def by_engine(self, engine: Engine, k: int, seconds: float) -> Proof | None:
        """A proof of the step by an engine; None where it has none within so many seconds."""
        if self.anywhere is None:
            return None
        asked = Question(self.anywhere, step_formula(self.kept, k))
        try:
            known = engine.attempt(asked, replace(self.budget.part(ENGINE_SHARE, seconds), journal=None))
            known = believed(asked.claim, known)
        except Stopped:
            self.budget.check()
            return None
        if isinstance(known, Counterexample):
            raise NotInductive(f"not kept by a step after {k} positions that keep it")
        return known if isinstance(known, Proof) else None

    # By a solver ------------------------------------------------------------------------------------------------------

    def by_solver(self, solver: SmtSolver, k: int, seconds: float, *, differing: bool) -> Proof | None:
        """A proof of the step by a solver; `differing`: no two positions have the same state."""
        system, budget = self.question.system, self.budget.part(ENGINE_SHARE, seconds)
        if not self.question.is_total and decisions([system.step.enabled]):
            return None
        unrolling = Unrolling(system.step)
        script = Script(self.starts, budget.check)
        try:
            script.require(refuting_condition(system, step_formula(self.kept, k), budget.check, unrolling))
            for condition in self._different(unrolling, k) if differing else ():
                script.require(condition)
            given = budget.left
            found = solver.check(script.text, script.unknowns, given, budget.check)
        except (NoTerm, UnsupportedFormula):
            return None
        except Stopped:
            self.budget.check()
            return None
        if found.status is Satisfiable.UNKNOWN and budget.left < NEARLY_OVER * given:
            budget.ran_out()
        if found.status is not Satisfiable.NO:
            return None
        direction = Unrolling.direction.then(Script.direction)
        return Proof(engine=solver.name, direction=direction, assurance=Assurance.SOLVER)

    def _different(self, unrolling: Unrolling, k: int) -> list[Expr]:
        """That each two positions differ in a variable the claim depends on."""
        places = [unrolling.position(t, self.budget.check) for t in range(k + 1)]
        return [
            build.disj(*(other for var in self.needed for other in _unequal(places[i][var], places[j][var])))
            for j in range(k + 1)
            for i in range(j)
        ]


class NotInductive(VernalError):
    """A state from which the step fails; it may be none that is reached."""


def _unequal(left: Expr, right: Expr) -> list[Expr]:
    if left.shape:
        return [build.compare("!=", left[i], right[i]) for i in range(left.size)]
    return [build.compare("!=", left, right)]


def _start(var: Expr, low: Fraction | None, high: Fraction | None) -> AnyStart:
    if var.sort == INT:
        low, high = None if low is None else Fraction(ceil(low)), None if high is None else Fraction(floor(high))
    if low is None or high is None:
        return PartialSpan(low, high)
    return start_between(low, high) if low <= high else OneOf(())


def _remembering(agent: Agent, starts: Mapping[Expr, tuple[Start, ...]]) -> Agent:
    return replace(agent, slots=tuple(replace(slot, starts=starts[slot.var]) for slot in agent.slots))
