"""A worker of a folder of jobs: takes what waits, answers it and writes the answer down."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vernal.errors import FormatError
from vernal.run.budget import Budget, Progress, silent
from vernal.run.executor import CHUNK_SECONDS, MAX_JOBS_PER_WORKER
from vernal.run.job_folder import DONE, JobFolder
from vernal.run.job_text import MAX_BYTES, JobReader
from vernal.run.threads import one_blas_thread
from vernal.run.worker import answered

LOOK = 0.05  # seconds between two looks at what waits
BEATS = 5  # signs of life in each lease


def _own_name() -> str:
    """A name that no other worker has, on this machine or another."""
    host = "".join(one if one.isalnum() else "-" for one in socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}"


@dataclass
class FolderWorker:
    """Answers sub-problems of a folder, of some functions only, one after the other."""

    folder: JobFolder
    functions: Collection[str]
    idle: float = 600.0  # seconds without work after which it ends
    progress: Progress = silent
    name: str = field(default_factory=_own_name)
    done: int = 0
    _seconds: float = CHUNK_SECONDS  # that a sub-problem takes, of late

    def go(self) -> int:
        """Until the run has ended, or nothing came for long; the number of sub-problems that were answered."""
        over = threading.Event()
        beating = threading.Thread(target=self._beat, args=(over,), daemon=True)
        self.folder.beat(self.name)
        beating.start()
        try:
            with one_blas_thread():
                self._serve()
        finally:
            over.set()
            beating.join(1)
            self.folder.leave(self.name)
        return self.done

    def _beat(self, over: threading.Event) -> None:
        while not over.wait(self.folder.lease / BEATS):
            self.folder.beat(self.name)

    def _serve(self) -> None:
        last = time.monotonic()
        while True:
            taken = self._take()
            if taken:
                self._answer_all(taken)
                last = time.monotonic()
            elif self.folder.is_finished or time.monotonic() - last > self.idle:
                return
            else:
                time.sleep(LOOK)

    def _take(self) -> list[str]:
        """As many as take about a second, and never more than half of what waits."""
        waiting = self.folder.waiting()
        wanted = max(1, min(MAX_JOBS_PER_WORKER, int(CHUNK_SECONDS / max(self._seconds, 1e-6)), len(waiting) // 2))
        begin = secrets.randbelow(len(waiting)) if waiting else 0  # others begin elsewhere
        taken: list[str] = []
        for name in waiting[begin:] + waiting[:begin]:
            if len(taken) == wanted:
                break
            if self.folder.take(name, self.name):
                taken.append(name)
        return taken

    def _answer_all(self, taken: list[str]) -> None:
        rest = list(taken)
        try:
            while rest:
                self._answer(rest[0])
                rest.pop(0)
        finally:
            for name in rest:  # interrupted: others do them
                self.folder.give_back(name, self.name)

    def _answer(self, name: str) -> None:
        began = time.monotonic()
        kind, said = self._answered(name)
        seconds = time.monotonic() - began
        self._seconds = 0.8 * self._seconds + 0.2 * seconds
        self._write({"job": name, "kind": kind, "said": said, "seconds": round(seconds, 6)})
        self.folder.drop(name, self.name)
        self.done += 1
        self.progress(f"{self.done} answered", None)

    def _answered(self, name: str) -> tuple[str, Any]:
        try:
            job = JobReader(self.functions).read(self.folder.content(name, self.name, MAX_BYTES), name)
        except (FormatError, OSError) as error:
            return "refused", str(error)
        return answered(job, Budget())

    def _write(self, said: dict[str, Any]) -> None:
        line = json.dumps(said, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        file: Path = self.folder.path / DONE / self.name
        with file.open("ab") as stream:
            stream.write(line)
