"""Many mutated files, read in processes that each read a batch: quick, and what kills or stops one is known by number.

A process says which file it begins with before it reads it, and afterwards what came of it. One that dies, or that is
at one file for longer than it may, is counted with that file, and another one goes on with those that are left.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchmarks.hostile.formats import Format
from benchmarks.limits.watch import processor_seconds
from benchmarks.measure import table
from vernal.errors import VernalError

BATCH = 100  # files that one process reads
MOST_SECONDS = 10.0  # of the processor, for one file
MOST_WAIT = 120.0  # seconds by the clock, for one file
MEMORY = 4 * 2**30  # bytes of address space
PACE = 0.5  # seconds between two looks at processes that say nothing


class Fate(StrEnum):
    """What came of a file."""

    REFUSED = "refused with a message"
    READ = "read"
    CRASHED = "crashed"
    HUNG = "hung"


@dataclass(frozen=True)
class Shot:
    """A file, what came of it, and how it failed if it did."""

    number: int
    fate: Fate
    why: str = ""
    seconds: float = 0.0


@dataclass
class Volley:
    """What came of many files, by format."""

    formats: Mapping[str, Format]
    seed: int = 0
    keep: Path | None = None
    names: Sequence[str] = field(default_factory=list)
    counts: dict[str, Counter[Fate]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    longest: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = self.names or list(self.formats)

    def name(self, number: int) -> str:
        """The format of the file with this number."""
        return self.names[number % len(self.names)]

    def file(self, number: int) -> Path:
        """The file with this number; always the same."""
        name = self.name(number)
        return self.formats[name].attack(random.Random(f"{self.seed} {name} {number}"))

    def read(self, number: int) -> Shot:
        """Read one file, in this process."""
        began = time.process_time()
        fate, why = _fate(self.formats[self.name(number)].read, self.file(number))
        return Shot(number, fate, why, time.process_time() - began)

    def add(self, shot: Shot) -> None:
        """Count it; a fault is printed, and its file kept if that is wanted."""
        name = self.name(shot.number)
        self.counts.setdefault(name, Counter())[shot.fate] += 1
        self.longest[name] = max(self.longest.get(name, 0.0), shot.seconds)
        if shot.fate in (Fate.CRASHED, Fate.HUNG):
            self.faults.append(f"{name} {shot.number}: {shot.fate}: {shot.why}")
            print(self.faults[-1], file=sys.stderr, flush=True)
            if self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                file = self.file(shot.number)
                (self.keep / f"{shot.number}{''.join(file.suffixes[-2:])}").write_bytes(file.read_bytes())

    def table(self) -> str:
        """A row for each format."""
        rows = [[name, *self._row(self.counts[name], self.longest[name])] for name in self.names if name in self.counts]
        total = sum(self.counts.values(), Counter[Fate]())
        rows.append(["all", *self._row(total, max(self.longest.values(), default=0.0))])
        return table(("format", "tried", *Fate, "longest"), rows)

    def _row(self, count: Counter[Fate], longest: float) -> list[str]:
        return [f"{count.total():,}", *(f"{count[fate]:,}" for fate in Fate), f"{longest:.1f} s"]


def _fate(read: Callable[[Path], object], file: Path) -> tuple[Fate, str]:
    """What comes of reading a file; a warning is a fault, since it goes to the terminal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(file)
    except VernalError as error:
        return (Fate.REFUSED, "") if str(error).strip() else (Fate.CRASHED, "refused without a message")
    except BaseException:
        return Fate.CRASHED, traceback.format_exc()[-1500:]
    return Fate.READ, ""


# Processes ------------------------------------------------------------------------------------------------------------


class Shooter:
    """A process that reads some files, one after the other."""

    def __init__(self, volley: Volley, numbers: Sequence[int]) -> None:
        self.left = list(numbers)
        self.at: int | None = None
        self.rest = b""
        self.pipe, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            _shoot(volley, numbers, writing)
        os.close(writing)
        self._begun()

    def _begun(self) -> None:
        self.began, self.worked = time.monotonic(), processor_seconds(self.pid)

    def heard(self) -> Iterator[Shot]:
        """What the process said since; at its end, what is left to be said about it."""
        said = os.read(self.pipe, 2**16)
        *lines, self.rest = (self.rest + said).split(b"\n")
        for line in lines:
            message = json.loads(line)
            self._begun()
            if isinstance(message, int):
                self.at = message
                continue
            self.at = None
            self.left.remove(message["number"])
            yield Shot(message["number"], Fate(message["fate"]), message["why"], message["seconds"])
        if not said:
            yield from self._ended()

    def _ended(self) -> Iterator[Shot]:
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if self.at is not None:
            self.left.remove(self.at)
            yield Shot(self.at, Fate.CRASHED, f"the process ended with {code}")
        self.pid = 0

    def hung(self) -> Iterator[Shot]:
        """The file it is at, if that takes too long; the process is ended."""
        waited, worked = time.monotonic() - self.began, processor_seconds(self.pid) - self.worked
        if self.at is None or (worked < MOST_SECONDS and waited < MOST_WAIT):
            return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        self.pid = 0
        self.left.remove(self.at)
        yield Shot(self.at, Fate.HUNG, f"after {worked:.0f} s of the processor and {waited:.0f} s", worked)


def _shoot(volley: Volley, numbers: Sequence[int], writing: int) -> None:
    """In the child: read all files and leave; never returns."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        for number in numbers:
            _say(writing, number)
            shot = volley.read(number)
            _say(writing, {"number": number, "fate": shot.fate, "why": shot.why, "seconds": shot.seconds})
        code = 0
    finally:
        os._exit(code)


def _say(writing: int, message: Any) -> None:
    os.write(writing, json.dumps(message).encode() + b"\n")


def fire(volley: Volley, numbers: Sequence[int], jobs: int = 1, until: float = float("inf")) -> None:
    """Read files of these numbers, so many processes at a time, until all are read or the time is up."""
    batches = [list(numbers[start : start + BATCH]) for start in range(0, len(numbers), BATCH)][::-1]
    shooters: list[Shooter] = []
    while shooters or (batches and time.monotonic() < until):
        while batches and len(shooters) < jobs and time.monotonic() < until:
            shooters.append(Shooter(volley, batches.pop()))
        ready, _, _ = select.select([one.pipe for one in shooters], [], [], PACE)
        for one in list(shooters):
            for shot in one.heard() if one.pipe in ready else one.hung():
                volley.add(shot)
            if not one.pid:
                shooters.remove(one)
                batches += [one.left] if one.left else []
