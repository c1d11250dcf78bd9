"""Bounded real variables: a heated room, against an enumeration that is written by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task

HALF, THIRD = Fraction(1, 2), Fraction(7, 10)

# warm scores 19 - T, where T is above 0, and cool 0: warm below 19 degrees, a tie there, cool above
POLICY = "// room\n1,1,2,1,\n1,2,\n0,\n0,\n30,\n0.0,0.0,\n1.0,1.0,\n-1.0,\n0.0,\n19.0,\n0.0,\n"


def changed(by: Any) -> Any:
    return [{"ref": "T", "value": {"op": "+", "left": "T", "right": by}}]


def edge(action: str | None, *ways: Any) -> Any:
    made = {"location": "here", "destinations": [{"location": "here", "assignments": changed(by)} for by in ways]}
    return made if action is None else {**made, "action": action}


def made(folder: Path, start: str, unsafe: str, *, low: Any = 16, high: Any = 21.5, first: Any = None) -> Task:
    """Warming adds 1/2 or 0.7 degrees, cooling takes 1/2; successors outside [low, high] are no transitions."""
    room: dict[str, Any] = {
        "name": "T",
        "type": {"kind": "bounded", "base": "real", "lower-bound": low, "upper-bound": high},
    }
    model = {
        "jani-version": 1,
        "name": "room",
        "type": "mdp",
        "actions": [{"name": "warm"}, {"name": "cool"}],
        "variables": [room if first is None else {**room, "initial-value": first}],
        "automata": [
            {
                "name": "heater",
                "locations": [{"name": "here"}],
                "initial-locations": ["here"],
                "edges": [edge("warm", 0.5, 0.7), edge("cool", -0.5)],
            }
        ],
        "system": {
            "elements": [{"automaton": "heater"}],
            "syncs": [{"synchronise": [name], "result": name} for name in ("warm", "cool")],
        },
    }
    policy = {"file": "room.nnet", "input": ["T"], "output": ["warm", "cool"]}
    for name, content in (("room.jani", model), ("room.jani2nnet", policy)):
        (folder / name).write_text(json.dumps(content))
    (folder / "room.nnet").write_text(POLICY)
    return load_jani(folder / "room.jani", policy=folder / "room.jani2nnet", start=start, unsafe=unsafe)


def reached(first: Fraction, low: Fraction, high: Fraction) -> dict[Fraction, int]:
    """All temperatures that come from one, with the steps to each, and by the rules above."""
    depth, waiting = {first: 0}, [first]
    for here in waiting:  # grows on the way
        ways = [HALF, THIRD] if here <= 19 else []
        ways += [-HALF] if here >= 19 else []
        for after in (here + by for by in ways):
            if low <= after <= high and after not in depth:
                depth[after] = depth[here] + 1
                waiting.append(after)
    return depth


@pytest.mark.parametrize("limit", ["19.4", "19.5", "19.6", "19.7", "17"])
@pytest.mark.parametrize("high", [Fraction(43, 2), Fraction(39, 2)])
def test_states_are_those_of_an_enumeration(limit: str, high: Fraction, tmp_path: Path) -> None:
    task = made(tmp_path, "T == 17.3", f"T >= {limit}", high=float(high))
    depth = reached(Fraction("17.3"), Fraction(16), high)
    steps = min((taken for value, taken in depth.items() if value >= Fraction(limit)), default=None)
    result = vn.check(task, task.properties["safe"], engine="explicit")
    assert (result.verdict, result.step) == (vn.HOLDS if steps is None else vn.VIOLATED, steps)


def test_a_range_of_starts_is_decided(tmp_path: Path) -> None:
    """From [18.6, 19] the warmest after a step is 19.7, where warming is a tie; nothing gets beyond."""
    task = made(tmp_path, "T >= 18.6 & T <= 19", "T > 19.7")
    assert vn.check(task, "G[0,3] (T <= 19.7)").verdict is vn.HOLDS
    assert vn.check(task, "G[0,3] (T < 19.7)").verdict is vn.VIOLATED
    result = vn.check(task, task.properties["safe"], engine="predicates")
    assert result.verdict is vn.UNKNOWN
    assert "real variable" in str(result.reason)


def test_where_nothing_stays_inside_the_path_ends_and_the_policy_is_stuck(tmp_path: Path) -> None:
    """At 18.9 warming leads beyond 19.3 by either way, and cooling would do."""
    task = made(tmp_path, "T == 18.9", "false", high=19.3)
    result = vn.check(task, task.properties["not_stuck"], engine="explicit")
    assert (result.verdict, result.step) == (vn.VIOLATED, 0)


def test_initial_values_and_ranges_are_exact(tmp_path: Path) -> None:
    task = made(tmp_path, "true", "false", first=18.25, low=17.5)
    (variable,) = task.system.state
    assert (variable.lower, variable.upper) == (Fraction(35, 2), Fraction(43, 2))
    low = {"op": "<", "left": "T", "right": 18.3}
    listed = {"op": "states-values", "values": [{"variables": [{"var": "T", "value": value}]} for value in (18.25, 19)]}
    (tmp_path / "pa.jani").write_text(json.dumps({"properties": [
        {"name": "p", "expression": {"op": "PA", "start": listed, "reach": {"op": "state-condition", "exp": low}}}
    ]}))  # fmt: skip
    asked = load_jani(tmp_path / "room.jani", policy=tmp_path / "room.jani2nnet", property=f"{tmp_path / 'pa.jani'}#0")
    assert vn.check(asked, "T == 18.25 | T == 19", engine="explicit").verdict is vn.HOLDS
    assert vn.check(asked, "T == 19", engine="explicit").verdict is vn.VIOLATED
