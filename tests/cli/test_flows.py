"""Flows on the command line, with stand-ins for the engines: what is printed, written and refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import vernal as vn
from tests.engines.flow.standin import Knows, pipe, proof, standing_in
from tests.portion import every
from vernal.cli.main import main
from vernal.evidence.knowledge import Counterexample, Known, Open
from vernal.evidence.trajectory import trajectory
from vernal.logic.question import Question
from vernal.report.document import schema

JET = """
vernal = 1
name = "jet"
[parameters]
T = 1.5
shift = 0
[state]
x = "real [-1, 1]"
y = "real [-1, 1]"
[flow]
x = "-y - 1.5*x^2 - 0.5*x^3 - 0.1 + wind"
y = "3*x - y"
[flow.let]
wind = "between(-0.01, 0.01)"
[init]
x = "[0.45 + shift, 0.5 + shift]"
y = "[-0.6, -0.55]"
[properties]
safe = "G[0, T] !(x >= 0.3 & x <= 0.35 & y >= 0.5 & y <= 0.6)"
[abstraction]
widths = [10, 16]
error = 0.05
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture
def jet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "jet.toml"
    path.write_text(JET)
    return path


@pytest.fixture
def vernal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(capsys, monkeypatch)


@dataclass(frozen=True)
class Command:
    """`vernal` in this process, with engines that know what they are told."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *words: object, knows: Knows | None = None) -> Ended:
        with standing_in(self.monkeypatch, knows):
            code = main([str(word) for word in words])
        said = self.capsys.readouterr()
        assert "Traceback" not in said.err
        return Ended(code, said.out, said.err)


def left_open(question: Question) -> Known:
    return Open(engine="stand-in", reason="the pipe grew too wide", proven_time=0.75)


def refuted(question: Question) -> Known:
    """From (0.475, -0.575) x is below 0.6 at once."""
    first = {"x": Fraction("0.475"), "y": Fraction("-0.575")}
    (wind,) = question.model.step.names
    path = trajectory(question.model, first, (Fraction(0), Fraction(1, 4)), [{wind: Fraction(0)}])
    return Counterexample(engine="stand-in", trace=path.trace)


WRONG = "G[0, 1] (x >= 0.6)"


def test_a_proof(jet: Path, vernal: Command) -> None:
    ended = vernal("check", jet, knows=proof(pipe(2.0, 2.0)))
    assert ended.code == 0
    assert ended.out.startswith("holds     safe: G[0,1.5] ")
    assert "until t = 1.5, inside the region  (stand-in, rigorous, " in ended.out


def test_a_proof_of_trajectories_that_leave(jet: Path, vernal: Command) -> None:
    ended = vernal("check", jet, knows=proof(pipe(0.5, 2.0)))
    assert "until t = 1.5; all trajectories stay inside the region until t = 0.5" in ended.out


def test_what_is_open(jet: Path, vernal: Command) -> None:
    ended = vernal("check", jet, knows=left_open)
    assert ended.code == 5
    assert "reason: the pipe grew too wide" in ended.out
    assert "proven: holds until t = 0.75" in ended.out


def test_a_trajectory_that_fails(jet: Path, vernal: Command) -> None:
    ended = vernal("check", jet, "--spec", WRONG, knows=refuted)
    assert ended.code == 10
    assert "violated  G[0,1] (x >= 0.6)  at t = 0.25" in ended.out
    assert "wind" in ended.out


def test_a_vacuous_bad_set(jet: Path, vernal: Command) -> None:
    ended = vernal("check", jet, "--spec", "G[0, 1] !(x >= 2)")
    assert ended.code == 0
    assert "vacuous: no state of the region" in ended.out


@pytest.mark.parametrize("knows", [proof(pipe(0.5, 2.0)), proof(), left_open, refuted])
def test_documents_and_reports(jet: Path, vernal: Command, knows: Knows) -> None:
    ended = vernal("check", jet, "--spec", WRONG, "--json", "out.json", "--report", "out.html", knows=knows)
    document = json.loads(Path("out.json").read_text())
    jsonschema.validate(document, schema("result"))
    (result,) = document["results"]
    assert ended.code == {"holds": 0, "violated": 10, "unknown": 5}[result["verdict"]]
    page = Path("out.html").read_text()
    assert result["verdict"] in page
    assert "trajectory" in page  # in words
    assert "<svg" in page


def test_results_in_a_notebook(jet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for knows in every(2, (proof(pipe(0.5, 2.0)), proof(), refuted, left_open)):
        with standing_in(monkeypatch, knows):
            result = vn.check(vn.load(jet), WRONG)
        assert result.verdict.value in result._repr_html_()
        result.save("result.json")
        result.report("result.html")
        assert "<svg" in Path("result.html").read_text()


def test_what_a_document_says_of_times(jet: Path, vernal: Command) -> None:
    found = []
    for knows in (proof(pipe(0.5, 2.0)), left_open, refuted):
        vernal("check", jet, "--spec", WRONG, "--json", "out.json", "--quiet", knows=knows)
        (result,) = json.loads(Path("out.json").read_text())["results"]
        found.append([result[key] for key in ("evidence", "inside_until", "proven_time", "violation_time")])
    assert found == [["flowpipe", 0.5, None, None], [None, None, 0.75, None], ["trace", None, None, 0.25]]


@pytest.mark.parametrize("engine", ["flowpipe", "abstraction"])
def test_a_flowpipe_is_written_and_replayed(engine: str, jet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--trace", "safe.json", "--json", "result.json"]
    assert main(["check", str(jet), *files, "--engine", engine, "--quiet"]) == 0
    assert "flowpipe written to safe.json    replay: vernal replay safe.json" in capsys.readouterr().out
    written = json.loads(Path("safe.json").read_text())
    jsonschema.validate(written, schema("trace"))
    assert written["flowpipe"] == json.loads(Path("result.json").read_text())["results"][0]["flowpipe"]
    assert main(["replay", "safe.json", "--plot", "safe.svg"]) == 0
    assert capsys.readouterr().out.startswith("accepted")
    assert "<svg" in Path("safe.svg").read_text()


def test_a_flowpipe_that_shows_nothing_is_not_accepted(jet: Path, vernal: Command) -> None:
    ended = vernal("check", jet, "--trace", "safe.json", "--property", "safe", knows=proof(pipe(2.0, 2.0)))
    assert ended.code == 0
    again = vernal("replay", "safe.json")
    assert again.code == 1
    assert "starts from" in again.out


def test_a_sweep_over_where_a_flow_starts(jet: Path, vernal: Command) -> None:
    ended = vernal("sweep", jet, "--over", "shift=-0.1,0,0.1", "--json", "rows.json", knows=proof(pipe(2.0, 2.0)))
    assert ended.code == 0
    assert ended.out.count("holds") == 3
    document = json.loads(Path("rows.json").read_text())
    jsonschema.validate(document, schema("sweep"))
    assert [row["scope"] for row in document["rows"]] == ["until t = 1.5, inside the region"] * 3


def test_a_sweep_that_starts_outside_the_region(jet: Path, vernal: Command) -> None:
    ended = vernal("sweep", jet, "--over", "shift=0,0.6", knows=proof(pipe(2.0, 2.0)))
    assert ended.code == 2
    assert "in the cell shift=0.6" in ended.err
    assert "outside its range" in ended.err


def test_what_a_flow_says_in_words(jet: Path, vernal: Command) -> None:
    ended = vernal("explain", jet)
    assert ended.code == 0
    for said in (
        "jet: a flow in continuous time, 2 state variables",
        "The ranges are the region",
        "any real between -0.01 and 0.01",
        "dx/dt",
        "abstraction: widths 10, 16; error 0.05, 0.05",
        "along every trajectory while it is in the region",
        "at every time from 0 to 1.5",
        "flowpipe",
    ):
        assert said in ended.out
    assert "milp" not in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--engine", "paths"), "'paths' is for systems that move in steps"),
        (("check", "--engine", "milp", "--encoding", "compositional"), "'milp' is for systems"),
        (("check", "--depth", "3"), "'auto' has no option 'depth' for flows"),
        (("check", "--policy", "p.onnx"), "only for planning models"),
        (("check", "--spec", "F (x > 0)"), "F needs a last time"),
        (("check", "--spec", "G[0,1] EX (x > 0)"), "EX counts steps"),
        (("check", "--spec", "G[0,1] (log(x) > 0)"), "undefined in the region"),
        (("check", "--set", "T=0"), "horizon is zero"),
        (("check", "--set", "shift=5"), "outside its range"),
        (("reach", "--steps", "3"), "jet is a flow"),
        (("explain", "--tree", "t.svg"), "jet is a flow"),
    ],
)
def test_what_is_refused(jet: Path, vernal: Command, words: tuple[str, ...], said: str) -> None:
    command, *options = words
    ended = vernal(command, jet, *options)
    assert ended.code == 2
    assert said in ended.err


def test_the_help_names_the_engines_of_flows(vernal: Command) -> None:
    said = " ".join(vernal("check", "--help").out.replace("│", " ").split())
    assert "abstraction" in said
