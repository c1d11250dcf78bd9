"""Work that does not look at the clock is stopped all the same; nothing of the alarm stays behind."""

from __future__ import annotations

import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import vernal as vn
from tests.systems import make
from vernal.engines import answers
from vernal.engines import check as checking
from vernal.engines.check import parse_formula
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import UNKNOWN, Assurance
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.run import alarm as module
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.run.critical_sections import finishing

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers"),
    pytest.mark.timeout(60, method="thread"),  # the other method is an alarm itself
]


def work(seconds: float) -> float:
    """A pass that never looks at the clock of its budget."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return time.monotonic()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"SECONDS_OVER_LIMIT": 0.05, "MIN_SECONDS": 0.01, "AGAIN": 0.1}.items():
        monkeypatch.setattr(module, name, seconds)


def test_a_pass_that_never_looks_is_stopped() -> None:
    with pytest.raises(Stopped, match=r"timeout after 0\.1 s"):
        in_time(lambda: work(20), Budget(0.1), 0.05)


def test_who_swallows_everything_is_stopped_again() -> None:
    def deaf() -> None:
        for _ in range(5):
            with suppress(BaseException):
                work(1)
                return
        work(20)

    with pytest.raises(Stopped):
        in_time(deaf, Budget(0.05), 0.05)


def test_what_was_under_way_is_not_kept() -> None:
    """Handlers of `Stopped` keep what is known so far, which is whole only where the work looked at the clock."""
    kept: list[str] = []

    def keeping() -> None:
        try:
            work(20)
        except Stopped:
            kept.append("half of it")

    with pytest.raises(Stopped):
        in_time(keeping, Budget(0.05), 0.05)
    assert not kept


def test_work_inside_other_work_ends_with_it_and_the_other_goes_on() -> None:
    def inner() -> str:
        try:
            in_time(lambda: work(20), Budget(100))
        except Stopped:
            return "stopped inside"
        return "never"

    assert in_time(inner, Budget(0.05), 0.05) == "stopped inside"


def test_what_has_to_be_finished_is_finished() -> None:
    done: list[bool] = []

    def careful() -> None:
        with finishing():
            work(0.5)
            done.append(True)
        work(20)
        done.append(False)

    with pytest.raises(Stopped):
        in_time(careful, Budget(0.05), 0.05)
    assert done == [True]


def test_an_import_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that is loaded by half may not be loaded again in the same process."""
    (tmp_path / "slow_to_load.py").write_text("import time\ntime.sleep(0.5)\nloaded = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def loading() -> None:
        assert import_module("slow_to_load").loaded
        work(20)

    with pytest.raises(Stopped):
        in_time(loading, Budget(0.05), 0.05)
    assert sys.modules.pop("slow_to_load").loaded


def test_nothing_is_left_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    for budget in (Budget(100), Budget()):
        assert in_time(lambda: in_time(lambda: 7, Budget(200)), budget) == 7
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert signal.getsignal(signal.SIGALRM) is before


def test_other_threads_and_other_clocks_have_none() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(in_time, lambda: work(0.2), Budget(0.01), 0.01).result() > 0
    assert in_time(lambda: work(0.2), Budget(0.01, clock=time.process_time), 0.01) > 0


class Deaf:
    """An engine that never looks at the clock."""

    name = "deaf"
    ended = False  # by itself

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        work(20)
        self.ended = True
        return Open(engine=self.name, reason="it had all the time of the world")


def test_an_engine_that_never_looks_is_unknown_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = Deaf()
    monkeypatch.setattr(checking, "engine_for", lambda name, question, options: deaf)
    result = vn.check(make({"x": 0}, {"x": build.var("x")}), "G[0,3] (x == 0)", timeout=0.1)
    assert result.verdict is UNKNOWN
    assert result.reason == "timeout after 0.1 s"
    assert not deaf.ended


@pytest.mark.parametrize(
    "known",
    [Proof(engine="quick", direction=Direction.EXACT, assurance=Assurance.EXACT), Open(engine="quick", reason="why")],
)
def test_an_answer_that_takes_too_long_to_confirm_is_unknown(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[float] = []
    monkeypatch.setattr(answers, "confirmed", lambda question, known, tick: ended.append(work(20)))
    system = make({"x": 0}, {"x": build.var("x")})
    question = Question(system, parse_formula(Task(system), "G[0,3] (x == 0)"))
    result = answers.answered(question, known, Budget(0.1))
    assert result.verdict is UNKNOWN
    assert answers.UNCONFIRMED in (result.reason or "") or result.reason == "why"
    assert not ended
