"""Work that does not look at the clock is stopped all the same; nothing of the alarm stays behind."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from vernal.errors import Stopped
from vernal.run import alarm as module
from vernal.run.alarm import alarm
from vernal.run.budget import Budget

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
    monkeypatch.setattr(module, "GRACE", 0.05)


def test_a_pass_that_never_looks_is_stopped() -> None:
    began = time.monotonic()
    with pytest.raises(Stopped, match=r"timeout after 0\.1 s"), alarm(Budget(0.1)):
        work(20)
    assert time.monotonic() - began < 10


def test_who_swallows_it_is_stopped_again() -> None:
    def deaf() -> None:
        for _ in range(20):
            with suppress(Stopped):
                work(1)
                return
        work(20)

    began = time.monotonic()
    with pytest.raises(Stopped), alarm(Budget(0.05)):
        deaf()
    assert time.monotonic() - began < 15


def test_nothing_is_left_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    for budget in (Budget(100), Budget()):
        with alarm(budget), alarm(Budget(200)):
            pass
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert signal.getsignal(signal.SIGALRM) is before


def test_other_threads_have_none() -> None:
    def inside() -> float:
        with alarm(Budget(0.01)):
            return work(0.2)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inside).result() > 0
