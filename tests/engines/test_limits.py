"""A limit is an answer: wherever it is met, `check` says unknown, with the reason, and nothing is raised."""

from __future__ import annotations

import copy
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.engines import heavy
from tests.loops import closed_loop, disturbed_loop, formula
from tests.portion import every
from vernal.engines.check import ask, asked_of, find_engine
from vernal.errors import Stopped
from vernal.evidence.result import UNKNOWN, Result
from vernal.interpret import exact
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.interpret.value_sets import Range
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.graph import order
from vernal.model.system import System
from vernal.run import alarm
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import Levels

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
    for system, asked in questions(5):
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
            for timeout in (1e-9, 1e-6, 1e-3, 2e-2, 30)
        }
        assert len(verdicts - {UNKNOWN}) <= 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.timeout(300, method="thread")  # the other method is an alarm itself
@pytest.mark.parametrize(("engine", "options"), SETUPS, ids=IDS)
def test_work_may_be_interrupted_at_any_moment(
    engine: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped or done, and what was made of the system on the way makes no later answer another one."""
    monkeypatch.setattr(alarm, "MIN_SECONDS", 1e-4)
    rng, stopped = random.Random(7), 0
    for system, asked in questions(3):

        def work(budget: Budget, system: System = system, asked: Formula = asked) -> Result:
            return asked_of(find_engine(engine, options), Question(system, asked), budget)

        fresh = copy.deepcopy(system)
        for _ in range(12):
            try:
                result = in_time(lambda: work(Budget()), Budget(10 ** rng.uniform(-4, -1)), grace=0)
                stopped += "timeout" in (result.reason or "")
            except Stopped:
                stopped += 1
        assert len({work(Budget(30)).verdict, work(Budget(30), fresh).verdict} - {UNKNOWN}) <= 1
    assert stopped


# Heavy tasks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "options"), every(2, [*SETUPS, ("smt", {})]), ids=every(2, [*IDS, "smt"]))
def test_heavy_tasks_end_at_their_limits(engine: str, options: dict[str, str]) -> None:
    """Squares of squares, high powers, hundreds of `if`s, a hundred steps: each at two limits below a second.

    They run in a process of their own with little memory, since a library that runs out of it may end the process. The
    time allowed is many times what is needed: it is there for runs that would take minutes.
    """
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.engines.heavy", engine, json.dumps(options)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == 2 * len(heavy.TASKS)
    for name, verdict, reason in answers:
        expected = {"unknown", "holds" if heavy.TASKS[name].holds else "violated"}
        assert verdict in expected, name
        assert verdict != "unknown" or reason, name


# Inside long passes ---------------------------------------------------------------------------------------------------


class Late:
    """A tick that raises at its n-th call."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stopped("late")


def branching() -> System:
    """A chain of fifty `if`s in one step."""
    return heavy.chain_of_ifs(50)


def bounding(tick: Callable[[], None]) -> None:
    system = branching()
    x = system.state[0].var
    linear = Linear({x: Range(np.array([0.0]), np.array([1.0]))}, tick=tick)
    linear.range(system.step.next_state[0])


def substituting(tick: Callable[[], None]) -> None:
    """Rows of an evaluated graph: nothing is bounded any more, only substituted."""
    system = branching()
    x, after = system.state[0].var, system.step.next_state[0]
    linear = Linear({x: Range(np.array([0.0]), np.array([1.0]))})
    linear.need(after)
    linear.tick = linear.graph.tick = tick
    linear.form(after)


def placing(tick: Callable[[], None]) -> None:
    Unrolling(branching().step).position(3, tick)


def evaluating(tick: Callable[[], None]) -> None:
    system = branching()
    exact.evaluate(system.step.next_state, {system.state[0].var: 0}, tick=tick)


def forming(tick: Callable[[], None]) -> None:
    system = branching()
    Forms({system.state[0].var: [(Fraction(0), Fraction(0))]}, tick=tick).values(system.step.next_state[0])


@pytest.mark.parametrize("work", [bounding, substituting, placing, evaluating, forming], ids=lambda work: work.__name__)
def test_long_passes_look_at_the_budget_inside(work: Callable[[Callable[[], None]], None]) -> None:
    nodes = len(order(branching().step.next_state))
    for calls in (0, 1, nodes // 4):
        with pytest.raises(Stopped):
            work(Late(calls))
    work(Late(10**9))


def test_levels_stay_open_where_time_ends_on_the_way() -> None:
    """Bounds within one level take hundreds of looks at the clock; whichever is too late, nothing is claimed."""
    system = branching()
    atom = system.state[0].var < 100
    for looks in (5, 50, 500):
        clock = Clock(looks)
        levels = Levels(system, list(initial_boxes(system).boxes), Budget(1.0, started=0.0, clock=clock), 4)
        assert levels.truth(atom, 4, 0) is None
        assert clock.left == -1  # the first look that was too late was the last one
        with pytest.raises(Stopped):
            levels.raise_if_stopped()
