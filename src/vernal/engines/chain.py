"""Chains: reductions one after the other, and an engine for what is asked in the end; an engine itself.

Every answer is believed of the question it was given to before it is carried back to the question before: so a chain of
opposite directions decides nothing, and no engine is believed on its own word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vernal.engines.base import Engine
from vernal.errors import Stopped
from vernal.evidence.belief import believed
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.logic.direction import Direction, weakest
from vernal.logic.question import Question
from vernal.reduce.reduction import Reduction, Subquestion, carried
from vernal.run.budget import Budget


@dataclass(frozen=True)
class Prover:
    """A part of an engine that answers questions, for a chain to end in."""

    name: str
    attempt: Callable[[Question, Budget], Known]

    def takes(self, question: Question) -> str | None:
        """Any question of the engine's; what it cannot answer it leaves open."""
        return None


@dataclass(frozen=True)
class InOrder:
    """Engines asked one after the other until one decides the question; each has the same share of the time left."""

    name: str
    engines: tuple[Engine, ...]
    share: float = 1.0

    def takes(self, question: Question) -> str | None:
        """What one of them takes."""
        refused = [engine.takes(question) for engine in self.engines]
        return None if None in refused else next(iter(refused), None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        known: Known = Open(engine=self.name, reason="nothing was tried")
        for engine in self.engines:
            budget.check()
            try:
                own = budget if self.share == 1 else budget.part(self.share)
                known = believed(question.claim, engine.attempt(question, own))
            except Stopped as stop:
                known = Open(engine=self.name, reason=stop.reason)
            if not isinstance(known, Open):
                break
        return replace(known, engine=self.name)


@dataclass(frozen=True)
class Chain:
    """Reductions, the first of which is applied first, and an engine."""

    reductions: tuple[Reduction, ...]
    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    @property
    def direction(self) -> Direction:
        """How the paths that the engine is asked about relate to those of the question."""
        return weakest(one.direction for one in self.reductions)

    def __str__(self) -> str:
        return ", ".join([*(one.name for one in self.reductions), self.engine.name])

    def takes(self, question: Question) -> str | None:
        """None where the first reduction takes the question, else its reason."""
        return self.reductions[0].takes(question) if self.reductions else None

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What the engine's answers say of the question."""
        return self._known(self.reductions, question, budget)

    def _known(self, reductions: Sequence[Reduction], question: Question, budget: Budget) -> Known:
        if not reductions:
            return believed(question.claim, self.engine.attempt(question, budget))
        first, rest = reductions[0], reductions[1:]
        refused = first.takes(question)
        if refused is not None:
            return Open(engine=self.name, reason=refused)
        found: list[Known] = []
        for sub in first.apply(question, budget):
            budget.check()
            own = budget if sub.question is question else replace(budget, journal=None)  # it knows this question alone
            known = carried(question, sub, self._asked(rest, sub, own), budget)
            ended = ends(first, known)
            if ended and isinstance(known, Open):  # how far it is proven, others were not asked
                known = replace(known, proven_steps=None, proven_time=None, margin=None)
            found.append(known)
            if ended:
                break
        known = first.lift(question, found)
        return believed(question.claim, known if known.engine else replace(known, engine=self.name))

    def _asked(self, rest: Sequence[Reduction], sub: Subquestion, budget: Budget) -> Known:
        """What is known of a question within its share of the time."""
        try:
            return self._known(rest, sub.question, budget if sub.share == 1 else budget.part(sub.share))
        except Stopped as stop:
            budget.check()
            return Open(engine=self.name, reason=stop.reason)


def ends(reduction: Reduction, known: Known) -> bool:
    """Whether nothing more has to be asked: of questions that have to be proven jointly, one that is not ends it."""
    return not isinstance(known, Proof if reduction.is_joint else Open)
