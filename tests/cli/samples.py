"""A task of one screen and a way to call the command line."""

from __future__ import annotations

from pathlib import Path

ROOM = """\
vernal = 1
name = "room"

[parameters]
warmth = 0.5
k = 4

[state]
T = "real [0, 40]"
mode = "enum {OFF, HEAT}"

[init]
T = "[18, 19]"
mode = "HEAT"

[environment.let]
sun = "between(0, 0.1)"
gain = "match(mode, OFF: -0.5, HEAT: choose(0, warmth))"

[environment.next]
T = "T + gain + sun"
mode = "if(T > 20, OFF, HEAT)"

[properties]
mild = "G[0,k] (T <= 30)"
cool = "G[0,k] (T <= 20)"
"""


def room(folder: Path, text: str = ROOM) -> str:
    """The task as a file."""
    file = folder / "room.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)
