"""`auto` for flows: a glance at simulated trajectories, then proofs, cheapest first, each with a share of the time.

An engine that was cut short has a longer turn once all have had one; the first sound answer ends it. A task that says
how it wants to be abstracted has the abstraction first.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import NamedTuple

from vernal.engines.base import FlowEngine, within
from vernal.engines.flow.abstract import NeuralEngine
from vernal.engines.flow.direct import DirectFlowpipe
from vernal.engines.flow.falsify import FalsifyFlow
from vernal.engines.knowledge import Known, Open
from vernal.errors import Stopped
from vernal.logic.task import MAX_ABSTRACTED, UNSAID
from vernal.logic.timed import FlowQuestion
from vernal.run.budget import Budget

SHARE = 0.6  # of the time that is left, for the first proof that is tried
BRIEF, LONGER = 2.0, 4.0  # seconds of a first turn, and how many times longer the next is
TURNS = 3


class FlowTurn(NamedTuple):
    """An engine, and the most seconds of its first turn."""

    engine: FlowEngine
    most: float


class FlowPortfolio:
    """Asks one engine after the other."""

    name = "auto"

    def attempt(self, question: FlowQuestion, budget: Budget) -> Known:
        """The first answer; else what stays open, and what each engine says of it."""
        waiting, opened, seconds = self._turns(question), dict[str, Open](), dict[str, float]()
        longer = 1.0
        for number in range(TURNS):
            last = number == TURNS - 1
            cut = []
            for turn in waiting:
                part = (budget if last and turn is waiting[-1] else budget.part(SHARE, longer * turn.most)).apart()
                started = time.monotonic()
                known = within(turn.engine, question, part)
                name = turn.engine.name
                seconds[name] = seconds.get(name, 0.0) + time.monotonic() - started
                if not isinstance(known, Open):
                    return _with(known, seconds)
                opened[name] = known
                if part.is_cut_short:
                    cut.append(turn)
                try:
                    budget.check()
                except Stopped as stop:
                    return _with(_joined(opened, stop.reason), seconds)
            waiting, longer = cut, longer * LONGER if number + 2 < TURNS else inf
            if not waiting:
                break
        return _with(_joined(opened), seconds)

    def _turns(self, question: FlowQuestion) -> list[FlowTurn]:
        abstraction = [FlowTurn(NeuralEngine(), 5 * BRIEF)] if len(question.flow.state) <= MAX_ABSTRACTED else []
        proofs = [FlowTurn(DirectFlowpipe(), 2 * BRIEF), *abstraction]
        if question.settings != UNSAID:
            proofs.reverse()
        return [FlowTurn(FalsifyFlow(0), BRIEF), *proofs, FlowTurn(FalsifyFlow(), 2 * BRIEF)]


def _with(known: Known, seconds: dict[str, float]) -> Known:
    spent = {f"seconds of {name}": round(value, 3) for name, value in seconds.items()}
    return replace(known, statistics={**known.statistics, **spent})


def _joined(opened: dict[str, Open], *why: str) -> Open:
    """What all engines leave open: why it ended, their reasons, and the longest time that was proven."""
    times = [known.proven_time for known in opened.values() if known.proven_time is not None]
    best = max(opened.values(), key=lambda known: known.proven_time or 0.0)
    reasons = "; ".join([*why, *(f"{name}: {known.reason}" for name, known in opened.items())])
    return replace(best, engine=FlowPortfolio.name, reason=reasons, proven_time=max(times, default=None))
