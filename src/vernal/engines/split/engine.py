"""The engine `split`: does any state of the initial set refute the claim? Branch and bound over boxes of it.

The condition under which a path refutes a claim becomes rows over the graph, and a box in which bounds exclude it is
closed (OVER: proofs are of all paths). Points behind the bounds are replayed exactly. What is left at margin zero goes
to exact arithmetic (`zero_margins`), where everything is piecewise linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite

from vernal.engines.base import Engine, within
from vernal.engines.refusals import within_steps
from vernal.engines.split.spread import attempt_boxes
from vernal.engines.split.zero_margins import ZeroBoxes
from vernal.errors import Stopped
from vernal.evidence.knowledge import NO_STATISTICS, Counterexample, Known, Open, Proof, Statistics
from vernal.evidence.result import Assurance
from vernal.interpret.linear.forms import MAX_INPUTS
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.sets.core.box_search import BoxSearch
from vernal.sets.core.inquiry import glance, is_closed, refuted_by, search_for
from vernal.sets.core.open_boxes import Domains, joined, whole_boxes
from vernal.sets.core.race import Race

PAUSES = (0.3, 3.0, 20.0)  # seconds of search, after which states are bred for at most half as long ...
SHARE_OF_BREEDING = 0.2  # ... and for this share of the time that is left
FEW_AT_ZERO = 16  # boxes left at zero, which may be large: a bound of zero need not be a margin of zero ...
TRIALS_AT_ZERO = ((0.2, 128), (1.0, 2048))  # ... so in turn: seconds of exact arithmetic, and parts that are cut


def not_asked(question: Question) -> str | None:
    """Why this engine is not for a question; None if it is."""
    refused = within_steps(question)
    if refused is not None:
        return refused
    if len(question.system.state) > MAX_INPUTS:
        return f"more than {MAX_INPUTS:,} variables are too many for linear bounds"
    return "not supported by this engine: a claim of some path" if question.claim.mentions_some else None


def outcome(search: BoxSearch, number: int) -> Known:
    """What a search that came to its end knows of a question, boxes left to exact arithmetic being settled."""
    tally, statistics = search.tally, search.tally.statistics(number)
    if number in tally.traces:
        return Counterexample(engine=BranchAndBound.name, trace=tally.traces[number], statistics=statistics)
    margin = float(tally.margin[number])
    exact = search.left_of(number) > 0
    return Proof(
        engine=BranchAndBound.name,
        direction=search.direction,
        assurance=Assurance.RIGOROUS,
        margin=None if not search.clauses.measured else min(margin, 0.0) if exact else margin,  # exact says only "true"
        empty=not exact and not tally.inside[number] and bool(search.clauses.outside),
        statistics=statistics,
    )


def so_far(search: BoxSearch) -> float | None:
    """The margin that a search which was stopped has proven; None where its bound is no margin of the claim.

    Constraints on the initial states count as rows of the search, so a bound below zero may be theirs.
    """
    margin = min(search.best_bound(), float(search.tally.margin[0]))
    return None if not search.clauses.measured or search.clauses.outside or not isfinite(margin) else margin


AT_A_GLANCE = Proof(
    engine="split", direction=BoxSearch.direction, assurance=Assurance.RIGOROUS, statistics={"boxes": 1, "batches": 1}
)


def _by_polynomials(search: BoxSearch) -> Proof:
    return Proof(
        engine=BranchAndBound.name,
        direction=search.direction,
        assurance=Assurance.EXACT,
        margin=0.0 if search.clauses.measured else None,
        statistics=search.tally.statistics(),
    )


class BranchAndBound:
    """The engine `split`."""

    name = "split"

    def __init__(self, breeding: Callable[[], Engine] | None) -> None:
        """`breeding` makes what looks for a state that refutes the claim, in the pauses of the search, if anything."""
        self.breeding = breeding

    def takes(self, question: Question) -> str | None:
        """Claims of all paths with a last step."""
        return not_asked(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof, a counterexample, or the best bound that was proven."""
        refused = self.takes(question)
        if refused is not None:
            return self._open(refused)
        clauses = refuted_by(question, budget)
        if clauses is None:
            return self._open("not supported by this engine: what is asked depends on a draw")
        first = glance(question, clauses, budget)
        if first is not None and is_closed(first, clauses):
            return AT_A_GLANCE
        return self.settle(question, search_for([question], [clauses], budget, first=first), budget)

    def settle(self, question: Question, race: Race, budget: Budget) -> Known:
        """What searches for states that refute a question find in the time there is."""
        try:
            early = self._search(question, race, budget)
            return early or self._known(question, race.search_of(), budget)
        except Stopped as stop:
            search = race.search_of()
            return self._open(stop.reason, search.tally.statistics(), so_far(search))

    def _open(self, reason: str, statistics: Statistics = NO_STATISTICS, margin: float | None = None) -> Open:
        return Open(engine=self.name, reason=reason, statistics=statistics, margin=margin)

    def _search(self, question: Question, race: Race, budget: Budget) -> Known | None:
        """Work a search off; in its pauses simulated states are bred, which find some that no bound points at.

        In the first one exact polynomials are asked about the whole: an equation that holds leaves every box open. Then
        what is open is spread over several processes, where these may be used.
        """
        for number, seconds in enumerate(PAUSES):
            if race.run(seconds):
                return None
            search = race.search_of()
            if not number and ZeroBoxes(question, search, budget, self.name).are_excluded(search.frame.whole):
                return _by_polynomials(search)
            if budget.workers > 1 and budget.journal is None and budget.device == "cpu" and self.breeding is not None:
                return self._spread(question, search, budget)
            part = replace(budget.part(SHARE_OF_BREEDING, 0.5 * seconds), seed=budget.seed + number)
            known = None if self.breeding is None else within(self.breeding(), question, part)
            if isinstance(known, Counterexample):
                return replace(known, engine=self.name, statistics={**known.statistics, **search.tally.statistics()})
        race.run()
        return None

    def _spread(self, question: Question, search: BoxSearch, budget: Budget) -> Known:
        """The boxes that are open, by several processes; of those that are closed the margin counts."""
        parts = whole_boxes(joined([*search.stack, *search.tally.left]))
        boxes = [search.frame.box(parts, row) for row in range(len(parts))]
        closed = outcome(search, 0)
        assert isinstance(closed, Proof)
        return attempt_boxes(question, boxes, budget, search_boxes, closed)

    def _known(self, question: Question, search: BoxSearch, budget: Budget) -> Known:
        """Boxes at zero are asked about in exact arithmetic; a few are cut in between, on trial."""
        asked = self._at_zero(search)
        for seconds, boxes in TRIALS_AT_ZERO if 0 < len(asked) <= FEW_AT_ZERO else ():
            settled = self._for_a_while(question, search, asked, budget, seconds)
            if not isinstance(settled, Open):
                return settled or outcome(search, 0)
            search.cut_at_zero(boxes)
            search.run()
            asked = asked.rows(asked.around(self._at_zero(search)))
        settled = ZeroBoxes(question, search, budget, self.name).settle(asked) if len(asked) else None
        return settled or outcome(search, 0)

    def _at_zero(self, search: BoxSearch) -> Domains:
        """The boxes that exact arithmetic has to be asked about."""
        tally = search.tally
        return joined(tally.left) if tally.left and not tally.traces else search.frame.enter().rows(slice(0))

    def _for_a_while(
        self, question: Question, search: BoxSearch, asked: Domains, budget: Budget, seconds: float
    ) -> Known | None:
        """What exact arithmetic finds in some boxes in so many seconds; None if there is nothing to find."""
        try:
            return ZeroBoxes(question, search, budget.part(1.0, seconds), self.name).settle(asked)
        except Stopped as stop:
            budget.check()
            return self._open(stop.reason)


def search_boxes(question: Question, boxes: Sequence[Box], budget: Budget) -> Known:
    """What is known of some boxes of the initial set, for any process."""
    clauses = refuted_by(question, budget)
    assert clauses is not None, "only what depends on no draw is spread"
    race = search_for([question], [clauses], budget, inside=boxes)
    return BranchAndBound(None).settle(question, race, budget)
