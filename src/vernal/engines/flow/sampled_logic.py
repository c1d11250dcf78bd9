"""Claims over the samples of a loop, in any LTL or CTL, decided on graphs of samples (`sets.sampled.sample_graphs`).

Of a claim without a last sample, recurrent sets make the graph: boxes to which all paths come and to which they come
back, coarser ones first. Up to a last sample, boxes of initial states are followed, and cut where the graph is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from vernal.engines.flow.recurrence import RecurrentSearch
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof, Statistics, Subject
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import Assurance
from vernal.logic.claim import Claim, always
from vernal.logic.formula import Always, Atom, Eventually, Next, Quantifier
from vernal.logic.question import Question
from vernal.model.build import FALSE
from vernal.model.tick import Tick
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided
from vernal.sets.finite.columns import NotFinite
from vernal.sets.finite.fixpoints import satisfied
from vernal.sets.finite.labelled_graph import LabelledGraph
from vernal.sets.flow_starts import StartBoxes, halved, start_boxes
from vernal.sets.sampled.sample_graphs import (
    DIRECTION,
    WHOLE,
    all_keep,
    graph_for_all_time,
    graph_to_all_ends,
    graph_up_to,
    may_keep,
)
from vernal.sets.sampled.sampled_lassos import simulated_lassos
from vernal.simulate.starts import NoInitialState

LIMITS = CuttingLimits(rounds=8, most=1024, patience=4)
GRAPH_SHARE = 0.5  # of the time that is left, for the graph of one recurrent set
ALL_END = Eventually(Next(Atom(FALSE), quantifier=Quantifier.ALL), quantifier=Quantifier.ALL)
OPEN_GRAPH = "on the graph of {:,} samples of sets, some path may break the claim"
HOPELESS = "simulated paths, if they go on as they do, break it"
NO_SETS = "no sets were found in which all paths are after a while, and to which they come back"
OPEN_STATES = "{} parts of the initial set stay open"


LassoJudge = Callable[[LabelledGraph, Claim, Tick], bool]


def is_hopeless(question: Question, budget: Budget) -> bool:
    """Whether a simulated path seems to break a claim of all paths for all time."""
    return not _judged(question, budget, may_keep, between=False)


def recurs(question: Question, budget: Budget) -> bool:
    """Whether sets that are met again and keep `G p` between the samples, too, are worth looking for.

    Simulated paths clearly keep it, and do not end.
    """
    if seem_to_end(question, budget):
        return False
    kept = always(question.claim.linear)
    if kept is None or kept.bound.lower:
        return True
    return _judged(replace(question, formula=Always(kept.arg)), budget, all_keep, between=True)


def seem_to_end(question: Question, budget: Budget) -> bool:
    """Whether all simulated paths end soon."""
    return _judged(replace(question, formula=ALL_END), budget, all_keep, between=False)


def _judged(question: Question, budget: Budget, judge: LassoJudge, *, between: bool) -> bool:
    """What a judge says of simulated paths; true where there are none."""
    try:
        guess = simulated_lassos(question, budget.seed, budget.check, between=between)
        return judge(guess, question.claim, budget.check)
    except (NoInitialState, NotFinite):
        return True


class SampledLogic:
    """One claim of all paths over the samples of a loop."""

    def __init__(self, question: Question, engine: str, budget: Budget) -> None:
        self.question, self.engine, self.budget = question, engine, budget
        self.size, self.tried = 0, 0
        self.reason = NO_SETS

    def run(self) -> Known:
        """A proof, or why there is none."""
        if not len(start_boxes(self.question.model)):
            return self._proof(None, empty=True)
        return self._for_all_time() if self.question.claim.horizon is None else self._by_cutting()

    def _for_all_time(self) -> Known:
        for found in self._recurrent_sets():
            self.budget.check()
            try:
                if self._is_shown(found, self.budget.part(GRAPH_SHARE)):
                    return self._proof(found)
                self.reason = OPEN_GRAPH.format(self.size)
            except Stopped as stop:
                self.budget.check()  # its own limits end the search
                self.reason = stop.reason
        return Open(engine=self.engine, reason=self.reason, statistics=self._statistics)

    def _is_shown(self, found: RecurrentSet | None, part: Budget) -> bool:
        """Whether the graph by recurrent sets, or of paths that all end, shows the claim."""
        model, claim = self.question.model, self.question.claim
        if found is None:
            graph = graph_to_all_ends(model, claim.atoms, part.check)
        else:
            graph = graph_for_all_time(model, found, claim.atoms, part.check)
        self.size, self.tried = graph.size, self.tried + 1
        return all_keep(graph, claim, part.check)

    def _recurrent_sets(self) -> Iterator[RecurrentSet | None]:
        """Sets that are left and met again, whatever is claimed there; none first, where all paths seem to end."""
        if seem_to_end(self.question, self.budget):
            yield None
        search = RecurrentSearch(replace(self.question, formula=WHOLE), self.engine, self.budget)
        for found in search.attempts():
            if found is None:
                self.reason = self.reason if self.tried else search.reason
            elif found.section is None:
                yield found

    def _by_cutting(self) -> Known:
        """A claim of states up to a last sample."""
        end = cut_until_decided(
            start_boxes(self.question.model), self._open, lambda left: halved(self.question.model, left), LIMITS
        )
        if end.end is CuttingEnd.DECIDED:
            return self._proof(None)
        return Open(engine=self.engine, reason=OPEN_STATES.format(len(end.boxes)), statistics=self._statistics)

    def _open(self, boxes: StartBoxes) -> StartBoxes:
        claim = self.question.claim
        assert claim.horizon is not None
        tick = self.budget.check
        graph, parts, owners = graph_up_to(self.question.model, boxes, claim.horizon, claim.atoms, tick)
        self.size, self.tried = max(graph.size, self.size), self.tried + 1
        sure = satisfied(claim.formula, graph, tick).sure[graph.initial]
        return parts[np.unique(owners[~sure])]

    def _proof(self, found: RecurrentSet | None, *, empty: bool = False) -> Proof:
        return Proof(
            engine=self.engine,
            direction=DIRECTION,
            subject=Subject.STATES if self.question.claim.linear is None else Subject.PATHS,
            assurance=Assurance.RIGOROUS,
            stays_inside=found is not None,
            empty=empty,
            evidence=found,
            statistics=self._statistics,
        )

    @property
    def _statistics(self) -> Statistics:
        return {"graphs": self.tried, "positions": self.size}
