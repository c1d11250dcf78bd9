"""Continuous time, for the engine `auto`: a glance at simulated trajectories, then proofs, cheapest first.

An engine that was cut short has a longer turn once all have had one. A task that says how it wants to be abstracted has
the abstraction first.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from vernal.engines.attempts import Attempts
from vernal.engines.falsify.engine import Falsify
from vernal.engines.flow.abstract import NeuralEngine
from vernal.engines.flow.direct import DirectFlowpipe
from vernal.engines.turns import Turn
from vernal.logic.question import Question
from vernal.logic.task import UNSAID

TURN_SHARE = 0.6  # of the time that is left, for the first proof that is tried
FIRST_SECONDS = 4.0  # of a first turn
TURN_GROWTH = 4.0  # times longer is the next
LEARNING_FACTOR = 2.5  # times longer is a turn in which networks are learned


def rounds(attempts: Attempts) -> Iterator[Turn]:
    """Turns of engines, longer from round to round, until nobody is cut short."""
    waiting = first_turns(attempts.question)
    for longer in (1.0, TURN_GROWTH, inf):
        waiting = [turn for turn in waiting if not attempts.has_ended(turn.engine)]
        for turn in waiting:
            whole = longer == inf and turn is waiting[-1]
            yield Turn(turn.engine, 1.0 if whole else TURN_SHARE, longer * turn.most)


def first_turns(question: Question) -> list[Turn]:
    """The engines that take the question, in their order, each with the most seconds of its first turn."""
    proofs = [
        Turn(DirectFlowpipe(), TURN_SHARE, FIRST_SECONDS),
        Turn(NeuralEngine(), TURN_SHARE, LEARNING_FACTOR * FIRST_SECONDS),
    ]
    if question.settings != UNSAID:
        proofs.reverse()
    turns = [Turn(Falsify(0), TURN_SHARE, FIRST_SECONDS), *proofs, Turn(Falsify(), TURN_SHARE, FIRST_SECONDS)]
    return [turn for turn in turns if turn.engine.takes(question) is None]
