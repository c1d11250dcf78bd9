"""Bounded model checking: is there a path of 0, 1, 2, ... steps to a state that breaks the claim? A query for each.

The states of a path are unknowns, and a step is one of the operators of the system: its guard, what the policy says,
and the next value of every variable. So a solver sees a transition relation and not one large function of the first
state, and a network only at steps at which an operator that can be met asks for it (M. Vinzent et al., ICAPS 2022,
section 8.2). A model is a path and replayed; that there is none proves the claim up to that length.

The weights of a network are binary numbers with many digits, which take an exact solver long. So each length is asked
twice: with rounded weights first, which may find a path and never proves anything, and then with those that there are.
"""

from __future__ import annotations

from dataclasses import replace

from vernal.engines.options import BmcOptions
from vernal.engines.programs.operator_paths import OperatorPaths, PathQuery
from vernal.engines.programs.program import Tally
from vernal.engines.refusals import in_steps
from vernal.errors import Stopped
from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.smt import NoTerm
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.model.build import FALSE
from vernal.model.expr import Expr
from vernal.reduce.operators import NoOperators
from vernal.run.budget import Budget
from vernal.solvers import registry
from vernal.solvers.base import Satisfiable, SmtSolved, SmtSolver

UNSUITED = "not supported by this engine: it is for claims that a condition is kept, as in G p or G[0,9] p"
NOT_PROVEN = "no path was found that breaks it, but not every length was excluded in time; try --engine auto"
DIGITS = 6  # of a rounded weight
SHARE_OF_GUESS, SHARE_OF_PROOF = 0.5, 0.2  # of the time that is left, for paths of one length
NO_COUNTEREXAMPLE = "the path that the solver found is no counterexample in exact arithmetic; try --engine auto"


class Bmc:
    """The engine `bmc`."""

    name = "bmc"

    def __init__(self, options: BmcOptions | None = None) -> None:
        options = options or BmcOptions()
        self.solver = registry.find_smt(options.solver) if isinstance(options.solver, str) else options.solver
        self.depth = options.depth

    def takes(self, question: Question) -> str | None:
        """Claims of all paths that a condition is kept from the first position on."""
        return in_steps(question) or (UNSUITED if _kept(question) is None else None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A path that breaks the claim, or up to which length there is none."""
        keep, refused = _kept(question), self.takes(question)
        if keep is None or refused is not None:
            return Open(engine=self.name, reason=refused or UNSUITED)
        try:
            return Lengths(question, keep, self.solver, budget).known(self.depth)
        except NoOperators as error:
            return Open(engine=self.name, reason=f"not supported by this engine: {error.reason}")
        except NoTerm as error:
            return Open(engine=self.name, reason=f"not supported by this engine: {error}")


def _kept(question: Question) -> Expr | None:
    """What is claimed of every position, where that is all."""
    claim = None if question.claim.mentions_some else safety_claim(question.claim, total=question.is_total)
    return None if claim is None or claim.stop is not FALSE or claim.first else claim.keep


class Lengths:
    """One question, length after length."""

    def __init__(self, question: Question, keep: Expr, solver: SmtSolver, budget: Budget) -> None:
        self.question, self.solver, self.budget = question, solver, budget
        self.paths = OperatorPaths(question.system, keep, budget.check)
        self.exact = PathQuery(self.paths, solver.growing(), budget.check)
        guess = PathQuery(self.paths, solver.growing(), budget.check, DIGITS)
        self.guess = guess if self.paths.asks_networks else None
        self.tally, self.proven = Tally(), -1

    def known(self, depth: int) -> Known:
        """A path, a proof where no path is longer, or up to which step there is none."""
        horizon = self.question.claim.horizon
        last = depth if horizon is None else horizon
        try:
            for length in range(last + 1):
                self.budget.progress(f"bmc: paths of {length} steps", length / (last + 1))
                found = self._of_length()
                if found is not None:
                    return replace(found, statistics=self.statistics)
                if length == horizon or not self.paths.go_on():
                    return self._proof() if self.proven == length else self._open(NOT_PROVEN)
        except Stopped as stop:
            return self._open(stop.reason)
        return self._open(f"no path of at most {last} steps was found that breaks it; try --depth, or --engine auto")

    def _of_length(self) -> Known | None:
        """A path of the present length that breaks the claim, or why the search ends; None where it goes on."""
        if self.guess is not None:
            guessed, said = self._asked(self.guess, SHARE_OF_GUESS)
            if guessed is not None or said.status is Satisfiable.UNKNOWN:
                return guessed or self._open(self._ended(said))
        found, said = self._asked(self.exact, 1.0 if self.guess is None else SHARE_OF_PROOF)
        if found is not None or (self.guess is None and said.status is Satisfiable.UNKNOWN):
            return found or self._open(self._ended(said))
        if said.status is Satisfiable.YES:
            return self._open(NO_COUNTEREXAMPLE)
        if said.status is Satisfiable.NO and self.proven == self.paths.length - 1:
            self.proven += 1
        return None

    def _asked(self, query: PathQuery, share: float) -> tuple[Counterexample | None, SmtSolved]:
        """What the solver says, and the path where it is one."""
        part = self.budget.part(share)
        with self.tally.timed():
            said = query.ask(part.left, self.budget.check)
        self.tally.add(Tally(1, len(query.script.unknowns), query.script.assertions))
        self.budget.check()
        if said.status is not Satisfiable.YES:
            return None, said
        candidate = self.paths.candidate(query.script, said.values)
        trace = refuting_path(self.question.system, candidate, self.question.claim.path, self.budget.check)
        return None if trace is None else Counterexample(engine=Bmc.name, trace=trace), said

    def _ended(self, said: SmtSolved) -> str:
        return f"the solver {self.solver.name} ended with: {said.said}, at paths of {self.paths.length} steps"

    # Knowledge --------------------------------------------------------------------------------------------------------

    def _proof(self) -> Proof:
        direction = self.paths.direction
        return Proof(engine=Bmc.name, direction=direction, assurance=Assurance.SOLVER, statistics=self.statistics)

    def _open(self, reason: str) -> Open:
        proven = self.proven if self.proven >= 0 else None
        return Open(engine=Bmc.name, reason=reason, proven_steps=proven, statistics=self.statistics)

    @property
    def statistics(self) -> dict[str, int | float | str]:
        return {**self.tally.statistics(), "depth": max(self.proven, 0)}
