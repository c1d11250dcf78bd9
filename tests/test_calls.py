"""All the command line does is a call: the same answers, files and pictures from Python."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import numpy as np
import pytest

import vernal as vn
from vernal.cli.main import main
from vernal.errors import InputError, MissingExtra
from vernal.model.hooks import hook
from vernal.report.document import schema

ROOT = Path(__file__).parent.parent
THERMOSTAT = ROOT / "examples" / "thermostat" / "thermostat.toml"
VCAS = ROOT / "examples" / "vcas" / "vcas.toml"


def drift(by: Any = Fraction(1, 10)) -> vn.System:
    return vn.System(
        "drift",
        state={"x": vn.real(), "on": vn.boolean()},
        init={"x": vn.interval(0, 1), "on": True},
        step=lambda s: {"x": s.x + vn.between(0, by), "on": s.x < 1},
    )


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in that keeps the columns, so that the test says what they are whether pandas is there or not."""
    module = ModuleType("pandas")
    module.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", module)


# Results and traces ---------------------------------------------------------------------------------------------------


def test_a_result_saves_and_reports_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = vn.load(THERMOSTAT)
    result = vn.check(task, property="warm")["warm"]
    result.save(tmp_path / "result.json")
    content = json.loads((tmp_path / "result.json").read_text())
    jsonschema.Draft202012Validator(schema("result")).validate(content)
    assert main(["check", str(THERMOSTAT), "-p", "warm", "--json", str(tmp_path / "said.json")]) == 0
    said = json.loads((tmp_path / "said.json").read_text())
    for document in (content, said):
        document["results"][0]["seconds"] = 0
    assert content == said
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page  # what T can be, step by step
    assert "What T can be at every step" in page
    assert f"Margin: {result.margin:.6g}" in page


def test_a_trace_saves_itself_for_replay(tmp_path: Path) -> None:
    file = tmp_path / "steady.trace.json"
    result = vn.check(vn.load(THERMOSTAT), "G[0,30] (T <= 21)", engine="falsify")
    assert result.trace is not None
    result.trace.save(file)
    assert vn.replay(file).judgement == "accepted"
    assert result.trace == result.evidence
    system = drift()
    other = vn.check(system, "G[0,9] (x <= 1.5)", engine="falsify")
    assert other.trace is not None
    other.trace.save(tmp_path / "drift.trace.json")
    assert vn.replay(tmp_path / "drift.trace.json", system).judgement == "accepted"


def test_a_trace_of_nothing_is_not_saved(tmp_path: Path) -> None:
    evidence = vn.check(drift(), "G[0,9] (x <= 1.5)", engine="falsify").evidence
    assert isinstance(evidence, vn.Trace)
    with pytest.raises(InputError, match=r"result\.trace"):
        evidence.save(tmp_path / "x.json")
    with pytest.raises(InputError, match="does not know its task"):
        vn.Result("G x", vn.HOLDS, "nobody").save(tmp_path / "x.json")


def test_reports_of_every_verdict_have_a_picture(tmp_path: Path) -> None:
    system = drift()
    for text, engine in (
        ("G[0,5] (x <= 2)", "bounds"),
        ("G[0,5] (x <= 1.2)", "falsify"),
        ("G[0,5] (x*x <= 2.25)", "falsify"),
    ):
        result = vn.check(system, text, engine=engine)
        result.report(tmp_path / f"{result.verdict.value}.html")
        assert "<svg" in (tmp_path / f"{result.verdict.value}.html").read_text()
    assert {file.stem for file in tmp_path.iterdir()} == {"holds", "violated", "unknown"}


def test_notebooks_show_a_table_and_a_picture() -> None:
    violated = vn.check(vn.load(THERMOSTAT), "G[0,30] (T <= 21)", engine="falsify")
    shown = [violated, violated.trace, vn.reach(drift(), steps=3), vn.simulate(drift(), 20, 5)]
    for item in shown:
        html = item._repr_html_()
        assert "<table>" in html
        assert "<svg" in html
    holds = vn.check(drift(), "G[0,5] (x <= 2)")
    assert "<table>" in holds._repr_html_()
    assert "up to step 5" in holds._repr_html_()
    assert "<table>" in vn.sweep(drift, {"by": [0, 1]}, "X (x <= 1)")._repr_html_()


# Sweeps ---------------------------------------------------------------------------------------------------------------


def test_a_sweep_has_the_rows_of_the_command(tmp_path: Path) -> None:
    table = vn.sweep(VCAS, {"v0": [-19.5, "-22.5"], "k": range(1, 4)}, property="safe")
    options = ["--over", "v0=-19.5,-22.5", "--over", "k=1..3", "-p", "safe", "--json", str(tmp_path / "rows.json")]
    assert main(["sweep", str(VCAS), *options]) == 0
    table.save(tmp_path / "table.json")
    said, made = (json.loads((tmp_path / name).read_text()) for name in ("rows.json", "table.json"))
    jsonschema.Draft202012Validator(schema("sweep")).validate(made)
    for document in (said, made):
        for row in document["rows"]:
            row["seconds"] = 0
    assert said == made
    assert [row.result.verdict.value for row in table] == ["holds"] * 5 + ["violated"]
    assert repr(table) == "<SweepTable of 6 rows: 5 holds, 1 violated>"
    assert table[5].parameters == {"v0": Fraction(-45, 2), "k": 3}
    table.save(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines()[0].startswith("v0,k,property,verdict")


def test_a_loaded_task_keeps_its_other_parameters() -> None:
    task = vn.load(VCAS, v0=-22.5)
    assert [row.result.verdict.value for row in vn.sweep(task, {"k": "2..3"}, property="safe")] == ["holds", "violated"]


def test_a_function_of_parameters_is_swept_over() -> None:
    table = vn.sweep(drift, {"by": [0.1, np.float64(0.5), Fraction(1, 3)]}, "G[0,3] (x <= 2)")
    assert [row.result.verdict.value for row in table] == ["holds", "violated", "holds"]
    assert table[1].parameters == {"by": Fraction(1, 2)}


def test_tables_are_data_frames(pandas: None) -> None:
    frame = vn.sweep(drift, {"by": [0, 1]}, "X (x <= 1)").to_dataframe()
    assert list(frame) == ["by", "property", "verdict", "scope", "margin", "engine", "seconds"]
    assert frame["verdict"] == ["holds", "violated"]
    runs = vn.simulate(drift(), 3, 2).to_dataframe()
    assert list(runs) == ["run", "step", "x", "on"]
    assert len(runs["x"]) == 9
    assert set(runs["on"]) <= {"true", "false"}
    sets = vn.reach(drift(), steps=2).to_dataframe()
    assert list(sets) == ["step", "x lower", "x upper", "on"]
    assert sets["on"][0] == ("true",)
    flow = vn.Flow("decay", state={"x": vn.real(0, 3)}, init={"x": vn.interval(1, 2)}, rates=lambda s: {"x": -s.x})
    spans = vn.reach(flow, time=1, spans=4).to_dataframe()
    assert list(spans) == ["from", "to", "x lower", "x upper"]
    assert spans["to"] == [0.25, 0.5, 0.75, 1.0]


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"vernal\[pandas\]"):
        vn.reach(drift(), steps=1).to_dataframe()


@pytest.mark.parametrize(
    ("subject", "over", "given", "words"),
    [
        (VCAS, {}, {}, "at least one parameter"),
        (VCAS, {"k": []}, {}, "no value for k"),
        (VCAS, {"nothing": [1]}, {}, "nothing"),
        (VCAS, {"k": [1]}, {"formula": "X (h > 0)", "property": "safe"}, "not both"),
        (VCAS, {"k": [1]}, {"property": "save"}, "save"),
        (VCAS, {"k": [1]}, {"timeout": 0}, "above 0"),
        (drift, {"by": ["much"]}, {"formula": "X (x > 0)"}, "is given numbers"),
        (drift, {"by": [1]}, {}, "no properties"),
    ],
)
def test_senseless_sweeps_are_refused(subject: Any, over: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        vn.sweep(subject, over, **given)


def test_a_system_without_a_file_is_no_sweep() -> None:
    with pytest.raises(InputError, match="a function of the parameters"):
        vn.sweep(vn.Task(drift()), {"by": [1]}, "X (x > 0)")


# The rest -------------------------------------------------------------------------------------------------------------


def test_explain_says_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(THERMOSTAT)]) == 0
    assert capsys.readouterr().out == vn.explain(vn.load(THERMOSTAT)) + "\n"
    assert main(["explain", str(THERMOSTAT), "--spec", "G (T <= 21)"]) == 0
    assert capsys.readouterr().out == vn.explain(vn.load(THERMOSTAT), "G (T <= 21)") + "\n"
    assert "drift" in vn.explain(drift())


def test_the_function_is_not_hidden_by_the_room_of_its_name() -> None:
    from vernal.simulate.runs import simulate

    assert callable(simulate)
    assert callable(vn.simulate)
    assert vn.simulate(drift(), 2, 1).runs.steps == 1


def test_objects_print_in_one_line() -> None:
    assert repr(vn.reach(drift(), steps=2)) == "<ReachableSets of x, on: steps 0 to 2>"
    assert "\n" not in repr(vn.simulate(vn.load(THERMOSTAT), 10, 10))


def test_a_method_that_is_not_there_yet_says_what_to_import() -> None:
    with pytest.raises(RuntimeError, match="import vernal first: it knows how to draw nothing"):
        hook("draw_nothing")
