"""A lift between floors 0 and 3 as a planning model: small enough to know every answer by heart."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

Json = Any

MODEL: Json = {
    "jani-version": 1,
    "name": "lift",
    "type": "mdp",
    "actions": [{"name": "up"}, {"name": "down"}],
    "constants": [{"name": "top", "type": "int"}, {"name": "p", "type": "real", "value": 0.1}],
    "variables": [
        {
            "name": "the-floor",
            "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "top"},
            "initial-value": 0,
        },
        {"name": "doors", "type": "bool", "initial-value": False},
    ],
    "automata": [
        {
            "name": "cabin",
            "locations": [{"name": "still"}, {"name": "moving"}],
            "initial-locations": ["still"],
            "edges": [
                {
                    "location": "still",
                    "action": "up",
                    "guard": {"exp": {"op": "¬", "exp": "doors"}},
                    "destinations": [
                        {
                            "location": "moving",
                            "probability": {"exp": {"op": "-", "left": 1, "right": "p"}},
                            "assignments": [
                                {"ref": "the-floor", "value": {"op": "+", "left": "the-floor", "right": 1}},
                            ],
                        },
                        {"location": "still", "probability": {"exp": "p"}, "assignments": []},
                    ],
                },
                {
                    "location": "still",
                    "action": "down",
                    "destinations": [
                        {
                            "location": "still",
                            "assignments": [
                                {"ref": "the-floor", "value": {"op": "-", "left": "the-floor", "right": 1}},
                            ],
                        }
                    ],
                },
                {"location": "moving", "destinations": [{"location": "still"}]},
            ],
        }
    ],
    "system": {
        "elements": [{"automaton": "cabin"}],
        "syncs": [{"synchronise": ["up"], "result": "up"}, {"synchronise": ["down"], "result": "down"}],
    },
}

PROPERTY: Json = {
    "name": "never_at_three",
    "expression": {
        "op": "PA",
        "file": "up.jani2nnet",
        "start": {
            "op": "state-condition",
            "exp": {"op": "≤", "left": "the-floor", "right": 1},
            "locations": [{"automaton": "cabin", "location": "still"}],
        },
        "reach": {"op": "state-condition", "exp": {"op": "=", "left": "the-floor", "right": 3}},
        "predicates": [{"op": "≤", "left": "the-floor", "right": 1}],
    },
}

POLICY: Json = {
    "file": "up.nnet",
    "input": [{"name": "the-floor", "automaton": None}, {"name": "doors", "automaton": None}],
    "output": ["up", "down"],
}

# up scores 1, down scores the floor: up at 0, a tie at 1, down above
UP = "// lift\n1,2,2,2,\n2,2,\n0,\n0,0,\n3,1,\n0.0,0.0,0.0,\n1.0,1.0,1.0,\n0.0,0.0,\n1.0,0.0,\n1.0,\n0.0,\n"
ALWAYS_UP = UP.replace("\n1.0,0.0,\n1.0,\n0.0,\n", "\n0.0,0.0,\n1.0,\n0.0,\n")


def model() -> Json:
    return copy.deepcopy(MODEL)


def asked() -> Json:
    return copy.deepcopy(PROPERTY)


def write(folder: Path, made: Json = MODEL, pa: Json = PROPERTY, policy: Json = POLICY, network: str = UP) -> Path:
    """All files of the lift; the model's path."""
    for name, content in (("lift.jani", made), ("pa.jani", {"properties": [pa]}), ("up.jani2nnet", policy)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    (folder / "up.nnet").write_text(network)
    return folder / "lift.jani"
