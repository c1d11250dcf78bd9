"""Evidence about flows: files with times, checked again by enclosing the trajectory once more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import vernal as vn
from vernal.errors import FormatError
from vernal.evidence.evidence_file import fingerprint
from vernal.report.document import schema

TASK = """
vernal = 1
name = "pushed"
[state]
x = "real [-4, 4]"
y = "real [-4, 4]"
[flow]
x = "y + w"
y = "-sin(x)"
[flow.let]
w = "between(-0.1, 0.1)"
[init]
x = "[0.9, 1]"
y = 0
[properties]
near = "G[0, 2] x >= -0.2"
gets_there = "F[1, 2] x > 0.9"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evidence")
    (made / "pushed.toml").write_text(TASK, encoding="utf-8")
    task = vn.load(made / "pushed.toml")
    for name, result in vn.check(task, engine="falsify").items():
        assert result.verdict is vn.VIOLATED, result.reason
        vn.write_evidence(task, result, made / f"{name}.json")
    return made


@pytest.mark.parametrize("name", ["near", "gets_there"])
def test_what_was_written_is_accepted(folder: Path, name: str) -> None:
    checked = vn.replay(folder / f"{name}.json")
    assert checked.judgement == "accepted"
    assert "whatever solution is taken" in checked.reason
    document = json.loads((folder / f"{name}.json").read_text())
    jsonschema.validate(document, schema("trace"))
    times = [step["time"] for step in document["trace"]["steps"]]
    assert times[0] == 0
    assert times == sorted(times)
    assert times[-1] <= 2
    assert all("w" in step["disturbances"] for step in document["trace"]["steps"][:-1])


def edited(folder: Path, change: Callable[[dict[str, Any]], object], *, signed: bool = True) -> Path:
    """The file with something changed, and the hash that belongs to the change."""
    document = json.loads((folder / "near.json").read_text())
    change(document)
    if signed:
        document["sha256"] = fingerprint(document)
    (folder / "edited.json").write_text(json.dumps(document))
    return folder / "edited.json"


def steps(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["trace"]["steps"]
    return found


REJECTED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "state": (lambda d: steps(d)[3]["state"].update(y=steps(d)[3]["state"]["y"] + 1e-9), "y: recorded"),
    "first state": (lambda d: steps(d)[0]["state"].update(x=0.95), "x: recorded"),
    "not initial": (lambda d: steps(d)[0]["state"].update(x=1.5), "not an initial value"),
    "disturbance": (lambda d: steps(d)[1]["disturbances"].update(w=0.05), "recorded"),
    "too large a disturbance": (lambda d: steps(d)[1]["disturbances"].update(w=0.2), "cannot be followed"),
    "no disturbance": (lambda d: steps(d)[1].update(disturbances={}), "does not say every disturbance"),
    "time": (lambda d: steps(d)[2].update(time=steps(d)[2]["time"] + 1e-6), "recorded"),
    "too short": (lambda d: d["trace"].update(steps=[*steps(d)[:2], {**steps(d)[2], "disturbances": {}}]), "not show"),
    "formula": (lambda d: d.update(formula="G[0,2] x >= -3"), "reads"),
    "another formula": (lambda d: d.update(property=None, formula="G[0,2] x >= -3"), "does not show"),
    "verdict": (lambda d: d.update(verdict="holds"), "breaks the formula"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_was_changed_is_rejected(folder: Path, name: str) -> None:
    change, why = REJECTED[name]
    checked = vn.replay(edited(folder, change))
    assert checked.judgement == "rejected"
    assert why in checked.reason


def test_a_change_of_the_head_is_found_by_the_hash(folder: Path) -> None:
    checked = vn.replay(edited(folder, lambda d: d["tool"].update(version="0"), signed=False))
    assert checked.judgement == "rejected"
    assert "hash" in checked.reason


MALFORMED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no times": lambda d: steps(d)[1].pop("time"),
    "a time that is none": lambda d: steps(d)[1].update(time="soon"),
    "a late beginning": lambda d: steps(d)[0].update(time=0.001),
    "back in time": lambda d: steps(d)[2].update(time=0.001),
    "a loop": lambda d: d["trace"].update(loop=0),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(FormatError):
        vn.replay(edited(folder, MALFORMED[name]))


def test_a_flow_in_python(tmp_path: Path) -> None:
    flow = vn.Flow(state={"x": vn.real(0, 9)}, init={"x": vn.interval(0, 1)}, rates=lambda s: {"x": s.x})
    result = vn.check(flow, "G[0,1] x < 2", engine="falsify")
    assert result.trace is not None
    result.trace.save(tmp_path / "saved.json")
    assert vn.replay(tmp_path / "saved.json", flow).judgement == "accepted"
    slower = vn.Flow(state={"x": vn.real(0, 9)}, init={"x": vn.interval(0, 1)}, rates=lambda s: {"x": s.x / 2})
    checked = vn.replay(tmp_path / "saved.json", slower)
    assert checked.judgement == "rejected"
    assert checked.reason.startswith("time 0.")


def test_it_is_drawn_over_time(folder: Path) -> None:
    trace = vn.replay(folder / "near.json").trace
    assert trace is not None
    figure = trace.plot(folder / "trace.svg")
    assert [axes.get_xlabel() for axes in figure.axes][-1] == "time"
    line = figure.axes[0].lines[0]
    assert line.get_xdata()[-1] == pytest.approx(float(trace.times[-1]))  # type: ignore[index]
    trace.plot(folder / "plane.svg", of=["x", "y"], plane=True)
    drawn = trace.plot(of="x + y")
    assert [axes.get_ylabel() for axes in drawn.axes] == ["x + y"]


@pytest.mark.parametrize(("group", "name"), [("state", "x"), ("disturbances", "w")])
def test_numbers_that_nothing_is_computed_with_are_refused(folder: Path, group: str, name: str) -> None:
    document = json.loads((folder / "near.json").read_text())
    document["trace"]["steps"][1][group][name] = "1.0E+999999"
    document["sha256"] = fingerprint(document)
    (folder / "huge.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match="bits"):
        vn.replay(folder / "huge.json")
