"""Certificates: files from which `vernal-check`, a program of its own, finds out again that a claim holds.

The first line says what it is about, each further line is a set of states (docs/certificates.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vernal.errors import InputError
from vernal.evidence.cover import WORLD, ProofCover, components, unread
from vernal.evidence.cover_lines import cover_lines
from vernal.evidence.document_head import head
from vernal.evidence.result import HOLDS, Result
from vernal.formats.task.shelf import Shelf
from vernal.formats.task_graph import TaskGraph, task_graph
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.run.output import write_text

VERSION = 1
SEMANTICS = {Time.STEPS: "steps-1", Time.SECONDS: "seconds-1"}
MAX_EXPANDED = 100_000  # sets that one with several discrete values is written as
NOT_HELD = "there is no certificate of {}: it is {}"


@dataclass(frozen=True)
class CertificateFile:
    """A claim that holds, and the sets of states that show it."""

    task: Task
    formula: str
    name: str | None  # of the property
    cover: ProofCover

    def lines(self) -> Iterator[str]:
        """The lines of the file."""
        yield _line(self.header)
        yield from map(_line, cover_lines(self.cover, self.task.model))

    @property
    def header(self) -> dict[str, Any]:
        """What the certificate is about."""
        told = head(self.task)
        return {
            "certificate": VERSION,
            "semantics": SEMANTICS[self.task.time_of(self.name)],
            "tool": told["tool"],
            "task": told["task"],
            "formula": self.formula,
            "property": self.name,
            "verdict": HOLDS.value,
            "variables": list(components(self.task.model)),
            **(worlds_of(self.task) if self.graph is None else {"graph": self.graph.data}),
        }

    @property
    def graph(self) -> TaskGraph | None:
        """The graph of a task whose files `vernal-check` does not read."""
        return None if unread(self.task) is None else task_graph(self.task)

    def save(self, file: str | Path) -> None:
        """Write the file, for `vernal-check`."""
        write_text(file, "".join(f"{line}\n" for line in self.lines()))


def worlds_of(task: Task) -> dict[str, dict[str, str]]:
    """The texts of the worlds by name that a task is built on, as an entry of a header; files are read as files."""
    named = [one.file.removeprefix(WORLD) for one in task.networks if one.file.startswith(WORLD)]
    named = [name for name in named if not name.endswith(".toml")]
    return {} if Shelf.find is None or not named else {"worlds": {name: Shelf.find(name) for name in named}}


def certificate_of(result: Result) -> CertificateFile:
    """The certificate of a result that has the sets for it."""
    if result.cover is None or result.task is None:
        raise InputError(result.uncertified or NOT_HELD.format(result.formula, result.verdict.value))
    return CertificateFile(result.task, result.formula, result.property, result.cover)


def _line(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
