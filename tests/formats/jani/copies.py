"""Copies of one automaton that move together: each counts up and begins again, so that they always agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = Any

LAST = 3
UNSAFE = "x0 == 3 & x1 == 2"  # of no state, since all copies begin alike
REACHED = "x0 == 3 & x1 == 3"  # of a state, after three steps


def model(count: int) -> Json:
    """So many of them, each with two edges of the one action: 2^count combinations."""
    names = [f"a{number}" for number in range(count)]
    return {
        "jani-version": 1,
        "name": "copies",
        "type": "mdp",
        "actions": [{"name": "go"}],
        "automata": [_automaton(name, f"x{number}") for number, name in enumerate(names)],
        "system": {
            "elements": [{"automaton": name} for name in names],
            "syncs": [{"synchronise": ["go"] * count, "result": "go"}],
        },
    }


def _automaton(name: str, variable: str) -> Json:
    kind = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": LAST}
    more: Json = {"op": "+", "left": variable, "right": 1}
    return {
        "name": name,
        "locations": [{"name": "here"}],
        "initial-locations": ["here"],
        "variables": [{"name": variable, "type": kind, "initial-value": 0}],
        "edges": [
            _edge({"op": "<", "left": variable, "right": LAST}, variable, more),
            _edge({"op": "=", "left": variable, "right": LAST}, variable, 0),
        ],
    }


def _edge(guard: Json, variable: str, value: Json) -> Json:
    leading = {"location": "here", "assignments": [{"ref": variable, "value": value}]}
    return {"location": "here", "action": "go", "guard": {"exp": guard}, "destinations": [leading]}


def write(count: int, folder: Path) -> Path:
    """The model as a file."""
    file = folder / f"copies{count}.jani"
    file.write_text(json.dumps(model(count)), encoding="utf-8")
    return file
