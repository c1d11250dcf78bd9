"""`vernal reach` of a flow: a table of spans of time, a document, pictures, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import vernal as vn
from tests.cli.samples import room
from vernal.cli.main import main
from vernal.report.document import schema

Said = pytest.CaptureFixture[str]
DECAY = """
vernal = 1
name = "decay"
[parameters]
T = 2
[state]
x = "real [-3, 3]"
y = "real [-3, 3]"
[flow]
x = "-x + y"
y = "-y"
[init]
x = "[1, 2]"
y = "[0, 0.5]"
[properties]
low = "G[0, T] x <= 2.5"
"""


@pytest.fixture
def decay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "decay.toml"
    file.write_text(DECAY)
    return str(file)


def test_every_variable_in_twenty_spans_as_far_as_the_properties_look(decay: str, capsys: Said) -> None:
    assert main(["reach", decay]) == 0
    head, first, *_, last, note = capsys.readouterr().out.splitlines()
    assert head.split() == ["time", "x", "y"]
    assert first.split()[:4] == ["[0.0,", "0.1]", *first.split()[2:4]]
    assert last.split()[:2] == ["[1.9,", "2.0]"]
    assert note == "note: all trajectories are inside the region"


def test_a_time_spans_and_parameters_are_given(decay: str, capsys: Said) -> None:
    assert main(["reach", decay, "--of", "x + y", "--time", "1", "--spans", "2", "--set", "T=7"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["time", "x", "+", "y"]
    assert [row.split()[:2] for row in rows[:2]] == [["[0.0,", "0.5]"], ["[0.5,", "1.0]"]]


@pytest.mark.parametrize("engine", ["auto", "flowpipe", "abstraction"])
def test_a_document_fits_its_schema(decay: str, capsys: Said, engine: str) -> None:
    assert main(["reach", decay, "--engine", engine, "--spans", "3", "--json", "sets.json"]) == 0
    content = json.loads(Path("sets.json").read_text())
    jsonschema.Draft202012Validator(schema("reach")).validate(content)
    assert content["engine"] == ("flowpipe" if engine == "auto" else engine)
    assert (content["time"], content["until"], content["inside_until"], content["left"]) == (2.0, 2.0, 2.0, None)
    assert [step["from"] for step in content["steps"]] == pytest.approx([0, 2 / 3, 4 / 3])
    assert content["steps"][0]["values"]["x"]["upper"] >= 2
    assert len(content["steps"][0]["polygon"]) >= 3
    assert "sets written to sets.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ([], ["flowpipe", "initial set", "bad set", "7 simulated"]),
        (["--of", "x"], ["certified bounds of all trajectories", "7 simulated runs", ">time<"]),
        (["--of", "x - y", "--of", "x*y"], ["certified bounds of all trajectories", ">x - y<", ">time<"]),
        (["--of", "x", "--of", "x > 1"], [">x &gt; 1<", ">true<", ">time<"]),
        (["--of", "x", "--of", "y", "--of", "x"], ["certified bounds of all trajectories", ">time<"]),
        (["--of", "log(x)", "--of", "3"], ["certified bounds of all trajectories"]),
    ],
    ids=["phase", "band", "plane", "labels", "three", "no bound"],
)
def test_pictures(decay: str, options: list[str], seen: list[str]) -> None:
    assert main(["reach", decay, *options, "--plot", "sets.svg", "--runs", "7"]) == 0
    text = Path("sets.svg").read_text()
    assert [words for words in seen if words not in text] == []


def test_what_is_undefined_has_no_bound(decay: str, capsys: Said) -> None:
    assert main(["reach", decay, "--of", "log(x - 0.5)", "--spans", "4"]) == 0
    said = capsys.readouterr().out
    assert "no bound" in said.splitlines()[-3]
    assert "note: log(x - 0.5) has no bound from time 0.5 on" in said


def test_a_notebook_shows_table_and_picture(decay: str) -> None:
    shown = vn.reach(vn.load(decay), of="x", spans=2)._repr_html_()
    assert "<table>" in shown
    assert "<svg" in shown


def test_trajectories_that_leave_are_told(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "leaves.toml"
    file.write_text(DECAY.replace('"-x + y"', '"1"'))
    assert main(["reach", str(file), "--of", "x", "--spans", "4"]) == 0
    said = capsys.readouterr().out
    assert "no trajectory" not in said
    assert "all trajectories are inside the region until time 0.9" in said  # the first leaves at 1
    assert main(["reach", str(file), "--time", "3", "--spans", "4"]) == 0
    assert "note: no trajectory is inside the region after time 2" in capsys.readouterr().out


def test_no_initial_state_is_said(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "none.toml"
    file.write_text(DECAY.replace("[init]\n", '[init]\nwhere = ["x + y >= 2.6"]\n'))
    assert main(["reach", str(file)]) == 0
    assert capsys.readouterr().out == "note: there is no initial state\n"


def test_a_limit_is_an_exit_code(decay: str, capsys: Said) -> None:
    assert main(["reach", decay, "--memory", "0.001"]) == 5
    assert capsys.readouterr().out == "note: stopped: memory beyond 0.001 GiB; nothing is bounded\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--steps", "3"], "decay is a flow, in continuous time, for which there is no --steps"),
        (["--time", "0"], "--time has to be a number above 0"),
        (["--time", "inf"], "--time has to be a number above 0"),
        (["--spans", "0"], "--spans has to be from 1 to 10,000"),
        (["--engine", "paths"], "no engine 'paths' bounds flows; there are auto, flowpipe, abstraction"),
        (["--of", "wind"], "wind"),
        (["--plot", "sets.doc"], "sets.doc"),
    ],
)
def test_senseless_questions_are_refused(decay: str, capsys: Said, options: list[str], said: str) -> None:
    assert main(["reach", decay, *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error


@pytest.mark.parametrize("options", [["--time", "1"], ["--engine", "flowpipe"], ["--spans", "3"]])
def test_systems_that_move_in_steps_have_steps(tmp_path: Path, capsys: Said, options: list[str]) -> None:
    assert main(["reach", room(tmp_path), *options]) == 2
    assert f"moves in steps, for which there is no {options[0]}; say how far with --steps" in capsys.readouterr().err


# Options of the engines of flows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["flowpipe", "abstraction"])
@pytest.mark.parametrize("directions", ["box", "octagon", "x + y; x - 2*y"])
def test_directions_are_an_option(decay: str, capsys: Said, engine: str, directions: str) -> None:
    assert main(["check", decay, "--engine", engine, "--directions", directions]) == 0
    assert f"({engine}, rigorous" in capsys.readouterr().out


@pytest.mark.parametrize("transitions", ["facet", "vertex"])
def test_transitions_are_an_option(decay: str, capsys: Said, transitions: str) -> None:
    assert main(["check", decay, "--engine", "abstraction", "--transitions", transitions]) == 0
    assert main(["sweep", decay, "--over", "T=1,2", "--engine", "abstraction", "--transitions", transitions]) == 0
    assert "holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--engine", "flowpipe", "--transitions", "facet"],
            "no option --transitions; it goes with --engine abstraction",
        ),
        (["--engine", "falsify", "--directions", "box"], "it goes with --engine flowpipe, abstraction"),
        (["--transitions", "vertex"], "goes with --engine abstraction"),
        (["--engine", "abstraction", "--transitions", "edge"], "no transitions 'edge'"),
        (["--engine", "flowpipe", "--directions", "x*y"], "linear expression"),
        (["--engine", "abstraction", "--directions", "x + z"], "--directions is auto, box, octagon or linear"),
    ],
)
def test_options_that_mean_nothing_are_errors(decay: str, capsys: Said, options: list[str], said: str) -> None:
    assert main(["check", decay, *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "reach", "simulate"])
@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        (".xml", "exactly one is read"),
        (".cfg", "name the .xml"),
        (".json", "no hybrid automaton"),
    ],
)
def test_what_is_wrong_with_an_automaton_is_said(
    tmp_path: Path, capsys: Said, command: str, suffix: str, said: str
) -> None:
    file = tmp_path / f"tank{suffix}"
    file.write_text("<sspaceex/>")
    assert main([command, str(file)]) == 2
    assert said in capsys.readouterr().err
