"""The engine `deepening`: claims without a bound, decided by finitely many steps where these suffice (003, 4.1).

A bad prefix refutes `G p`, and `F p` is proven once every path has come to p. Claims of all paths are walked once, with
what they still ask carried along, by a few exact sets (glance) and then in batches (walk). What the walk leaves open,
and claims about states, are asked with bounds that grow: a proof of `F[0,k] p` proves `F p`, what refutes `G[0,k] p`
refutes `G p` (reduce.growing_bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vernal.engines.base import Engine, within
from vernal.engines.chain import Chain, InOrder, Prover
from vernal.engines.covers import with_followed
from vernal.engines.deepening.glance import FewSets
from vernal.engines.deepening.walk import FOLLOWED_STEPS, PathWalk, goes_on
from vernal.engines.options import DepthOptions
from vernal.engines.refusals import in_steps
from vernal.engines.some_paths import proven_by_all_paths
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.model.expr import Between
from vernal.reduce.growing_bounds import GrowingDepth
from vernal.reduce.universal_claims import KeptByOne
from vernal.run.budget import Budget
from vernal.sets.levels import MAX_UNROLLED_STEPS
from vernal.sets.pieces.positions import nonlinear_step

GLANCE, MOST_GLANCED = 0.2, 1.0  # the share of the time, and the most seconds, for a few exact sets
FIRST_WAY_SHARE = 0.5  # the share of the time that is left for the first of two ways
NO_WITNESS = "within {} steps no path was seen to keep the claim for certain, nor every path to fail it"


Way = Callable[[Question, Budget, Open], Known]
NOTHING_KNOWN = Open(engine="deepening", reason="")


class Deepening:
    """The engine `deepening`."""

    name = "deepening"

    def __init__(self, options: DepthOptions, engines: Sequence[Engine]) -> None:
        """`engines` answer the bounded questions, in this order."""
        self.depth = min(options.depth, MAX_UNROLLED_STEPS)
        self.bounded = InOrder(self.name, tuple(engines))

    def takes(self, question: Question) -> str | None:
        """Any claim about steps."""
        return in_steps(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What finitely many steps decide; else how far the claim was looked at."""
        return with_followed(question, self._decided(question, budget), budget)

    def _decided(self, question: Question, budget: Budget) -> Known:
        budget = replace(budget, journal=None)  # a journal knows the parts of one question, and here are many
        if question.claim.horizon is not None:
            return self.bounded.attempt(question, budget)
        first, second = self._walked, self._deepened
        if is_scattering(question):
            first, second = second, first
        glanced = within(FewSets(self.depth), question, budget.part(GLANCE, MOST_GLANCED))
        if not isinstance(glanced, Open):
            return glanced
        known = self._tried(first, question, budget.part(FIRST_WAY_SHARE), NOTHING_KNOWN)
        if isinstance(known, Open):
            known = self._tried(
                second, question, budget.part(FIRST_WAY_SHARE if question.claim.mentions_some else 1.0), known
            )
        if isinstance(known, Open) and question.claim.mentions_some:
            return self._of_all_paths(question, budget, known)
        return known

    def _of_all_paths(self, question: Question, budget: Budget, before: Open) -> Known:
        """A claim of some path, where all paths keep it; else what was known before."""
        stops = len(budget.stops)
        try:
            known = proven_by_all_paths(Prover(self.name, self.attempt), question, budget)
        except Stopped:
            known = before
        if not isinstance(known, Open):
            return known
        cut_short = budget.cut_since(stops)
        return before if cut_short is None else replace(before, reason=f"{before.reason}; {cut_short}")

    def _tried(self, way: Way, question: Question, budget: Budget, before: Open) -> Known:
        """What one of the two ways finds, after what the other has left open."""
        try:
            known = way(question, budget, before)
        except Stopped as stop:
            known = self._open(stop.reason)
        if not isinstance(known, Open):
            return known
        proven = max((p for p in (before.proven_steps, known.proven_steps) if p is not None), default=None)
        reason = "; ".join(reason for reason in (before.reason, known.reason) if reason)
        statistics = {**before.statistics, **known.statistics, "depth": self.depth}
        return replace(known, reason=reason, proven_steps=proven, statistics=statistics)

    # One walk ---------------------------------------------------------------------------------------------------------

    def _walked(self, question: Question, budget: Budget, before: Open) -> Known:
        """The claim of all paths, or its negation, asked of every path until nothing is asked any more."""
        if question.claim.opposite is None or KeptByOne().takes(question) is not None:
            return _said(self._along(question, budget), "one walk over all paths")
        known = Chain((KeptByOne(),), Prover(self.name, self._along)).attempt(question, budget)
        if isinstance(known, Open):  # how far the opposite was followed is nothing of the claim
            known = self._open(NO_WITNESS.format(self.depth) if known.reason == goes_on(self.depth) else known.reason)
        return _said(known, "one walk over all paths")

    def _along(self, question: Question, budget: Budget) -> Known:
        """A claim of all paths."""
        path = question.claim.linear
        if path is None or question.claim.mentions_some:
            return self._open(
                "a formula that mixes all paths and some path, which following single paths does not decide"
            )
        return PathWalk(question, path, self.depth, budget, self.name).run()

    # Bounds that grow -------------------------------------------------------------------------------------------------

    def _deepened(self, question: Question, budget: Budget, before: Open) -> Known:
        """The first depth at which a bounded formula decides the claim."""
        only_proofs = before.statistics.get(FOLLOWED_STEPS) == self.depth
        known = Chain((GrowingDepth(self.depth, only_proofs),), self.bounded).attempt(question, budget)
        return replace(known, engine=self.name) if isinstance(known, Open) else _said(known, "bounds that grow")

    def _open(self, reason: str) -> Open:
        return Open(engine=self.name, reason=reason, statistics={"depth": self.depth})


def is_scattering(question: Question) -> bool:
    """Whether a walk is likely to fall into very many sets: every disturbance is one more parameter of each."""
    step = question.system.step
    return any(isinstance(node, Between) for node in step.names) or nonlinear_step(step) is not None


def _said(known: Known, method: str) -> Known:
    return known if isinstance(known, Open) else replace(known, statistics={**known.statistics, "method": method})
