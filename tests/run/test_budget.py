"""Budgets are asked often: the clock at every question, the memory now and then."""

from __future__ import annotations

import pytest

import vernal as vn
from tests import systems
from vernal.errors import InputError, Stopped
from vernal.run.budget import SECONDS_PER_LOOK, Budget, WorkClock


class Hours:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_ends_at_the_limit() -> None:
    clock = Hours()
    budget = Budget(2.0, started=0.0, clock=clock)
    clock.now = 1.999
    budget.check()
    clock.now = 2.0
    with pytest.raises(Stopped, match="timeout after 2 s"):
        budget.check()


def test_a_part_says_how_long_it_had_and_not_when_it_ended() -> None:
    clock = Hours()
    clock.now = 7.0
    part = Budget(10.0, started=0.0, clock=clock).part(0.5)
    clock.now = 8.5
    for one in (part, part.inside()):
        with pytest.raises(Stopped, match=r"timeout after 1\.5 s, its share of the time"):
            one.check()


def test_work_is_what_the_processor_does_while_the_clock_goes_on() -> None:
    """Neither what passes on a busy machine counts, nor what others do while the clock stands still."""
    clock, processor = Hours(), Hours()
    worked = WorkClock(clock, processor)
    clock.now, processor.now = 10.0, 1.0  # a busy machine
    assert worked() == 1.0
    processor.now = 9.0  # another engine has its turn
    assert worked() == 1.0
    clock.now, processor.now = 11.0, 13.0  # several threads
    assert worked() == 2.0


def test_a_part_of_work_has_the_limits_of_work_and_says_so() -> None:
    clock = Hours()
    whole = Budget(1000.0, started=0.0, clock=clock)
    part = whole.of_work(1e-9)
    clock.now = 100.0
    sum(range(100_000))  # some work
    with pytest.raises(Stopped, match="no time was left"):
        part.check()
    assert whole.is_cut_short


@pytest.mark.parametrize(
    ("now", "end"),
    [(1.0, 2.0), (1.8, 2.3), (4.0, 4.5), (9.9, 10.4), (12.0, 10.5)],
    ids=["before", "near its end", "after it", "near the end of all", "after the end of all"],
)
def test_parts_have_the_time_to_finish_in_together(now: float, end: float) -> None:
    clock = Hours()
    part = Budget(10.0, started=0.0, clock=clock).part(0.2).part(1.0)
    clock.now = now
    assert part.extended(0.5).timeout == pytest.approx(end)
    assert Budget(clock=clock).extended(0.5).timeout is None


def test_memory_is_looked_at_first_and_then_at_a_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    clock = Hours()

    def weigh() -> float:
        looks.append(clock.now)
        return len(looks) - 1.0

    monkeypatch.setattr("vernal.run.budget.resident_gib", weigh)
    budget = Budget(memory=1.0, started=0.0, clock=clock)
    for _ in range(1000):
        budget.check()
    assert looks == [0.0]
    clock.now = SECONDS_PER_LOOK
    budget.check()
    assert looks == [0.0, SECONDS_PER_LOOK]
    clock.now = 2 * SECONDS_PER_LOOK
    with pytest.raises(Stopped, match="memory beyond 1 GiB"):
        budget.check()


def test_a_part_looks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vernal.run.budget.resident_gib", lambda: 2.0)
    budget = Budget(10.0, 1.0)
    for one in (budget, budget.part(0.5)):
        with pytest.raises(Stopped, match="memory"):
            one.check()


def test_memory_that_is_used_up_stops_the_next_engine_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vernal.run.budget.resident_gib", lambda: 2.0)
    budget = Budget(memory=1.0, started=0.0, clock=Hours())
    for _ in range(2):
        with pytest.raises(Stopped, match="memory"):
            budget.check()


@pytest.mark.parametrize("limit", ["timeout", "memory", "workers"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "3", True, 1j])
def test_what_is_no_limit_is_refused(limit: str, value: object) -> None:
    with pytest.raises(InputError, match=f"{limit} has to be a (whole )?number above 0"):
        vn.check(systems.counter(), "X (n >= 0)", **{limit: value})  # type: ignore[call-overload]


@pytest.mark.parametrize(("name", "value"), [("workers", 1.5), ("seed", -1), ("seed", 0.5), ("seed", "7")])
def test_workers_and_seeds_are_whole_numbers(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"{name} has to be a whole number"):
        vn.check(systems.counter(), "X (n >= 0)", **{name: value})  # type: ignore[call-overload]
