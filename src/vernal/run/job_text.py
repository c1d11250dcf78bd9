"""Sub-problems as texts for other machines: JSON with a hash, which says what is asked and names no file.

A text is believed in nothing: its size, its hash, the version of Vernal that wrote it, the function it asks for and
every kind of data in it are compared before anything is built. What is built are values; nothing is read or run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from vernal.errors import FormatError
from vernal.model.travel import flatten, restore
from vernal.run.worker import Job

MAX_BYTES = 2**28  # of a text
FIELDS = {"vernal_job", "version", "key", "sha256", "data"}
DATA_OF = (
    *("model.", "logic.", "engines.options:", "queries.cells:", "run.worker:Job", "run.budget:Budget"),
    *("queries.maps.map_jobs:MapOrder", "queries.maps.map_jobs:MapSheet", "queries.maps.axes:MapAxis"),
)


def version() -> str:
    """The version of this Vernal: other versions may answer otherwise, and are not mixed."""
    return metadata.version("vernal")


def name_of(key: str) -> str:
    """The name of a sub-problem, the same in every run."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def job_text(job: Job) -> bytes:
    """The text of a sub-problem."""
    data = flatten(job)
    head = {"vernal_job": 1, "version": version(), "key": job.key, "sha256": _hash(data)}
    return json.dumps({**head, "data": data}, separators=(",", ":"), allow_nan=False).encode()


@dataclass(frozen=True)
class JobReader:
    """Reads texts of sub-problems that ask for one of some functions."""

    functions: Collection[str]

    def read(self, content: bytes, name: str | None = None) -> Job:
        """The sub-problem of a text; an error for what is none of ours, or not the one of this name."""
        said = _parsed(content)
        if said["version"] != version():
            raise FormatError(f"it was written by Vernal {said['version']}, and this is {version()}")
        if said["sha256"] != _hash(said["data"]):
            raise FormatError("its hash is not that of its content: it was changed, or only half of it has arrived")
        if name is not None and name_of(said["key"]) != name:
            raise FormatError("its name is not that of its key")
        _refuse_other_data(said["data"])
        job = restore(said["data"])
        if not isinstance(job, Job) or job.key != said["key"] or job.known is not None:
            raise FormatError("it holds no sub-problem")
        if job.kind not in self.functions or job.options:
            raise FormatError(f"it asks for {str(job.kind)[:80]!r}, which is nothing that workers do")
        return job


def _parsed(content: bytes) -> dict[str, Any]:
    if len(content) > MAX_BYTES:
        raise FormatError(f"it has more than {MAX_BYTES // 2**20} MiB")
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        raise FormatError("it is no JSON") from None
    if not isinstance(said, dict) or set(said) != FIELDS or said["vernal_job"] != 1:
        raise FormatError("it is no sub-problem of Vernal")
    if not all(isinstance(said[name], str) for name in ("version", "key", "sha256")):
        raise FormatError("it is no sub-problem of Vernal")
    return said


def _refuse_other_data(data: Any) -> None:
    """An error for data that names other classes than those that sub-problems consist of."""
    if not isinstance(data, list) or len(data) != 2 or not isinstance(data[0], list):
        raise FormatError("it holds no data of Vernal")
    for row in data[0]:
        kind = row[0] if isinstance(row, list) and row else None
        if not isinstance(kind, str) or not kind.startswith(DATA_OF):
            raise FormatError(f"it holds {str(kind)[:80]!r}, which is no part of a sub-problem")


def _hash(data: Any) -> str:
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        raise FormatError("its data cannot be written again") from None
    return hashlib.sha256(text.encode()).hexdigest()
