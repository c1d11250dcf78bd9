"""Engines whose answers are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import pytest

from tests.report import samples
from vernal.evidence.replay import run
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result, Verdict
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.logic.printing import text
from vernal.logic.task import Task
from vernal.run.budget import Budget

SAMPLES = {HOLDS: samples.holds(), VIOLATED: samples.violated(3), UNKNOWN: samples.unknown()}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Budget]]:
    """Let the engines give these verdicts, one after the other; returns the budgets they were given."""

    def install(*answers: Verdict | BaseException) -> list[Budget]:
        rest, budgets = list(answers), []

        def ask(task: Task, formula: Formula, name: str | None, engine: str, budget: Budget, *_: object) -> Result:
            budgets.append(budget)
            given = rest.pop(0)
            if isinstance(given, BaseException):
                raise given
            trace = None if given is not VIOLATED else room_trace(task)
            return replace(SAMPLES[given], property=name, formula=text(formula), engine=engine, evidence=trace)

        monkeypatch.setattr(import_module("vernal.engines.check"), "ask", ask)
        monkeypatch.setattr(import_module("vernal.engines.question_batches"), "known_together", lambda *_: {})
        return budgets

    return install


def room_trace(task: Task) -> Trace:
    """A real path of the room, in which it gets too warm."""
    warmest: dict[str, int | Fraction | Sequence[Fraction]] = {"gain": 1, "sun": Fraction(1, 10)}
    return run(task.system, {"T": Fraction(19), "mode": Fraction(1)}, [warmest] * 4, 4)
