"""Loops that sample, whose paths are known: what agents do is held between their instants."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from checker.tests.writing import certificate
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable

LINEAR = "2,1,1,2,\n1,2,1,\n0,\n-100,\n100,\n0,0,\n1,1,\n1,\n-1,\n0,\n0,\n-2,2,\n0,\n"  # u = -2 x
SCORES = "2,1,2,2,\n1,2,2,\n0,\n-100,\n100,\n0,0,\n1,1,\n1,\n-1,\n0,\n0,\n1,-1,\n-1,1,\n0,\n0,\n"  # x and -x
HOLDING = '[agents.u]\npolicy = "u.nnet"\nobserve = ["{see}"]\nact = "raw"\nevery = {every}\n{more}'
DECIDING = '[agents.u]\npolicy = "u.nnet"\nobserve = ["x"]\nact = "argmax"\nlabels = ["DOWN", "UP"]\nevery = 1\n'
TURNED = "match(u, DOWN: -1, UP: 1)"


def loop(folder: Path, agents: str, rate: str, start: str, network: str, more: str = "") -> Path:
    (folder / "u.nnet").write_text(network)
    file = folder / "loop.toml"
    state = f'[state]\nx = "real [-9, 9]"\n[init]\nx = "{start}"\n[flow]\nx = "{rate}"\n'
    file.write_text(f"vernal = 1\n{state}{agents}\n{more}")
    return file


def verdict(file: Path, formula: str, cells: Any, **header: Any) -> bool:
    network = hashlib.sha256((file.parent / "u.nnet").read_bytes()).hexdigest()
    told = {
        "file": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "parameters": {},
        "networks": [{"file": "u.nnet", "sha256": network}],
    }
    lines = [{"set": [cells], "walk": True}]
    try:
        check(certificate(file, formula, ["x"], lines, semantics="seconds-1", task=told, **header))
    except Rejected:
        return False
    return True


@pytest.mark.parametrize(
    ("see", "every", "formula", "expected"),
    [
        ("x", 0.25, "F[0.25,0.25] (x <= 1.001)", True),
        ("x", 0.25, "F[0.25,0.25] (x <= 0.999)", False),  # 1.21 with an action that follows the state
        ("x", 0.25, "G[0.25,0.25] (x >= 0.499)", True),
        ("x", 0.25, "G[0.25,0.25] (x >= 0.501)", False),
        ("x", 0.25, "G[1,1] (x <= 0.126)", True),
        ("x", 0.25, "G[1,1] (x <= 0.124)", False),
        ("x", 0.5, "G[0.4,1] (x <= 0.401)", True),
        ("x", 0.5, "G[0.4,1] (x <= 0.399)", False),
        ("x", 1, "G[0,1] (x >= -2.01)", True),
        ("x", 1, "G[0,1] (x >= -1.99)", False),
        ("x", 1, "G[0,3] (x >= -2.01 & x <= 2.01)", True),
        ("x", 1, "F[0,0.9] (x <= -0.81)", False),
        ("x + between(-0.2, 0.2)", 0.25, "G[0.25,0.25] (x <= 1.101)", True),
        ("x + between(-0.2, 0.2)", 0.25, "G[0.25,0.25] (x <= 1.099)", False),
        ("x + choose(0, 1)", 0.25, "G[0.25,0.25] (x >= -0.01)", True),
        ("x + choose(0, 1)", 0.25, "G[0.25,0.25] (x >= 0.01)", False),
        ("x + choose(0, 1)", 0.25, "G[0.25,0.25] (x <= 0.9)", False),
    ],
)
def test_an_action_is_held(tmp_path: Path, see: str, every: float, formula: str, expected: bool) -> None:
    file = loop(tmp_path, HOLDING.format(see=see, every=every, more=""), "u", "[1, 2]", LINEAR)
    assert verdict(file, formula, [1, 2]) is expected


@pytest.mark.parametrize(
    ("start", "formula", "expected"),
    [
        ([0.1, 0.2], "G[1,1] (x <= -0.799)", True),
        ([0.1, 0.2], "G[1,1] (x <= -0.801)", False),
        ([-0.1, 0.1], "G[0,1] (abs(x) <= 1.001)", True),
        ([-0.1, 0.1], "G[0,1] (x >= -0.5)", False),
        ([-0.1, 0.1], "G[0,1] (x <= 0.5)", False),
        ([0, 0], "G[0,1] (x <= 0.5)", False),  # of a tie both winners count
        ([0, 0], "G[0,1] (x >= -0.5)", False),
        ([0, 0], "G[0,1] (abs(x) <= 1.001)", True),
        ([-0.1, 0.1], "G[0,3] (abs(x) <= 1.11)", True),
        ([-0.1, 0.1], "G[0,3] (abs(x) <= 0.9)", False),
    ],
)
def test_a_decision_is_held(tmp_path: Path, start: list[float], formula: str, expected: bool) -> None:
    file = loop(tmp_path, DECIDING, TURNED, str(start), SCORES)
    assert verdict(file, formula, start) is expected


@pytest.mark.parametrize(
    ("formula", "more", "tables"),
    [
        ("G[0,1] (u <= 9)", "", ""),  # about what is held
        ("G[0,1] (x <= 9)", "delay = 0.05\nstart = 0\n", ""),
        ("G[0,1] (x <= 9)", "", '[environment.next]\nx = "0"\n'),
        ("G[0,1] (x <= 9)", "", "[environment]\nevery = 0.1\n"),
        ("G[0,1] (x <= 9)", "", '[environment]\nenabled = "x <= 2"\n'),
        ("G[0,1] (y <= 9)", "", '[flow.let]\ny = "u + x"\n'),
    ],
)
def test_what_is_not_read_of_loops(tmp_path: Path, formula: str, more: str, tables: str) -> None:
    file = loop(tmp_path, HOLDING.format(see="x", every=0.25, more=more), "u", "[1, 2]", LINEAR, tables)
    with pytest.raises(Unreadable):
        verdict(file, formula, [1, 2])


def test_claims_over_samples_are_not_read(tmp_path: Path) -> None:
    more = '[properties]\ncounted = { formula = "G[0, 9] (x <= 9)", time = "samples" }\nlow = "G[0, 1] (x <= 2.01)"'
    file = loop(tmp_path, HOLDING.format(see="x", every=0.25, more=""), "u", "[1, 2]", LINEAR, more)
    assert verdict(file, "", [1, 2], property="low")
    with pytest.raises(Unreadable):
        verdict(file, "", [1, 2], property="counted")


def test_agents_have_periods_of_their_own(tmp_path: Path) -> None:
    second = HOLDING.format(see="x", every=0.5, more="").replace("agents.u", "agents.v")
    agents = HOLDING.format(see="x", every=0.25, more="") + second
    file = loop(tmp_path, agents, "u + v", "[1, 1]", LINEAR)  # 1, then 0, then -0.5, then by v from there 0.5
    assert verdict(file, "G[0.25,0.25] (abs(x) <= 0.001)", [1, 1])
    assert verdict(file, "G[0.5,0.5] (x >= -0.501 & x <= -0.499)", [1, 1])
    assert not verdict(file, "G[0.5,0.5] (x >= -0.499)", [1, 1])
    assert verdict(file, "G[0.75,0.75] (abs(x) <= 0.001)", [1, 1])
