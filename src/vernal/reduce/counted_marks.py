"""A claim of all paths as claims `G p` about the product with the automaton of its negation (`reduce.product`).

Where at most so many marked edges are taken on every path, no run takes them again and again, so that no infinite path
breaks the claim; and where no position is reached at which a run may end with the system, no finite path does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.evidence.knowledge import Known, Proof
from vernal.logic.automaton import Automaton, automaton, degeneralised
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Bound, Formula, Not
from vernal.logic.question import Question
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.reduce.initial_cover import combined
from vernal.reduce.product import Product, product
from vernal.reduce.reduction import Entailment, Subquestion
from vernal.run.budget import Budget

NOT_OF_PATHS = (
    "not supported by this engine: it takes formulas about every path (LTL); this one asks for some path, or of states"
)


@dataclass(frozen=True)
class CountedMarks:
    """At most `limit` marked edges are taken on every path of the product, and no finite path is accepted."""

    limit: int
    negation: Automaton | None = None  # of the claim, where it is made already
    ends_well: bool = False  # whether it is known that no finite path is accepted

    name = "counted marks"
    direction = Product.direction
    is_joint = True

    def takes(self, question: Question) -> str | None:
        return NOT_OF_PATHS if question.claim.linear is None or question.claim.mentions_some else None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        path, tick = question.claim.linear, budget.check
        assert path is not None
        wrong = self.negation or negation(question, path, tick)
        finite = None if self.ends_well else of_finite_paths(question, wrong, tick)
        if finite is not None:
            yield finite
        limit = self.limit if question.claim.horizon is None else 0  # it is asked for a few steps only
        made = product(question.system, wrong, limit, tick=tick)
        yield _asked(question, made.system, made.is_kept, self.direction)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        known = combined(found)
        return replace(known, margin=None, evidence=None) if isinstance(known, Proof) else known


def negation(question: Question, path: Formula, tick: Tick) -> Automaton:
    """An automaton with one mark that accepts the paths which break the claim."""
    return degeneralised(automaton(Not(path), total=question.is_total, tick=tick), tick=tick)


def of_finite_paths(question: Question, wrong: Automaton, tick: Tick) -> Subquestion | None:
    """That no finite maximal path is accepted; None where there is nothing to prove."""
    if question.is_total or not any(edge.may_end for edge in wrong.edges):
        return None
    edges = tuple(replace(edge, marks=frozenset[int]()) for edge in wrong.edges)  # nothing is counted
    made = product(question.system, replace(wrong, edges=edges), 0, tick=tick)
    return _asked(question, made.system, made.ends_well, Product.direction)


def _asked(question: Question, system: System, always: Always, direction: Direction) -> Subquestion:
    """What is asked of the product; of a claim with a horizon only as far as a run can be undecided.

    When a run has read all positions up to the horizon nothing is left to be read: the run has ended, or every edge is
    marked from there on and may end. So one that is accepted shows two steps later.
    """
    reach = question.claim.horizon
    upper = None if reach is None else Fraction(reach + 2)
    asked = Question(system, replace(always, bound=Bound(Fraction(0), upper)))
    return Subquestion(asked, direction, Entailment.IMPLIES)
