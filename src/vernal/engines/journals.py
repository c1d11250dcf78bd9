"""Which questions keep a journal, and what makes two of them the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from vernal.errors import InputError
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.run.journal import Journal, Subject, task_digest

KEEPERS = ("auto", "milp", "paths")


def refuse_journal(engine: str, options: Mapping[str, str]) -> None:
    """An error unless the engine has finished sub-problems to write down."""
    if engine not in KEEPERS:
        raise InputError(f"the engine {engine!r} keeps no journal; leave out --journal, or use {', '.join(KEEPERS)}")
    if engine == "milp" and options.get("encoding") != "compositional":
        raise InputError("a monolithic program is never half finished; a journal goes with --encoding compositional")


def open_journal(
    file: str | Path, task: Task, formulas: Iterable[Formula], engine: str, options: Mapping[str, str]
) -> Journal:
    """The journal of these questions: a new one, or what an earlier run of the same questions has left."""
    refuse_journal(engine, options)
    if task.source is None:
        raise InputError("a journal tells tasks apart by their files; this task was read from none")
    digest = task_digest(task.source.sha256, task.parameters, (network.sha256 for network in task.networks))
    said = [engine, *(f"{name}={value}" for name, value in sorted(options.items()))]
    subject = Subject(digest, f"{' '.join(said)} of Vernal {metadata.version('vernal')}", frozenset(map(str, formulas)))
    return Journal(Path(file), subject)
