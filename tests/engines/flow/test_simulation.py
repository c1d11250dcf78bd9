"""Simulations of flows: which trajectories break which property, and what is written and drawn of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vernal as vn
from vernal.cli.main import application
from vernal.errors import InputError
from vernal.evidence.trajectory import trajectory_truth

TASK = """
vernal = 1
name = "pushed"
[state]
x = "real [-4, 4]"
[flow]
x = "0.5 + w"
[flow.let]
w = "between(-0.1, 0.1)"
[init]
x = "[0, 1]"
[properties]
below = "G[0, 2] x <= 1.5"
near = "G[0, 2] x <= 3"
arrives = "F[0, 4] x >= 2.5"
"""


@pytest.fixture
def task(tmp_path: Path) -> vn.Task:
    (tmp_path / "pushed.toml").write_text(TASK, encoding="utf-8")
    return vn.load(tmp_path / "pushed.toml")


def test_shares(task: vn.Task) -> None:
    made = vn.simulate(task, 400)
    assert repr(made).startswith("<Simulation of 400 runs, until time 4: below fails on")
    assert made.runs.times is not None
    assert made.runs.times[-1] == 4
    below, near, arrives = (made.shares[name] for name in ("below", "near", "arrives"))
    at_two = made.state["x"][:, made.runs.times <= 2].max(axis=1)
    assert set(below.failing) == set(np.flatnonzero(at_two > 1.5))
    assert below.trace is not None
    assert trajectory_truth(below.trace, task.properties["below"], task.flow) is False
    assert not near.failing
    assert near.keeping == 400
    assert len(arrives.failing) + arrives.keeping == 400
    assert arrives.trace is not None


def test_a_short_time_says_less(task: vn.Task) -> None:
    made = vn.simulate(task, 200, time=1)
    assert made.shares["below"].failing  # what failed has failed
    assert made.shares["below"].keeping == 0
    assert not made.shares["arrives"].failing  # what is waited for may still come
    assert not made.shares["arrives"].keeping
    trace = made.shares["below"].trace
    assert trace is not None
    assert trace.times is not None
    assert trace.times[-1] <= 1


def test_a_flow_in_python() -> None:
    flow = vn.Flow(state={"x": vn.real(-2, 2)}, init={"x": vn.interval(0, 1)}, rates=lambda s: {"x": -s.x})
    made = vn.simulate(flow, 10, time=Fraction(1, 2))
    assert np.allclose(made.state["x"][:, -1], made.state["x"][:, 0] * np.exp(-0.5), atol=1e-7)
    assert vn.simulate(flow, 3).runs.times[-1] == 1  # type: ignore[index]


def test_files(task: vn.Task, tmp_path: Path) -> None:
    made = vn.simulate(task, 5, time=1)
    made.save(tmp_path / "runs.csv")
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert lines[0] == "run,time,x"
    assert lines[1].startswith("0,0.0,")
    assert len(lines) == 1 + 5 * len(made.runs.times)  # type: ignore[arg-type]
    figure = made.plot(tmp_path / "runs.svg")
    assert figure.axes[-1].get_xlabel() == "time"
    assert figure.axes[-1].get_xlim()[1] == 1
    made.plot(of=["x", "2 * x"], plane=True)


def test_the_command(task: vn.Task, tmp_path: Path) -> None:
    file = str(tmp_path / "pushed.toml")
    found = CliRunner().invoke(
        application(), ["simulate", file, "--runs", "50", "--time", "4", "--csv", str(tmp_path / "r.csv")]
    )
    assert found.exit_code == 0, found.output
    assert found.output.splitlines()[0].split() == ["time", "x", "min", "x", "mean", "x", "max"]
    assert "near" in found.output
    assert "holds on all 50 runs" in found.output


@pytest.mark.parametrize(
    ("given", "why"), [({"steps": 3}, "no steps"), ({"time": 0}, "above 0"), ({"time": -1}, "above 0")]
)
def test_bad_input(task: vn.Task, given: dict[str, int], why: str) -> None:
    with pytest.raises(InputError, match=why):
        vn.simulate(task, 5, **given)


def test_a_system_has_no_time() -> None:
    system = vn.System(state={"x": vn.real()}, init={"x": 0}, step=lambda s: {"x": s.x + 1})
    with pytest.raises(InputError, match="moves in steps"):
        vn.simulate(system, 5, time=1.0)
    assert vn.simulate(system, 5).runs.steps == 20
