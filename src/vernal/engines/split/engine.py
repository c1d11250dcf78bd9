"""The engine `split`: does any state of the initial set refute the claim? Branch and bound over boxes of it.

The condition under which a path refutes a claim becomes rows over the graph, and a box in which bounds exclude it is
closed (OVER: proofs are of all paths). Points behind the bounds are replayed exactly. What is left at margin zero goes
to exact arithmetic, box by box, where everything is piecewise linear.
"""

from __future__ import annotations

import numpy as np

from vernal.engines.base import UNBOUNDED
from vernal.engines.bounds.engine import FURTHEST
from vernal.engines.bounds.levels import MAX_SHARED_STEPS
from vernal.engines.core.clauses import compiled
from vernal.engines.core.domains import DomainFrame, joined
from vernal.engines.core.search import BoxCount, BoxSearch
from vernal.engines.core.witness import Replays
from vernal.engines.knowledge import NO_STATISTICS, Counterexample, Known, Open, Proof, Statistics
from vernal.engines.paths import exact_search
from vernal.engines.programs.conditions import refuting_condition
from vernal.errors import Stopped
from vernal.evidence.result import Assurance
from vernal.logic.question import Question
from vernal.model.graph import draws
from vernal.reduce.base import Direction
from vernal.reduce.initial import initial_boxes
from vernal.reduce.unroll import Unrolling
from vernal.run.budget import Budget

MAX_LEAVES = 64  # small boxes that are asked of exact arithmetic, one by one


def branch_and_bound(question: Question, budget: Budget) -> BoxSearch | None:
    """The search for a state that refutes a claim of all paths; None where a draw is to be decided."""
    system = question.system
    unrolling = system.step.once(Unrolling) if (question.claim.horizon or 0) <= MAX_SHARED_STEPS else None
    bad = refuting_condition(system, question.claim.path, budget.check, unrolling)
    clauses = compiled(bad, system.init.where)
    if draws(clauses.nodes):
        return None
    columns = tuple(var for var in system.initial.starts if var in clauses.variables)
    frame = DomainFrame(columns, initial_boxes(system).boxes, clauses.inner)
    return BoxSearch(clauses, frame, Replays(question, clauses, frame, budget.check), budget)


class BranchAndBound:
    """The engine `split`."""

    name = "split"

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof, a counterexample, or the best bound that was proven."""
        reach = question.claim.horizon
        if reach is None:
            return self._open(UNBOUNDED)
        if reach > FURTHEST:
            return self._open(f"a horizon of {reach:,} steps is too long; at most {FURTHEST:,} are")
        if question.claim.mentions_some:
            return self._open("not supported by this engine: a claim of some path")
        search = branch_and_bound(question, budget)
        if search is None:
            return self._open("not supported by this engine: what is asked depends on a draw")
        try:
            tally = search.run()
            return self._known(question, search, tally, budget)
        except Stopped as stop:
            return self._open(f"{stop.reason}{self._so_far(search)}", search.tally.statistics)

    def _open(self, reason: str, statistics: Statistics = NO_STATISTICS) -> Open:
        return Open(engine=self.name, reason=reason, statistics=statistics)

    def _so_far(self, search: BoxSearch) -> str:
        best = search.best_bound
        return f"; the margin is at least {best:.6g}" if np.isfinite(best) else ""

    def _known(self, question: Question, search: BoxSearch, tally: BoxCount, budget: Budget) -> Known:
        if tally.trace is not None:
            return Counterexample(engine=self.name, trace=tally.trace, statistics=tally.statistics)
        settled = self._settle(question, search, tally, budget) if tally.left else None
        if settled is not None:
            return settled
        margin = min(tally.margin, 0.0) if tally.left else tally.margin  # exact arithmetic says "true", not by how much
        return Proof(
            engine=self.name,
            direction=Direction.OVER,
            assurance=Assurance.RIGOROUS,
            margin=margin if search.clauses.measured else None,
            empty=not tally.left and tally.margin == np.inf and bool(search.clauses.outside),
            statistics=tally.statistics,
        )

    def _settle(self, question: Question, search: BoxSearch, tally: BoxCount, budget: Budget) -> Known | None:
        """What exact arithmetic finds in boxes left at margin zero; None if the claim holds in all of them."""
        left = joined(tally.left)
        if len(left) > MAX_LEAVES:
            return self._open(f"{len(left):,} small boxes stay open at margin zero", tally.statistics)
        for row in range(len(left)):
            budget.progress(f"split: exact arithmetic for {len(left) - row} more boxes", row / len(left))
            part = question.system.cut(search.frame.box(left, row))
            if part is None:
                continue
            known = exact_search.decide(Question(part, question.formula, question.name), budget, engine=self.name)
            if not isinstance(known, Proof):
                return known
        return None
