"""What every document and evidence file begins with: the schema, the tool, and the fingerprints of what was read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from vernal.evidence.program_version import version
from vernal.logic.task import Task

SCHEMA_VERSION = 1


def exact_number(value: Fraction) -> int | float | str:
    """The shortest decimal that says exactly this number, or "p/q" where no float does."""
    if value.denominator == 1 and abs(value) < 2**53:
        return int(value)
    try:
        nearest = float(value)
    except OverflowError:
        return str(value)
    return nearest if Fraction(repr(nearest)) == value else str(value)


def head(task: Task) -> dict[str, Any]:
    """The head of a document about a task."""
    source = task.source
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "vernal", "version": version()},
        "task": {
            "name": task.name,
            "file": None if source is None else source.file,
            "sha256": None if source is None else source.sha256,
            "parameters": {name: exact_number(value) for name, value in task.parameters.items()},
            "networks": [{"file": network.file, "sha256": network.sha256} for network in task.networks],
            **({"options": dict(task.options)} if task.options else {}),
        },
    }
