"""Sets beside a state at which a claim fails: given to `vernal-check`, which shares no code with Vernal.

That program is a distribution of its own (the folder `checker`); where it is not installed, nothing is said.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vernal.evidence.cover import components, unread
from vernal.evidence.evidence_file import EvidenceFile
from vernal.evidence.judgement import Judgement
from vernal.evidence.kinds import Tree
from vernal.formats.certificate import SEMANTICS, VERSION, worlds_of
from vernal.logic.task import Task
from vernal.model.sorts import BOOL

NOT_INSTALLED = "sets that exclude other paths are in the file; vernal-check, which checks them, is not installed"


def judged(tree: Tree, file: EvidenceFile, task: Task, found: Path) -> tuple[Judgement, str]:
    """What `vernal-check` says of the sets of a tree, about the task in a file."""
    refusal = unread(task)
    if refusal is not None:
        return Judgement.UNDECIDED, refusal
    try:
        checker = importlib.import_module("vernal_check.check")
        errors = importlib.import_module("vernal_check.errors")
    except ImportError:
        return Judgement.UNDECIDED, NOT_INSTALLED
    with tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder) / "tree.certificate"
        certificate.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(tree, file, task)), encoding="utf-8")
        try:
            accepted = checker.check(certificate, found)
        except errors.Rejected as why:
            return Judgement.REJECTED, f"the sets do not show that the claim fails there: {why}"
        except (errors.Unreadable, RecursionError, MemoryError, OverflowError) as why:
            return Judgement.UNDECIDED, f"vernal-check could not check the sets: {why}"
    sets = "1 set" if accepted.sets == 1 else f"{accepted.sets:,} sets"
    return Judgement.ACCEPTED, f"that the claim fails there is shown by {sets}, which vernal-check has checked"


def _lines(tree: Tree, file: EvidenceFile, task: Task) -> Iterator[Any]:
    yield {
        "certificate": VERSION,
        "semantics": SEMANTICS,
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
