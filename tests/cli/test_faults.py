"""`vernal faults` on blocks that a policy stacks wrongly: text, documents, reports, limits and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from vernal.cli.main import main
from vernal.report.document import schema

BLOCKS = Path(__file__).parents[2] / "examples/blocksworld"
Said = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of the policy that knows no unsafe states."""
    file = tmp_path_factory.mktemp("blocks") / "bad.json"
    policy = ["--policy", str(BLOCKS / "hasty.jani2nnet"), "--property", f"{BLOCKS / 'safe.jani'}#0"]
    assert main(["check", str(BLOCKS / "blocks.jani"), *policy, "--trace", str(file), "--quiet"]) == 10
    return file


def test_every_decision_has_a_row(bad: Path, capsys: Said) -> None:
    assert main(["faults", str(bad), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("violated")
    assert "kept by" in said
    assert "last fault: step" in said


def test_the_document_follows_its_schema(bad: Path, tmp_path: Path, capsys: Said) -> None:
    page = tmp_path / "faults.html"
    assert main(["faults", str(bad), "--json", "-", "--report", str(page), "--quiet"]) == 0
    said = capsys.readouterr()
    content = json.loads(said.out)
    jsonschema.Draft202012Validator(schema("faults")).validate(content)
    assert content["last_fault"]["kept_by"]
    assert "report written to" in said.err
    assert "Which decision was wrong" in page.read_text()


def test_what_there_is_no_time_for_is_unknown(bad: Path, capsys: Said) -> None:
    assert main(["faults", str(bad), "--timeout", "0.0001", "--quiet"]) == 5
    assert "timeout" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine", "explict"], "did you mean"),
        (["--timeout", "0"], "--timeout has to be"),
        (["--memory", "-1"], "--memory"),
    ],
)
def test_bad_options_are_refused(bad: Path, options: list[str], words: str, capsys: Said) -> None:
    assert main(["faults", str(bad), *options]) == 2
    assert words in capsys.readouterr().err


def test_what_is_not_accepted_is_not_asked_about(bad: Path, tmp_path: Path, capsys: Said) -> None:
    content = json.loads(bad.read_text())
    content["formula"] = "G true"
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(content))
    assert main(["faults", str(forged)]) == 2
    assert main(["faults", str(tmp_path / "none.json")]) == 2
    assert "there is no trace file" in capsys.readouterr().err


def test_an_output_does_not_replace_the_trace(bad: Path, capsys: Said) -> None:
    assert main(["faults", str(bad), "--json", str(bad)]) == 2
    assert "is read by this command" in capsys.readouterr().err
