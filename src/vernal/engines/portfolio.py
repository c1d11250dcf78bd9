"""The engine `auto`: what fits, cheapest first, until somebody has a sound answer."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from vernal.engines.base import Engine, Question, unknown
from vernal.engines.bounds.engine import SMOOTH, Bounds, Effort, effort
from vernal.engines.falsify.engine import Falsify
from vernal.engines.paths.engine import Paths
from vernal.errors import Stopped
from vernal.evidence.result import UNKNOWN, Result
from vernal.model.system import System
from vernal.run.budget import Budget

BRIEF = 2.0  # seconds for a proof by bounds before all paths are tried: over a long horizon bounds take long to fail
LONGER = 20.0  # the same for a nonlinear loop, as long as every second round settles half of its boxes
FEW = 128  # boxes of a nonlinear loop, before all paths are tried
INTERVALS = Bounds(tighten="no", patience=1, most=1)  # one look at the whole


class Portfolio:
    """One batch of simulations, bounds in a hurry, all paths, bounds with patience, a search that breeds from runs."""

    name = "auto"

    def check(self, question: Question, budget: Budget) -> Result:
        answers: list[Result] = []
        ended = False  # whether bounds came to an end without an answer
        for engine, share, most in stages(question.system):
            if budget.left <= 0:
                break
            if ended and isinstance(engine, Bounds):
                continue
            part = budget.part(share, most)
            result = _within(engine, question, part)
            if result.verdict is not UNKNOWN:
                return result
            ended |= isinstance(engine, Bounds) and engine.patience is None and part.left > 0
            answers.append(result)
        return _combine(answers, question, None if budget.left > 0 else f"timeout after {budget.timeout:g} s")


def stages(system: System) -> list[tuple[Engine, float, float]]:
    """Engines in their order, each with its share of the time that is left and the most it may have.

    Of a nonlinear loop neither boxes nor pieces are exact. Where a claim has room, plain intervals show it in no time;
    which of the others closes it first is not known beforehand: bounds go on as long as cutting helps, and after all
    paths have most of the time that is left.
    """
    limits = effort(system)
    glance: tuple[Engine, float, float] = (Falsify(generations=0), 0.5, inf)  # it ends by itself, and soon
    last: tuple[Engine, float, float] = (Falsify(), 1.0, inf)
    if limits == Effort():
        return [glance, (Bounds(), 0.4, BRIEF), (Paths(), 0.8, inf), (Bounds(), 0.5, inf), last]
    hurried = Bounds() if limits == SMOOTH else Bounds(patience=2, most=FEW, share=0.5)
    return [
        (INTERVALS, 0.2, inf),
        glance,
        (hurried, 0.4, LONGER),
        (Paths(), 0.5, inf),
        (Bounds(), 0.9, inf),
        last,
    ]


def _within(engine: Engine, question: Question, budget: Budget) -> Result:
    """An engine's answer within its share of the time that is left."""
    try:
        return engine.check(question, budget)
    except Stopped as stop:
        return unknown(question, engine.name, stop.reason)


def _combine(answers: list[Result], question: Question, stopped: str | None) -> Result:
    """What all engines together know: their reasons, and the most that one of them proved."""
    reasons = dict.fromkeys(f"{answer.engine}: {answer.reason}" for answer in answers[-3 if len(answers) > 4 else -2 :])
    reason = "; ".join([*([stopped] if stopped else []), *reasons]) or "nothing was tried"
    proven = max((a.proven_steps for a in answers if a.proven_steps is not None), default=None)
    if not answers:
        return Result(str(question.formula), UNKNOWN, "auto", question.name, reason=reason)
    statistics = {key: value for answer in answers for key, value in answer.statistics.items()}
    return replace(answers[-1], engine="auto", reason=reason, proven_steps=proven, statistics=statistics)
