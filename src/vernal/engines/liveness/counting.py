"""Liveness by counting: at most k marked edges of the automaton are taken on any path, for some number k.

Then no run takes them again and again, and no infinite path breaks the claim. That at most k are taken is a claim of
the form `G p` about the product of system and automaton (`vernal.reduce.product`), for engines that prove such claims.
Of a claim with a horizon it is asked up to that horizon only, which engines for bounded formulas prove.

The number k is a guess: simulated paths show how many marked edges are taken, then larger numbers are tried; a wrong
guess costs time only. Such a number need not exist where the claim is true (x' = x/2 comes below every bound, from all
of [0, oo) no number of steps is enough), and where it exists no engine needs to find a proof. Nothing is refuted here:
a path with more than k marked edges breaks no claim.

References: K. Claessen and N. Sorensson, A liveness checking algorithm that counts, FMCAD 2012; A. Biere, C. Artho and
V. Schuppan, Liveness checking as safety checking, FMICS 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vernal.engines.base import Engine
from vernal.engines.chain import Chain
from vernal.engines.liveness.finite_paths import ends_well
from vernal.engines.liveness.method import NAME, FirstProof, by_method, in_turn, open_for
from vernal.engines.liveness.sampled_counts import marks_taken
from vernal.evidence.knowledge import Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.logic.automaton import Automaton
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.reduce.counted_marks import CountedMarks, negation
from vernal.reduce.product import Product
from vernal.run.budget import Budget
from vernal.simulate.starts import NoInitialState

METHOD = "marked edges are counted"
SIMULATED_STEPS = (50, 400)  # the second where marked edges are taken until the end of the first
WIDER = (0, 1, 3, 7)  # marked edges that are allowed beyond those of simulated paths, one number after the other


class Counting:
    """A bound on the marked edges of every path, proven by other engines."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        """The engines that are asked to prove claims of the form `G p`, in their order."""
        self.engines = tuple(engines)

    def prove(self, question: Question, path: Formula, budget: Budget) -> Proof | Open:
        budget.progress("liveness: the automaton of the negated claim", None)
        wrong = negation(question, path, budget.check)
        ending = ends_well(self.engines, question, wrong, budget)
        if isinstance(ending, Open):
            return ending
        counted = self._is_bounded(question, wrong, budget)
        statistics = {"automaton states": wrong.states, **counted.statistics}
        if isinstance(counted, Proof) and ending is not None:
            assurance, empty = min(ending.assurance, counted.assurance), ending.empty or counted.empty
            counted = replace(counted, assurance=assurance, empty=empty)
        return replace(counted, statistics=statistics)

    def _is_bounded(self, question: Question, wrong: Automaton, budget: Budget) -> Proof | Open:
        """That no run takes marked edges again and again, by a bound on how many it takes."""
        if not any(edge.marks for edge in wrong.edges):
            direction, subject = Product.direction, Subject.PATHS
            statistics = {"method": METHOD}
            return Proof(
                engine=NAME, direction=direction, subject=subject, assurance=Assurance.EXACT, statistics=statistics
            )
        limits = _limits(question, wrong, budget)
        if not limits:
            simulated = f"simulated paths of {SIMULATED_STEPS[-1]} steps go on breaking the claim until their end"
            return open_for(f"{simulated}: the claim is false, or becomes true for good only later")
        reason = ""
        for limit, part in in_turn(limits, budget):
            budget.progress(f"liveness: at most {limit} marked edges", None)
            chain = Chain((CountedMarks(limit, wrong, ends_well=True),), FirstProof(self.engines))
            known = by_method(chain.attempt(question, part), METHOD)
            if isinstance(known, Proof):
                return replace(known, statistics={**known.statistics, "marked edges": limit})
            reason = f"it is not proven that what breaks the claim happens at most {limit} times: {known.reason}"
        return open_for(reason)


def _limits(question: Question, wrong: Automaton, budget: Budget) -> list[int]:
    """How many marked edges may be allowed, by what simulated paths take; none if they take them until their end."""
    if question.claim.horizon is not None:
        return [0]
    for steps in SIMULATED_STEPS:
        try:
            count = marks_taken(question.system, wrong, steps, budget)
        except NoInitialState:
            return [0]
        if 4 * count.last <= 3 * steps:
            return [count.most + more for more in WIDER]
    return []
