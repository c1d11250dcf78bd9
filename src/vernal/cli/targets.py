"""Files for several results of one invocation: one each, named after the property."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vernal.evidence.result import Result


def targets(file: Path, results: Sequence[Result]) -> list[Path]:
    """The file itself for a single result; for several, one each beside it."""
    if len(results) == 1:
        return [file]
    names = file_names([result.property or str(number) for number, result in enumerate(results, start=1)])
    return [beside(file, name) for name in names]


def file_names(names: Sequence[str]) -> list[str]:
    """Each name as part of a file's: what a path could misread is a _, and a name that is taken gets a number."""
    made: list[str] = []
    for name in names:
        safe = re.sub(r"[^\w-]", "_", name)[:100]
        tries = (safe if number == 1 else f"{safe}-{number}" for number in range(1, len(names) + 1))
        made.append(next(option for option in tries if option not in made))
    return made


def beside(file: Path, name: str) -> Path:
    """`bad.trace.json` and `safe` make `bad.safe.trace.json`."""
    stem, dot, rest = file.name.partition(".")
    return file.with_name(f"{stem}.{name}{dot}{rest}")
