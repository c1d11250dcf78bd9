"""`--timeout` of the commands that ask no question, and pictures when a question is interrupted."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cli.samples import room
from tests.cli.test_replay import evidence
from vernal.cli.main import main
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED

Said = pytest.CaptureFixture[str]
Answer = Callable[..., object]
NETWORK = str(Path(__file__).resolve().parents[2] / "examples" / "thermostat" / "thermostat.onnx")
OVER = "1e-9"  # a limit that is over when anything begins


COMMANDS: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "simulate": (lambda at: ["simulate", room(at), "--csv", str(at / "out.csv")], "before the task was read"),
    "explain": (lambda at: ["explain", room(at)], "before the task was explained"),
    "tree": (
        lambda at: ["explain", room(at), "-p", "cool", "--depth", "0", "--tree", str(at / "out.svg")],
        "out.svg was drawn",
    ),
    "convert": (lambda at: ["convert", NETWORK, str(at / "out.nnet")], "out.nnet was written and compared"),
    "replay": (
        lambda at: ["replay", str(evidence(at, "G[0,4] (T <= 20)", VIOLATED)), "--plot", str(at / "out.svg")],
        "before the evidence was read",
    ),
}
WORK = {  # what takes long in each, and what is said then
    "simulate": ("vernal.engines.falsify.simulation", "random_plan", "before the runs were finished"),
    "explain": ("vernal.report.explanation", "explained", "before the task was explained"),
    "tree": ("vernal.report.tree", "plot_tree", "out.svg was drawn"),
    "convert": ("vernal.formats.convert", "compare", "out.nnet was written and compared"),
    "replay": ("vernal.formats.evidence", "check_again", "could not be checked  G[0,4] (T <= 20)\n"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_that_is_over_ends_a_command_with_5(command: str, tmp_path: Path, capsys: Said) -> None:
    arguments, said = COMMANDS[command]
    assert main([*arguments(tmp_path), "--timeout", OVER]) == 5
    out, err = capsys.readouterr()
    assert f"unknown: timeout after {OVER}" in err.replace("1e-09", OVER)
    assert said in err
    assert out == ""
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.timeout(60, method="thread")  # the other method is an alarm itself
@pytest.mark.parametrize("command", COMMANDS)
def test_work_that_looks_at_no_clock_is_interrupted(
    command: str, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, said = WORK[command]

    def forever(*_: object, **__: object) -> NoReturn:
        while True:
            time.sleep(0.001)

    arguments = COMMANDS[command][0](tmp_path)
    monkeypatch.setattr(import_module(module), name, forever)
    assert main([*arguments, "--timeout", "0.3"]) == 5
    out, err = capsys.readouterr()
    assert said in out + err
    assert "timeout after 0.3 s" in out + err
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_that_is_none_is_refused(command: str, tmp_path: Path, capsys: Said) -> None:
    assert main([*COMMANDS[command][0](tmp_path), "--timeout", "0"]) == 2
    assert "--timeout has to be a number above 0" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_that_is_far_changes_nothing(command: str, tmp_path: Path, capsys: Said) -> None:
    assert main([*COMMANDS[command][0](tmp_path), "--timeout", "600"]) == 0


# Reports --------------------------------------------------------------------------------------------------------------


def test_ctrl_c_while_a_report_is_drawn_keeps_what_is_drawn(
    tmp_path: Path, answer: Answer, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(HOLDS, UNKNOWN, UNKNOWN, HOLDS)
    asked: list[object] = []

    def figure(*given: object) -> str:
        asked.append(given)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return "<svg></svg>"

    monkeypatch.setattr("vernal.report.page.reach_figure", figure)
    target = tmp_path / "report.html"
    more = [part for bound in (1, 2) for part in ("--spec", f"X[{bound}] (T > 0)")]
    assert main(["check", room(tmp_path), "-p", "mild", "-p", "cool", *more, "--report", str(target)]) == 130
    page = target.read_text()
    assert (len(asked), page.count("<svg>"), page.count("Nothing is drawn: interrupted.")) == (2, 1, 3)
    assert page.rstrip().endswith("</html>")
    assert f"report written to {target}, 3 pictures left out: interrupted" in capsys.readouterr().out


def test_after_ctrl_c_nothing_is_drawn(
    tmp_path: Path, answer: Answer, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(HOLDS, KeyboardInterrupt())
    monkeypatch.setattr("vernal.report.page.reach_figure", lambda *_: pytest.fail("drawn"))
    target = tmp_path / "report.html"
    assert main(["check", room(tmp_path), "--report", str(target)]) == 130
    assert target.read_text().count("Nothing is drawn: interrupted.") == 2


@pytest.mark.parametrize("command", ["reach", "simulate"])
def test_a_picture_that_is_interrupted_leaves_the_table(
    command: str, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("vernal.report.figures.save_figure", interrupted)
    target = tmp_path / "out.svg"
    assert main([command, room(tmp_path), "--steps", "2", "--plot", str(target)]) == 130
    out, err = capsys.readouterr()
    assert out.startswith("step")
    assert f"nothing is written to {target}: interrupted" in out
    assert "interrupted" in err
    assert not target.exists()
