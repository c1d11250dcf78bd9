"""The whole way, with the real engines: task file, question, verdict, trace, replay, document."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.cli.samples import room
from vernal.cli.main import main
from vernal.report.document import schema

Said = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("engine", "spec", "code"),
    [
        ("falsify", "G[0,4] (T <= 20)", 10),
        ("falsify", "G[0,4] (T <= 30)", 5),
        ("bounds", "G[0,4] (T <= 30)", 0),
        ("bounds", "F (T > 30)", 5),
        ("auto", "G[0,4] (T <= 30)", 0),
        ("auto", "G[0,4] (T <= 20)", 10),
        ("auto", "AX[2] (T >= 18)", 0),
    ],
)
def test_engines_answer_as_they_should(engine: str, spec: str, code: int, tmp_path: Path, capsys: Said) -> None:
    assert main(["check", room(tmp_path), "--engine", engine, "--spec", spec]) == code
    said = capsys.readouterr()
    assert said.err == ""
    assert ("reason: " in said.out) == (code == 5)


def test_every_trace_written_is_accepted_and_an_edited_one_rejected(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "t.json"
    assert main(["check", room(tmp_path), "--property", "cool", "--trace", str(file)]) == 10
    assert main(["replay", str(file)]) == 0
    content = json.loads(file.read_text())
    content["trace"]["steps"][1]["state"]["T"] += 0.001953125
    file.write_text(json.dumps(content))
    assert main(["replay", str(file)]) == 1
    assert "step 1, T: recorded" in capsys.readouterr().out


def test_the_document_stands_alone_on_stdout(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vernal", "check", room(tmp_path), "--json", "-"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 10
    content = json.loads(ran.stdout)
    jsonschema.Draft202012Validator(schema("result")).validate(content)
    assert [result["verdict"] for result in content["results"]] == ["holds", "violated"]
    assert ran.stderr.startswith("holds     mild: G[0,4] (T <= 30)")


def test_the_same_seed_finds_the_same_trace(tmp_path: Path, capsys: Said) -> None:
    def found(seed: str) -> object:
        main(["check", room(tmp_path), "-p", "cool", "--engine", "falsify", "--seed", seed, "--json", "-"])
        return json.loads(capsys.readouterr().out)["results"][0]["trace"]

    assert found("3") == found("3")


def test_no_time_is_a_truthful_unknown(tmp_path: Path, capsys: Said) -> None:
    assert main(["check", room(tmp_path), "--timeout", "1e-6"]) == 5
    said = capsys.readouterr().out
    assert said.count("reason: ") == 2
    assert said.count("timeout after") == 2


def test_a_sweep_decides_every_cell(tmp_path: Path, capsys: Said) -> None:
    arguments = ["sweep", room(tmp_path), "--over", "warmth=0,2", "--over", "k=1..3", "--property", "cool"]
    assert main(arguments) == 0
    _, head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["k", "warmth=0", "warmth=2"]
    assert [row.split()[1] for row in rows] == ["holds"] * 3
    assert all("violated" in row for row in rows)
