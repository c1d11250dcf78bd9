"""Sub-problems in process and in a pool: the same outcomes, cancelled, lost or stopped without a hang."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vernal.errors import InputError, Stopped
from vernal.run.budget import Budget
from vernal.run.executor import METHOD, Finished, carry_out, executor, start_method
from vernal.run.journal import Journal, Occasion
from vernal.run.worker import Job, Worked, inherited, named, shared, unshare

FOR_EVER = 600.0


METHODS = ["fork", "spawn"]


def squared(job: Job, budget: Budget) -> Worked:
    number: int = job.part
    return Worked({"square": number * number, "workers": budget.workers, "process": os.getpid()})


def square(number: int) -> Job:
    return Job(str(number), named(squared), None, number)


def sleep(job: Job, budget: Budget) -> Worked:
    """Say in which process it runs, and take for ever."""
    (Path(job.part) / str(os.getpid())).touch()
    time.sleep(FOR_EVER)
    return Worked({})


def sleeping(key: str, marks: Path) -> Job:
    return Job(key, named(sleep), None, str(marks))


def find_once_another_sleeps(job: Job, budget: Budget) -> Worked:
    wait_for(lambda: any(Path(job.part).iterdir()))
    return Worked({"found": True})


def end(job: Job, budget: Budget) -> Worked:
    os.kill(os.getpid(), signal.SIGKILL)
    return Worked({})


def take_memory(job: Job, budget: Budget) -> Worked:
    taken = bytearray(os.urandom(1 << 20)) * 700
    time.sleep(FOR_EVER)
    return Worked({"taken": len(taken)})


def meet_a_limit(job: Job, budget: Budget) -> Worked:
    raise Stopped("enough")


def fail(job: Job, budget: Budget) -> Worked:
    raise KeyError("oh")


def tell_the_time(job: Job, budget: Budget) -> Worked:
    return Worked({"timeout": budget.timeout, "memory": budget.memory, "seed": budget.seed, "left": budget.left})


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Workers that start this way."""
    monkeypatch.setenv(METHOD, request.param)
    return str(request.param)


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
def test_every_subproblem_comes_back_once(workers: int, method: str) -> None:
    done = list(carry_out(map(square, range(40)), Budget(workers=workers)))
    found = {one.key: (one.outcome["square"], one.outcome["workers"]) for one in done if one.outcome is not None}
    assert found == {str(n): (n * n, 1) for n in range(40)}
    assert len(done) == 40
    processes = {one.outcome["process"] for one in done if one.outcome is not None}
    assert (processes == {os.getpid()}) if workers == 1 else (os.getpid() not in processes)


def remember(job: Job, budget: Budget) -> Worked:
    return Worked({"process": os.getpid(), "found": inherited(job.part)})


def test_light_subproblems_are_sent_to_workers_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(METHOD, "fork")
    number = shared("of this process")
    jobs = (Job(str(key), named(remember), None, number, light=True) for key in range(60))
    outcomes = [one.outcome for one in carry_out(jobs, Budget(workers=2))]
    unshare(number)
    assert {outcome and outcome["found"] for outcome in outcomes} == {"of this process"}
    assert len(outcomes) == 60
    assert len({outcome and outcome["process"] for outcome in outcomes}) <= 2


class Echo:
    """Sub-problems that come about as others are answered: the end of the stream is not its end."""

    def __init__(self) -> None:
        self.waiting = [1]

    def __iter__(self) -> Iterator[Job]:
        return self

    def __next__(self) -> Job:
        if not self.waiting:
            raise StopIteration
        return replace(square(self.waiting.pop()), light=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stream_goes_on_after_answers(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(METHOD, "fork")
    stream, keys = Echo(), []
    with closing(executor(Budget(workers=workers)).run(stream, Budget(workers=workers))) as finished:
        for done in finished:
            keys.append(int(done.key))
            stream.waiting += [2 * keys[-1], 2 * keys[-1] + 1] if keys[-1] < 8 else []
    assert sorted(keys) == list(range(1, 16))


def test_workers_know_what_they_may_use(method: str) -> None:
    budget = Budget(100.0, 64.0, started=0.0, clock=lambda: 40.0, seed=7, workers=2)
    (done,) = carry_out([Job("a", named(tell_the_time), None)], budget)
    assert done.outcome is not None
    assert 0 < done.outcome.pop("left") <= 60  # type: ignore[attr-defined]
    assert done.outcome == {"timeout": 100.0, "memory": 64.0, "seed": 7}


def test_what_cannot_be_found_by_name_is_no_subproblem() -> None:
    with pytest.raises(ValueError, match="not found by its name"):
        named(lambda job, budget: Worked({}))
    with pytest.raises(ValueError, match="not found by its name"):
        named(Budget().part)


def test_how_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(METHOD, raising=False)
    assert start_method() == ("spawn" if sys.platform in ("darwin", "win32") else "fork")
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert start_method() == "spawn"
    monkeypatch.setenv(METHOD, "fork")
    with pytest.raises(InputError, match="VERNAL_START_METHOD is 'fork', but"):
        start_method()


def test_an_endless_stream_is_read_as_needed() -> None:
    def endless() -> Iterator[Job]:
        number = 0
        while True:
            number += 1
            yield square(number)

    with closing(carry_out(endless(), Budget(workers=2))) as answers:
        assert any(one.outcome is not None and one.outcome["square"] == 49 for one in answers)


def test_who_stops_listening_cancels_the_rest(tmp_path: Path, method: str) -> None:
    quick = Job("quick", named(find_once_another_sleeps), None, str(tmp_path))
    with closing(carry_out([quick, sleeping("slow", tmp_path)], Budget(workers=2))) as answers:
        assert next(answers) == Finished("quick", {"found": True})
    (slow,) = (int(mark.name) for mark in tmp_path.iterdir())
    assert not is_running(slow)


def test_a_killed_worker_costs_its_subproblem_only(method: str) -> None:
    jobs = [*map(square, range(5)), Job("doomed", named(end), None), *map(square, range(5, 30))]
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
    with pytest.raises(Stopped, match="memory beyond 1 GiB"):
        list(carry_out([Job(key, named(take_memory), None) for key in "ab"], limit))


def test_a_limit_met_inside_a_worker_is_the_limit(method: str) -> None:
    with pytest.raises(Stopped, match="enough"):
        list(carry_out([Job("a", named(meet_a_limit), None)], Budget(workers=2)))


def test_a_fault_in_a_worker_is_not_swallowed(method: str) -> None:
    with pytest.raises(RuntimeError, match=r"'a' failed(.|\n)*KeyError: 'oh'"):
        list(carry_out([Job("a", named(fail), None)], Budget(workers=2)))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_journal_knows_is_not_done_again(tmp_path: Path, workers: int) -> None:
    subject = Occasion("task", "engine", frozenset({"p"}))
    with Journal(tmp_path / "j", subject) as journal:
        journal.of("p").add("3", {"square": -1})
        budget = Budget(workers=workers, journal=journal.of("p"))
        done = {one.key: one for one in carry_out(map(square, range(6)), budget, lambda o: o["square"] != 16)}
    assert done["3"] == Finished("3", {"square": -1}, recorded=True)
    with Journal(tmp_path / "j", subject) as journal:
        assert {key for _, key in journal.outcomes} == {"0", "1", "2", "3", "5"}  # 16 was not for keeping


def test_a_system_out_of_processes_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(METHOD, "fork")

    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(Stopped, match="no worker process could be started: Resource temporarily unavailable"):
        list(carry_out([square(1)], Budget(workers=2)))
