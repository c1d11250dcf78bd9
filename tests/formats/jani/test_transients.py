"""Transient variables: no part of the state, but conditions may ask what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from tests.formats.jani import lift
from vernal.errors import InputError
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task

REWARD = {"name": "cost", "type": "real", "initial-value": 0, "transient": True}
MOVING = {"op": "ite", "if": "doors", "then": 7, "else": {"op": "+", "left": "the-floor", "right": 1}}


def made(folder: Path, unsafe: str, change: Any = None) -> Task:
    """The lift with a cost that is paid for a step, and another one where it moves."""
    model = lift.model()
    model["variables"].append(REWARD)
    cabin = model["automata"][0]
    cabin["edges"][0]["destinations"][0]["assignments"].append({"ref": "cost", "value": 5})
    cabin["locations"][1]["transient-values"] = [{"ref": "cost", "value": MOVING}]
    if change is not None:
        change(model)
    lift.write(folder, made=model, network=lift.ALWAYS_UP)
    return load_jani(
        folder / "lift.jani",
        policy=folder / "up.jani2nnet",
        constants={"top": 3},
        start="'the-floor' == 0 & cabin == still & !doors",
        unsafe=unsafe,
    )


@pytest.mark.parametrize(
    ("unsafe", "verdict", "step"),
    [
        ("cost == 5", vn.HOLDS, None),  # which an edge has, and no state
        ("cost > 0 & cabin == still", vn.HOLDS, None),
        ("cost == 2", vn.VIOLATED, 1),  # moving at floor 1
        ("cost == 4", vn.VIOLATED, 5),  # moving at floor 3: up, arrive, up, arrive, up
        ("cost == 7", vn.HOLDS, None),
    ],
)
def test_states_have_the_values_of_locations(
    tmp_path: Path, unsafe: str, verdict: vn.Verdict, step: int | None
) -> None:
    task = made(tmp_path, unsafe)
    assert "cost" not in [variable.name for variable in task.system.state]
    for engine in ("explicit", "predicates"):
        result = vn.check(task, task.properties["safe"], engine=engine)
        assert (result.verdict, result.step) == (verdict, step), engine


@pytest.mark.parametrize("own", ["load", "other"])
def test_automata_have_their_own(tmp_path: Path, own: str) -> None:
    """Two of the same name are two; that of the second automaton is called after it."""

    def change(model: Any) -> None:
        cabin = model["automata"][0]
        cabin["variables"] = [*cabin.get("variables", []), {**REWARD, "name": "load", "initial-value": 3}]
        cabin["locations"][1]["transient-values"].append({"ref": "load", "value": 4})
        cabin["edges"][0]["destinations"][0]["assignments"].append({"ref": "load", "value": 9})
        model["automata"].append(
            {
                "name": "other",
                "variables": [{**REWARD, "name": "load", "initial-value": 1}],
                "locations": [{"name": "here"}],
                "initial-locations": ["here"],
                "edges": [],
            }
        )
        model["system"]["elements"].append({"automaton": "other"})
        for vector in model["system"]["syncs"]:
            vector["synchronise"].append(None)

    kept, broken = {
        "load": ("load < 3 | load > 4", "load == 4 & cabin == moving"),
        "other": ("'other.load' != 1", "'other.load' == 1 & load == 4"),
    }[own]
    for unsafe, verdict in ((kept, vn.HOLDS), (broken, vn.VIOLATED)):
        task = made(tmp_path, unsafe, change)
        assert "load" not in [variable.name for variable in task.system.state]
        for engine in ("explicit", "predicates"):
            assert vn.check(task, task.properties["safe"], engine=engine).verdict is verdict


def test_a_start_may_ask_for_one(tmp_path: Path) -> None:
    made(tmp_path, "false")
    task = load_jani(tmp_path / "lift.jani", constants={"top": 3}, start="cost == 3", unsafe="'the-floor' != 2")
    result = vn.check(task, "cabin == moving & 'the-floor' == 2 & !doors", engine="explicit")
    assert result.verdict is vn.HOLDS
    assert not result.vacuous


def twice(model: Any) -> None:
    model["automata"].append({**lift.model()["automata"][0], "name": "other", "edges": []})
    model["automata"][1]["locations"] = [{"name": "still", "transient-values": [{"ref": "cost", "value": 1}]}]
    model["system"]["elements"].append({"automaton": "other"})
    for vector in model["system"]["syncs"]:
        vector["synchronise"].append(None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda m: m["automata"][0]["edges"][0].update(guard={"exp": {"op": "<", "left": "cost", "right": 1}}),
            "'cost'",
        ),
        (
            lambda m: m["automata"][0]["locations"][0].update({"transient-values": [{"ref": "doors", "value": True}]}),
            "no transient",
        ),
        (lambda m: m["automata"][0].update(variables=[REWARD]), "declared twice"),
        (lambda m: m["automata"][0].update(variables=[{"name": "cost", "type": "bool"}]), "declared twice"),
        (lambda m: m["variables"].append({**REWARD, "name": "doors"}), "declared twice"),
        (twice, "both give 'cost' values"),
    ],
)
def test_what_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        made(tmp_path, "false", change)
