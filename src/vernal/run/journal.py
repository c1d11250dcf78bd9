"""Journals: finished sub-problems, one line of JSON each, safe on disk before anything else is begun.

A run that was killed resumes from its journal: what is written there is not computed again. A line says which question
it belongs to (task, engine, formula), so that it is never used for another question. The last line may be torn by
the kill; it is ignored and overwritten. Only decided outcomes are kept: an unknown may be due to a limit of that run.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from vernal.errors import InputError
from vernal.run.critical_sections import finishing

Record = Mapping[str, Any]  # plain data: what JSON can say

HEAD = b'{"journal":1,'  # how every line begins; what begins otherwise was not written by us and is left alone
KEYS = {"journal", "task", "engine", "formula", "key", "outcome"}


def digest(content: Any) -> str:
    """A hash of plain data, the same on every machine."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Occasion:
    """What a journal is about: one task, one engine with its options, and the formulas that are asked."""

    task: str  # a hash of all the task was made from
    engine: str
    formulas: frozenset[str] | None  # None: those of a sweep, which depend on the cell

    def mismatch(self, line: Mapping[str, Any]) -> str | None:
        """What a line is about, where that is something else."""
        if line["task"] != self.task:
            return "another task (its file, its parameters or its networks were different)"
        if line["engine"] != self.engine:
            return f"{line['engine']}, not {self.engine}"
        known = self.formulas is None or line["formula"] in self.formulas
        return None if known else f"another formula: {line['formula']}"


_OPEN: set[Path] = set()  # journals of this process, by their resolved paths
_OPENING = threading.Lock()


@dataclass
class Journal:
    """An open journal. It belongs to one run: two that write into one file would confuse each other.

    A lock keeps other processes out; threads of this one are kept out by the list of journals that are open here.
    """

    file: Path
    subject: Occasion
    outcomes: dict[tuple[str, str], Record] = field(default_factory=dict)  # by formula and key

    def __post_init__(self) -> None:
        self._place = self.file.resolve()
        with _OPENING:
            if self._place in _OPEN:
                raise InputError(f"the journal {self.file} is in use by another run")
            self._open()
            _OPEN.add(self._place)

    def _open(self) -> None:
        try:
            self._handle = os.open(self.file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise InputError(f"the journal {self.file} cannot be written: {error.strerror}") from None
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._handle)
        _OPEN.discard(self._place)

    def of(self, formula: str) -> Entries:
        """The entries of one question."""
        return Entries(self, formula)

    def add(self, formula: str, key: str, outcome: Record) -> None:
        """Write an outcome down; when this returns, it survives."""
        content = {"task": self.subject.task, "engine": self.subject.engine, "formula": formula}
        text = json.dumps({**content, "key": key, "outcome": outcome}, separators=(",", ":"), allow_nan=False)
        line = HEAD + text[1:].encode() + b"\n"
        try:
            with finishing():
                self._write(line)
                self.outcomes[formula, key] = outcome
        except OSError as error:
            raise InputError(f"the journal {self.file} cannot be written: {error.strerror}") from None

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._handle, line) :]
        os.fsync(self._handle)

    def _lock(self) -> None:
        try:
            from fcntl import LOCK_EX, LOCK_NB, lockf
        except ImportError:  # this system has no file locks
            return
        try:  # the lock is this process's alone: forked workers do not hold it
            lockf(self._handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise InputError(f"the journal {self.file} is in use by another run") from None
        except OSError:
            return  # a file system without locks

    def _read(self) -> None:
        if not stat.S_ISREG(os.fstat(self._handle).st_mode):
            raise InputError(f"{self.file} is no file that a journal could be kept in")
        try:
            with open(self._handle, "rb", closefd=False) as file:
                content = file.read()
        except OSError as error:
            raise InputError(f"the journal {self.file} cannot be read: {error.strerror}") from None
        lines = content.split(b"\n")
        torn = lines.pop()  # after the last line that is whole; most often nothing
        if not _is_torn(torn):
            raise InputError(f"{self.file} is no journal; name a new file, or one that Vernal wrote")
        for number, line in enumerate(lines, start=1):
            self._take(line, number)
        whole = len(content) - len(torn)
        if torn:
            os.ftruncate(self._handle, whole)
        os.lseek(self._handle, whole, os.SEEK_SET)

    def _take(self, line: bytes, number: int) -> None:
        said = _parse(line)
        if said is None:
            raise InputError(f"{self.file}:{number}: this line is no journal entry; name another file for the journal")
        other = self.subject.mismatch(said)
        if other is not None:
            raise InputError(f"the journal {self.file} is about {other}; name another file, or remove it")
        self.outcomes[said["formula"], said["key"]] = said["outcome"]


@dataclass(frozen=True)
class Entries:
    """What a journal says about one question."""

    journal: Journal
    formula: str

    def get(self, key: str) -> Record | None:
        return self.journal.outcomes.get((self.formula, key))

    def add(self, key: str, outcome: Record) -> None:
        self.journal.add(self.formula, key, outcome)


def _is_torn(rest: bytes) -> bool:
    """Whether this may be the beginning of a line of ours; a disk that lost power may have left zeros."""
    begun = rest.rstrip(b"\0")
    return begun.startswith(HEAD) or HEAD.startswith(begun)


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(HEAD):
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    texts = ("task", "engine", "formula", "key")
    if not isinstance(said, dict) or set(said) != KEYS or not all(isinstance(said[name], str) for name in texts):
        return None
    return said if isinstance(said["outcome"], dict) else None


def task_digest(source: str, parameters: Mapping[str, object], networks: Iterable[str]) -> str:
    """The hash of a task: its file, the values of its parameters, its networks."""
    values = {name: str(value) for name, value in parameters.items()}
    return digest({"source": source, "parameters": values, "networks": list(networks)})
