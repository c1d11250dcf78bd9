"""Sub-problems in process and in a pool: the same outcomes, cancelled, lost or stopped without a hang."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vernal.errors import Stopped
from vernal.run.budget import Budget
from vernal.run.executor import Finished, carry_out
from vernal.run.journal import Journal, Outcome, Subject
from vernal.run.worker import Job

FOR_EVER = 600.0


def square(number: int) -> Job:
    return Job(str(number), lambda budget: {"square": number * number, "workers": budget.workers})


def sleeping(key: str, marks: Path) -> Job:
    """A sub-problem that says which process it runs in, and takes for ever."""

    def work(budget: Budget) -> Outcome:
        (marks / str(os.getpid())).touch()
        time.sleep(FOR_EVER)
        return {}

    return Job(key, work)


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    """Until something is so; a test that waits in vain fails."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("waited in vain")


@pytest.mark.parametrize("workers", [1, 3])
def test_every_subproblem_comes_back_once(workers: int) -> None:
    done = list(carry_out(map(square, range(40)), Budget(workers=workers)))
    assert {one.key: one.outcome for one in done} == {str(n): {"square": n * n, "workers": 1} for n in range(40)}
    assert len(done) == 40


def test_the_pool_is_other_processes() -> None:
    jobs = [Job(str(n), lambda budget: {"pid": os.getpid()}) for n in range(4)]
    seen = {one.outcome["pid"] for one in carry_out(jobs, Budget(workers=2)) if one.outcome is not None}
    assert os.getpid() not in seen


def test_an_endless_stream_is_read_as_needed() -> None:
    def endless() -> Iterator[Job]:
        number = 0
        while True:
            number += 1
            yield square(number)

    with closing(carry_out(endless(), Budget(workers=2))) as answers:
        assert any(one.outcome is not None and one.outcome["square"] == 49 for one in answers)


def test_who_stops_listening_cancels_the_rest(tmp_path: Path) -> None:
    def first(budget: Budget) -> Outcome:
        wait_for(lambda: any(tmp_path.iterdir()))
        return {"found": True}

    jobs = [Job("quick", first), sleeping("slow", tmp_path)]
    with closing(carry_out(jobs, Budget(workers=2))) as answers:
        assert next(answers) == Finished("quick", {"found": True})
    (slow,) = (int(mark.name) for mark in tmp_path.iterdir())
    assert not is_running(slow)


def test_a_killed_worker_costs_its_subproblem_only() -> None:
    def doomed(budget: Budget) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    jobs = [*map(square, range(5)), Job("doomed", doomed), *map(square, range(5, 30))]
    done = {one.key: one for one in carry_out(jobs, Budget(workers=2))}
    assert done.pop("doomed") == Finished("doomed", None, "its worker was killed (signal 9)")
    assert len(done) == 30
    assert all(one.outcome is not None for one in done.values())


def test_a_timeout_ends_the_workers(tmp_path: Path) -> None:
    jobs = [sleeping(str(n), tmp_path) for n in range(5)]
    with pytest.raises(Stopped, match="timeout"):
        list(carry_out(jobs, Budget(timeout=0.5, workers=2)))
    assert not any(is_running(int(mark.name)) for mark in tmp_path.iterdir())


def test_memory_is_that_of_all_workers_together(tmp_path: Path) -> None:
    limit = Budget(memory=1.0, workers=2)

    def greedy(budget: Budget) -> Outcome:
        taken = bytearray(os.urandom(1 << 20)) * 700
        time.sleep(FOR_EVER)
        return {"taken": len(taken)}

    with pytest.raises(Stopped, match="memory beyond 1 GiB"):
        list(carry_out([Job("a", greedy), Job("b", greedy)], limit))


def test_a_limit_met_inside_a_worker_is_the_limit() -> None:
    def limited(budget: Budget) -> Outcome:
        raise Stopped("enough")

    with pytest.raises(Stopped, match="enough"):
        list(carry_out([Job("a", limited)], Budget(workers=2)))


def test_a_fault_in_a_worker_is_not_swallowed() -> None:
    def faulty(budget: Budget) -> Outcome:
        raise KeyError("oh")

    with pytest.raises(RuntimeError, match=r"'a' failed(.|\n)*KeyError: 'oh'"):
        list(carry_out([Job("a", faulty)], Budget(workers=2)))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_journal_knows_is_not_done_again(tmp_path: Path, workers: int) -> None:
    subject = Subject("task", "engine", frozenset({"p"}))
    with Journal(tmp_path / "j", subject) as journal:
        journal.of("p").add("3", {"square": -1})
        budget = Budget(workers=workers, journal=journal.of("p"))
        done = {one.key: one for one in carry_out(map(square, range(6)), budget, lambda o: o["square"] != 16)}
    assert done["3"] == Finished("3", {"square": -1}, recorded=True)
    with Journal(tmp_path / "j", subject) as journal:
        assert {key for _, key in journal.outcomes} == {"0", "1", "2", "3", "5"}  # 16 was not for keeping


def test_a_system_out_of_processes_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(Stopped, match="no worker process could be started: Resource temporarily unavailable"):
        list(carry_out([square(1)], Budget(workers=2)))
