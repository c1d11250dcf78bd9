"""The engine `induction`: `G p` holds if p is kept at first, and k positions that keep p are followed by one that does.

M. Sheeran, S. Singh and G. Stalmarck, Checking safety properties using induction and a SAT-solver, FMCAD 2000. The
base, p at the first k positions, is a bounded question; so is the step, from any state at all (step). Some claims are
kept by every step (k = 1), others only show after a few, and some by no number of them. A base that fails refutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

from vernal.engines.base import Engine
from vernal.engines.chain import InOrder, Prover
from vernal.engines.covers import followed
from vernal.engines.induction.step import InductionStep, NotInductive
from vernal.engines.options import InductionOptions
from vernal.engines.refusals import by_paths, of_every_step
from vernal.engines.some_paths import by_all_paths
from vernal.errors import MissingExtra, Stopped
from vernal.evidence import confirm
from vernal.evidence.cover import ProofCover, of_condition, of_induction
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof, Subject
from vernal.logic.claim import always
from vernal.logic.formula import Always, Bound
from vernal.logic.normal import horizon
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.pieces.exploration import kept_steps
from vernal.solvers import registry
from vernal.solvers.base import SmtSolver

BASE = 0.4  # the share of the time left for one engine of a base
ENGINE_SECONDS = (10.0, inf)  # for one engine, when positions are tried first, and when those left over are once more
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
        return by_paths(question, of_every_step, NOT_ALWAYS)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof by induction, a counterexample of a base, or how far the claim is proven."""
        if question.claim.mentions_some:
            return by_all_paths(Prover(self.name, self._proven), question, budget)
        return self._proven(question, budget)

    def _proven(self, question: Question, budget: Budget) -> Known:
        claimed = always(question.claim.linear)
        if claimed is None:
            return Open(engine=self.name, reason=NOT_ALWAYS)
        search = InductionSearch(question, claimed, self.base, self.step, self.solver or _solver(), budget)
        return search.run(self.depth)


class InductionSearch:
    """Numbers of positions one after the other; those for which engines had too little time are tried once more."""

    def __init__(
        self,
        question: Question,
        claimed: Always,
        base: Engine,
        engines: Sequence[Engine],
        solver: SmtSolver | None,
        budget: Budget,
    ) -> None:
        self.question, self.claimed, self.base, self.engines, self.solver = question, claimed, base, engines, solver
        self.budget = budget
        self.step = InductionStep(question, claimed.arg, budget)
        self.proven: int | None = None  # steps up to which the claim is proven

    def run(self, depth: int) -> Known:
        """What an induction of at most so many positions knows."""
        unfinished: Sequence[int] = range(1, depth + 1)
        try:
            for seconds in ENGINE_SECONDS:
                waiting = []
                for k in unfinished:
                    self.budget.progress(f"induction: k = {k}", k / depth)
                    before = len(self.budget.stops)
                    known = self._induction(k, seconds)
                    if known is not None:
                        return known
                    waiting += [k] if len(self.budget.stops) > before else []
                unfinished = waiting
        except Stopped as stop:
            return self._open(depth, stop.reason)
        if unfinished:
            return self._open(
                depth, f"{self.budget.stops[-1]}, with k = {', '.join(map(str, unfinished))} not finished"
            )
        helps = "; for states without bounds a solver helps: pip install 'vernal[smt]'" if self.solver is None else ""
        shown = f"{depth} steps that keep the claim do not show that the next one does, from any state (k-induction)"
        return self._open(depth, shown + helps)

    def _induction(self, k: int, seconds: float) -> Known | None:
        """What k positions show, each engine having at most so many seconds; None where they show nothing."""
        first = int(self.claimed.bound.lower)
        based = self._based(k, seconds)
        if isinstance(based, Counterexample):
            refutes = confirm.truth(based.trace, self.question.claim.path) is False
            return based if refutes else self._open(k, f"{self.claimed}, which would prove it, is false")
        if not isinstance(based, Proof):
            return None
        proven = kept_steps(self.question.formula, first + k - 1 + (horizon(self.claimed.arg) or 0))
        self.proven = proven if self.proven is None or proven is None else max(proven, self.proven)
        found = self._stepped(k, seconds, differing=k > 1 and first == 0)
        return None if found is None else self._proof(based, found, k)

    def _based(self, k: int, seconds: float) -> Known | None:
        """What is known of the first k positions."""
        first = self.claimed.bound.lower
        asked = replace(self.question, formula=replace(self.claimed, bound=Bound(first, first + Fraction(k - 1))))
        try:
            known = self.base.attempt(asked, replace(self.budget.part(1.0, seconds / BASE), journal=None))
        except Stopped:
            self.budget.check()
            return None
        return replace(known, statistics={**known.statistics, "k": k})

    def _stepped(self, k: int, seconds: float, *, differing: bool) -> Proof | None:
        """A proof of the step.

        That positions may be supposed to differ needs a claim from the first position on: a shorter path that fails
        would else fail too early.
        """
        if self.step.is_empty:  # the base has shown that there is no initial state
            return None
        try:
            for engine in self.engines:
                found = self.step.by_engine(engine, k, seconds)
                if found is not None:
                    return found
        except NotInductive:
            if not differing:  # else the path that fails may come back to a state, and be none of the shortest
                return None
        return None if self.solver is None else self.step.by_solver(self.solver, k, seconds, differing=differing)

    def _proof(self, based: Proof, step: Proof, k: int) -> Proof:
        return Proof(
            engine=Induction.name,
            direction=based.direction.then(step.direction),
            subject=Subject.PATHS,
            assurance=min(based.assurance, step.assurance),
            empty=based.empty,
            cover=self._cover(k) if self.budget.keeps_sets else None,
            statistics={**based.statistics, "k": k, "depth": k, "method": f"step by {step.engine}"},
        )

    def _cover(self, k: int) -> ProofCover | None:
        """All states, from which k positions that keep the claim are followed by one that does; or those that do."""
        kept, model, claim = self.claimed.arg, self.question.model, self.question.claim.linear
        first = int(self.claimed.bound.lower)
        if horizon(kept):
            return None
        if not isinstance(claim, Always):
            return of_condition(model, str(kept)) if k == 1 and not first else None
        return of_induction(model, k, first, followed(model))

    def _open(self, depth: int, reason: str) -> Open:
        return Open(engine=Induction.name, reason=reason, proven_steps=self.proven, statistics={"depth": depth})


def _solver() -> SmtSolver | None:
    try:
        return registry.find_smt()
    except MissingExtra:
        return None
