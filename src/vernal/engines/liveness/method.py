"""What the methods of `liveness` have in common: a question in, a proof or the reason for none out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from vernal.engines.attempts import Turned, reasons
from vernal.engines.base import Engine, within
from vernal.evidence.belief import believed
from vernal.evidence.knowledge import Open, Proof, Statistics
from vernal.evidence.result import Assurance
from vernal.logic.automaton import Automaton, automaton, degeneralised
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula, Not
from vernal.logic.question import Question
from vernal.run.budget import Budget

NAME = "liveness"
T = TypeVar("T")


class ProofMethod(Protocol):
    """A way to prove a claim of all paths."""

    def prove(self, question: Question, path: Formula, budget: Budget) -> Proof | Open:
        """A proof of the question, which claims `path` of all paths; or why there is none."""
        ...


def in_turn(items: Sequence[T], budget: Budget) -> Iterator[tuple[T, Budget]]:
    """Each of the items with an equal share of the time that is left."""
    for number, item in enumerate(items):
        budget.check()
        yield item, budget.part(1 / (len(items) - number))


def open_for(reason: str) -> Open:
    return Open(engine=NAME, reason=reason)


def proof(part: Proof | None, statistics: Statistics) -> Proof:
    """What follows from a proof of another claim; from none where there was nothing to prove.

    The evidence of the other claim shows nothing of the one that was asked, so it is left out.
    """
    assurance, empty = (Assurance.EXACT, False) if part is None else (part.assurance, part.empty)
    return Proof(engine=NAME, direction=Direction.OVER, assurance=assurance, empty=empty, statistics=statistics)


def negated(question: Question, path: Formula, budget: Budget) -> Automaton:
    """An automaton with one mark that accepts the paths which break the claim."""
    budget.progress("liveness: the automaton of the negated claim", None)
    made = automaton(Not(path), total=question.is_total, tick=budget.check)
    return degeneralised(made, tick=budget.check)


def first_proof(engines: Sequence[Engine], question: Question, budget: Budget) -> Proof | Open:
    """The first proof by an engine, or why there is none."""
    tried: list[Turned] = []
    for engine, part in in_turn(engines, budget):
        begun = budget.elapsed
        known = believed(question.claim, within(engine, question, part))
        if isinstance(known, Proof):
            return known
        left_open = known if isinstance(known, Open) else Open(engine=engine.name, reason="it is broken")
        tried.append(Turned(left_open, budget.elapsed - begun))
    return open_for("; ".join(reasons(tried)))
