"""One walk over all paths with a formula that has no bound: what it asks of each set of states goes on from step to
step, so that no work is done twice. It ends where nothing is asked any more, at a path that fails, or at a depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vernal.engines.initial_parts import known_of_box
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof
from vernal.evidence.result import Assurance
from vernal.logic.formula import Formula
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.sets.exact.exact_search import MAX_PIECES, follow
from vernal.sets.halving import describe
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.exploration import Exploration, Explorer, kept_steps
from vernal.sets.pieces.positions import NotExplorable

FOLLOWED_STEPS = "followed steps"  # in the statistics: how far every path was followed without a failure
FEW_PIECES = 5_000  # exact sets of a search for all that can be reached, after a walk that found no failure


def goes_on(depth: int) -> str:
    """Why nothing is decided at a depth."""
    return f"no path fails within {depth} steps, and some are not decided there"


@dataclass(frozen=True)
class PathWalk:
    """All paths of a question, asked a formula that says the same of each, up to a depth."""

    question: Question
    path: Formula
    depth: int
    budget: Budget
    engine: str

    def run(self) -> Known:
        """A proof where every path has come to an end, a path that fails, or what was found up to the depth."""
        boxes = initial_boxes(self.question.system)
        if boxes.are_hulls:
            return self._exact(self.question, self.budget)
        try:
            explorer = Explorer(self.question, self.path, boxes.boxes, self.budget)
        except UnsupportedFormula as error:
            return self._open(error.message)
        except NotExplorable:
            return self._exact(self.question, self.budget)
        try:
            outcome = explorer.run(self.depth)
            return self._known(outcome, explorer)
        except NotExplorable:
            return self._exact(self.question, self.budget)
        except Stopped as stop:
            return self._open(stop.reason, explorer.outcome)

    def _known(self, outcome: Exploration, explorer: Explorer) -> Known:
        if outcome.trace is not None:
            return Counterexample(engine=self.engine, trace=outcome.trace, statistics=outcome.statistics)
        if outcome.open and explorer.graph.nonlinear is not None:
            reason = f"the bounds of {describe(explorer.graph.nonlinear)} leave small sets of initial states open"
            return self._open(reason, outcome)
        settled = self._settled(outcome.open)
        if settled is not None and not (isinstance(settled, Open) and settled.reason == goes_on(self.depth)):
            return replace(settled, statistics={**outcome.statistics, **settled.statistics})
        if outcome.ongoing or settled is not None:
            return self._closed() or self._ongoing(outcome)
        return Proof(
            engine=self.engine,
            direction=outcome.direction,
            assurance=Assurance.RIGOROUS,
            statistics=outcome.statistics,
        )

    def _closed(self) -> Proof | None:
        """A proof where exact sets come back to sets that were there before, and nothing is waited for.

        Every path then stays within finitely many sets of states, none of which fails.
        """
        if waits(self.path):
            return None
        known = self._exact(self.question, self.budget, FEW_PIECES)
        return known if isinstance(known, Proof) else None

    def _ongoing(self, outcome: Exploration) -> Open:
        """Nothing fails within the depth."""
        outcome.statistics[FOLLOWED_STEPS] = self.depth
        return self._open(goes_on(self.depth), replace(outcome, passed=self.depth))

    def _settled(self, boxes: Sequence[Box]) -> Known | None:
        """What exact arithmetic finds in sets left open at margin zero; None where it is as in all the others."""
        ongoing: Open | None = None
        for box in boxes:
            known = known_of_box(self.question, box, self.budget, self._exact)
            if isinstance(known, Counterexample):
                return known
            if isinstance(known, Open):
                ongoing = known
                if known.reason != goes_on(self.depth):
                    return known
        return ongoing

    def _exact(self, question: Question, budget: Budget, limit: int = MAX_PIECES) -> Known:
        known = follow(question, self.path, self.depth, budget, engine=self.engine, limit=limit)
        if isinstance(known, Open) and known.proven_steps is not None:
            proven = kept_steps(question.formula, known.proven_steps)
            statistics = {**known.statistics, FOLLOWED_STEPS: self.depth}
            return replace(known, reason=goes_on(self.depth), proven_steps=proven, statistics=statistics)
        return known

    def _open(self, reason: str, outcome: Exploration | None = None) -> Open:
        if outcome is None:
            return Open(engine=self.engine, reason=reason)
        proven = kept_steps(self.question.formula, outcome.passed)
        return Open(engine=self.engine, reason=reason, proven_steps=proven, statistics=outcome.statistics)
