"""The engine `paths`: every path of the system, by sets of states that made the same decisions.

A fast front explores batches of sets in floating point with its rounding accounted for (explore); it proves claims of
all paths, and finds candidates that are replayed exactly. What it leaves open at margin zero, and claims about states
rather than paths (`AX p | EX q`), go to symbolic execution in exact arithmetic (exact_search).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from vernal.engines.initial_parts import attempt_parts, each_part
from vernal.engines.paths.tubes import Tubes
from vernal.engines.refusals import within_steps
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.knowledge import NO_STATISTICS, Counterexample, Known, Open, Proof, Statistics
from vernal.evidence.result import Assurance
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.model.expr import Between, Expr
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.sets.exact import exact_search
from vernal.sets.halving import describe
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.exploration import Exploration, Explorer, kept_steps
from vernal.sets.pieces.positions import NotExplorable

TUBES = 0.6  # the share of the time in which regions of the state space are tried first


def explore(question: Question, budget: Budget) -> Known:
    """A bounded question about all initial states at once, for any process."""
    return Paths().whole(question, budget)


def decide(question: Question, budget: Budget) -> Known:
    """A bounded question in exact arithmetic alone, for any process."""
    return exact_search.decide(question, budget, engine=Paths.name)


class Paths:
    """Explore, then settle exactly what is left."""

    name = "paths"

    def takes(self, question: Question) -> str | None:
        """Claims with a last step."""
        return within_steps(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """Every path, or the first that fails."""
        if (refused := self.takes(question)) is not None:
            return self._open(refused)
        if budget.journal is not None:
            return attempt_parts(question, budget, self.name, explore)
        return explore(question, budget)

    def _open(self, reason: str, proven: int | None = None, statistics: Statistics = NO_STATISTICS) -> Open:
        return Open(engine=self.name, reason=reason, proven_steps=proven, statistics=statistics)

    def whole(self, question: Question, budget: Budget) -> Known:
        """All initial states at once; the formula is bounded."""
        reach, path = question.claim.horizon or 0, question.claim.linear
        boxes = initial_boxes(question.system)
        if path is None or boxes.are_hulls:
            return self._exact(question, budget)
        try:
            proof = self._tubes(question, path, boxes.boxes, reach, budget)
            explorer = Explorer(question, path, boxes.boxes, budget)
        except UnsupportedFormula as error:
            return self._open(error.message)
        except NotExplorable:
            return self._exact(question, budget)
        if proof is not None:
            return self._known(question, proof, budget)
        try:
            outcome = explorer.run(reach)
        except NotExplorable:
            return self._exact(question, budget)
        except Stopped as stop:
            return self._stopped(question, explorer.outcome, stop.reason)
        if outcome.open and outcome.trace is None and explorer.graph.nonlinear is not None:
            return self._nonlinear(outcome, explorer.graph.nonlinear)
        return self._known(question, outcome, budget)

    def _tubes(
        self, question: Question, path: Formula, boxes: Sequence[Box], reach: int, budget: Budget
    ) -> Exploration | None:
        """A proof by regions of the state space, which is small where the space of all draws is large."""
        if reach < 2 or not any(isinstance(node, Between) for node in question.system.step.names):
            return None
        try:
            outcome = Tubes(question, path, boxes, budget.part(TUBES)).run(reach)
        except (NotExplorable, Stopped):
            return None
        return None if outcome.open else outcome

    def _nonlinear(self, outcome: Exploration, node: Expr) -> Open:
        """What halving leaves open of a nonlinear loop: there is no exact arithmetic that could settle it."""
        reason = (
            f"{len(outcome.open):,} small sets of initial states stay open: the margin is zero or too small for the "
            f"bounds of {describe(node)}; try a claim with a little more room, or a smaller initial set"
        )
        return self._open(reason, statistics=outcome.statistics)

    def _known(self, question: Question, outcome: Exploration, budget: Budget) -> Known:
        if outcome.trace is not None:
            return Counterexample(engine=self.name, trace=outcome.trace, statistics=outcome.statistics)
        if outcome.open:
            try:
                settled = self._settle(question, outcome.open, budget)
            except Stopped as stop:
                return self._stopped(question, outcome, stop.reason)
            if settled is not None:
                return replace(settled, statistics={**outcome.statistics, **settled.statistics})
        return Proof(
            engine=self.name,
            direction=outcome.direction,
            assurance=Assurance.RIGOROUS,
            margin=None if outcome.open else outcome.margin,
            statistics=outcome.statistics,
        )

    def _settle(self, question: Question, boxes: Sequence[Box], budget: Budget) -> Known | None:
        """What exact arithmetic finds in sets that were left open; None if the claim holds of all of them."""
        initial = question.system.initial
        parts = {
            f"set {n}": box for n, box in enumerate(boxes) if initial.cut(box) is not None
        }  # else no initial state
        with closing(each_part(question, parts, budget, self.name, decide)) as answers:
            for number, known in enumerate(answers, start=1):
                left = len(parts) - number
                budget.progress(f"paths: exact arithmetic for {left} more small sets", number / len(parts))
                if not isinstance(known, Proof):
                    return known
        return None

    def _exact(self, question: Question, budget: Budget) -> Known:
        """Exact arithmetic from the start; the initial boxes in parallel where several workers are allowed."""
        if budget.workers > 1:
            return attempt_parts(question, budget, self.name, decide, cuts=1)
        return decide(question, budget)

    def _stopped(self, question: Question, outcome: Exploration, reason: str) -> Open:
        """What was proven before a limit: of a claim about every step, the steps up to which no path is in doubt."""
        return self._open(reason, kept_steps(question.formula, outcome.passed), outcome.statistics)
