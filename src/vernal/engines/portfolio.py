"""The engine `auto`: the engines that fit the question, cheapest first, until one decides it."""

from __future__ import annotations

from math import inf

from vernal.engines.answers import believed
from vernal.engines.base import Engine
from vernal.engines.bounds.engine import SMOOTH, Bounds, Effort, effort
from vernal.engines.explicit.engine import Explicit
from vernal.engines.explicit.size import declared_states, is_discrete, is_enumerable
from vernal.engines.falsify.engine import Falsify
from vernal.engines.knowledge import Known, Open
from vernal.engines.options import BoundsOptions
from vernal.engines.paths.engine import Paths
from vernal.errors import Stopped
from vernal.logic.question import Question
from vernal.model.system import System
from vernal.run.budget import Budget

BRIEF = 2.0  # seconds for a proof by bounds before all paths are tried: over a long horizon bounds take long to fail
LONGER = 20.0  # the same for a nonlinear loop, as long as every second round settles half of its boxes
BOXES_BEFORE_PATHS = 128  # boxes of a nonlinear loop, before all paths are tried
FEW_STATES = 20_000  # of a discrete system: so many are looked at one by one before anything else is tried
MANY_STATES = 5_000_000  # where its ranges allow no more, all are looked at before all paths are
INTERVALS = Bounds(BoundsOptions(tighten=False), patience=1, most=1)  # one look at the whole

Attempted = tuple[Engine, float, float]  # an engine, its share of the time that is left, and the most it may have


class Portfolio:
    """A few states one by one, simulations, bounds in a hurry, all paths, bounds with patience, all states, search."""

    name = "auto"

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What the first engine knows that decides the question; else what all of them leave open."""
        left_open: list[Open] = []
        ended = False  # whether bounds came to an end without an answer
        for engine, share, most in [*first_states(question.system), *stages(question.system)]:
            if budget.left <= 0:
                break
            if ended and isinstance(engine, Bounds):
                continue
            part = budget.part(share, most)
            known = believed(question.claim, _within(engine, question, part))
            if not isinstance(known, Open):
                return known
            ended |= isinstance(engine, Bounds) and engine.patience is None and part.left > 0
            left_open.append(known)
        return _combine(left_open, None if budget.left > 0 else f"timeout after {budget.timeout:g} s")


def stages(system: System) -> list[Attempted]:
    """Engines in their order, each with its share of the time that is left and the most it may have.

    Of a nonlinear loop neither boxes nor pieces are exact. Where a claim has room, plain intervals show it in no time;
    which of the others closes it first is not known beforehand: bounds go on as long as cutting helps, and after all
    paths have most of the time that is left.
    """
    limits = effort(system)
    early, late = graphs(system)
    glance: Attempted = (Falsify(generations=0), 0.5, inf)  # it ends by itself, and soon
    last: Attempted = (Falsify(), 1.0, inf)
    if limits == Effort():
        return [glance, (Bounds(), 0.4, BRIEF), *early, (Paths(), 0.8, inf), (Bounds(), 0.5, inf), *late, last]
    hurried = Bounds() if limits == SMOOTH else Bounds(patience=2, most=BOXES_BEFORE_PATHS, share=0.5)
    return [
        (INTERVALS, 0.2, inf),
        glance,
        (hurried, 0.4, LONGER),
        *early,
        (Paths(), 0.5, inf),
        (Bounds(), 0.9, inf),
        *late,
        last,
    ]


def first_states(system: System) -> list[Attempted]:
    """A discrete system may have few states, and is then decided whatever is asked; no other system is looked at so."""
    return [(Explicit(FEW_STATES), 0.2, BRIEF)] if is_discrete(system) else []


def graphs(system: System) -> tuple[list[Attempted], list[Attempted]]:
    """All states one by one, before all paths where the ranges say that this will do, or after everything else.

    A graph that may have no end is not waited for.
    """
    if is_discrete(system) and declared_states(system) <= MANY_STATES:
        return [(Explicit(), 0.6, inf)], []
    return [], [(Explicit(), 0.5, BRIEF)] if is_enumerable(system) else []


def _within(engine: Engine, question: Question, budget: Budget) -> Known:
    """What an engine knows after its share of the time that is left."""
    try:
        return engine.attempt(question, budget)
    except Stopped as stop:
        return Open(engine=engine.name, reason=stop.reason)


def _combine(left_open: list[Open], stopped: str | None) -> Open:
    """What all engines together leave open: their reasons, and the most that one of them proved."""
    last = left_open[-3 if len(left_open) > 4 else -2 :]
    reasons = dict.fromkeys(f"{known.engine}: {known.reason}" for known in last)
    reason = "; ".join([*([stopped] if stopped else []), *reasons]) or "nothing was tried"
    proven = max((known.proven_steps for known in left_open if known.proven_steps is not None), default=None)
    statistics = {key: value for known in left_open for key, value in known.statistics.items()}
    notes = tuple(dict.fromkeys(note for known in left_open for note in known.notes))
    return Open(engine="auto", reason=reason, proven_steps=proven, statistics=statistics, notes=notes)
