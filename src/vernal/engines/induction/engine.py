"""The engine `induction`: `G p` holds if p is kept at first, and k positions that keep p are followed by one that does.

M. Sheeran, S. Singh and G. Stalmarck, Checking safety properties using induction and a SAT-solver, FMCAD 2000. The
base, p at the first k positions, is a bounded question; so is the step, from any state at all (step). Some claims are
kept by every step (k = 1), others only show after a few, and some by no number of them. A base that fails refutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from vernal.engines.base import Engine
from vernal.engines.chain import InOrder, Prover
from vernal.engines.induction.step import InductionStep, NotInductive
from vernal.engines.options import InductionOptions
from vernal.engines.refusals import by_paths
from vernal.engines.some_paths import by_all_paths
from vernal.errors import MissingExtra, Stopped
from vernal.evidence import confirm
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.logic.claim import always
from vernal.logic.formula import Always, Bound
from vernal.logic.normal import horizon
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.pieces.exploration import kept_steps
from vernal.solvers import registry
from vernal.solvers.base import SmtSolver

BASE = 0.4  # the share of the time left for a base
NOT_ALWAYS = "not supported by this engine: the claim is not one about every step (G p, p W q or q R p, with p bounded)"


class Induction:
    """The engine `induction`."""

    name = "induction"

    def __init__(
        self,
        options: InductionOptions,
        base: Sequence[Engine],
        step: Sequence[Engine],
        solver: SmtSolver | None = None,
    ) -> None:
        """Engines for the base and for the step; a solver for steps from states without bounds."""
        self.depth = options.depth
        self.base = InOrder(self.name, tuple(base), BASE)
        self.step, self.solver = tuple(step), solver

    def takes(self, question: Question) -> str | None:
        """Claims about every step, or that such claims decide."""
        return by_paths(question, lambda path: always(path) is not None, NOT_ALWAYS)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof by induction, a counterexample of a base, or how far the claim is proven."""
        if question.claim.mentions_some:
            return by_all_paths(Prover(self.name, self._proven), question, budget)
        return self._proven(question, budget)

    def _proven(self, question: Question, budget: Budget) -> Known:
        claimed = always(question.claim.linear)
        if claimed is None:
            return Open(engine=self.name, reason=NOT_ALWAYS)
        step, solver = InductionStep(question, claimed.arg, budget), self.solver or _solver()
        proven, inside = None, horizon(claimed.arg) or 0
        try:
            for k in range(1, self.depth + 1):
                budget.progress(f"induction: k = {k}", k / self.depth)
                based = self._based(question, claimed, k, budget)
                if isinstance(based, Counterexample):
                    refutes = confirm.truth(based.trace, question.claim.path) is False
                    return based if refutes else self._open(f"{claimed}, which would prove it, is false", None)
                if isinstance(based, Proof):
                    proven = kept_steps(question.formula, int(claimed.bound.lower) + k - 1 + inside)
                    found = self._stepped(step, solver, k, differing=k > 1 and claimed.bound.lower == 0)
                    if found is not None:
                        return self._proof(based, *found, k)
        except Stopped as stop:
            return self._open(stop.reason, proven)
        missing = "" if solver is not None else "; for states without bounds a solver helps: pip install 'vernal[smt]'"
        return self._open(f"no step of at most {self.depth} positions keeps the claim from any state{missing}", proven)

    def _based(self, question: Question, claimed: Always, k: int, budget: Budget) -> Known:
        """What is known of the first k positions."""
        first = claimed.bound.lower
        asked = replace(question, formula=replace(claimed, bound=Bound(first, first + Fraction(k - 1))))
        known = self.base.attempt(asked, replace(budget, journal=None))
        return replace(known, statistics={**known.statistics, "k": k})

    def _stepped(
        self, step: InductionStep, solver: SmtSolver | None, k: int, *, differing: bool
    ) -> tuple[Assurance, str] | None:
        """How the step is proven, and what that rests on.

        That positions may be supposed to differ needs a claim from the first position on: a shorter path that fails
        would else fail too early.
        """
        if step.is_empty:  # the base has shown that there is no initial state
            return None
        try:
            for engine in self.step:
                found = step.by_engine(engine, k)
                if found is not None:
                    return found, f"step by {engine.name}"
        except NotInductive:
            if not differing:  # else the path that fails may come back to a state, and be none of the shortest
                return None
        found = None if solver is None else step.by_solver(solver, k, differing=differing)
        return None if found is None or solver is None else (found, f"step by {solver.name}")

    def _proof(self, based: Proof, assurance: Assurance, method: str, k: int) -> Proof:
        return Proof(
            engine=self.name,
            direction=based.direction.then(InductionStep.direction),
            subject=Subject.PATHS,
            assurance=min(based.assurance, assurance),
            empty=based.empty,
            statistics={**based.statistics, "k": k, "depth": k, "method": method},
        )

    def _open(self, reason: str, proven: int | None) -> Open:
        return Open(engine=self.name, reason=reason, proven_steps=proven, statistics={"depth": self.depth})


def _solver() -> SmtSolver | None:
    try:
        return registry.find_smt()
    except MissingExtra:
        return None
