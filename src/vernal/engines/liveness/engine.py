"""The engine `liveness`: LTL of all paths for all time, by an automaton and safety of its product with the system.

The negated claim becomes a Buchi automaton with one mark. A path breaks the claim iff a run of the automaton accepts
it: an infinite path by taking marked edges again and again, a finite maximal one by an edge that may end. Both are
excluded by claims about the product of system and automaton (`vernal.reduce.product`) that have the form `G p`:

1. at most k marked edges are taken on any path. Then no run takes them again and again, and no infinite path breaks the
   claim.
2. where the system may end, no path ends at a position which an edge that may end can read.

Of a claim with a horizon both are asked up to that horizon only, which engines for bounded formulas prove.

The product is EXACT, so proofs of both by EXACT or OVER reductions prove the claim of all paths. The number k is a
guess: simulated paths show how many marked edges are taken, then larger numbers are tried; a wrong guess costs time
only. Such a number need not exist where the claim is true (x' = x/2 comes below every bound, from all of [0, oo) no
number of steps is enough), and where it exists no engine needs to find a proof: then the question stays open. Nothing
is refuted here: a path with more than k marked edges breaks no claim.

References: K. Claessen and N. Sorensson, A liveness checking algorithm that counts, FMCAD 2012; A. Biere, C. Artho and
V. Schuppan, Liveness checking as safety checking, FMICS 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from vernal.engines.answers import believed
from vernal.engines.base import Engine, within
from vernal.engines.bounds.engine import Bounds
from vernal.engines.knowledge import Known, Open, Proof, Statistics
from vernal.engines.liveness.samples import marks_taken
from vernal.engines.paths.engine import Paths
from vernal.evidence.result import Assurance
from vernal.logic.automaton import Automaton, automaton, degeneralised
from vernal.logic.formula import Always, Bound, Not
from vernal.logic.question import Question
from vernal.model.system import System
from vernal.reduce.base import Direction
from vernal.reduce.product import product
from vernal.run.budget import Budget
from vernal.simulate.starts import NoInitialState

SIMULATED_STEPS = (50, 400)  # the second where marked edges are taken until the end of the first
WIDER = (0, 1, 3, 7)  # marked edges that are allowed beyond those of simulated paths, one number after the other
SHARE = 0.4  # of the time that is left, for one question to one engine

NOT_OF_PATHS = "not supported by this engine: an automaton reads single paths, and this is no claim of every path alone"


class Liveness:
    """Counts marked edges of an automaton, and asks other engines to prove that there are only so many."""

    name = "liveness"

    def __init__(self, inner: Sequence[Engine] | None = None) -> None:
        """`inner`: the engines that are asked to prove claims of the form `G p`, in their order."""
        self.inner = (Bounds(), Paths()) if inner is None else tuple(inner)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof of a claim of all paths, or that none was found."""
        path = question.claim.linear
        if path is None:
            return self._open(NOT_OF_PATHS)
        budget.progress("liveness: the automaton of the negated claim", None)
        made = automaton(Not(path), total=question.is_total, tick=budget.check)
        wrong = degeneralised(made, tick=budget.check)
        own = replace(budget, journal=None)  # a journal knows parts of this question, and of no other
        ending = self._ends_well(question, wrong, own)
        counted = ending if isinstance(ending, Open) else self._is_bounded(question, wrong, own)
        statistics = {"automaton states": wrong.states, **counted.statistics}
        if isinstance(ending, Open) or isinstance(counted, Open):
            return replace(counted, statistics=statistics)
        assurance, empty = min(ending.assurance, counted.assurance), ending.empty or counted.empty
        return replace(counted, assurance=assurance, empty=empty, statistics=statistics)

    def _open(self, reason: str) -> Open:
        return Open(engine=self.name, reason=reason)

    def _proof(self, part: Proof | None = None, limit: int = 0) -> Proof:
        """What follows from a proof of a claim about the product; from none where there is nothing to prove."""
        if part is None:
            return Proof(engine=self.name, direction=Direction.OVER, assurance=Assurance.EXACT)
        statistics: Statistics = {"marked edges": limit, "proven by": part.engine}
        return Proof(
            engine=self.name,
            direction=Direction.OVER,
            assurance=part.assurance,
            empty=part.empty,
            statistics=statistics,
        )

    def _ends_well(self, question: Question, wrong: Automaton, budget: Budget) -> Proof | Open:
        """That no finite maximal path is accepted."""
        if question.is_total or not any(edge.may_end for edge in wrong.edges):
            return self._proof()
        edges = tuple(replace(edge, marks=frozenset[int]()) for edge in wrong.edges)  # nothing is counted
        made = product(question.system, replace(wrong, edges=edges), 0, tick=budget.check)
        known = self._ask(_asked(made.system, made.ends_well, question), budget)
        if isinstance(known, Proof):
            return self._proof(known)
        return self._open(f"that no finite path breaks the claim is not proven: {known.reason}")

    def _is_bounded(self, question: Question, wrong: Automaton, budget: Budget) -> Proof | Open:
        """That no run takes marked edges again and again, by a bound on how many it takes."""
        if not any(edge.marks for edge in wrong.edges):
            return self._proof()
        limits = _limits(question, wrong, budget)
        if not limits:
            simulated = f"simulated paths of {SIMULATED_STEPS[-1]} steps take marked edges until their end"
            return self._open(f"{simulated}: the claim is false, or it takes longer to become true")
        reason = ""
        for limit in limits:
            budget.progress(f"liveness: at most {limit} marked edges", None)
            made = product(question.system, wrong, limit, tick=budget.check)
            known = self._ask(_asked(made.system, made.is_kept, question), budget)
            if isinstance(known, Proof):
                return self._proof(known, limit)
            reason = f"no bound up to {limit} on the marked edges of the automaton is proven: {known.reason}"
        return self._open(reason)

    def _ask(self, question: Question, budget: Budget) -> Proof | Open:
        """The first proof of a claim of the form `G p`, or why there is none."""
        reasons: list[str] = []
        for engine in self.inner:
            budget.check()
            known = believed(question.claim, within(engine, question, budget.part(SHARE)))
            if isinstance(known, Proof):
                return known
            reasons.append(f"{engine.name}: {known.reason if isinstance(known, Open) else 'the product breaks it'}")
        return self._open("; ".join(reasons))


def _asked(system: System, always: Always, question: Question) -> Question:
    """What is asked of the product; of a claim with a horizon only as far as a run can be undecided.

    When a run has read all positions up to the horizon nothing is left to be read: the run has ended, or every edge is
    marked from there on and may end. So one that is accepted shows two steps later.
    """
    reach = question.claim.horizon
    upper = None if reach is None else Fraction(reach + 2)
    return Question(system, replace(always, bound=Bound(Fraction(0), upper)))


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
