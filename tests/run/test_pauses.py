"""Work that waits and goes on: in turns, to its end, or abandoned wherever it is."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import pytest

from vernal.errors import Stopped
from vernal.model.lazy import cached_property
from vernal.run.budget import Budget
from vernal.run.pauses import PausableWork


class Ticking:
    """A clock that goes on by one second at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def worker(made: Callable[[Budget], str], timeout: float = 1000.0) -> tuple[PausableWork[str], Ticking]:
    clock = Ticking()
    return PausableWork(made, Budget(timeout, started=0.0, clock=clock)), clock


def test_goes_on_where_it_was() -> None:
    steps: list[int] = []

    def work(budget: Budget) -> str:
        for step in range(30):
            budget.check()
            steps.append(step)
        return "done"

    pausable, _ = worker(work)
    found = [pausable.go_on(10.0) for _ in range(5)]
    assert steps == list(range(30))
    assert found.index("done") > 1
    assert set(found[: found.index("done")]) == {None}


def test_its_clock_stands_still_while_it_waits() -> None:
    seen: list[float] = []

    def work(budget: Budget) -> str:
        for _ in range(20):
            seen.append(budget.elapsed)
        return "done"

    pausable, clock = worker(work)
    while pausable.go_on(6.0) is None:
        clock.now += 1000.0
    assert clock.now > 2000.0
    assert max(after - before for before, after in itertools.pairwise(seen)) <= 10.0


def test_ends_by_itself_where_its_time_is_over() -> None:
    def work(budget: Budget) -> str:
        done = 0
        try:
            while True:
                budget.part(0.5).check()
                done += 1
        except Stopped as stop:
            return f"{done > 0}: {stop.reason}"

    pausable, _ = worker(work)
    assert pausable.go_on(10.0) is None
    assert (pausable.finish() or "").startswith("True: timeout after")
    assert pausable.budget.stops


def test_what_it_raises_is_raised_where_somebody_waits() -> None:
    def work(budget: Budget) -> str:
        raise ValueError("broken")

    pausable, _ = worker(work)
    with pytest.raises(ValueError, match="broken"):
        pausable.go_on(10.0)


@pytest.mark.parametrize("looks", [True, False])
def test_is_abandoned_wherever_it_is(looks: bool) -> None:
    """Also where it never looks at the clock again, and whatever it does about exceptions."""
    cleaned: list[bool] = []
    running = threading.Event()

    def work(budget: Budget) -> str:
        try:
            while looks or not running.is_set():
                budget.check()
            running.set()
            while True:
                try:
                    sum(range(10))
                except Exception:
                    continue
        finally:
            cleaned.append(True)

    pausable, _ = worker(work)
    assert pausable.go_on(10.0) is None
    if not looks:
        pausable._until = float("inf")
        running.set()
        pausable._go.release()
    pausable.abandon()
    assert cleaned == [True]
    assert not pausable._thread.is_alive()


def test_who_never_began_has_nothing_to_end() -> None:
    pausable, _ = worker(lambda budget: "done")
    pausable.abandon()
    assert not pausable.is_done


def test_an_interruption_of_who_waits_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(budget: Budget) -> str:
        while True:
            budget.check()

    pausable, _ = worker(work, timeout=1e12)

    def interrupted(timeout: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(pausable._back, "acquire", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pausable.go_on(1e11)
    assert not pausable._thread.is_alive()


class Slowly:
    """Something with a value that takes several looks at the clock."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @cached_property
    def value(self) -> str:
        for _ in range(30):
            self.budget.check()
        return "computed"


def test_who_waits_in_the_middle_of_a_value_keeps_it_from_nobody() -> None:
    """One piece of work waits while it computes a value; another one asks its own object for the same."""
    first, _ = worker(lambda budget: Slowly(budget).value)
    second, _ = worker(lambda budget: Slowly(budget).value)
    assert first.go_on(5) is None
    asking = threading.Thread(target=lambda: second.go_on(1000), daemon=True)
    asking.start()
    asking.join(20)
    assert second.is_done
    assert first.go_on(1000) == "computed"
