"""The engine `auto`: the engines that fit the question, cheapest first, until one decides it.

Each has a share of the time. Of a timeout nothing is given away: engines that were cut short have further turns, as
long as one of them gets clearly more time than it had, and the rest goes to simulations with other seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from math import inf

from vernal.engines.attempts import Attempts
from vernal.engines.base import Engine
from vernal.engines.bounds.engine import NONLINEAR, SMOOTH, Bounds, Effort, effort
from vernal.engines.composition import split
from vernal.engines.explicit.engine import Explicit
from vernal.engines.falsify.engine import Falsify
from vernal.engines.falsify.restarts import Reseeded
from vernal.engines.operator_ends import operator_ends
from vernal.engines.options import BoundsOptions, DepthOptions
from vernal.engines.paths.engine import Paths
from vernal.engines.turns import BRIEF_SECONDS, Turn, graphs
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.run.further_turns import further_turn
from vernal.sets.finite.size import is_discrete
from vernal.sets.pieces.free_winners import has_winners

NONLINEAR_BOUNDS_SECONDS = 20.0  # for a proof by bounds, while every second round settles half of its boxes
BOXES_BEFORE_PATHS = 128  # boxes of a nonlinear loop, before all paths are tried
FEW_STATES = 20_000  # of a discrete system: so many are looked at one by one before anything else is tried
TURN_SECONDS = (4.0, 16.0, 64.0, inf)  # of all paths and of bounds, in turn
INTERVALS = Bounds(BoundsOptions(tighten=False), patience=1, most=1)  # one look at the whole


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
            yield from with_split(question, stages(question.system))
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
        yield Turn(Reseeded(), 1.0)


def stages(system: System) -> list[Turn]:
    """Engines in their order, each with its share of the time that is left and the most it may have.

    Of a nonlinear loop neither boxes nor pieces are exact. Where a claim has room, plain intervals show it in no time;
    which of the others closes it first is not known beforehand: where a policy chooses among actions, all paths have a
    short turn; bounds go on as long as cutting helps, and after all paths have most of the time that is left.
    """
    limits = effort(system)
    early, late = graphs(system, Explicit())
    bounds = Bounds()
    glance = Turn(Falsify(generations=0), 0.5)  # it ends by itself, and soon
    settled = Turn(operator_ends(Portfolio()), 0.5)
    last = Turn(Falsify(), 1.0)
    if limits == Effort():
        return [
            glance,
            Turn(bounds, 0.4, BRIEF_SECONDS, waits=True),
            settled,
            *early,
            *in_turns(Paths(), 0.8, bounds),
            *late,
            last,
        ]
    hurried = Bounds(patience=2, most=BOXES_BEFORE_PATHS, share=0.5)
    paths = Paths()
    chosen = Turn(paths, 0.2, BRIEF_SECONDS, waits=True)
    return [
        Turn(INTERVALS, 0.2, once=True),
        glance,
        settled,
        *([chosen] if limits == NONLINEAR and system.step.once(has_winners) else []),
        Turn(bounds, 0.4, NONLINEAR_BOUNDS_SECONDS, waits=True)
        if limits == SMOOTH
        else Turn(hurried, 0.4, NONLINEAR_BOUNDS_SECONDS, once=True),
        *early,
        *in_turns(paths, 0.4, bounds),
        *late,
        last,
    ]


def in_turns(paths: Engine, share: float, bounds: Engine) -> Iterator[Turn]:
    """All paths and bounds, each going on where it was; in the end as long as each of them takes."""
    for seconds in TURN_SECONDS:
        yield Turn(paths, share, seconds, waits=True)
        yield Turn(bounds, 0.5, seconds, waits=True)


def with_split(question: Question, turns: list[Turn]) -> list[Turn]:
    """Branch and bound before all else, where only initial states are asked about: it looks at single states itself.

    It has all the time: the others follow where it ends without an answer, which it does at once where draws count.
    None of them can promise to decide what it has not ended: it bounds as they do, and asks exact arithmetic itself.
    """
    first = split()
    if question.claim.horizon or first.takes(question) is not None:
        return turns
    return [Turn(first, 1.0), *turns]


def first_states(system: System) -> list[Turn]:
    """A discrete system may have few states, and is then decided whatever is asked; no other system is looked at so."""
    return [Turn(Explicit(FEW_STATES), 0.2, BRIEF_SECONDS, once=True)] if is_discrete(system) else []
