"""Bound after bound: a claim is decided at the first bound at which it can be.

If all paths keep `p U[0,3] q`, they keep `p U[0,20] q`: the rest need not be looked at. If a path breaks `G[0,3] p`, it
breaks `G[0,20] p`, and `G p`. So the same question is asked with growing bounds until an answer carries over. What
AAAI 2019, Algorithm 1, asks in two programs a step is one here: a path that breaks the whole claim, too, ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vernal.evidence.knowledge import Known, Open
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Eventually, Formula, Release, Until, Weak
from vernal.logic.normal import TRUTH, steps
from vernal.logic.prefix import says_something
from vernal.logic.question import Question
from vernal.logic.shortening import shortened, stronger, weaker
from vernal.reduce.reduction import Entailment, Subquestion, first_decided
from vernal.run.budget import TIMEOUT, Budget
from vernal.sets.pieces.exploration import kept_steps

BoundedOperator = Until | Eventually | Always | Release | Weak
EASIER = (Until, Eventually)  # the longer the bound; the others are harder
SPENT = ("programs", "solver_seconds")  # of statistics, what is added up
ONE_BOUND = 0.5  # the share of the time that is left for one bound of a claim that has none


@dataclass(frozen=True)
class GrowingBounds:
    """A claim of all paths with smaller upper bounds, the smallest first, and at last as it is."""

    name = "growing bounds"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for formula in self._shorter(question):
            implies, until = isinstance(formula, EASIER), steps(formula.bound)[1]
            yield Subquestion(
                replace(question, formula=formula),
                self.direction,
                Entailment.IMPLIES if implies else Entailment.FOLLOWS,
                notes=(f"decided with the bound {formula.bound}",),
                proven_steps=until if isinstance(formula, Always) else None,
            )
        yield Subquestion(question, self.direction)

    def _shorter(self, question: Question) -> Iterator[BoundedOperator]:
        """The formula with smaller upper bounds; none where a claim is about some path."""
        formula: Formula = question.formula
        if not isinstance(formula, BoundedOperator) or question.claim.mentions_some:
            return
        lower, upper = steps(formula.bound)
        for width in range(0 if upper is None else upper - lower):
            yield replace(formula, bound=shortened(formula.bound, width))

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        """What the last one shows, with all the programs it took."""
        programs, seconds = (sum(float(known.statistics.get(name, 0)) for known in found) for name in SPENT)
        spent = {"programs": int(programs), "solver_seconds": round(seconds, 3)}
        last = found[-1]
        if isinstance(last, Open):
            last = replace(last, proven_steps=most_proven(found))
        return replace(last, statistics={**last.statistics, **spent})


@dataclass(frozen=True)
class GrowingDepth:
    """Bounded formulas that follow from a claim without a bound or imply it, with bounds that double up to a depth."""

    depth: int
    only_proofs: bool = False  # where it is known that nothing fails within the depth

    name = "growing depth"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for width in self._widths():
            follows = weaker(question.formula, width)
            implies = stronger(question.formula, width, total=question.is_total)
            if follows != TRUTH and says_something(follows) and not self.only_proofs:
                yield self._asked(question, follows, Entailment.FOLLOWS, width)
            if says_something(implies):
                yield self._asked(question, implies, Entailment.IMPLIES, width)

    def _widths(self) -> Iterator[int]:
        """1, 2, 4 and so on, and the depth at last."""
        width = 1
        while width < self.depth:
            yield width
            width *= 2
        yield self.depth

    def _asked(self, question: Question, formula: Formula, entails: Entailment, width: int) -> Subquestion:
        return Subquestion(
            replace(question, formula=formula),
            self.direction,
            entails,
            share=ONE_BOUND,
            statistics={"depth": width},
            proven_steps=kept_steps(question.formula, width),
        )

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        known = first_decided(found)
        if not isinstance(known, Open):
            return known
        return replace(known, reason=self._reason(found), proven_steps=most_proven(found))

    def _reason(self, found: Sequence[Known]) -> str:
        """That no formula decides the claim, or that some of them had too little time."""
        if not found:
            return f"no bounded formula {'' if self.only_proofs else 'follows from it, or '}implies it"
        said = [part for known in found if isinstance(known, Open) for part in known.reason.split("; ")]
        cut_short = next((part for part in said if part.startswith(TIMEOUT)), None)
        if cut_short is not None:
            return f"{cut_short}; bounded formulas up to step {self.depth} are not finished"
        return f"no bounded formula decides it up to step {self.depth}"


def most_proven(found: Sequence[Known]) -> int | None:
    """The last step up to which the claim is proven by some of what is known."""
    proven = [known.proven_steps for known in found if isinstance(known, Open) and known.proven_steps is not None]
    return max(proven, default=None)
