"""A folder of jobs, on a disk that several machines see.

vernal-folder.json    what the folder is about, by which version of Vernal, and after how long a worker counts as lost
waiting/NAME          a sub-problem that nobody has taken
taken/NAME@WORKER     one that a worker has taken: by renaming the file, which only one of them can
done/WORKER           what a worker has found, a line of JSON each; nobody else writes there
workers/WORKER        touched again and again by a worker that is alive
finished              there once the run has ended that put sub-problems here
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vernal.errors import FileMissing, FormatError, InputError
from vernal.run.job_text import version
from vernal.run.journal import Occasion, digest

HEAD, FINISHED, DRAFT = "vernal-folder.json", "finished", ".draft"
WAITING, TAKEN, DONE, WORKERS = "waiting", "taken", "done", "workers"
LEASE = 15.0  # seconds without a sign of life after which a worker counts as lost
HEAD_BYTES = 4096
BETWEEN = "@"  # a name and a worker


@dataclass(frozen=True)
class JobFolder:
    """An open folder of jobs."""

    path: Path
    lease: float = LEASE

    # What it is about

    @staticmethod
    def begin(path: Path, subject: Occasion, lease: float = LEASE) -> JobFolder:
        """The folder of a subject: a new one, or one that an earlier run of the same has left."""
        about = digest([subject.task, subject.engine])
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not (path / HEAD).exists() and any(path.iterdir()):
                raise InputError(f"{path} holds other files; name a new folder for jobs, or an empty one")
            for part in (WAITING, TAKEN, DONE, WORKERS):
                (path / part).mkdir(exist_ok=True)
            if not (path / HEAD).exists():
                head = {"vernal_folder": 1, "version": version(), "subject": about, "lease": lease}
                _write_whole(path / HEAD, json.dumps(head).encode())
        except OSError as error:
            raise InputError(f"the folder {path} cannot be written: {error.strerror}") from None
        folder, said = _opened(path)
        if said != about:
            raise InputError(f"the folder {path} belongs to another task or engine; name another one, or remove it")
        (path / FINISHED).unlink(missing_ok=True)
        return folder

    @staticmethod
    def join(path: Path) -> JobFolder:
        """The folder, for a worker."""
        return _opened(path)[0]

    @property
    def is_finished(self) -> bool:
        return (self.path / FINISHED).exists()

    def finish(self) -> None:
        """Nothing more will be asked: workers that wait may end, and what nobody has taken is taken back."""
        for name in self.waiting():
            (self.path / WAITING / name).unlink(missing_ok=True)
        _write_whole(self.path / FINISHED, b"")

    # Sub-problems

    def put(self, name: str, content: bytes) -> None:
        """Ask for a sub-problem; one that waits or is worked on already is left alone."""
        target = self.path / WAITING / name
        if not target.exists():
            _write_whole(target, content)

    def waiting(self) -> list[str]:
        """Those that nobody has taken."""
        return [name for name in _names(self.path / WAITING) if not name.endswith(DRAFT)]

    def claims(self) -> list[tuple[str, str]]:
        """Those that are taken, with who has taken them."""
        pairs = (name.partition(BETWEEN) for name in _names(self.path / TAKEN))
        return [(name, worker) for name, _, worker in pairs]

    def take(self, name: str, worker: str) -> bool:
        """Whether this worker has it now: of several that try, one succeeds."""
        try:
            os.rename(self.path / WAITING / name, self._claim(name, worker))
        except OSError:
            return False
        return True

    def content(self, name: str, worker: str, most: int) -> bytes:
        """The text of one that was taken."""
        file = self._claim(name, worker)
        if not stat.S_ISREG(file.lstat().st_mode):
            raise FormatError("it is no plain file")
        with file.open("rb") as stream:
            return stream.read(most + 1)

    def give_back(self, name: str, worker: str) -> None:
        """It waits again: its worker ends, or is lost."""
        with suppress(OSError):
            os.rename(self._claim(name, worker), self.path / WAITING / name)

    def drop(self, name: str, worker: str) -> None:
        """It is answered."""
        self._claim(name, worker).unlink(missing_ok=True)

    def _claim(self, name: str, worker: str) -> Path:
        return self.path / TAKEN / f"{name}{BETWEEN}{worker}"

    # Workers and what they find

    def beat(self, worker: str) -> None:
        """A sign of life."""
        with suppress(OSError):
            (self.path / WORKERS / worker).write_text(str(time.time()))

    def leave(self, worker: str) -> None:
        (self.path / WORKERS / worker).unlink(missing_ok=True)

    def signs(self) -> dict[str, str]:
        """The last sign of life of each worker: compared with the one before, never with a clock."""
        found: dict[str, str] = {}
        for worker in _names(self.path / WORKERS):
            with suppress(OSError):
                found[worker] = (self.path / WORKERS / worker).read_text()
        return found

    def results(self) -> Iterator[tuple[Path, int]]:
        """The files of workers, and how long they are."""
        with suppress(OSError), os.scandir(self.path / DONE) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path), entry.stat().st_size


def _opened(path: Path) -> tuple[JobFolder, str]:
    try:
        with (path / HEAD).open("rb") as file:
            said: Any = json.loads(file.read(HEAD_BYTES))
        lease, about = float(said["lease"]), str(said["subject"])
    except FileNotFoundError:
        raise FileMissing(f"{path} is no folder of jobs: it has no {HEAD}") from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{path / HEAD} is no head of a folder of jobs") from None
    if said.get("version") != version():
        other = str(said.get("version"))[:40]
        raise InputError(f"the folder {path} is worked on by Vernal {other}, and this is {version()}; use one version")
    if not 0 < lease < float("inf"):
        raise InputError(f"{path / HEAD} is no head of a folder of jobs")
    return JobFolder(path, lease), about


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _write_whole(file: Path, content: bytes) -> None:
    """Nobody sees half of it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}{DRAFT}")
    draft.write_bytes(content)
    os.replace(draft, file)
