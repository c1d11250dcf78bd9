"""`auto` for flows: a glance at simulated trajectories, then proofs, cheapest first, each with a share of the time.

An engine that was cut short has a longer turn once all have had one; the first sound answer ends it. A task that says
how it wants to be abstracted has the abstraction first.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import NamedTuple

from vernal.engines.base import FlowEngine, guarded
from vernal.engines.flow.abstract import NeuralEngine
from vernal.engines.flow.direct import DirectFlowpipe
from vernal.engines.flow.falsify import FalsifyFlow
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.logic.task import MAX_ABSTRACTED, UNSAID
from vernal.model.held import loop_of
from vernal.run.budget import Budget

SHARE = 0.6  # of the time that is left, for the first proof that is tried
BRIEF, LONGER = 1.0, 4.0  # seconds of a first turn, and how many times longer the next is


class FlowTurn(NamedTuple):
    """An engine, and the most seconds of its first turn."""

    engine: FlowEngine
    most: float


class FlowPortfolio:
    """Asks one engine after the other."""

    name = "auto"

    def attempt(self, question: Question, budget: Budget) -> Known:
        """The first answer; else what stays open, and what each engine says of it."""
        return FlowRounds(question, budget).run(self._turns(question))

    def _turns(self, question: Question) -> list[FlowTurn]:
        takes = len(question.model.state) <= MAX_ABSTRACTED and loop_of(question.model) is None
        abstraction = [FlowTurn(NeuralEngine(), 10 * BRIEF)] if takes else []
        proofs = [FlowTurn(DirectFlowpipe(), 4 * BRIEF), *abstraction]
        if question.settings != UNSAID:
            proofs.reverse()
        return [FlowTurn(FalsifyFlow(0), 4 * BRIEF), *proofs, FlowTurn(FalsifyFlow(), 4 * BRIEF)]


class FlowRounds:
    """Turns of engines, longer from round to round, and what they said so far."""

    def __init__(self, question: Question, budget: Budget) -> None:
        self.question, self.budget = question, budget
        self.opened: dict[str, Open] = {}
        self.seconds: dict[str, float] = {}

    def run(self, waiting: list[FlowTurn]) -> Known:
        """Ask until there is an answer, nobody was cut short, or the time is up."""
        try:
            for longer in (1.0, LONGER, inf):
                cut = []
                for turn in waiting:
                    whole = longer == inf and turn is waiting[-1]
                    part = (self.budget if whole else self.budget.part(SHARE, longer * turn.most)).apart()
                    known = self._asked(turn, part)
                    if not isinstance(known, Open):
                        return self._with_seconds(known)
                    cut += [turn] * part.is_cut_short
                    self.budget.check()
                waiting = cut
        except Stopped as stop:
            return self._with_seconds(_joined(self.opened, stop.reason))
        return self._with_seconds(_joined(self.opened))

    def _asked(self, turn: FlowTurn, part: Budget) -> Known:
        started, name = time.monotonic(), turn.engine.name
        known = guarded(turn.engine, self.question, part)
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started
        if isinstance(known, Open):
            self.opened[name] = _further(self.opened.get(name), known)
        return known

    def _with_seconds(self, known: Known) -> Known:
        spent = {f"seconds of {name}": round(value, 3) for name, value in self.seconds.items()}
        failed = tuple(dict.fromkeys(one for known in self.opened.values() for one in known.failed))
        return replace(known, statistics={**known.statistics, **spent}, failed=failed)


def _further(before: Open | None, now: Open) -> Open:
    """Of two turns of an engine, the one that proved more; of equals, the later."""
    return now if before is None or (now.proven_time or 0.0) >= (before.proven_time or 0.0) else before


def _joined(opened: dict[str, Open], *why: str) -> Open:
    """What all engines leave open: why it ended, their reasons, and the longest time that was proven."""
    times = [known.proven_time for known in opened.values() if known.proven_time is not None]
    best = max(opened.values(), key=lambda known: known.proven_time or 0.0)
    reasons = "; ".join([*why, *(f"{name}: {known.reason}" for name, known in opened.items())])
    return replace(best, engine=FlowPortfolio.name, reason=reasons, proven_time=max(times, default=None))
