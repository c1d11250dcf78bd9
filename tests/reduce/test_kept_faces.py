"""Ends beyond which no path of a flow comes: by hand, and compared with simulated trajectories of random flows."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import vernal as vn
from tests.sampled_loops import LOOPS, linear_network
from vernal.interpret.sampled.held_questions import flow_of
from vernal.model import build
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import Variable
from vernal.reduce.kept_faces import kept_ends
from vernal.simulate.trajectories import simulate_flow

HOLDS, VIOLATED = vn.HOLDS, vn.VIOLATED


def single(rate: str) -> vn.Flow:
    """One variable from [0.5, 0.6]."""
    rates: dict[str, Callable[[Any], dict[str, Any]]] = {
        "falls": lambda s: {"x": -s.x},
        "rises": lambda s: {"x": 1 - s.x},
        "stands": lambda s: {"x": 0 * s.x},
    }
    return vn.Flow(state={"x": vn.real(-8, 8)}, init={"x": vn.interval("0.5", "0.6")}, rates=rates[rate])


@pytest.mark.parametrize(
    ("rate", "formula", "verdict"),
    [
        ("falls", "G[0,1] x <= 0.6", HOLDS),
        ("falls", "G x <= 0.6", HOLDS),
        ("falls", "G[0,1] x < 0.6", VIOLATED),
        ("falls", "G[0,1] x >= 0.5", VIOLATED),
        ("rises", "G[0,1] x <= 0.6", VIOLATED),
        ("stands", "G[0,1] x <= 0.6", HOLDS),
        ("falls", "G[0,1] (x <= 0.6 & x >= 0.1)", HOLDS),
    ],
)
def test_claims_without_room_where_paths_begin(rate: str, formula: str, verdict: vn.Verdict) -> None:
    result = vn.check(single(rate), formula, engine="falsify" if verdict is VIOLATED else "flowpipe", timeout=30)
    assert result.verdict is verdict, result


def test_what_jumps_or_is_held_has_no_such_ends() -> None:
    for name in ("leaky", "bang"):
        flow = flow_of(LOOPS[name]().system)
        assert not {var.name for var in kept_ends(flow)} & {"x", "n", "u", "push", "v"}
    agent = vn.agent(linear_network("gain", (1.0,)), observe=lambda s: [s.x], act="raw", every="0.1")
    climbing = vn.System(
        state={"x": vn.real(-8, 8)},
        init={"x": vn.interval(1, 2)},
        agents={"u": agent},
        rates=lambda s: {"x": s.u - 9},  # which is at most -0.9 or so in the region
    )
    (ends,) = kept_ends(flow_of(climbing)).values()
    assert ends == (Fraction(-8), Fraction(2))


def test_no_simulated_trajectory_crosses_them() -> None:
    found = 0
    for seed in range(10):
        rng = random.Random(seed)
        x, y = build.var("x"), build.var("y")
        terms = [x, y, build.mul(x, y), build.mul(x, x), build.mul(y, y), build.const(1)]
        rates = {name: build.add(*(build.mul(rng.choice([-1, 0, 0, 1, -2]), term) for term in terms)) for name in "xy"}
        starts = {name: Fraction(rng.choice([-3, 0, 1]), 3) for name in "xy"}
        flow = Flow(
            "drawn",
            tuple(Variable(name, REAL, Fraction(-3), Fraction(3)) for name in "xy"),
            Init({name: Span(low, low + Fraction(1, 10)) for name, low in starts.items()}),
            rates,
        )
        runs = simulate_flow(flow, 8, 1, np.random.default_rng(seed), corners=True)
        for var, (least, most) in kept_ends(flow).items():
            found += 1
            seen = runs.state[var.name]
            assert least is None or np.nanmin(seen) >= float(least) - 1e-6
            assert most is None or np.nanmax(seen) <= float(most) + 1e-6
    assert found > 2
