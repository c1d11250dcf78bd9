"""The engine `auto`: the engines that fit the question, cheapest first, until one decides it.

Each has a share of the time. Of a timeout nothing is given away: engines that were cut short have further turns, as
long as one of them gets clearly more time than it had, and the rest goes to simulations with other seeds. The modules
of engines are loaded when their turn comes: many questions are decided by the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from vernal.engines.attempts import Attempts
from vernal.engines.composition import split
from vernal.engines.options import DepthOptions
from vernal.engines.turns import BRIEF_SECONDS, Turn
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.run.further_turns import further_turn
from vernal.sets.finite.size import is_discrete

FEW_STATES = 20_000  # of a discrete system: so many are looked at one by one before anything else is tried


class Portfolio:
    """A few states one by one, simulations, bounds in a hurry, all paths, bounds with patience, all states, search."""

    name = "auto"

    def __init__(self, options: DepthOptions = DepthOptions()) -> None:
        """`options` are those of the engines for claims without a bound."""
        self.options = options

    def takes(self, question: Question) -> str | None:
        """Whatever some engine takes."""
        if question.time is not Time.STEPS and self.options != DepthOptions():
            return "has no option 'depth' for flows, in continuous time"
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What the first engine knows that decides the question; else what all of them leave open."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        attempts = Attempts(question, budget)
        return decided(attempts, self._turns(attempts))

    def _turns(self, attempts: Attempts) -> Iterator[Turn]:
        question = attempts.question
        if question.time is not Time.STEPS:
            from vernal.engines.timed_claims import rounds  # loads what is of continuous time alone

            return (yield from rounds(attempts))
        yield from first_states(question.system)
        if question.claim.horizon is None:
            from vernal.engines.unbounded_claims import endless  # loads many engines

            yield from endless(attempts, self.options)
        else:
            yield from before_all_else(question)
            from vernal.engines.bounded_claims import stages

            yield from stages(question.system, Portfolio())
        if attempts.budget.timeout is not None:
            yield from further(attempts)


def decided(attempts: Attempts, turns: Iterable[Turn]) -> Known:
    """Turn after turn, until an engine decides the question or the time is up; then what those say that still wait."""
    try:
        for known in chain(asked(attempts, turns), attempts.finished()):
            if not isinstance(known, Open):
                return known
        return attempts.open()
    finally:
        attempts.abandon()


def asked(attempts: Attempts, turns: Iterable[Turn]) -> Iterator[Known]:
    """What the engine of each turn knows, as long as there is time; one that came to its end is not asked again."""
    budget = attempts.budget
    for turn in turns:
        if budget.left <= 0:
            break
        if not attempts.has_ended(turn.engine):
            part = budget.part(turn.share, turn.most * attempts.slowdown)
            yield attempts.ask(turn.engine, part, again=not turn.once, waits=turn.waits)


def further(attempts: Attempts) -> Iterator[Turn]:
    """The rest of the time for engines that were cut short; where none would come further, chance is given more."""
    while turn := further_turn(attempts.cut_short, attempts.budget.left, attempts.waiting):
        engine, share = turn
        yield Turn(engine, share, waits=engine in attempts.waiting)
    if attempts.cut_short:
        from vernal.engines.falsify.restarts import Reseeded

        yield Turn(Reseeded(), 1.0)


def before_all_else(question: Question) -> list[Turn]:
    """Branch and bound where only initial states are asked about: it looks at single states itself.

    It has all the time: the others follow where it ends without an answer, which it does at once where draws count.
    None of them can promise to decide what it has not ended: it bounds as they do, and asks exact arithmetic itself.
    """
    if question.claim.horizon:
        return []
    first = split()
    return [] if first.takes(question) is not None else [Turn(first, 1.0)]


def first_states(system: System) -> list[Turn]:
    """A discrete system may have few states, and is then decided whatever is asked; no other system is looked at so."""
    if not is_discrete(system):
        return []
    from vernal.engines.explicit.engine import Explicit

    return [Turn(Explicit(FEW_STATES), 0.2, BRIEF_SECONDS, once=True)]
