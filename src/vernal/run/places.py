"""Where work is done: in this process, by a pool, by whoever reads a folder of jobs, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from vernal.errors import InputError
from vernal.run.budget import Budget
from vernal.run.executor import Executor, InProcess, executor
from vernal.run.journal import Occasion

CPU = "cpu"
FOLDER, RAY = "dir:", "ray"
HELP = "here, workers, dir:FOLDER, ray or ray://HOST:PORT"


class PlaceKind(Enum):
    """The four kinds of places."""

    HERE = "here"
    WORKERS = "workers"
    FOLDER = "dir"
    RAY = "ray"


@dataclass(frozen=True)
class WorkPlace:
    """Where sub-problems are answered, and by how many processes of ours."""

    kind: PlaceKind = PlaceKind.HERE
    workers: int = 1
    target: str = ""  # the folder, or the address of a cluster

    @property
    def spreads(self) -> bool:
        """Whether cells are asked elsewhere than in this process."""
        return self.kind is not PlaceKind.HERE and (self.kind is not PlaceKind.WORKERS or self.workers > 1)

    @property
    def is_remote(self) -> bool:
        """Whether other machines may take part."""
        return self.kind in (PlaceKind.FOLDER, PlaceKind.RAY)

    @contextmanager
    def executor(self, subject: Callable[[], Occasion]) -> Iterator[Executor]:
        """Who answers the sub-problems of a subject, as long as the block lasts."""
        if self.kind is PlaceKind.FOLDER:
            from vernal.run.folder_executor import serving

            with serving(Path(self.target), subject(), self.workers) as folder:
                yield folder
        elif self.kind is PlaceKind.RAY:
            from vernal.run.ray_cluster import connected

            with connected(self.target, self.workers) as cluster:
                yield cluster
        else:
            yield executor(Budget(workers=self.workers)) if self.spreads else InProcess()


HERE = WorkPlace()


def parse_place(text: str | None, workers: int | None) -> WorkPlace:
    """What `--on` and `--workers` say together; `workers` alone is a pool of so many."""
    if text is None:
        return HERE if workers is None or workers == 1 else WorkPlace(PlaceKind.WORKERS, workers)
    if text == PlaceKind.HERE.value:
        if workers is not None and workers > 1:
            raise InputError("--on here is one process; leave out --workers, or say --on workers")
        return HERE
    if text == PlaceKind.WORKERS.value:
        return WorkPlace(PlaceKind.WORKERS, workers or _cores())
    if text.startswith(FOLDER) and text != FOLDER:
        return WorkPlace(PlaceKind.FOLDER, workers or 0, text.removeprefix(FOLDER))
    if text == RAY or (text.startswith("ray://") and text != "ray://"):
        return WorkPlace(PlaceKind.RAY, workers or 0, "" if text == RAY else text)
    raise InputError(f"--on is {HELP}, not {text!r}")


def _cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
