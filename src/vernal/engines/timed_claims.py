"""Continuous time, for the engine `auto`: a glance at simulated trajectories, then proofs, cheapest first.

An engine that was cut short goes on once all have had a turn. A task that says how it wants to be abstracted has the
abstraction first.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from vernal.engines.attempts import Attempts
from vernal.engines.base import Engine
from vernal.engines.falsify.engine import Falsify
from vernal.engines.flow.abstract import NeuralEngine
from vernal.engines.flow.direct import DirectFlowpipe
from vernal.engines.flow.modes import ModeEngine
from vernal.engines.turns import Turn
from vernal.logic.question import Question
from vernal.logic.task import UNSAID

TURN_SHARE = 0.6  # of the time that is left, for the first proof that is tried
FIRST_SECONDS = 4.0  # of a first turn
TURN_GROWTH = (1.0, 1.0, 2.0, 4.0, 8.0, inf)  # times longer are turns in each round


def rounds(attempts: Attempts) -> Iterator[Turn]:
    """Turns of engines, longer from round to round, until nobody is cut short; the last one has all that is left."""
    engines = fitting(attempts.question)
    for longer in TURN_GROWTH:
        engines = [engine for engine in engines if not attempts.has_ended(engine)]
        for engine in engines:
            whole = engine is engines[-1] and (longer == inf or len(engines) == 1)
            yield Turn(engine, 1.0 if whole else TURN_SHARE, longer * FIRST_SECONDS, waits=True)


def fitting(question: Question) -> list[Engine]:
    """The engines that take the question, in their order."""
    proofs: list[Engine] = [DirectFlowpipe(), NeuralEngine(), ModeEngine()]
    if question.settings != UNSAID:
        proofs.reverse()
    return [engine for engine in (Falsify(0), *proofs, Falsify()) if engine.takes(question) is None]
