"""Where an entry of a trial is tried: a folder of its own, and what commands print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from tests.cli.samples import room
from vernal.cli.main import main

ROOT = Path(__file__).parents[1]
LIFT = str(ROOT / "examples" / "lift" / "lift.toml")
THERMOSTAT = str(ROOT / "examples" / "thermostat" / "thermostat.toml")


@dataclass
class Scene:
    """Where an entry is tried."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def command(self, *arguments: str) -> tuple[int, str]:
        self.capture.readouterr()
        code = main(list(arguments))
        said = self.capture.readouterr()
        return code, said.out + said.err

    @property
    def room(self) -> str:
        return room(self.folder)


Entry = Callable[[Scene], None]
Table = list[tuple[str, Entry]]


def entry_of(table: Table, item: int, what: str) -> Callable[[Entry], Entry]:
    """Put an entry into a table."""

    def put(function: Entry) -> Entry:
        table.append((f"{item} {what}", function))
        return function

    return put


def one(**changes: Any) -> vn.System:
    """A variable that moves a little, unless something else is said."""
    given: dict[str, Any] = {
        "state": {"x": vn.real()},
        "init": {"x": vn.interval(-1, 1)},
        "step": lambda s: {"x": s.x / 2},
    }
    return vn.System(**(given | changes))
