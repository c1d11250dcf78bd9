"""What the shell completes from the task on the command line: names of properties and of parameters.

Nothing is computed and no network is read; a file that cannot be read completes nothing, its errors are the command's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vernal.formats.task.schema import TaskTable

TASKS = (".toml", "")  # endings of files that are read as tasks


def property_names(context: typer.Context, incomplete: str) -> list[str]:
    """`--property`: the properties of the task, and `in_range`."""
    table = _table(context)
    return [] if table is None else _beginning([*table.properties, "in_range"], incomplete)


def parameter_names(context: typer.Context, incomplete: str) -> list[str]:
    """`--set`, `--over`: the parameters of the task, ready for a value."""
    table = _table(context)
    return [] if table is None else _beginning((f"{name}=" for name in table.parameters), incomplete)


def _beginning(names: Iterable[str], text: str) -> list[str]:
    return [name for name in names if name.startswith(text)]


def _table(context: typer.Context) -> TaskTable | None:
    """The tables of the task that is named so far, with those of its worlds."""
    from pathlib import Path

    file = context.params.get("task") or next(iter(context.args), None)  # an option without its value ends parsing
    if file is None or Path(file).suffix not in TASKS:
        return None
    from vernal.errors import VernalError
    from vernal.formats.task.blueprint import open_task

    try:
        return open_task(file).table
    except (VernalError, OSError):
        return None
