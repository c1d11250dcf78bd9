"""What the methods of `liveness` have in common: a question in, a proof or the reason for none out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from vernal.engines.attempts import Turned, reasons
from vernal.engines.base import Engine, within
from vernal.engines.covers import with_own_sets
from vernal.evidence.belief import believed
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.logic.formula import Formula
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


def by_method(known: Known, method: str, *kept: str) -> Proof | Open:
    """What a chain knows as what a method knows: who proved it, and the numbers that are the method's.

    The evidence of another claim shows nothing of the one that was asked, so it is left out; nothing is refuted.
    """
    if not isinstance(known, Proof):
        return open_for(known.reason if isinstance(known, Open) else "it is broken")
    own = {name: known.statistics[name] for name in kept if name in known.statistics}
    statistics = {"method": method, **own, "proven by": known.engine}
    return replace(known, engine=NAME, margin=None, evidence=None, notes=(), statistics=statistics)


@dataclass(frozen=True)
class FirstProof:
    """Engines asked in turn, each with an equal share of the time that is left, until one has a proof."""

    engines: tuple[Engine, ...]

    name = NAME

    def takes(self, question: Question) -> str | None:
        """Any question; what no engine takes stays open."""
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        """The first proof, or why there is none."""
        tried: list[Turned] = []
        for engine, part in in_turn(self.engines, budget):
            begun = budget.elapsed
            known = believed(question.claim, within(engine, question, part))
            if isinstance(known, Proof):
                return with_own_sets(question, known) if budget.keeps_sets else known
            left_open = known if isinstance(known, Open) else Open(engine=engine.name, reason="it is broken")
            tried.append(Turned(left_open, budget.elapsed - begun))
        return open_for("; ".join(reasons(tried)))
