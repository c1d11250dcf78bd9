"""States without a single number: truth values and labels, agents whose scores tie, and no state at all."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import vernal as vn
from tests.available import engines_of_steps, is_here
from tests.systems import make
from vernal.evidence.result import UNKNOWN
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.value_sets import Truth
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Matrix
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, enum
from vernal.model.system import System
from vernal.sets.influence import open_shares

MODE = enum("A", "B", "C")
X, M = b.var("x", BOOL), b.var("m", MODE)
BOTH = {0, 1}


def tied() -> System:
    """An agent that sees a truth value and does not care: either action, whatever it sees."""
    seen = network_input(1)
    network = Network("tied", seen, b.affine(seen, Matrix(np.zeros((2, 1))), Matrix(np.zeros(2))))
    agent = make_agent("a", [network], [b.if_(X, 1, 0)])
    return make({"x": BOTH}, {"x": b.eq(agent.var, 0)}, sorts={"x": BOOL}, agents=[agent])


def flipping() -> System:
    return make({"x": BOTH}, {"x": b.negate(X)}, sorts={"x": BOOL})


def tossed() -> System:
    return make({"x": 0}, {"x": b.choose(True, False)}, sorts={"x": BOOL})


def drawn() -> System:
    return make({"x": BOTH}, {"x": b.between(0, 1) < Fraction(1, 2)}, sorts={"x": BOOL})


def labelled() -> System:
    a, other, c = (b.label(MODE, name) for name in "ABC")
    following = {"x": b.eq(M, a), "m": b.if_(X, other, b.choose(a, c))}
    return make({"x": BOTH, "m": {0, 2}}, following, sorts={"x": BOOL, "m": MODE})


def nothing() -> System:
    return make({}, {})


CASES = [
    (tied, {"AX (x | !x)": True, "AX x": False, "EX x": True, "AX x | EX !x": True, "X[3] x": False}),
    (tied, {"AX (a == 0 | a == 1)": True, "AX (a == 0)": False}),
    (flipping, {"AX (x | !x)": True, "AX x": False, "F[0,1] x": True, "G[0,3] (x -> X !x)": True}),
    (tossed, {"AX (x | !x)": True, "AX x": False, "EX x": True, "AX x | EX !x": True}),
    (drawn, {"AX (x | !x)": True, "AX x": False, "EX x": True}),
    (labelled, {"AX (x | !x)": True, "m != B": True, "AX (m == A)": False, "EX (m == B)": False}),
    (nothing, {"AX (1 < 2)": True, "EX (2 < 1)": False}),
]
SETUPS: list[tuple[str, dict[str, Any]]] = [
    ("auto", {}),
    ("falsify", {}),
    ("bounds", {}),
    ("bounds", {"tighten": False}),
    ("paths", {}),
    ("milp", {}),
    ("milp", {"encoding": "compositional"}),
]
IDS = ["auto", "falsify", "bounds", "plain", "paths", "milp", "cases"]


@pytest.mark.parametrize(("engine", "options"), SETUPS, ids=IDS)
@pytest.mark.parametrize(("system", "claims"), CASES, ids=lambda part: getattr(part, "__name__", ""))
def test_engines_do_without_numbers(
    system: Callable[[], System], claims: dict[str, bool], engine: str, options: dict[str, Any]
) -> None:
    for claim, holds in claims.items():
        result = vn.check(system(), claim, engine=engine, options=options)
        assert result.verdict in {vn.HOLDS if holds else vn.VIOLATED, UNKNOWN}, claim
        if engine in ("auto", "paths"):
            assert result.verdict is not UNKNOWN, claim


ENDLESS = [
    (tied, {"G (x | !x)": True, "G x": False, "EG x": False, "G F x": False, "G (a == 0)": False}),
    (flipping, {"G (x | !x)": True, "G (x -> X !x)": True, "G F x": True, "F G x": False}),
    (tossed, {"G (x | !x)": True, "F x": False, "AG EF x": True}),
    (drawn, {"G (x | !x)": True, "G x": False}),
    (labelled, {"G (x -> X (m == B))": True, "G (m != B)": False}),
    (nothing, {"G (1 < 2)": True, "G (2 < 1)": False, "F (2 < 1)": False, "G F (1 < 2)": True}),
]


@pytest.mark.parametrize(
    "engine", [entry.name for entry in engines_of_steps() if entry.name != "smt" or is_here("smt")]
)
@pytest.mark.parametrize(("system", "claims"), ENDLESS, ids=lambda part: getattr(part, "__name__", ""))
def test_claims_without_a_bound_do_without_numbers(
    system: Callable[[], System], claims: dict[str, bool], engine: str
) -> None:
    for claim, holds in claims.items():
        result = vn.check(system(), claim, engine=engine, timeout=1)
        assert result.verdict in {vn.HOLDS if holds else vn.VIOLATED, UNKNOWN}, claim


def test_nothing_has_a_share_where_there_is_nothing_to_cut() -> None:
    linear = Linear({X: Truth(np.array([False]), np.array([True]))})
    scores = b.concat(b.if_(X, 1, 0), b.if_(X, 1, 0))
    linear.need(b.argmax(scores))
    assert linear.inputs.range.lower.shape == (1, 0)
    assert open_shares(linear, np.array([0])).shape == (1, 0)
