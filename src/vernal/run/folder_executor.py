"""The run that puts sub-problems into a folder, and reads what workers have found.

It computes nothing itself. A few sub-problems for each worker are in the folder at a time. Those of a worker that gives
no sign of life are put back, so that a lost worker costs time and nothing else; what is answered twice counts once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vernal.errors import InputError, Stopped
from vernal.run.budget import Budget
from vernal.run.executor import CHUNK_SECONDS, MAX_JOBS_PER_WORKER, MAX_LOSSES, Finished
from vernal.run.job_folder import LEASE, JobFolder
from vernal.run.job_text import job_text, name_of
from vernal.run.journal import Occasion, Record
from vernal.run.worker import Job

LOOK = 0.01  # seconds between two looks at what was found
LEAST_IN_FLIGHT, PER_WORKER = 32, 4  # sub-problems in the folder: at least, and chunks for each worker
ENDING = 1.0  # seconds that workers of ours have to end by themselves


@contextmanager
def serving(path: Path, subject: Occasion, workers: int = 0, lease: float = LEASE) -> Iterator[FolderRun]:
    """The folder as an executor, with so many workers of our own as long as the block lasts."""
    run = FolderRun(JobFolder.begin(path, subject, lease))
    run.read()  # what an earlier run has left
    run.left.update(name for name, _ in run.folder.claims())
    own = [subprocess.Popen([sys.executable, "-m", "vernal", "work", str(path), "--quiet"]) for _ in range(workers)]
    run.own = own
    try:
        yield run
    finally:
        run.folder.finish()
        _end(own)


def _end(own: list[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + ENDING
    for process in own:  # those that wait for work see that there is no more
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
    for process in own:
        process.kill()
        process.wait()


@dataclass
class FolderJob:
    """A sub-problem in the folder: since when nobody knows where it is, and how often its worker was lost."""

    job: Job
    unseen: float | None = None
    losses: int = 0


@dataclass
class FolderRun:
    """An executor: sub-problems go into a folder, and outcomes come out of it."""

    folder: JobFolder
    known: dict[str, Record] = field(default_factory=dict)  # by name: final outcomes that nobody has asked for yet
    left: set[str] = field(default_factory=set)  # that workers of an earlier run are at
    places: dict[Path, int] = field(default_factory=dict)  # how far the files of workers are read
    signs: dict[str, tuple[str, float]] = field(default_factory=dict)  # of workers: the last, and when it was new
    asked: dict[str, FolderJob] = field(default_factory=dict)
    seconds: float = CHUNK_SECONDS  # that a sub-problem takes, of late
    refused: Counter[str] = field(default_factory=Counter)
    looked: float = 0.0
    own: list[subprocess.Popen[bytes]] = field(default_factory=list)  # workers that this run has started

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]:
        stream = iter(jobs)
        while True:
            yield from self._ask(stream)
            if not self.asked:
                return
            heard = False
            for name, said in self.read():
                heard = True
                yield from self._hear(name, said)
            yield from self._look()
            budget.check()
            if not heard:
                time.sleep(LOOK)

    def _ask(self, stream: Iterator[Job]) -> Iterator[Finished]:
        """Put more sub-problems into the folder, a few for each worker."""
        while len(self.asked) < self._room() and (job := next(stream, None)) is not None:
            name = name_of(job.key)
            known = job.known or self.known.pop(name, None)
            if known is not None:
                yield Finished(job.key, known, recorded=job.known is not None)
                continue
            self.asked[name] = FolderJob(job)
            if name not in self.left:
                self._put(name)

    def _room(self) -> int:
        chunk = max(1, min(MAX_JOBS_PER_WORKER, int(CHUNK_SECONDS / max(self.seconds, 1e-6))))
        return max(LEAST_IN_FLIGHT, PER_WORKER * chunk * len(self.signs))

    def _put(self, name: str) -> None:
        try:
            self.folder.put(name, job_text(self.asked[name].job))
        except OSError as error:
            raise InputError(f"the folder {self.folder.path} cannot be written: {error.strerror}") from None

    def read(self) -> list[tuple[str, dict[str, Any]]]:
        """What workers have found since the last look; what nobody asks for yet is kept if it is final."""
        found = []
        for file, size in self.folder.results():
            for line in self._lines(file) if size > self.places.get(file, 0) else ():
                said = _parsed(line)
                if said is None:
                    continue  # not ours: the sub-problem is asked again when its time is over
                if said["job"] in self.asked:
                    found.append((said["job"], said))
                elif said["kind"] == "done" and isinstance(said["said"], dict) and said["said"].get("final") is True:
                    self.known[said["job"]] = said["said"]
        return found

    def _lines(self, file: Path) -> list[bytes]:
        """The lines that have become whole; a line that is torn waits for its end."""
        begin = self.places.get(file, 0)
        try:
            with file.open("rb") as stream:
                stream.seek(begin)
                content = stream.read()
        except OSError:
            return []
        whole = content.rfind(b"\n") + 1
        self.places[file] = begin + whole
        return content[:whole].splitlines()

    def _hear(self, name: str, said: dict[str, Any]) -> Iterator[Finished]:
        if name not in self.asked:
            return  # answered twice
        match said["kind"]:
            case "done" if isinstance(said["said"], dict):
                self.seconds = 0.8 * self.seconds + 0.2 * float(said["seconds"])
                yield Finished(self.asked.pop(name).job.key, said["said"])
            case "stopped":
                raise Stopped(str(said["said"]))
            case "memory":
                raise MemoryError
            case "refused":
                self._again(name, str(said["said"]))
            case _:
                raise RuntimeError(f"the sub-problem {self.asked[name].job.key[:80]!r} failed:\n{said['said']}")

    def _again(self, name: str, why: str) -> None:
        self.refused[name] += 1
        if self.refused[name] >= MAX_LOSSES:
            raise InputError(f"workers of {self.folder.path} refuse a sub-problem again and again: {why}")
        self._put(name)

    def _look(self) -> Iterator[Finished]:
        """Look after sub-problems whose worker is lost, a few times in each lease."""
        now = time.monotonic()
        if now - self.looked < self.folder.lease / 5:
            return
        self.looked = now
        if self.own and all(process.poll() is not None for process in self.own) and not self.folder.signs():
            raise Stopped(f"all workers have ended; vernal work {self.folder.path} starts another")
        lost = self._lost_workers(now)
        waiting, claims = set(self.folder.waiting()), dict(self.folder.claims())
        for name, asked in list(self.asked.items()):
            if claims.get(name) in lost:
                yield from self._lose(name, asked, claims[name])
            elif name in waiting or name in claims:
                asked.unseen = None
            elif asked.unseen is None:
                asked.unseen = now  # answered, and the answer is not seen yet, or lost
            elif now - asked.unseen > self.folder.lease:
                asked.unseen = None
                self._put(name)

    def _lost_workers(self, now: float) -> set[str]:
        """Those with a claim and without a new sign of life for too long, by our clock alone."""
        current = self.folder.signs()
        for worker in {*current, *(worker for _, worker in self.folder.claims())}:
            sign = current.get(worker, "")
            if worker not in self.signs or self.signs[worker][0] != sign:
                self.signs[worker] = (sign, now)
        lost = {worker for worker, (_, since) in self.signs.items() if now - since > self.folder.lease}
        for worker in [worker for worker in self.signs if worker in lost and worker not in current]:
            del self.signs[worker]
        return lost

    def _lose(self, name: str, asked: FolderJob, worker: str) -> Iterator[Finished]:
        asked.losses += 1
        if asked.losses < MAX_LOSSES:
            self.folder.give_back(name, worker)
        else:
            self.folder.drop(name, worker)
            del self.asked[name]
            yield Finished(asked.job.key, None, "its worker gave no sign of life")


def _parsed(line: bytes) -> dict[str, Any] | None:
    """A line as a worker writes it; None for anything else."""
    try:
        said = json.loads(line)
        right = isinstance(said["job"], str) and isinstance(said["kind"], str) and float(said["seconds"]) >= 0
        return said if right and "said" in said else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
