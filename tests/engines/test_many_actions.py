"""More actions than a machine word has bits: nothing that counts or marks outcomes may run out of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.systems import make
from vernal.engines.check import ask, parse_formula
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.run.budget import Budget

ACTIONS = 70
X = b.var("x")


def parabola() -> System:
    """Action i wins around x = i, by tangents of x^2: score_i = 2 i x - i^2. At i + 1/2 two of them tie."""
    x = network_input(1)
    slopes = Matrix(np.array([[2.0 * i] for i in range(ACTIONS)]))
    offsets = Matrix(np.array([-1.0 * i * i for i in range(ACTIONS)]))
    agent = make_agent("agent", [Network("tangents", x, b.affine(x, slopes, offsets))], [X], "argmax")
    return make({"x": (Fraction(129, 2), 69)}, {"x": agent.var * 1}, agents=[agent])


def level() -> System:
    """All actions tie, always."""
    x = network_input(1)
    flat = Network("flat", x, b.affine(x, Matrix(np.ones((ACTIONS, 1))), Matrix(np.zeros(ACTIONS))))
    agent = make_agent("agent", [flat], [X], "argmax")
    return make({"x": 0}, {"x": agent.var * 1}, agents=[agent])


@pytest.mark.parametrize("engine", ["bounds", "paths", "milp", "auto"])
@pytest.mark.parametrize(
    ("system", "claim", "true"),
    [
        (parabola(), "X (x >= 64)", HOLDS),
        (parabola(), "X (x > 64)", VIOLATED),  # at the tie of 64 and 65, where x starts at its end
        (parabola(), "X (x <= 68)", VIOLATED),
        (parabola(), "agent >= 64 & agent <= 69", HOLDS),
        (parabola(), "agent != 67", VIOLATED),
        (level(), "X (x >= 0 & x <= 69)", HOLDS),
        (level(), "X (x != 69)", VIOLATED),
        (level(), "X (x != 63)", VIOLATED),
        (level(), "EX EX (x == 69)", HOLDS),
    ],
)
def test_seventy_actions(system: System, claim: str, true: Verdict, engine: str) -> None:
    task = Task(system)
    result = ask(task, parse_formula(task, claim), None, engine, Budget(timeout=60))
    assert result.verdict in (true, UNKNOWN), result
    assert result.trace is None or verify(system, result.trace).accepted
    if engine in ("paths", "auto"):
        assert result.verdict is true, result.reason
