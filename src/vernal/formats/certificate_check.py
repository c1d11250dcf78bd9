"""Certificates given to `vernal-check`, which shares no code with Vernal: of trees that are replayed, and for reports.

That program is a distribution of its own (the folder `checker`); where it is not installed, nothing is said.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vernal.evidence.cover import components, unread
from vernal.evidence.evidence_file import EvidenceFile
from vernal.evidence.judgement import Judgement
from vernal.evidence.kinds import Tree
from vernal.formats.certificate import SEMANTICS, VERSION, worlds_of
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.model.sorts import BOOL

NOT_INSTALLED = "vernal-check, which checks the sets in the file, is not installed: pip install ./checker"


@dataclass(frozen=True)
class Checked:
    """What `vernal-check` says: of how many sets, and which steps it found between them, by their names."""

    judgement: Judgement
    reason: str
    sets: int = 0
    steps: tuple[tuple[str, str], ...] = ()


def checked(lines: Iterable[str], task_file: Path, seconds: float | None = None) -> Checked:
    """A certificate, line by line, checked against the task in a file."""
    try:
        checker, clock, errors = (
            importlib.import_module(f"vernal_check.{name}") for name in ("check", "clock", "errors")
        )
    except ImportError:
        return Checked(Judgement.UNDECIDED, NOT_INSTALLED)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "claim.certificate"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        clock.limit(seconds)
        try:
            accepted = checker.check(file, task_file)
        except errors.Rejected as why:
            is_shown = not isinstance(why, errors.Unshown)  # a state contradicts it, not bounds over sets alone
            return Checked(Judgement.REJECTED if is_shown else Judgement.UNDECIDED, str(why))
        except (errors.Unreadable, RecursionError, MemoryError, OverflowError) as why:
            return Checked(Judgement.UNDECIDED, str(why))
        finally:
            clock.limit(None)
    return Checked(Judgement.ACCEPTED, "vernal-check accepts it", accepted.sets, accepted.steps)


# Trees ----------------------------------------------------------------------------------------------------------------


def judged(tree: Tree, file: EvidenceFile, task: Task, found: Path) -> tuple[Judgement, str]:
    """What `vernal-check` says of the sets of a tree, about the task in a file."""
    refusal = unread(task)
    if refusal is not None:
        return Judgement.UNDECIDED, refusal
    said = checked(map(json.dumps, _lines(tree, file, task)), found)
    if said.judgement is Judgement.REJECTED:
        return said.judgement, f"the sets do not show that the claim fails there: {said.reason}"
    if said.judgement is Judgement.UNDECIDED:
        return said.judgement, f"the sets were not checked: {said.reason}"
    sets = "1 set" if said.sets == 1 else f"{said.sets:,} sets"
    return said.judgement, f"that the claim fails there is shown by {sets}, which vernal-check has checked"


def _lines(tree: Tree, file: EvidenceFile, task: Task) -> Iterator[Any]:
    yield {
        "certificate": VERSION,
        "semantics": SEMANTICS[Time.STEPS],
        "task": file.task,
        "formula": file.formula,
        "property": file.property,
        "verdict": "violated",
        "variables": list(components(task.model)),
        "state": _state(tree, task),
        **worlds_of(task),
    }
    yield from tree.sets or ()


def _state(tree: Tree, task: Task) -> Sequence[Any]:
    """The state at which the claim fails, as cells."""
    step = tree.path.steps[-1]
    values = [*(step.state[variable.name] for variable in task.model.state), *_remembered(tree, task)]
    sorts = [var.sort for var, _ in components(task.model).values()]
    return [bool(value) if sort == BOOL else str(value) for value, sort in zip(values, sorts, strict=True)]


def _remembered(tree: Tree, task: Task) -> Iterator[Any]:
    for agent in task.model.agents:
        if agent.slots:
            yield from tree.path.steps[-1].memory[agent.name]
