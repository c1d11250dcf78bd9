"""Turns of engines in a portfolio: who is asked, for how long; and when all states are looked at one by one."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from vernal.engines.base import Engine
from vernal.model.system import System
from vernal.sets.finite.size import declared_states, is_discrete, is_enumerable

BRIEF_SECONDS = 2.0  # for a proof by bounds before all paths are tried: over a long horizon bounds take long to fail
MANY_STATES = 5_000_000  # where its ranges allow no more, all are looked at before all paths are


class Turn(NamedTuple):
    """An engine, its share of the time that is left, and the most seconds of work it may have.

    One that is asked `once` has no further turn when it was cut short: another engine does the same, and more. One that
    `waits` plans with all the time there is, and goes on in its next turn where it was; the others plan with their turn
    alone, try a little of everything in it, and begin anew in the next.
    """

    engine: Engine
    share: float
    most: float = inf
    once: bool = False
    waits: bool = False


def graphs(system: System, states: Engine, *, waits: bool = False) -> tuple[list[Turn], list[Turn]]:
    """All states one by one, before all paths where the ranges say that this will do, or after everything else.

    A graph that may have no end is not waited for. `waits`: whether it goes on where it was, in turns.
    """
    if is_discrete(system) and declared_states(system) <= MANY_STATES:
        return [Turn(states, 0.6, waits=waits)], []
    return [], [Turn(states, 0.5, BRIEF_SECONDS, waits=waits)] if is_enumerable(system) else []
