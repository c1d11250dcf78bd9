"""The engine `explicit`: every reachable state of a finite system, one by one, and the formula on their graph.

The graph is the system's own, in exact arithmetic, so whatever is found on it is true of the system: full CTL by
fixpoints, full LTL by the product with an automaton, with or without bounds. Of a bounded claim only the states within
its horizon are looked at, so that a system without end may be asked such a claim.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np

from vernal.engines.explicit.branching_equivalents import of_all_paths
from vernal.engines.explicit.enumeration import Enumeration, TooManyStates
from vernal.engines.explicit.margin import least_margin
from vernal.engines.explicit.range_exits import seen_states
from vernal.engines.explicit.witness import Witnesses
from vernal.engines.refusals import in_steps
from vernal.evidence.candidates import witnessed
from vernal.evidence.cover import ProofCover, components, of_states
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, SeenStates, Statistics, Subject
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Trace
from vernal.logic.automaton import automaton
from vernal.logic.claim import position_claim
from vernal.logic.formula import Always, Formula, Not
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.finite.columns import NotFinite
from vernal.sets.finite.fixpoints import of_position, satisfied
from vernal.sets.finite.graph_product import GraphPath, GraphProduct
from vernal.sets.finite.size import is_enumerable
from vernal.sets.finite.table import Numbers

MAX_SHOWN = 10_000  # states that evidence lists, to show what no path does
UNDEFINED = "a comparison of the formula has no value at reachable states, and the answer depends on it"
NOT_REPLAYED = "a path was found on the graph but did not replay"
NO_PATH = "the claim fails at a state, but no path was found that shows it"


ENDLESS = "not supported by this engine: there are infinitely many states after finitely many steps"


class Explicit:
    """The reachable graph, then fixpoints or a product; of at most so many states, if a number is given."""

    name = "explicit"

    def __init__(self, most: int | None = None) -> None:
        self.most = most

    def takes(self, question: Question) -> str | None:
        """Systems with finitely many initial states, and finitely many successors of each state."""
        return in_steps(question) or (None if is_enumerable(question.system) else ENDLESS)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What the graph shows; open where there is none that is finite and small enough."""
        try:
            asked = GraphQuestion(question, Enumeration(question, budget, self.most))
            return replace(asked.known(), seen=asked.seen)
        except TooManyStates as stop:
            proven = stop.depth if invariant(question) is not None and stop.depth >= 0 else None
            return Open(engine=self.name, reason=stop.reason, proven_steps=proven)
        except NotFinite as stop:
            return Open(engine=self.name, reason=stop.reason)


def invariant(question: Question) -> Formula | None:
    """What is claimed of every position from the first on, where that is all; None for other claims."""
    match question.claim.linear:
        case Always(arg=arg, bound=bound) if bound.lower == 0 and classify(arg) is Logic.STATE:
            return arg
    return None


class GraphQuestion:
    """One question, asked of the graph of its system."""

    def __init__(self, question: Question, enumeration: Enumeration) -> None:
        self.question, self.claim = question, question.claim
        self.enumeration, self.budget = enumeration, enumeration.budget
        self.is_total = question.is_total
        started = time.perf_counter()
        self.kept = invariant(question)
        goal = None if self.kept is None else partial(of_position, Not(self.kept))
        self.graph = enumeration.run(self.claim.horizon, goal)
        self.seconds = time.perf_counter() - started
        self.witnesses = Witnesses(enumeration, self.graph)

    def known(self) -> Known:
        """A proof, a path or a state that refutes the claim, or why neither is known."""
        if not len(self.graph.initial):
            return self._proof(None, empty=True)
        if self.graph.goal or self.claim.logic is not Logic.CTL:
            states = None if self.graph.goal else of_all_paths(self.claim.formula)
        else:
            states = self.claim.formula
        return self._on_paths() if states is None else self._on_states(states)

    @property
    def seen(self) -> SeenStates:
        return seen_states(self.question.system, self.enumeration.columns, self.graph)

    # Roads ------------------------------------------------------------------------------------------------------------

    def _on_states(self, formula: Formula) -> Known:
        """CTL: the initial positions at which the formula is true."""
        found, initial = satisfied(formula, self.graph, self.budget.check), self.graph.initial
        failing = initial[~found.maybe[initial]]
        if len(failing):
            return self._refuted(failing)
        if not found.sure[initial].all():
            return self._open(UNDEFINED)
        witness = self._witness()
        if witness is not None:
            known = witnessed(self.question, witness, Explicit.name, self.statistics, self.graph.direction)
            return replace(known, cover=self._cover())
        return self._proof(self._margin())

    def _on_paths(self) -> Known:
        """LTL: a path from an initial position on which the formula is false."""
        path, initial = self.claim.path, self.graph.initial
        if self.graph.goal:  # the rest of the graph is not known
            return self._counterexample(self._shortest())
        lasso = self._accepted(Not(path), initial)
        if lasso is not None:
            return self._counterexample(lasso)
        if self.graph.undefined and self._accepted(Not(path), initial, sure=False) is not None:
            return self._open(UNDEFINED)
        return self._proof(None)

    def _margin(self) -> float | None:
        linear = self.claim.linear
        return None if linear is None else least_margin(position_claim(linear), self.enumeration, self.graph)

    def _accepted(self, path: Formula, starts: Numbers, *, sure: bool = True) -> GraphPath | None:
        """A short path from one of these positions on which an LTL formula is true.

        Of a bounded formula the graph is known within its horizon. What is true of a path is then true of its part up
        to there, taken for a path that ends.
        """
        tick = self.budget.check
        reader = automaton(path, total=self.is_total and self.graph.complete, tick=tick)
        return GraphProduct(self.graph, reader, tick, sure=sure, most_bytes=self.enumeration.bytes).accepted(starts)

    def _shortest(self) -> GraphPath:
        """A shortest way to a position that breaks the invariant."""
        graph = self.graph
        assert self.kept is not None
        broken = np.flatnonzero(satisfied(Not(self.kept), graph, self.budget.check).sure)
        way = [int(broken[np.argmin(graph.depth[graph.state[broken]])])]
        while graph.depth[graph.state[way[-1]]]:
            before, _ = graph.predecessors.of(np.array(way[-1:]))
            way.append(int(before[np.argmin(graph.depth[graph.state[before]])]))
        return GraphPath(tuple(reversed(way)))

    # Evidence ---------------------------------------------------------------------------------------------------------

    def _refuted(self, failing: Numbers) -> Known:
        """A path on which the claim is false, where one can show it; else an initial state at which it is."""
        if self.claim.linear is None:
            return self._failing_state(int(failing[0]))
        lasso = self._accepted(Not(self.claim.path), failing)
        return (
            self._open(UNDEFINED if self.graph.undefined else NO_PATH) if lasso is None else self._counterexample(lasso)
        )

    def _counterexample(self, lasso: GraphPath) -> Known:
        trace = self.witnesses.showing(lasso, self.claim.path, truth=False)
        if trace is None:
            return self._open(NOT_REPLAYED)
        return Counterexample(engine=Explicit.name, trace=trace, statistics=self.statistics)

    def _failing_state(self, position: int) -> Known:
        trace = self.witnesses.trace(GraphPath((position,)))
        if trace is None:
            return self._open(NOT_REPLAYED)
        return FailingState(
            engine=Explicit.name,
            trace=trace,
            direction=self.graph.direction,
            assurance=Assurance.EXACT,
            excluded_by=f"all of the {self.graph.size:,} positions that can be reached were looked at",
            cover=self._sets() if len(self.graph.rows) <= MAX_SHOWN else None,
            statistics=self.statistics,
        )

    def _witness(self) -> Trace | None:
        """A path that shows a claim of some path, from the only initial position."""
        if self.claim.opposite is None or not self.claim.mentions_some or not self.graph.has_one_start:
            return None
        lasso = self._accepted(self.claim.path, self.graph.initial)
        return None if lasso is None else self.witnesses.showing(lasso, self.claim.path, truth=True)

    def _proof(self, margin: float | None, *, empty: bool = False) -> Proof:
        return Proof(
            engine=Explicit.name,
            direction=self.graph.direction,
            subject=Subject.STATES,
            assurance=Assurance.EXACT,
            empty=empty,
            margin=margin,
            cover=self._cover(),
            statistics=self.statistics,
        )

    def _cover(self) -> ProofCover | None:
        """Every state that was looked at, where somebody wants to know."""
        return self._sets() if self.budget.keeps_sets else None

    def _sets(self) -> ProofCover:
        model = self.question.system
        return of_states(model, self.enumeration.columns.points(list(components(model).values()), self.graph.rows))

    def _open(self, reason: str) -> Open:
        return Open(engine=Explicit.name, reason=reason, statistics=self.statistics)

    @property
    def statistics(self) -> Statistics:
        states = len(self.graph.rows)
        return {
            "states": states,
            "transitions": len(self.graph.successors),
            "depth": int(self.graph.depth.max(initial=0)),
            "states_per_second": round(states / max(self.seconds, 1e-9)),
            "exact_evaluations": self.enumeration.points.doubts,
        }
