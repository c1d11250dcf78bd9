"""Executors: a stream of independent sub-problems, answered in process or by a pool of processes.

Sub-problems are closures over expression graphs, which are interned objects and cannot be sent to another process. So
the pool forks: a worker inherits its few sub-problems (see `worker`), and only plain data comes back. The caller may
stop at any time, for instance at the first counterexample: closing the generator kills all workers.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import wait
from typing import Protocol

from vernal.errors import Stopped
from vernal.run.budget import Budget, silent
from vernal.run.journal import Outcome
from vernal.run.worker import Job, Worker, signals_held, together_gib

CLOCK_INTERVAL = 0.1  # seconds between two looks at the clock
MEMORY_INTERVAL = 0.5  # seconds between two looks at the memory
GRACE = 0.5  # seconds in which workers may still report outcomes when the time is up
SHORT_RUN = 0.25  # seconds: after a worker that ran for less, the next ones get more sub-problems
MAX_JOBS_PER_WORKER = 64


@dataclass(frozen=True)
class Finished:
    """The outcome of a sub-problem; none where its worker was lost, and then why."""

    key: str
    outcome: Outcome | None
    lost: str = ""
    recorded: bool = False  # it was known before


class Executor(Protocol):
    """Answers sub-problems, in any order. Closing the generator cancels what is under way."""

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]: ...


class InProcess:
    """One after the other, here."""

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]:
        inside = replace(budget, workers=1, journal=None)
        for job in jobs:
            budget.check()
            yield _recorded(job) or Finished(job.key, job.work(inside))


@dataclass(frozen=True)
class Pool:
    """Several at a time, each in a process of its own."""

    workers: int

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]:
        crew = _Crew(self.workers, iter(jobs), budget)
        try:
            yield from crew.finished()
        finally:
            crew.disband()


def executor(budget: Budget) -> Executor:
    """The one that fits: a pool where several workers are allowed and this process can fork."""
    can_fork = "fork" in multiprocessing.get_all_start_methods() and not multiprocessing.current_process().daemon
    return Pool(budget.workers) if budget.workers > 1 and can_fork else InProcess()


def carry_out(
    jobs: Iterable[Job], budget: Budget, keep: Callable[[Outcome], bool] = lambda outcome: True
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


def _recorded(job: Job) -> Finished | None:
    return None if job.known is None else Finished(job.key, job.known, recorded=True)


@dataclass
class _Crew:
    """The workers of one run; a new one is started when another has ended."""

    size: int
    stream: Iterator[Job]
    budget: Budget
    members: list[Worker] = field(default_factory=list)
    again: deque[Job] = field(default_factory=deque)  # sub-problems that a lost worker left behind
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
        until = time.monotonic() + GRACE
        while self.members and (ready := wait([member.ear for member in self.members], until - time.monotonic())):
            for member in [member for member in self.members if member.ear in ready]:
                yield from self._listen(member)

    def disband(self) -> None:
        for member in self.members:  # all of them first: none goes on while others are waited for
            member.process.kill()
        for member in self.members:
            member.kill()
        self.members.clear()

    def _hire(self) -> Iterator[Finished]:
        """Start as many workers as allowed; outcomes that are already known need none."""
        inside = replace(self.budget, workers=1, progress=silent, journal=None)
        while len(self.members) < self.size and (jobs := self._portion()):
            self.budget.check()
            yield from (done for job in jobs if (done := _recorded(job)) is not None)
            fresh = [job for job in jobs if job.known is None]
            if fresh:
                self._begin(fresh, inside)

    def _begin(self, jobs: list[Job], budget: Budget) -> None:
        try:
            with signals_held():
                self.members.append(Worker(jobs, budget))
        except OSError as error:
            raise Stopped(f"no worker process could be started: {error.strerror}; try fewer workers") from None

    def _portion(self) -> list[Job]:
        if self.again:
            return [self.again.popleft()]
        return list(islice(self.stream, self.portion))

    def _listen(self, member: Worker) -> Iterator[Finished]:
        """Handle a message of a worker: an outcome, that a limit was reached, or that it has ended."""
        match member.hear():
            case None:
                yield from self._leave(member)
            case "done", outcome:
                yield Finished(member.jobs.popleft().key, outcome)
            case "stopped", reason:
                raise Stopped(reason)
            case "memory", _:
                raise MemoryError
            case _, text:
                raise RuntimeError(f"the sub-problem {member.jobs[0].key!r} failed in its worker:\n{text}")

    def _leave(self, member: Worker) -> Iterator[Finished]:
        """Handle the end of a worker: after its work, or before, and then its current sub-problem is lost."""
        self.members.remove(member)
        fate = member.fate()
        member.kill()
        if not member.jobs:
            if time.monotonic() - member.started < SHORT_RUN:
                self.portion = min(2 * self.portion, MAX_JOBS_PER_WORKER)
            return
        lost = member.jobs.popleft()
        self.again.extend(member.jobs)
        yield Finished(lost.key, None, fate)

    def _check(self) -> None:
        self.budget.check()
        now = time.monotonic()
        if self.budget.memory is None or now - self.weighed < MEMORY_INTERVAL:
            return
        self.weighed = now
        if together_gib([os.getpid(), *(member.pid for member in self.members)]) > self.budget.memory:
            raise Stopped(f"memory beyond {self.budget.memory:g} GiB, by all workers together")
