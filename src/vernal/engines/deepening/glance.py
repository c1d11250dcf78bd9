"""A few exact sets of states: many small systems are decided by them at once, and no other needs to wait long.

Exact sets that come back to sets that were there before, with the same questions, are followed once; so they decide
claims for all time, too, as long as nothing is waited for without a limit. Batches of bounds are faster on large
networks, but cut in vain at margins of zero.
"""

from __future__ import annotations

from dataclasses import replace

from vernal.engines.covers import with_followed
from vernal.engines.deepening.walk import PathWalk
from vernal.engines.refusals import in_steps
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.model.expr import Between
from vernal.run.budget import Budget
from vernal.sets.exact.exact_search import follow
from vernal.sets.pieces.positions import nonlinear_step

METHOD, WALK = "a few exact sets", "one walk over all paths"
MAX_SETS = 200
MAX_GLANCE_STEPS = 100  # steps


NO_NONLINEAR_CLAIM = "not supported by this engine: it takes claims of all paths of nonlinear loops"


class FewSets:
    """What few exact sets of states decide of a claim of all paths."""

    name = "deepening"  # of which this is the first way

    def __init__(self, depth: int = MAX_GLANCE_STEPS) -> None:
        """`depth`: how many steps are followed."""
        self.depth = depth

    def takes(self, question: Question) -> str | None:
        """Claims of all paths without disturbances."""
        if in_steps(question) or question.claim.linear is None or question.claim.mentions_some:
            return in_steps(question) or "not supported by this engine: it takes formulas about every path (LTL)"
        if any(isinstance(node, Between) for node in question.system.step.names):
            return "not supported by this engine: with a disturbance at every step the exact sets never repeat"
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What few sets decide."""
        path, refused = question.claim.linear, self.takes(question)
        if path is None or refused is not None:
            return Open(engine=self.name, reason=refused or "")
        known = follow(question, path, self.depth, budget, engine=self.name, limit=MAX_SETS)
        return with_followed(question, replace(known, statistics={**known.statistics, "method": METHOD}), budget)


class FirstWalk:
    """What one walk over all paths of a nonlinear loop decides: it has no exact sets, and few pieces at first."""

    name = "deepening"

    def __init__(self, depth: int = MAX_GLANCE_STEPS) -> None:
        """`depth`: how many steps are followed."""
        self.depth = depth

    def takes(self, question: Question) -> str | None:
        """Claims of all paths of a nonlinear loop."""
        if in_steps(question) is not None:
            return in_steps(question)
        if question.claim.linear is None or question.claim.mentions_some:
            return NO_NONLINEAR_CLAIM
        return NO_NONLINEAR_CLAIM if nonlinear_step(question.system.step) is None else None

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What one walk decides."""
        path, refused = question.claim.linear, self.takes(question)
        if path is None or refused is not None:
            return Open(engine=self.name, reason=refused or "")
        known = PathWalk(question, path, self.depth, budget, self.name).run()
        if isinstance(known, Open):
            return known
        return with_followed(question, replace(known, statistics={**known.statistics, "method": WALK}), budget)
