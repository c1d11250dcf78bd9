"""`vernal check`: what is printed, what is written, and with which code it ends."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.cli.samples import ROOM, room
from vernal.cli.main import main
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.report.document import schema
from vernal.run.budget import Budget


def document(out: str) -> dict[str, list[dict[str, object]]]:
    content: dict[str, list[dict[str, object]]] = json.loads(out)
    jsonschema.Draft202012Validator(schema("result")).validate(content)
    return content


Answer = Callable[..., list[Budget]]
Said = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [((HOLDS, HOLDS), 0), ((HOLDS, UNKNOWN), 5), ((VIOLATED, UNKNOWN), 10), ((HOLDS, VIOLATED), 10)],
)
def test_the_exit_code_is_that_of_the_worst(
    verdicts: tuple[Verdict, ...], code: int, tmp_path: Path, answer: Answer, capsys: Said
) -> None:
    answer(*verdicts)
    assert main(["check", room(tmp_path)]) == code
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.split()[0] for line in lines] == [verdict.value for verdict in verdicts]
    assert [line.split()[1] for line in lines] == ["mild:", "cool:"]


def test_properties_and_formulas_in_the_order_given(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, HOLDS, HOLDS)
    spec = "X (T > 0)"
    assert main(["check", room(tmp_path), "--spec", spec, "-p", "cool", "-p", "in_range", "--json", "-"]) == 0
    said = capsys.readouterr()
    results = document(said.out)["results"]
    assert [result["property"] for result in results] == ["cool", "in_range", None]
    assert results[2]["formula"] == spec
    assert [line.split()[0] for line in said.err.splitlines() if line[0] != " "] == ["holds"] * 3


def test_json_to_a_file(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(VIOLATED, UNKNOWN)
    target = tmp_path / "out.json"
    assert main(["check", room(tmp_path), "--json", str(target), "--quiet"]) == 10
    assert len(document(target.read_text())["results"]) == 2
    assert "step" not in capsys.readouterr().out.replace("at step", "").replace("up to step", "")


def test_one_trace_one_file_and_it_replays(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, VIOLATED)
    target = tmp_path / "bad.trace.json"
    assert main(["check", room(tmp_path), "--trace", str(target)]) == 10
    assert f"trace written to {target}    replay: vernal replay {target}" in capsys.readouterr().out
    assert main(["replay", str(target)]) == 0


def test_several_traces_are_told_apart_by_the_property(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(VIOLATED, VIOLATED)
    assert main(["check", room(tmp_path), "--trace", str(tmp_path / "bad.trace.json")]) == 10
    assert {path.name for path in tmp_path.glob("*.json")} == {"bad.mild.trace.json", "bad.cool.trace.json"}


def test_no_trace_is_said(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, HOLDS)
    assert main(["check", room(tmp_path), "--trace", str(tmp_path / "t.json")]) == 0
    assert "no result has a trace, an invariant or a flowpipe" in capsys.readouterr().out
    assert not (tmp_path / "t.json").exists()


def test_evidence_is_drawn_with_the_step_that_fails(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, VIOLATED)
    target = tmp_path / "bad.svg"
    assert main(["check", room(tmp_path), "--plot", str(target)]) == 10
    assert f"plot written to {target}" in capsys.readouterr().out
    assert "fails at step" in target.read_text()
    answer(HOLDS, HOLDS)
    assert main(["check", room(tmp_path), "--plot", str(tmp_path / "none.svg")]) == 0
    assert f"what can happen is drawn by vernal reach {room(tmp_path)} --plot" in capsys.readouterr().out
    assert not (tmp_path / "none.svg").exists()


def test_a_report_has_words_and_pictures(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, VIOLATED)
    target = tmp_path / "report.html"
    assert main(["check", room(tmp_path), "--report", str(target)]) == 10
    page = target.read_text()
    assert "<svg" in page
    assert "at every step from 0 to 4" in page
    assert f"<code>vernal check {shlex.join([room(tmp_path), '--report', str(target)])}</code>" in page


def test_ctrl_c_keeps_what_is_known(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, KeyboardInterrupt())
    target = tmp_path / "out.json"
    arguments = ["check", room(tmp_path), "-p", "mild", "-p", "cool", "--spec", "X (T > 0)", "--json", str(target)]
    assert main(arguments) == 130
    results = document(target.read_text())["results"]
    assert [result["verdict"] for result in results] == ["holds", "unknown", "unknown"]
    assert [result["reason"] for result in results] == [None, "interrupted", "interrupted before it was its turn"]
    assert capsys.readouterr().out.count("unknown") == 2


def test_limits_reach_the_engine(tmp_path: Path, answer: Answer) -> None:
    budgets = answer(HOLDS, HOLDS)
    before = time.monotonic()
    limits = ["--timeout", "60", "--memory", "1.5", "--workers", "2", "--seed", "7"]
    assert main(["check", room(tmp_path), *limits]) == 0
    first, second = budgets
    assert (first.memory, first.workers, first.seed) == (1.5, 2, 7)
    assert 30 <= (first.timeout or 0) < 45  # a half of what is left after the start
    assert 59 < (second.timeout or 0) <= 60  # and all of it
    assert before <= first.started == second.started <= time.monotonic()  # one clock for all questions


def test_bad_input_ends_with_2_before_any_question(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    budgets = answer()
    task = room(tmp_path)
    for extra in (
        ["--engine", "magic"],
        ["--timeout", "0"],
        ["--memory", "-1"],
        ["--workers", "0"],
        ["--seed", "-1"],
        ["--solver", "gurobi"],
        ["--solver", "magic"],
        ["--engine", "bounds", "--journal", str(tmp_path / "j")],
        ["--engine", "milp", "--journal", str(tmp_path / "j")],
        ["--journal", str(tmp_path / "no" / "such" / "journal")],
        ["--property", "colo"],
        ["--spec", "G[5,1] (T > 0)"],
        ["--set", "warmht=1"],
        ["--set", "warmth"],
        ["--json", str(tmp_path / "no" / "such" / "folder.json")],
    ):
        assert main(["check", task, *extra]) == 2, extra
        said = capsys.readouterr()
        assert said.err.startswith("error: "), extra
        assert "Traceback" not in said.err
        assert said.out == ""
    assert budgets == []


def test_a_task_without_properties_wants_a_formula(tmp_path: Path, capsys: Said) -> None:
    assert main(["check", room(tmp_path, ROOM.partition("[properties]")[0])]) == 2
    assert "--spec" in capsys.readouterr().err


def test_an_engine_that_refuses_ends_with_2(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, InputError("this cannot be asked"))
    assert main(["check", room(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.err == "error: this cannot be asked\n"
    assert said.out.startswith("holds")


SLOW = """
import sys, time
from vernal.engines import check as engines
from vernal.cli.main import main
from vernal.evidence.result import HOLDS, Result

def ask(task, formula, name, engine, budget, *_):
    if name == "mild":
        return Result("G[0,4] (T <= 30)", HOLDS, engine, name)
    print("asking", file=sys.stderr, flush=True)
    for _ in range(600):  # not in one: a signal just before a system call waits for its end
        time.sleep(0.1)

engines.ask = ask
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_with_what_is_known(number: signal.Signals, code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLOW, "check", room(tmp_path), "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "asking" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert [result["verdict"] for result in document(out)["results"]] == ["holds", "unknown"]
    assert "reason: interrupted" in err
    assert "Traceback" not in err


def test_traces_are_named_after_their_properties_whatever_these_are_called(
    tmp_path: Path, answer: Answer, capsys: Said
) -> None:
    answer(*[VIOLATED] * 4)
    text = ROOM.replace("mild =", '"a/b" =').replace("cool =", '"../a:b" =')
    asked = ["-p", "a/b", "-p", "../a:b", "-p", "a/b", "--spec", "T < 20", "--trace", str(tmp_path / "bad.trace.json")]
    assert main(["check", room(tmp_path, text), *asked]) == 10
    names = {file.name for file in tmp_path.glob("*.trace.json")}
    assert names == {"bad.a_b.trace.json", "bad.___a_b.trace.json", "bad.a_b-2.trace.json", "bad.4.trace.json"}


@pytest.mark.parametrize("option", ["--trace", "--report"])
def test_only_the_document_goes_to_stdout(option: str, tmp_path: Path, capsys: Said) -> None:
    assert main(["check", room(tmp_path), option, "-"]) == 2
    assert "only --json can go to stdout" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_file_that_cannot_be_written_in_the_end_is_named(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, HOLDS)
    assert main(["check", room(tmp_path), "--json", "/dev/full"]) == 2
    assert "cannot write /dev/full" in capsys.readouterr().err
