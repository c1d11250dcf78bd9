"""What is suggested after unknown is valid, and the most promising comes first."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import vernal as vn
from tests.trial import one
from vernal.cli.main import main
from vernal.evidence.result import UNKNOWN, EngineAttempt, Result
from vernal.report.next_steps import as_call, cheap_steps, next_steps, round_up, suggestions
from vernal.report.page import show_result

DISC = """
vernal = 1
[parameters]
w = 1
other = 3
[state]
x = "real"
y = "real"
[init]
x = "[-w, w]"
y = "[-w, w]"
where = ["x*x + y*y <= 1"]
[environment.next]
x = "x + y/8"
y = "y - x/8"
[properties]
low = "G[0,12] (x + y <= 1.62)"
"""


@pytest.fixture
def disc(tmp_path: Path) -> Path:
    file = tmp_path / "disc.toml"
    file.write_text(DISC, "utf-8")
    return file


def open_result(disc: Path, engine: str = "auto", **changes: object) -> Result:
    task = vn.load(disc)
    given = {"reason": "the bounds are too loose to decide", "task": task, "seconds": 1.0, **changes}
    return Result("G[0,12] (x + y <= 1.62)", UNKNOWN, engine, "low", **given)  # type: ignore[arg-type]


def test_every_command_that_is_suggested_can_be_run(disc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The claim needs a better proof than one engine has: each suggestion is a command that ends with a verdict."""
    document = disc.parent / "d.json"
    arguments = ["check", str(disc), "--property", "low", "--engine", "bounds", "--no-tighten", "--seed", "3"]
    assert main([*arguments, "--json", str(document), "--quiet"]) == 5
    said = capsys.readouterr().out
    (result,) = json.loads(document.read_text())["results"]
    commands = [shlex.split(one["command"]) for one in result["try"]]
    assert commands[0] == ["vernal", "check", str(disc), "--property", "low", "--seed", "3"]
    assert [one["engine"] for one in result["tried"]] == ["bounds"]
    for step in result["try"]:
        assert f"{step['command']}    # {step['why']}" in said
    for words in commands[1:]:
        assert {"--no-tighten", "--engine"} <= set(words), "options of the engine stay with it"
        assert main([*words[1:], "--quiet"]) in (0, 5, 10)
    assert any("w=0.1" in words for words in commands)
    assert not any("other=0.3" in words for words in commands), "it changes no set"


def test_the_engines_are_told_one_by_one(disc: Path) -> None:
    tried = (EngineAttempt("bounds", 0.5, "too loose"), EngineAttempt("paths", 2.25, "not finished"))
    reason = "timeout after 3 s; bounds (0.50 s): too loose; paths (2.2 s): not finished; try another engine"
    result = open_result(disc, reason=reason, tried=tried, seconds=3.0)
    first = next(cheap_steps(result))
    assert (first.changes, first.why) == ({"timeout": "20"}, "more time for paths")
    shown = show_result(result)
    assert all(word in shown for word in ("<td", "too loose", "all paths by sets of states", "vn.check(task,"))
    assert "try another engine" not in shown


def test_more_time_names_engines_and_not_who_asks_them(disc: Path) -> None:
    nobody = open_result(disc, reason="timeout after 3 s", tried=(EngineAttempt("auto", 3.0, "timeout after 3 s"),))
    assert next(cheap_steps(nobody)).why == "more time"


def test_a_shorter_time_is_short_to_type(tmp_path: Path) -> None:
    file = tmp_path / "flow.toml"
    file.write_text(
        'vernal = 1\nstate.x = "real [-9, 9]"\ninit.x = 1\nflow.x = "-x"\nproperties.low = "G[0,2] x <= 1"\n'
    )
    result = Result("G[0,2] (x <= 1)", UNKNOWN, "auto", "low", reason="open", task=vn.load(file), proven_time=0.699999)
    assert result.task is not None
    (shorter,) = [one.changes["spec"] for one in next_steps(result, result.task) if one.why == "a shorter time"]
    assert shorter == "G[0,1.3] (x <= 1)"


def test_other_engines_take_the_claim(disc: Path) -> None:
    result = open_result(disc, tried=(EngineAttempt("falsify", 0.1, "no violation found"),))
    assert result.task is not None
    found = [step.changes["engine"] for step in next_steps(result, result.task) if step.changes.get("engine")]
    assert found
    for engine in found:
        assert engine not in ("auto", "falsify")
        assert vn.check(result.task, "G[0,1] (x + y <= 9)", engine=str(engine), timeout=5).verdict in (
            vn.HOLDS,
            vn.UNKNOWN,
        )


def test_engines_that_give_up_at_once_are_not_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations end and find nothing; the machine's speed must not decide which engines have ended."""
    monkeypatch.setattr("vernal.report.next_steps.TRIAL_SECONDS", 30)
    made = one(init={"x": 0}, step=lambda s: {"x": s.x + vn.between(0, 1)})
    result = Result("G[0,3] (x <= 3.5)", UNKNOWN, "auto", reason="open", task=vn.Task(made), seconds=1.0)
    assert result.task is not None
    found = [step.changes.get("engine") for step in next_steps(result, result.task)]
    assert found == ["bounds", "paths", None]  # the last is a shorter time


def test_calls_are_valid_python(disc: Path) -> None:
    result = open_result(disc, engine="bounds", proven_steps=4)
    assert result.task is not None
    calls = [as_call(result, step) for step in next_steps(result, result.task)]
    assert calls[0] == "vn.check(task, property='low')"
    assert f"vn.check(vn.load({str(disc)!r}, w=0.1), property='low', engine='bounds')" in calls
    assert "vn.check(task, 'G[0,8] (x + y <= 1.62)', engine='bounds')" in calls
    for call in calls:
        compile(call, "call", "eval")


def test_what_is_decided_or_interrupted_needs_no_advice(disc: Path) -> None:
    task = vn.load(disc)
    assert suggestions(vn.check(task, "G[0,2] (x <= 9)")) == ()
    assert suggestions(open_result(disc, reason="interrupted")) == ()


@pytest.mark.parametrize(("seconds", "shown"), [(1, 1), (4, 5), (11.6, 20), (60, 100), (240, 500), (5, 5)])
def test_seconds_are_round(seconds: float, shown: int) -> None:
    assert round_up(seconds) == shown
