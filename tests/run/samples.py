"""A task with many small programs: 3^k combinations of choices, none of them feasible, none excluded by bounds."""

from __future__ import annotations

from pathlib import Path

CORRIDOR = """\
vernal = 1
name = "corridor"

[parameters]
gap = 1
k = 4

[state]
x = "real"
y = "real"

[init]
x = "[0, 10]"
y = "[0, 10]"

[environment.next]
x = "x + choose(0, 0.5, 1)"

[properties]
apart = "AX[k] !(x - y > gap & y - x > gap)"
"""


def corridor(folder: Path) -> Path:
    """The task as a file."""
    file = folder / "corridor.toml"
    file.write_text(CORRIDOR, encoding="utf-8")
    return file
