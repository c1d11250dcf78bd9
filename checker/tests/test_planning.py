"""JANI models, written by hand: what is a step, what is chosen, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable

SCORES = "1,1,2,2,\n1,2,\n0,\n0,\n0,\n0,0,\n1,1,\n1,\n0,\n0,\n1,\n"  # n, and always 1
Json = Any


def edge(action: str | None, after: Json, guard: Json = True, **more: Json) -> Json:
    destination = {"location": "here", "assignments": [{"ref": "n", "value": after}], **more}
    named = {} if action is None else {"action": action}
    return {"location": "here", "guard": {"exp": guard}, "destinations": [destination], **named}


def plus(number: int) -> Json:
    return {"op": "+", "left": "n", "right": number}


def model(edges: list[Json], **more: Json) -> Json:
    return {
        "name": "row",
        "type": "lts",
        "actions": [{"name": "go"}, {"name": "stay"}],
        "variables": [
            {
                "name": "n",
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 2},
                "initial-value": 0,
            }
        ],
        "automata": [
            {"name": "a", "locations": [{"name": "here"}], "initial-locations": ["here"], "edges": edges},
        ],
        "system": {
            "elements": [{"automaton": "a"}],
            "syncs": [{"synchronise": [name], "result": name} for name in ("go", "stay")],
        },
        **more,
    }


def accepts(folder: Path, made: Json, formula: str, states: list[int], **options: str) -> bool:
    files = {"row.jani": json.dumps(made), "p.jani2nnet": json.dumps(POLICY), "p.nnet": SCORES}
    for name, text in files.items():
        (folder / name).write_text(text)
    read = ["p.jani2nnet", "p.nnet"] if "policy" in options else []
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    told = {
        "file": "row.jani",
        "sha256": hashes["row.jani"],
        "networks": [{"file": name, "sha256": hashes[name]} for name in read],
        "options": options,
    }
    head = {
        "certificate": 1,
        "semantics": "steps-1",
        "task": told,
        "formula": formula,
        "property": None,
        "verdict": "holds",
        "variables": ["n"],
    }
    (folder / "c").write_text("\n".join(json.dumps(line) for line in [head, *([state] for state in states)]) + "\n")
    try:
        check(folder / "c")
    except Rejected:
        return False
    return True


POLICY: Json = {"file": "p.nnet", "input": [{"name": "n"}], "output": ["go", "stay"]}
WALK = [edge("go", plus(1)), edge("stay", "n")]
UNLIKELY = edge("go", plus(1), probability={"exp": 0})


@pytest.mark.parametrize(
    ("edges", "formula", "states", "options", "expected"),
    [
        (WALK, "G (n <= 2)", [0, 1, 2], {}, True),  # what leaves the range is no step
        (WALK, "G (n <= 1)", [0, 1], {}, False),
        (WALK, "G (n <= 0)", [0], {"policy": "p.jani2nnet"}, True),  # at 0 the second score is larger
        (WALK, "G (n <= 0)", [0], {"policy": "p.jani2nnet", "start": "n == 1"}, False),
        (WALK, "G (n <= 2)", [1, 2], {"policy": "p.jani2nnet", "start": "n == 1"}, True),  # scores tie at 1
        (WALK, "G (n <= 1)", [1], {"policy": "p.jani2nnet", "start": "n == 1"}, False),
        (WALK, "G (n != 0)", [1, 2], {"start": "n == 1"}, True),
        (WALK, "G (n != 0)", [1, 2], {"start": "n >= 0"}, False),
        (WALK[:1], "G F (n == 1)", [0, 1, 2], {}, False),  # paths end, since nothing leads out of the range
        (WALK[:1], "F (n == 2)", [0, 1, 2], {}, True),
        (WALK[:1], "G !stuck", [0], {"policy": "p.jani2nnet"}, False),  # stay is chosen, and only go can be done
        (WALK[:1], "G !stuck", [0, 1, 2], {"policy": "p.jani2nnet", "filter": "applicable"}, True),
        ([edge(None, plus(1)), *WALK], "G (n <= 0)", [0], {"policy": "p.jani2nnet"}, False),  # nobody chooses it
        ([UNLIKELY, *WALK[1:]], "G (n <= 0)", [0], {}, True),
        ([edge("go", plus(1), {"op": "<", "left": "n", "right": 1}), *WALK[1:]], "G (n <= 1)", [0, 1], {}, True),
    ],
)
def test_steps(
    edges: list[Json], formula: str, states: list[int], options: dict[str, str], expected: bool, tmp_path: Path
) -> None:
    assert accepts(tmp_path, model(edges), formula, states, **options) is expected


@pytest.mark.parametrize(
    "change",
    [
        {"type": "mdp2"},
        {"actions": [{"name": "go"}]},
        {"variables": [{"name": "n", "type": "int", "initial-value": 0}]},
        {"constants": [{"name": "n", "type": "int", "value": 1}]},
        {"system": {"elements": [{"automaton": "a", "input-enable": ["go"]}], "syncs": []}},
    ],
)
def test_what_is_not_read_is_refused(change: Json, tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        accepts(tmp_path, model(WALK, **change), "G (n <= 2)", [0, 1, 2])


def test_a_product_of_variables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="products"):
        accepts(tmp_path, model([edge("go", {"op": "*", "left": "n", "right": "n"})]), "true", [0])
