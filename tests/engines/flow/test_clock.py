"""The clock, `t`: in rates, in what agents see, at jumps and in formulas, against solutions known in closed form."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import vernal as vn
from tests.sampled_loops import linear_network
from vernal.cli.main import main
from vernal.errors import InputError
from vernal.evidence.judgement import Judgement

HOLDS, VIOLATED, UNKNOWN = vn.HOLDS, vn.VIOLATED, vn.UNKNOWN


def square() -> vn.Flow:
    """x' = 2 t from 0: x is the square of t."""
    return vn.Flow(state={"x": vn.real(-9, 9)}, init={"x": 0}, rates=lambda s: {"x": 2 * s.t})


def straight() -> vn.Flow:
    """x' = 1, from 0 or a little more: no rate names the clock."""
    return vn.Flow(state={"x": vn.real(-9, 9)}, init={"x": vn.interval(0, "0.01")}, rates=lambda s: {"x": 1})


def schedule(seen: str) -> vn.System:
    """x' = u, and u is what an agent sees every tenth of a second: the time, or whether half a second is over."""
    looks = {"time": lambda s: [s.t], "late": lambda s: [vn.if_(s.t >= Fraction(1, 2), 1, 0)]}
    agent = vn.agent(linear_network("seen", (1.0,)), observe=looks[seen], act="raw", every="0.1")
    return vn.System(
        state={"x": vn.real(-9, 9)}, init={"x": 0}, agents={"u": agent}, rates=lambda s: {"x": s.u}, every="0.1"
    )


FLOWS = [
    (square, "G[0,1] x <= 1.001", HOLDS),
    (square, "G[0,1] x <= 0.999", VIOLATED),
    (square, "G[0,2] abs(x - t^2) <= 0.2", HOLDS),
    (square, "G[0,2] (t <= 1 | x >= 0.9)", HOLDS),
    (square, "F[0,2] (t >= 1.5 & x <= 2)", VIOLATED),
    (straight, "G[0,1] abs(x - t) <= 0.011", HOLDS),
    (straight, "G[0,1] x - t <= 0.005", VIOLATED),
]


@pytest.mark.parametrize(("flow", "formula", "verdict"), FLOWS)
def test_flows_name_it(flow: object, formula: str, verdict: vn.Verdict) -> None:
    assert callable(flow)
    result = vn.check(flow(), formula)
    assert result.verdict is verdict, result


# u is 0, 0.1, ..., 0.9 for a tenth of a second each; or 0 until 0.5, then 1, since 0.5 is exactly the fifth sample
LOOPS = [
    ("time", "X[10] abs(x - 0.45) <= 0.0001", HOLDS),
    ("time", "X[10] x <= 0.4499", VIOLATED),
    ("late", "X[10] abs(x - 0.5) <= 0.0001", HOLDS),
    ("late", "X[10] x <= 0.4999", VIOLATED),
    ("late", "G[0,10] (t < 0.5 <-> u < 0.5)", HOLDS),
]


@pytest.mark.parametrize(("seen", "formula", "verdict"), LOOPS)
def test_agents_see_it(seen: str, formula: str, verdict: vn.Verdict) -> None:
    result = vn.check(schedule(seen), formula, time="samples")
    assert result.verdict is verdict, result


def test_what_agents_see_of_it_in_seconds() -> None:
    assert vn.check(schedule("late"), "G[0,0.9] x <= 0.4001").verdict is HOLDS
    assert vn.check(schedule("late"), "G[0,0.9] x <= 0.3999").verdict is VIOLATED


def test_times_that_the_clock_does_not_tell_are_refused() -> None:
    with pytest.raises(InputError, match="where the clock is named"):
        vn.check(square(), f"F[0,{2**41}] x >= 1")


FILE = """
vernal = 1
name = "waves"
[state]
x = "real [-4, 4]"
[flow]
x = "sin(t)"
[init]
x = "[0, 0.1]"
[properties]
low = "G[0,3] x <= 1.9"
"""


def test_files_and_replay(tmp_path: Path) -> None:
    task, trace = tmp_path / "waves.toml", tmp_path / "bad.json"
    task.write_text(FILE)
    assert main(["check", str(task), "--trace", str(trace)]) == 10
    assert vn.replay(trace).judgement is Judgement.ACCEPTED
    assert main(["check", str(task), "--spec", "G[0,3] abs(x - (1 - cos(t))) <= 0.11"]) == 0
    assert vn.check(str(task), property="in_range")["in_range"].formula == "G[0,3] (x >= -4 & x <= 4)"
    assert main(["simulate", str(task), "--time", "1", "--runs", "2"]) == 0
    assert main(["reach", str(task), "--time", "1"]) == 0
    assert main(["explain", str(task)]) == 0


def test_a_formula_alone_names_it_and_its_path_replays(tmp_path: Path) -> None:
    task, trace = tmp_path / "waves.toml", tmp_path / "bad.json"
    task.write_text(FILE.replace("sin(t)", "1"))
    assert main(["check", str(task), "--spec", "G[0,1] x - t <= 0.05", "--trace", str(trace)]) == 10
    assert vn.replay(trace).judgement is Judgement.ACCEPTED
    assert main(["check", str(task), "--spec", "G[0,1] x - t <= 0.11", "--trace", str(trace)]) == 0
    assert vn.replay(trace).judgement is Judgement.ACCEPTED


OWN = [
    ('x = "real [-4, 4]"', 'x = "real [-4, 4]"\nt = "real [0, 9]"', 'x = "[0, 0.1]"', 'x = "[0, 0.1]"\nt = 2'),
    ("vernal = 1", "vernal = 1\n[constants]\nt = 2", "", ""),
]  # t is what it was declared as: a variable that stands still, or a number


@pytest.mark.parametrize("changes", OWN)
def test_a_name_of_ones_own_goes_before_it(tmp_path: Path, changes: tuple[str, ...]) -> None:
    text = FILE.replace('name = "waves"\n', "")
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        text = text.replace(old, new, 1) if old else text
    (tmp_path / "own.toml").write_text(text)
    assert main(["check", str(tmp_path / "own.toml"), "--spec", "G[0,1] abs(x - 0.9093 * 1) <= 1"]) == 0
    assert len(vn.load(tmp_path / "own.toml").model.state) == 1 + ("real [0, 9]" in text)


def test_it_is_not_declared_by_its_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.toml").write_text(FILE.replace("[init]", 't = "1"\n[init]'))
    assert main(["check", str(tmp_path / "bad.toml")]) == 2
    assert "there is no state variable 't'" in capsys.readouterr().err
