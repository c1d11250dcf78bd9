"""Executors: a stream of independent sub-problems, answered in process or by a pool of processes.

A sub-problem is data that any process can answer (worker), and plain data comes back. Where the system can fork, a
worker inherits its few sub-problems with all that is known of them; elsewhere they are sent to a new process. The
caller may stop at any time, for instance at the first counterexample: closing the generator kills all workers.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import wait
from typing import Any, Protocol

from vernal.errors import InputError, Stopped
from vernal.run.budget import Budget
from vernal.run.critical_sections import finishing
from vernal.run.journal import Record
from vernal.run.worker import Job, Method, Worker, keep_signals, signals_held, together_gib

CLOCK_INTERVAL = 0.1  # seconds between two looks at the clock
MEMORY_INTERVAL = 0.5  # seconds between two looks at the memory
REPORTING_SECONDS = 0.5  # seconds in which workers may still report outcomes when the time is up
MAX_JOBS_PER_WORKER = 64
CHUNK_SECONDS = 1.0  # what a worker is given at a time lasts about as long
MAX_LOSSES = 3  # workers that may end over one sub-problem, before it counts as lost
METHOD = "VERNAL_START_METHOD"  # the environment variable that says how workers start


@dataclass(frozen=True)
class Finished:
    """The outcome of a sub-problem; none where its worker was lost, and then why."""

    key: str
    outcome: Record | None
    lost: str = ""
    recorded: bool = False  # it was known before
    found: Any = None  # the answer itself, where this process has found it


class Executor(Protocol):
    """Answers sub-problems, in any order. Closing the generator cancels what is under way."""

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]: ...


class InProcess:
    """One after the other, here."""

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]:
        inside = replace(budget, workers=1, journal=None)
        for job in jobs:
            budget.check()
            yield _recorded(job) or _here(job, inside)


@dataclass(frozen=True)
class Pool:
    """Several at a time, each in a process of its own."""

    workers: int
    method: Method

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]:
        if self.method == "spawn":
            keep_signals()
        crew = _Crew(self.workers, self.method, iter(jobs), budget)
        try:
            yield from crew.finished()
        finally:
            crew.disband()


def executor(budget: Budget) -> Executor:
    """The one that fits: a pool where several workers are allowed and this process may have children."""
    if budget.workers > 1 and not multiprocessing.current_process().daemon:
        return Pool(budget.workers, start_method())
    return InProcess()


def start_method() -> Method:
    """How workers start: as the environment says, else forked where that is safe (on macOS it is not), else as new."""
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    wanted = os.environ.get(METHOD) or ("fork" if can_fork and sys.platform != "darwin" else "spawn")
    if wanted not in ("fork", "spawn") or (wanted == "fork" and not can_fork):
        raise InputError(f"{METHOD} is {wanted!r}, but workers start by 'fork', where the system can, or by 'spawn'")
    return "fork" if wanted == "fork" else "spawn"


def carry_out(
    jobs: Iterable[Job], budget: Budget, keep: Callable[[Record], bool] = lambda outcome: True
) -> Generator[Finished, None, None]:
    """The outcomes of all sub-problems: out of the journal where they stand there, else computed and written there.

    `keep` says which outcomes are final. Close the generator (`contextlib.closing`) to leave the rest undone.
    """
    journal = budget.journal
    if journal is not None:
        jobs = (replace(job, known=journal.get(job.key)) for job in jobs)
    with closing(executor(budget).run(jobs, budget)) as answers:
        for done in answers:
            if journal is not None and not done.recorded and done.outcome is not None and keep(done.outcome):
                journal.add(done.key, done.outcome)
            yield done


def _here(job: Job, budget: Budget) -> Finished:
    worked = job.work(budget)
    return Finished(job.key, worked.outcome, found=worked.found)


def _recorded(job: Job) -> Finished | None:
    return None if job.known is None else Finished(job.key, job.known, recorded=True)


@dataclass
class _Crew:
    """The workers of one run; a new one is started when another has ended."""

    size: int
    method: Method
    stream: Iterator[Job]
    budget: Budget
    members: list[Worker] = field(default_factory=list)
    again: deque[Job] = field(default_factory=deque)  # sub-problems that a lost worker left behind
    ahead: deque[Job] = field(default_factory=deque)  # of the stream, to see whether enough is left for large portions
    losses: Counter[str] = field(default_factory=Counter)  # by key: workers that ended over it
    portion: int = 1
    weighed: float = 0.0

    def finished(self) -> Iterator[Finished]:
        while True:
            yield from self._hire()
            if not self.members:
                return
            ready = wait([member.ear for member in self.members], min(CLOCK_INTERVAL, max(self.budget.left, 0.0)))
            for member in [member for member in self.members if member.ear in ready]:
                yield from self._listen(member)
            if self.budget.left <= 0:
                yield from self._last_words()
            if self.members:
                self._check()

    def _last_words(self) -> Iterator[Finished]:
        """When the time is up, wait briefly for the outcomes that workers report on reaching the limit."""
        until = time.monotonic() + REPORTING_SECONDS
        while self.members and (ready := wait([member.ear for member in self.members], until - time.monotonic())):
            for member in [member for member in self.members if member.ear in ready]:
                yield from self._listen(member)

    def disband(self) -> None:
        with finishing():
            for member in self.members:  # all of them first: none goes on while others are waited for
                member.process.kill()
            for member in self.members:
                member.kill()
            self.members.clear()

    def _hire(self) -> Iterator[Finished]:
        """Start as many workers as allowed; outcomes that are already known need none."""
        while self._has_room() and (jobs := self._portion()):
            self.budget.check()
            yield from (done for job in jobs if (done := _recorded(job)) is not None)
            fresh = [job for job in jobs if job.known is None]
            if fresh:
                self._begin(fresh)
        if all(member.is_idle for member in self.members):  # nothing is left to do, and nothing comes back
            self.disband()

    def _has_room(self) -> bool:
        return len(self.members) < self.size or any(member.is_idle for member in self.members)

    def _begin(self, jobs: list[Job]) -> None:
        for member in self.members:
            if member.is_idle:
                return member.give(jobs, self.budget.inside())
        try:
            with finishing(), signals_held():
                self.members.append(Worker(jobs, self.budget.inside(), self.method))
        except OSError as error:
            raise Stopped(f"no worker process could be started: {error.strerror}; try fewer workers") from None

    def _portion(self) -> list[Job]:
        if self.again:
            return [self.again.popleft()]
        self.ahead.extend(islice(self.stream, max(0, 2 * self.size * self.portion - len(self.ahead))))
        count = max(1, min(self.portion, len(self.ahead) // (2 * self.size)))  # small ones at the end: all end together
        return [self.ahead.popleft() for _ in range(min(count, len(self.ahead)))]

    def _listen(self, member: Worker) -> Iterator[Finished]:
        """Handle a message of a worker: an outcome, that a limit was reached, or that it has ended."""
        match member.hear():
            case None:
                yield from self._leave(member)
            case "done", outcome:
                yield Finished(member.jobs.popleft().key, outcome)
                self._pace(member)
            case "stopped", reason:
                raise Stopped(reason)
            case "memory", _:
                raise MemoryError
            case _, text:
                raise RuntimeError(f"the sub-problem {member.jobs[0].key!r} failed in its worker:\n{text}")

    def _leave(self, member: Worker) -> Iterator[Finished]:
        """Handle the end of a worker: after its work, or before, and then its sub-problem is asked again, or lost."""
        self.members.remove(member)
        fate = member.fate()
        member.kill()
        if not member.jobs:
            return
        lost = member.jobs.popleft()
        self.again.extend(member.jobs)
        self.losses[lost.key] += 1
        if self.losses[lost.key] < MAX_LOSSES:
            self.again.append(lost)
        else:
            yield Finished(lost.key, None, fate)

    def _pace(self, member: Worker) -> None:
        """Give as many sub-problems at a time as take about a second; at most twice as many as before."""
        if not member.jobs:
            wanted = int(CHUNK_SECONDS / max(member.seconds_each, 1e-6))
            self.portion = max(1, min(wanted, 2 * self.portion, MAX_JOBS_PER_WORKER))

    def _check(self) -> None:
        self.budget.check()
        now = time.monotonic()
        if self.budget.memory is None or now - self.weighed < MEMORY_INTERVAL:
            return
        self.weighed = now
        if together_gib([os.getpid(), *(member.pid for member in self.members)]) > self.budget.memory:
            raise Stopped(f"memory beyond {self.budget.memory:g} GiB, by all workers together")
