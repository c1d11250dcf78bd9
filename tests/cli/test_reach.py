"""`vernal reach`: a table, a document and a picture, and an exit code that says whether it is all."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.samples import ROOM, room
from vernal.cli.main import main
from vernal.report.document import schema

Said = pytest.CaptureFixture[str]
LIFT = Path(__file__).parents[2] / "examples" / "lift"


def test_every_state_variable_as_far_as_the_properties_look(tmp_path: Path, capsys: Said) -> None:
    assert main(["reach", room(tmp_path)]) == 0
    head, first, *_, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["step", "T", "mode"]
    assert first.split() == ["0", "[18.000,", "19.000]", "HEAT"]
    step, low, high, *modes = last.split()
    assert (step, low, modes) == ("4", "[18.000,", ["OFF", "HEAT"])
    assert 21.2 <= float(high.strip("]")) <= 21.4  # 20, then 20.6 and 21.2; cut at 20 it is a little more


def test_expressions_a_document_and_a_picture(tmp_path: Path, capsys: Said) -> None:
    sets, plot = tmp_path / "sets.json", tmp_path / "tube.svg"
    options = ["--of", "T - 18", "--of", "T", "--steps", "2", "--set", "warmth=0"]
    assert main(["reach", room(tmp_path), *options, "--json", str(sets), "--plot", str(plot)]) == 0
    said = capsys.readouterr().out
    assert f"sets written to {sets}\nplot written to {plot}" in said
    content = json.loads(sets.read_text())
    jsonschema.Draft202012Validator(schema("reach")).validate(content)
    assert [entry["expression"] for entry in content["of"]] == ["T - 18", "T"]
    assert content["task"]["parameters"]["warmth"] == 0
    assert content["steps"][2]["values"]["T"]["upper"] == pytest.approx(19.2)
    assert len(content["steps"][2]["polygon"]) >= 3
    assert "simulated runs" in plot.read_text()


def test_the_document_alone_on_stdout(tmp_path: Path, capsys: Said) -> None:
    assert main(["reach", room(tmp_path), "--steps", "1", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["complete"] is True
    assert said.err.startswith("step")


def test_a_limit_leaves_the_steps_done_and_is_an_exit_code(tmp_path: Path, capsys: Said) -> None:
    assert main(["reach", room(tmp_path), "--memory", "0.001"]) == 5
    said = capsys.readouterr().out
    assert said == "note: stopped: memory beyond 0.001 GiB; none of the 5 steps is bounded\n"


def test_planning_models_are_bounded_too(capsys: Said) -> None:
    options = ["--property", f"{LIFT / 'safe.jani'}#0", "--constant", "top=3", "--steps", "3"]
    assert main(["reach", str(LIFT / "lift.jani"), *options]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("step")


@pytest.mark.parametrize(
    "options",
    [
        ["--of", "nothing"],
        ["--of", "G (T > 1)"],
        ["--steps", "-1"],
        ["--sets", "0"],
        ["--timeout", "0"],
        ["--runs", "-1"],
        ["--device", "tpu"],
        ["--plot", "tube.doc"],
        ["--plot", "no/such/folder/tube.svg"],
    ],
)
def test_senseless_questions_are_refused(options: list[str], tmp_path: Path, capsys: Said) -> None:
    assert main(["reach", room(tmp_path), *options]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_sets_are_followed_as_far_as_the_property_named_looks(tmp_path: Path, capsys: Said) -> None:
    text = ROOM.replace('cool = "G[0,k] (T <= 20)"', 'cool = "G[0,2] (T <= 20)"')
    assert main(["reach", room(tmp_path, text), "--of", "T", "-p", "cool"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["step", "0", "1", "2"]
