"""Limits of a formula: what a picture of a counterexample draws across its panels."""

from __future__ import annotations

from math import pi

import pytest

import vernal as vn
from tests.recurrent import recurrent_networks
from vernal.engines.check import parse_formula
from vernal.logic.task import Task
from vernal.report.limits import limits, quantities_of

NETWORKS = recurrent_networks()
SYSTEM = vn.System(
    state={"x": vn.real(), "y": vn.real(), "on": vn.boolean()},
    init={"x": 0, "y": 0, "on": True},
    agents={
        "a": vn.agent(NETWORKS["count"], lambda s: [s.x], "raw", remember="m"),
        "b": vn.agent(NETWORKS["sum"], lambda s: [s.y], lambda out: [out[0], -out[0]]),
    },
    step=lambda s: {"x": s.x + s.a, "y": s.b[1]},
)


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("G[0,3] (abs(x) < pi/10)", {"x": [-pi / 10, pi / 10]}),
        ("F[0,2] (x - 1 > 3 | -2*y <= 4)", {"x": [4], "y": [-2]}),
        ("X (m[0] < 3 & a > 1 & b[1] <= 3)", {"m[0]": [3], "a": [1], "b[1]": [3]}),
        ("(1 < x < 2) U[0,3] (abs(x - 3) < 0.5)", {"x": [1, 2, 2.5, 3.5]}),
        ("X (x / 2 < 3 & 1 - y != 0.5)", {"x": [6], "y": [0.5]}),
        ("X (abs(x) >= -1)", {}),
        ("X (x < y | x * y < 1 | sin(x) < 0.5 | on)", {"x * y": [1], "sin(x)": [0.5]}),
        ("X (1 / x < 2 | 0 * x < 1)", {"1 / x": [2], "0 * x": [1]}),
        ("X (x < sqrt(0 - pi) | 0 < 1)", {}),
    ],
)
def test_limits_of_a_formula(formula: str, found: dict[str, list[float]]) -> None:
    drawn = limits(parse_formula(Task(SYSTEM), formula))
    assert drawn.keys() == found.keys()
    assert [drawn[name] for name in found] == [pytest.approx(values) for values in found.values()]


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("G[0,3] (abs(x) < 1 & x - 2 < y)", ["x", "x - 2", "y"]),
        ("X (x < y)", ["x", "y"]),
        ("F[0,2] (2*x*y <= 4 | on)", ["2 * x * y", "on"]),
        ("X (m[0] < 3 & b[1] <= 3)", ["m[0]", "b[1]"]),
        ("X (1 < 2)", []),
    ],
)
def test_what_a_formula_speaks_of(formula: str, names: list[str]) -> None:
    assert sorted(quantities_of(parse_formula(Task(SYSTEM), formula))) == sorted(names)
