"""Loops that sample under agents that remember, against an independent simulation; and claims over all samples."""

from __future__ import annotations

import json
from math import tanh
from pathlib import Path

import pytest

import vernal as vn
from tests.recurrent import recurrent_networks
from tests.sampled_loops import LOOPS
from vernal.cli.main import main
from vernal.evidence.evidence_file import fingerprint
from vernal.evidence.judgement import Judgement
from vernal.formats.onnx.writer import write_onnx
from vernal.model.system import Span

HOLDS, VIOLATED, UNKNOWN = vn.HOLDS, vn.VIOLATED, vn.UNKNOWN


def remembering(network: str, start: Span | None = None) -> vn.System:
    """x' = -u, with u of a recurrent network that sees x every tenth of a second."""
    agent = vn.agent(
        recurrent_networks()[network], observe=lambda s: [s.x], act="raw", every="0.1", memory=start, remember="m"
    )
    return vn.System(
        state={"x": vn.real(-4, 4)},
        init={"x": vn.interval(1, "1.1")},
        agents={"u": agent},
        rates=lambda s: {"x": -s.u},
    )


def after(x: float, memory: float, samples: int) -> tuple[float, float]:
    """State and memory of `squash` at a sample, after the reading there."""
    memory = tanh(x + memory)
    for _ in range(samples):
        x -= 0.1 * 0.5 * memory
        memory = tanh(x + memory)
    return x, memory


@pytest.mark.parametrize("start", [None, vn.interval(0, "0.1")], ids=["point", "interval"])
def test_a_memory_is_held_between_readings(start: Span | None) -> None:
    system = remembering("squash", start)
    first = (0.0,) if start is None else (0.0, 0.1)
    ends = [after(x, m, 5) for x in (1.0, 1.1) for m in first]
    for place, name in enumerate(("x", "m[0]")):
        low, high = (end(one[place] for one in ends) for end in (min, max))
        assert vn.check(system, f"X[5] {name} <= {high + 0.01:.5f}", time="samples").verdict is HOLDS
        broken = vn.check(system, f"X[5] {name} <= {high - 0.002:.5f}", time="samples")
        assert broken.verdict is VIOLATED
        assert broken.trace is not None
        assert all(0 <= step.memory["u"][0] <= 1 for step in broken.trace.steps[:1])  # where it starts
        assert vn.check(system, f"X[5] {name} >= {low - 0.01:.5f}", time="samples").verdict is HOLDS
        assert vn.check(system, f"X[5] {name} >= {low + 0.002:.5f}", time="samples").verdict is VIOLATED


@pytest.mark.parametrize("engine", ["flowpipe", "falsify"])
def test_a_sum_that_is_not_bounded_is_followed_as_far_as_asked(engine: str) -> None:
    """u is the sum of all readings: x is 1 at first, and falls by a tenth of 1, then of 1.9, and so on."""
    system = remembering("sum")
    assert vn.check(system, "G[0,0.2] x >= 0.7", engine=engine).verdict is (HOLDS if engine == "flowpipe" else UNKNOWN)
    broken = vn.check(system, "G[0,0.2] x >= 0.72", engine=engine).verdict  # it is 0.71
    assert broken is VIOLATED or (broken is UNKNOWN and engine == "flowpipe")


@pytest.mark.parametrize("formula", ["F[0,1] x <= 0", "G[0,1] x > 2"])
def test_a_memory_beyond_what_is_followed_is_no_end_of_a_path(formula: str) -> None:
    """The memory is 3 * 10^6 or more at once: x falls to nothing, and nobody may say that it left the region before."""
    system = remembering("sum", vn.interval(3 * 10**6, 4 * 10**6))
    verdicts = {vn.check(system, formula, engine=engine, timeout=5).verdict for engine in ("flowpipe", "falsify")}
    assert verdicts <= ({UNKNOWN, HOLDS} if formula.startswith("F") else {UNKNOWN, VIOLATED})


def test_a_memory_that_starts_beyond_what_is_followed_is_read() -> None:
    """The first action is half of tanh(x + 3 * 10^6), which is half of 1: x falls by 0.05 in a tenth of a second."""
    system = remembering("squash", vn.interval(3 * 10**6, 4 * 10**6))
    assert vn.check(system, "G[0,0.1] x >= 0.94").verdict is HOLDS
    assert vn.check(system, "G[0,0.1] x >= 0.96").verdict is VIOLATED


def fork() -> vn.System:
    """Every tenth of a second x moves by a tenth to either side."""
    return vn.System(
        state={"x": vn.real(-4, 4)},
        init={"x": vn.interval(0, "0.01")},
        rates=lambda s: {"x": 0 * s.x},
        step=lambda s: {"x": s.x + vn.choose("-0.1", "0.1")},
        every="0.1",
    )


@pytest.mark.parametrize("formula", ["EX x > 0.05", "EF[0,5] x > 0.45", "EG x < 0.2", "EF x > 1"])
def test_what_some_paths_keep_and_some_do_not_is_not_refuted(formula: str) -> None:
    assert vn.check(fork(), formula, time="samples", timeout=2).verdict is not VIOLATED


FILE = """
vernal = 1
name = "squashed"
[state]
x = "real [-4, 4]"
[agents.u]
policy = "net.onnx"
observe = ["x"]
act = "raw"
every = 0.1
memory = "[0, 0.1]"
remember = "m"
[flow]
x = "-u"
[init]
x = "[1, 1.1]"
[properties]
slow = "G[0,0.5] x >= 0.88"
"""


def test_files_traces_and_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, trace = tmp_path / "squashed.toml", tmp_path / "bad.json"
    task.write_text(FILE)
    write_onnx(recurrent_networks()["squash"], tmp_path / "net.onnx")
    assert main(["check", str(task), "--trace", str(trace)]) == 10
    assert vn.replay(trace).judgement is Judgement.ACCEPTED
    document = json.loads(trace.read_text())
    (first, *_) = document["trace"]["steps"]
    assert 0 <= first["memory"]["u"][0] <= 0.1
    assert main(["simulate", str(task), "--time", "0.5", "--runs", "3", "--csv", str(tmp_path / "runs.csv")]) == 0
    assert main(["reach", str(task), "--time", "0.3"]) == 0
    assert main(["explain", str(task)]) == 0
    capsys.readouterr()
    for step, place, value in TAMPERED:
        changed = json.loads(json.dumps(document))
        steps = changed["trace"]["steps"]
        steps[step][place]["u"] = value
        changed["sha256"] = fingerprint(changed)
        trace.write_text(json.dumps(changed))
        assert vn.replay(trace).judgement is Judgement.REJECTED, (step, place, value)


TAMPERED = [
    (0, "memory", [0.5]),  # it starts nowhere there
    (0, "memory", [0.04]),  # it may start there, but leads elsewhere
    (2, "memory", [0.3]),
    (-1, "memory", [0.3]),
    (2, "actions", 0.3),
]


# x at sample k of `decay` is 0.71451^k x(0), with x(0) in [1, 2]
SOMETIME = [
    ("F x < 0.5", HOLDS),
    ("F x > 2.5", VIOLATED),  # false of every path, which no finite one shows
    ("EF x < 0.5", HOLDS),
    ("AF x < 0.5", HOLDS),
    ("EF[0,3] x < 1.5", HOLDS),
    ("EF[0,3] x > 2.5", VIOLATED),
    ("EG x < 2.1", HOLDS),
    ("x > 0.3 U x < 0.5", HOLDS),
    ("AG EF x < 0.5", HOLDS),
]


@pytest.mark.parametrize(("formula", "verdict"), SOMETIME)
def test_what_comes_at_last_and_what_some_path_keeps(formula: str, verdict: vn.Verdict) -> None:
    result = vn.check(LOOPS["decay"]().system, formula, time="samples", timeout=60)
    assert result.verdict is verdict, result
