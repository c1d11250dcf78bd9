"""`vernal replay`: accepts what is true, rejects what was changed, and says which step and which value."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cli.samples import ROOM, room
from vernal.cli.main import main
from vernal.evidence import evidence_file
from vernal.evidence.replay import run
from vernal.evidence.result import HOLDS, VIOLATED, Result, Verdict
from vernal.formats.task.blueprint import load

Said = pytest.CaptureFixture[str]
FIRST = {"T": Fraction(19), "mode": Fraction(1)}
WARMEST: dict[str, int | Fraction | Sequence[Fraction]] = {"gain": 1, "sun": Fraction(1, 10)}


def evidence(folder: Path, formula: str, verdict: Verdict, name: str | None = None) -> Path:
    """A trace file of the warmest run of the room."""
    task = load(room(folder), {"warmth": "0.5"})
    trace = run(task.system, FIRST, [WARMEST] * 4, 4)
    file = folder / "bad.trace.json"
    file.write_text(evidence_file.dump(task, Result(formula, verdict, "test", name, evidence=trace)))
    return file


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return evidence(tmp_path, "G[0,4] (T <= 20)", VIOLATED, "cool")


def edit(file: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_what_is_true_is_accepted(bad: Path, capsys: Said) -> None:
    assert main(["replay", str(bad)]) == 0
    assert capsys.readouterr().out.startswith("accepted  G[0,4] (T <= 20)\n")


def test_an_edited_digit_is_found_with_both_values(bad: Path, capsys: Said) -> None:
    edit(bad, lambda content: content["trace"]["steps"][2]["state"].update(T=20.3))
    assert main(["replay", str(bad)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("rejected")
    assert "step 2, T: recorded 20.3, recomputed 20.2" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content.update(sha256="0" * 64), "hash"),
        (lambda content: content["trace"]["steps"].pop(), "step 3"),
        (lambda content: content["trace"]["steps"][0]["state"].update(T=25.0), "not an initial value"),
        (lambda content: content["trace"]["steps"][1]["disturbances"].update(sun=0.2), "step 1"),
        (lambda content: content["trace"]["steps"][1]["choices"]["gain"].update(index=0), "step "),
        (lambda content: content["task"].update(sha256="0" * 64), "task file"),
        (lambda content: content["task"]["networks"].append({"file": "n.onnx", "sha256": "0" * 64}), "network"),
        (lambda content: content.update(formula="G[0,4] (T <= 19)"), "property 'cool'"),
        (lambda content: content["task"]["parameters"].update(warmth=0.25), "step"),
        (lambda content: content["task"].update(name="other"), "hash"),
        (lambda content: content["tool"].update(version="9.9.9"), "hash"),
    ],
    ids=["hash", "short", "start", "disturbance", "choice", "task", "network", "formula", "parameter", "name", "tool"],
)
def test_whatever_was_changed_is_rejected(change: Callable[[Any], object], words: str, bad: Path, capsys: Said) -> None:
    edit(bad, change)
    assert main(["replay", str(bad)]) == 1
    assert words in capsys.readouterr().out


def test_a_formula_that_the_path_violates_as_well_is_another_formula(tmp_path: Path, capsys: Said) -> None:
    file = evidence(tmp_path, "G[0,4] (T <= 20)", VIOLATED)
    edit(file, lambda content: content.update(formula="G[0,5] (T <= 20)"))
    assert main(["replay", str(file)]) == 1
    assert "hash" in capsys.readouterr().out


def test_a_true_path_that_does_not_show_the_claim_is_rejected(tmp_path: Path, capsys: Said) -> None:
    file = evidence(tmp_path, "G[0,4] (T <= 30)", VIOLATED, "mild")
    assert main(["replay", str(file)]) == 1
    assert "does not show" in capsys.readouterr().out


def test_a_witness_of_one_start_shows_nothing_of_others(tmp_path: Path, capsys: Said) -> None:
    file = evidence(tmp_path, "EF[0,4] (T > 20.5)", HOLDS)
    assert main(["replay", str(file)]) == 5
    said = capsys.readouterr().out
    assert said.startswith("could not be checked")
    assert "the formula is true" in said
    assert "every initial state" in said


def test_a_path_shows_no_more_than_a_path_can(tmp_path: Path, capsys: Said) -> None:
    file = evidence(tmp_path, "EF[0,4] (T > 99)", VIOLATED)
    assert main(["replay", str(file)]) == 5
    assert "this is one of several" in capsys.readouterr().out


def test_what_it_was_checked_against_is_printed(bad: Path, capsys: Said) -> None:
    assert main(["replay", str(bad)]) == 0
    content = json.loads(bad.read_text())["task"]
    said = capsys.readouterr().out
    assert f"{content['file']} (sha256 {content['sha256'][:12]})" in said
    assert "k = 4" in said


def test_a_changed_task_is_rejected(bad: Path, tmp_path: Path, capsys: Said) -> None:
    room(tmp_path, ROOM.replace("0.5", "0.6"))
    assert main(["replay", str(bad)]) == 1
    assert "has changed since" in capsys.readouterr().out


def test_task_and_evidence_may_move_together(bad: Path, tmp_path: Path, capsys: Said) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("room.toml", "bad.trace.json"):
        shutil.move(tmp_path / name, other / name)
    assert main(["replay", str(other / "bad.trace.json")]) == 0


@pytest.mark.parametrize("content", ["", "{}", "[1, 2]", "\x00\xff", '{"schema_version": 1}', "[" * 100_000])
def test_what_cannot_be_read_ends_with_2(content: str, tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content, encoding="latin-1")
    assert main(["replay", str(file)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_missing_files_end_with_2(bad: Path, tmp_path: Path, capsys: Said) -> None:
    assert main(["replay", str(tmp_path / "none.json")]) == 2
    (tmp_path / "room.toml").unlink()
    assert main(["replay", str(bad)]) == 2
    assert "room.toml" in capsys.readouterr().err


@pytest.mark.parametrize("spec", ["EX[2] (h > -110)", "AX (v > -10) | AX (v < -10)"])
def test_a_tree_is_replayed_as_one(spec: str, tmp_path: Path, capsys: Said) -> None:
    """The state at which a claim of states fails, and what excludes the paths from there; a path is not enough."""
    task = Path(__file__).parents[2] / "examples" / "vcas" / "vcas.toml"
    file = tmp_path / "tree.json"
    assert main(["check", str(task), "--spec", spec, "--trace", str(file), "--quiet"]) == 10
    content = json.loads(file.read_text())
    assert (content["evidence"], len(content["trace"]["steps"])) == ("tree", 1)
    assert main(["replay", str(file)]) == 5
    assert content["excluded_by"] in capsys.readouterr().out
    content |= {"evidence": "trace", "excluded_by": None}
    content["sha256"] = evidence_file.fingerprint(content)
    file.write_text(json.dumps(content))
    assert main(["replay", str(file)]) == 1


@pytest.mark.parametrize("spec", ["EF (n == 12)", "AG EF (n == 12)", "AF (n == 12) | EX (n == 3)"])
def test_a_tree_with_the_sets_that_exclude_other_paths_is_accepted(spec: str, tmp_path: Path, capsys: Said) -> None:
    """What no path shows, `vernal-check` finds out again of the sets in the file, and of no others."""
    task = Path(__file__).parents[2] / "benchmarks" / "forever" / "systems" / "counter.toml"
    file = tmp_path / "tree.json"
    assert main(["check", str(task), "--spec", spec, "--trace", str(file), "--engine", "explicit", "--quiet"]) == 10
    content = json.loads(file.read_text())
    assert content["evidence"] == "tree"
    assert main(["replay", str(file)]) == 0
    assert "vernal-check has checked" in capsys.readouterr().out
    changes: list[dict[str, object]] = [{"sets": content["sets"][:-1]}, {"sets": []}, {"formula": "EF (n == 5)"}]
    for change in changes:
        forged = {**content, **change}
        forged["sha256"] = evidence_file.fingerprint(forged)
        file.write_text(json.dumps(forged))
        assert main(["replay", str(file)]) in (1, 5)


def test_a_trace_is_drawn(bad: Path, tmp_path: Path, capsys: Said) -> None:
    picture = tmp_path / "bad.svg"
    assert main(["replay", str(bad), "--plot", str(picture), "--of", "T - k", "--of", "mode"]) == 0
    assert f"plot written to {picture}" in capsys.readouterr().out
    assert ">T - k<" in picture.read_text()
    assert ">sun<" not in picture.read_text()


def test_what_is_rejected_is_not_drawn(bad: Path, tmp_path: Path, capsys: Said) -> None:
    edit(bad, lambda content: content["trace"]["steps"][2]["state"].update(T=20.3))
    assert main(["replay", str(bad), "--plot", str(tmp_path / "bad.svg")]) == 1
    assert "nothing is drawn" in capsys.readouterr().out
    assert not (tmp_path / "bad.svg").exists()


@pytest.mark.parametrize(("option", "words"), [(["--of", "T"], "--of says"), (["--plane"], "--plane says")])
def test_what_is_drawn_is_said_of_a_picture(option: list[str], words: str, bad: Path, capsys: Said) -> None:
    assert main(["replay", str(bad), *option]) == 2
    assert words in capsys.readouterr().err
