"""What users get of an abstraction on the command line: a model, a graph, verdicts of starts, a shortest path."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.formats.jani import lift
from vernal.cli.main import main


class Ran(NamedTuple):
    """The exit code of a command, and everything it said."""

    exit_code: int
    output: str


def run(arguments: list[str]) -> Ran:
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(arguments)
    return Ran(code, said.getvalue())


def check(folder: Path, *options: str, network: str = lift.ALWAYS_UP, engine: str = "predicates") -> Ran:
    model = lift.write(folder, network=network)
    asked = ["check", str(model), "--property", f"{folder / 'pa.jani'}#0", "--constant", "top=3", "--engine", engine]
    return run([*asked, *options])


def test_all_files_of_one_run(tmp_path: Path) -> None:
    files = {name: str(tmp_path / name) for name in ("a.jani", "g.svg", "starts.json")}
    made = check(
        tmp_path, "--abstraction", files["a.jani"], "--graph", files["g.svg"], "--start-verdicts", files["starts.json"]
    )
    assert made.exit_code == 10
    assert "abstraction written to" in made.output
    assert "graph written to" in made.output
    assert (tmp_path / "g.svg").read_text(encoding="utf-8").startswith("<svg")
    back = run(["check", files["a.jani"], "--property", "#0", "--engine", "explicit"])
    assert back.exit_code == 10
    starts = json.loads((tmp_path / "starts.json").read_text(encoding="utf-8"))["starts"]
    assert [start["verdict"] for start in starts] == ["unsafe"]
    replayed = run(["replay", str(tmp_path / starts[0]["trace"])])
    assert (replayed.exit_code, replayed.output.split()[0]) == (0, "accepted")


def test_several_properties_have_a_file_each(tmp_path: Path) -> None:
    made = check(tmp_path, "--property", "not_stuck", "--graph", str(tmp_path / "g.dot"))
    assert "g.never_at_three.dot" in made.output
    assert (tmp_path / "g.not_stuck.dot").exists()


@pytest.mark.parametrize(
    ("options", "engine", "message"),
    [
        (["--graph", "g.svg"], "auto", "--graph goes with --engine predicates"),
        (["--start-verdicts", "s.json"], "explicit", "--start-verdicts goes with --engine predicates"),
        (["--abstraction", "a.json"], "predicates", "name a file ending in .jani"),
        (["--graph", "g.png"], "predicates", "name a file ending in .dot or .svg"),
        (["--graph", "nowhere/g.svg"], "predicates", "there is no folder"),
        (["--shortest"], "explicit", "--shortest; it goes with --engine predicates"),
    ],
)
def test_refused_before_anything_runs(tmp_path: Path, options: list[str], engine: str, message: str) -> None:
    made = check(tmp_path, *options, engine=engine)
    assert made.exit_code == 2
    assert message in made.output


def test_an_input_is_not_overwritten(tmp_path: Path) -> None:
    made = check(tmp_path, "--abstraction", str(tmp_path / "lift.jani"))
    assert made.exit_code == 2
    assert "is read by this command" in made.output


def test_nothing_to_write_is_said(tmp_path: Path) -> None:
    """Without an initial state there is no abstract one, and a run that is cut short has no whole abstraction."""
    model = lift.write(tmp_path)
    asked = ["check", str(model), "--constant", "top=3", "--engine", "predicates", "--property", "safe"]
    where = ["--start", "'the-floor' == 1 & 'the-floor' == 2", "--unsafe", "'the-floor' == 3"]
    made = run([*asked, *where, "--graph", str(tmp_path / "g.svg")])
    assert made.exit_code == 0
    assert "vacuous: there is no initial state" in made.output
    assert "nothing is written" in made.output
    assert not (tmp_path / "g.svg").exists()


def test_a_shortest_path(tmp_path: Path) -> None:
    made = check(tmp_path, "--shortest")
    assert "at step 3" in made.output
    assert "no unsafe path is shorter" in made.output


def test_a_filtered_policy_is_never_stuck(tmp_path: Path) -> None:
    made = check(tmp_path, "--property", "not_stuck", "--filter", "applicable", "--quiet")
    assert "violated  never_at_three" in made.output
    assert "holds     not_stuck" in made.output
