"""A limit is an answer: wherever it is met, `check` says unknown, with the reason, and nothing is raised."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import vernal as vn
from tests.loops import closed_loop, disturbed_loop, formula
from vernal.engines.check import ask
from vernal.evidence.result import UNKNOWN
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.model.system import System
from vernal.run.budget import Budget

SETUPS: list[tuple[str, dict[str, str]]] = [
    ("auto", {}),
    ("falsify", {}),
    ("bounds", {}),
    ("paths", {}),
    ("milp", {"encoding": "monolithic"}),
    ("milp", {"encoding": "compositional"}),
]
IDS = ["auto", "falsify", "bounds", "paths", "monolithic", "compositional"]


def questions(count: int) -> Iterator[tuple[System, Formula]]:
    for make in (closed_loop, disturbed_loop):
        for seed in range(count):
            rng = random.Random(seed)
            system = make(rng)
            yield system, formula(rng, system)


class Clock:
    """Time stands still for so many looks at it, then it is late."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> float:
        self.left -= 1
        return 0.0 if self.left >= 0 else 1e9


def moments() -> Iterator[int]:
    yield from range(12)
    yield from (17, 29, 49, 83, 141, 240, 408, 694)


@pytest.mark.parametrize(("engine", "options"), SETUPS, ids=IDS)
def test_time_may_end_at_any_moment(engine: str, options: dict[str, str]) -> None:
    late = 0
    for system, asked in questions(8):
        for looks in moments():
            clock = Clock(looks)
            result = ask(Task(system), asked, None, engine, Budget(1.0, started=0.0, clock=clock), options)
            assert result.verdict is not UNKNOWN or result.reason
            if clock.left >= 0:  # it was over before
                break
            late += result.verdict is UNKNOWN
    assert late


@pytest.mark.parametrize(("engine", "options"), SETUPS, ids=IDS)
def test_memory_may_be_full_at_any_moment(
    engine: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = 0
    for system, asked in questions(4):
        for looks in moments():
            weigh = Clock(looks)
            monkeypatch.setattr("vernal.run.budget.resident_gib", weigh)
            result = ask(Task(system), asked, None, engine, Budget(memory=1.0), options)
            if weigh.left >= 0:
                break
            full += result.verdict is UNKNOWN and "memory" in (result.reason or "")
    assert full


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("engine", "options"), SETUPS, ids=IDS)
def test_hardly_any_time_is_unknown_or_right(engine: str, options: dict[str, str], workers: int) -> None:
    for system, asked in questions(3):
        verdicts = {
            vn.check(system, asked, engine=engine, options=options, timeout=timeout, workers=workers).verdict
            for timeout in (0, 1e-6, 1e-3, 2e-2, 30)
        }
        assert len(verdicts - {UNKNOWN}) <= 1
