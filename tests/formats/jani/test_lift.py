"""A small planning model in every way it can be asked about."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import vernal as vn
from tests.formats.jani import lift
from vernal.cli.main import application
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.printing import text
from vernal.logic.task import Task

AT_REST = "cabin == still & !doors"


def loaded(folder: Path, network: str = lift.UP, **options: str) -> Task:
    return load_jani(
        lift.write(folder, network=network), property=f"{folder / 'pa.jani'}#0", constants={"top": 3}, **options
    )


def test_the_system_is_an_ordinary_one(tmp_path: Path) -> None:
    task = loaded(tmp_path)
    assert [variable.name for variable in task.system.state] == ["the-floor", "doors", "cabin"]
    assert text(task.properties["never_at_three"]) == "G !('the-floor' == 3)"
    assert [text(predicate) for predicate in task.predicates] == ["'the-floor' <= 1"]
    assert task.counts == {"outcomes": 4, "dropped_out_of_range": 2}


def test_a_policy_that_turns_back(tmp_path: Path) -> None:
    """From floors 0 and 1 the lift reaches floor 2 and no other; with open doors it stands still at floor 0."""
    found = vn.check(loaded(tmp_path), engine="explicit")
    assert found["never_at_three"].verdict is vn.HOLDS
    assert found["never_at_three"].scope == (
        "for all time; successors outside declared ranges are no transitions (2 outcomes)"
    )
    assert found["never_at_three"].statistics["dropped_out_of_range"] == 2
    assert found["never_at_three"].notes == ()
    assert found["not_stuck"].verdict is vn.VIOLATED, "doors open, up is chosen, only down would do"
    (note,) = found["not_stuck"].notes
    assert note.startswith("the policy is stuck at step ")
    assert "it chooses up, where only down can be done (the-floor = " in note


def test_a_policy_that_always_climbs(tmp_path: Path) -> None:
    """Two floors up from floor 1: up, arrive, up. At the top it is stuck: going further up leaves the range."""
    task = loaded(tmp_path, lift.ALWAYS_UP)
    result = vn.check(task, task.properties["never_at_three"], engine="explicit")
    assert (result.verdict, result.step) == (vn.VIOLATED, 3)
    assert vn.check(task, "G !stuck", engine="explicit").verdict is vn.VIOLATED
    late = vn.check(task, "F ('the-floor' == 0)", engine="explicit")
    assert late.verdict is vn.VIOLATED, "and no path comes down again"
    assert any("stuck" in note for note in late.notes)


def test_the_best_of_the_applicable_actions(tmp_path: Path) -> None:
    """With the filter the policy goes down where it cannot go up, so it is never stuck."""
    found = vn.check(loaded(tmp_path, lift.ALWAYS_UP, filter="applicable"), engine="explicit")
    assert found["not_stuck"].verdict is vn.HOLDS
    assert found["never_at_three"].verdict is vn.VIOLATED


def test_the_filter_of_the_interface(tmp_path: Path) -> None:
    lift.write(tmp_path, policy={**lift.POLICY, "filter": True}, network=lift.ALWAYS_UP)
    task = load_jani(tmp_path / "lift.jani", property=str(tmp_path / "pa.jani"), constants={"top": 3})
    assert vn.check(task, "G !stuck", engine="explicit").verdict is vn.HOLDS


def test_without_a_policy_everything_may_happen(tmp_path: Path) -> None:
    pa = lift.asked()
    del pa["expression"]["file"]
    lift.write(tmp_path, pa=pa)
    task = load_jani(tmp_path / "lift.jani", property=str(tmp_path / "pa.jani"), constants={"top": 3})
    assert not task.system.agents
    assert list(task.properties) == ["never_at_three"]
    assert vn.check(task, engine="explicit")["never_at_three"].step == 3


def test_conditions_on_the_command_line(tmp_path: Path) -> None:
    """Names with dashes are quoted; without --start the model's own initial state counts."""
    lift.write(tmp_path)
    load = partial(load_jani, tmp_path / "lift.jani", policy=tmp_path / "up.jani2nnet", constants={"top": 3})
    high = load(start=f"'the-floor' == 2 & {AT_REST}", unsafe="'the-floor' == 0")
    assert vn.check(high, engine="explicit")["safe"].verdict is vn.VIOLATED
    usual = load(unsafe="'the-floor' >= 3")
    assert vn.check(usual, engine="explicit")["safe"].verdict is vn.HOLDS


def test_an_interface_in_toml_with_an_onnx_network(tmp_path: Path) -> None:
    lift.write(tmp_path)
    vn.write_network(vn.read_network(tmp_path / "up.nnet"), tmp_path / "up.onnx")
    (tmp_path / "up.toml").write_text(
        'file = "up.onnx"\ninput = ["the-floor", "doors"]\noutput = ["up", "down"]\n', encoding="utf-8"
    )
    task = loaded(tmp_path, policy=str(tmp_path / "up.toml"))
    same = loaded(tmp_path)
    for name in same.properties:
        assert vn.check(task, property=name)[name].verdict is vn.check(same, property=name)[name].verdict


def test_contradictory_starts_are_vacuous(tmp_path: Path) -> None:
    lift.write(tmp_path)
    task = load_jani(
        tmp_path / "lift.jani", start="'the-floor' > 1 & 'the-floor' < 1", unsafe="doors", constants={"top": 3}
    )
    result = vn.check(task, property="safe")["safe"]
    assert (result.verdict, result.vacuous) == (vn.HOLDS, True)
    assert "vacuous: there is no initial state" in result.notes


def test_local_variables_and_local_names(tmp_path: Path) -> None:
    """Two automata with a variable of one name each: both are in the state, one under the automaton's name."""
    made = lift.model()
    own = {
        "name": "count",
        "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 2},
        "initial-value": 0,
    }
    step = {"ref": "count", "value": {"op": "+", "left": "count", "right": 1}}
    for name in ("first", "second"):
        edges = [{"location": "here", "destinations": [{"location": "here", "assignments": [step]}]}]
        automaton = {"name": name, "locations": [{"name": "here"}], "initial-locations": ["here"], "edges": edges}
        made["automata"].append({**automaton, "variables": [own]})
        made["system"]["elements"].append({"automaton": name})
    for vector in made["system"]["syncs"]:
        vector["synchronise"] += [None, None]
    lift.write(tmp_path, made)
    task = load_jani(tmp_path / "lift.jani", unsafe="count == 2 & 'second.count' == 2", constants={"top": 3})
    assert [variable.name for variable in task.system.state][-2:] == ["count", "second.count"]
    assert vn.check(task, engine="explicit")["safe"].step == 4


def test_traces_replay_with_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lift.write(tmp_path, network=lift.ALWAYS_UP)
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    given = ["lift.jani", "--property", "pa.jani#never_at_three", "--constant", "top=3", "--filter", "applicable"]
    checked = run.invoke(application(), ["check", *given, "--trace", "bad.json"])
    assert checked.exit_code == 10, checked.output
    head = json.loads((tmp_path / "bad.json").read_text())["task"]
    assert head["options"] == {"property": "pa.jani#never_at_three", "filter": "applicable"}
    assert head["parameters"]["top"] == 3
    monkeypatch.chdir(tmp_path.parent)
    accepted = run.invoke(application(), ["replay", str(tmp_path / "bad.json")])
    assert accepted.exit_code == 0, accepted.output
    (tmp_path / "up.nnet").write_text(lift.UP)
    assert run.invoke(application(), ["replay", str(tmp_path / "bad.json")]).exit_code == 1


def test_every_command_takes_a_planning_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lift.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    given = ["lift.jani", "--property", "pa.jani", "--constant", "top=3"]
    simulated = run.invoke(application(), ["simulate", *given, "--runs", "5", "--steps", "3"])
    assert simulated.exit_code == 0, simulated.output
    assert "the-floor max" in simulated.output
    explained = run.invoke(application(), ["explain", *given])
    assert "G !('the-floor' == 3)" in explained.output
    swept = run.invoke(
        application(), ["sweep", "lift.jani", "--property", "pa.jani#0", "--over", "top=2..4", "--quiet"]
    )
    assert swept.exit_code == 0, swept.output
    refused = run.invoke(application(), ["check", "lift.jani", "--property", "pa.jani#0", "--property", "pa.jani#1"])
    assert "one PA property at a time" in str(refused.exception)
