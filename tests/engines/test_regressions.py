"""What an engine once got wrong, as small as it could be made; and the loops that found it, a few of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.never_wrong import SETUPS, Run
from tests.judge import instance
from tests.systems import make
from vernal.engines.check import ask, parse_formula
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Function, Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.run.budget import Budget

X, Y = b.var("x"), b.var("y")
NAMES = ["falsify", "bounds", "paths", "milp monolithic highs", "milp compositional scip", "auto"]


def verdict(name: str, system: System, claim: str, workers: int = 1, timeout: float = 60) -> Verdict:
    """What an engine says, its trace checked."""
    engine, options = SETUPS[name]
    task = Task(system)
    result = ask(task, parse_formula(task, claim), None, engine, Budget(timeout=timeout, workers=workers), options)
    assert result.trace is None or verify(system, result.trace).accepted
    return result.verdict


def tied() -> System:
    """An agent whose two outputs are always equal; its action is the next state."""
    x = network_input(1)
    network = Network("net", x, b.affine(x, Matrix(np.ones((2, 1))), Matrix(np.zeros(2))))
    agent = make_agent("agent", [network], [X], "argmax")
    return make({"x": 0}, {"x": agent.var * 1}, agents=[agent])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("claim", "true"),
    [
        ("EX (x == 0)", HOLDS),  # a state has all its ties
        ("EX (x == 0) & EX (x == 1)", HOLDS),
        ("(agent == 0 | agent == 1) & EX (x == 0)", VIOLATED),  # a position has an action: here also agent = 1
        ("agent == 0 -> EX (x == 1)", VIOLATED),
        ("agent == 0 -> EX (x == 0)", HOLDS),
        ("EX (agent == 1)", HOLDS),
    ],
)
def test_a_witness_speaks_for_its_own_action_only(name: str, claim: str, true: Verdict) -> None:
    """A tie at the start makes two positions of it where the claim asks about actions."""
    assert verdict(name, tied(), claim) in (true, UNKNOWN)


def test_ties_are_decided() -> None:
    assert verdict("paths", tied(), "(agent == 0 | agent == 1) & EX (x == 0)") is VIOLATED
    assert verdict("auto", tied(), "agent == 0 -> EX (x == 0)") is HOLDS


# Undefined values: anything in a proof, never part of a trace ---------------------------------------------------------

USED = make({"x": 0}, {"x": b.div(1, X)})
SOMETIMES = make({"x": {0, 1}}, {"x": b.div(1, X)})
CHOSEN = make({"x": 0}, {"x": b.choose(b.div(1, X), b.const(3))})
UNTAKEN = make({"x": 0}, {"x": b.if_(b.eq(X, 0), b.const(2), b.div(1, X))})
UNSEEN = make({"x": 0, "y": 0}, {"x": X + 1, "y": b.div(1, Y)})
ROOT = make({"x": (-2, -1)}, {"x": b.apply(Function.SQRT, X)})
ORIGIN = make({"x": {0, 1}, "y": 0}, {"x": b.atan2(Y, X), "y": Y})
WHERE = make({"x": {0, 1}}, {"x": X}, where=[b.div(1, X) > 0])
GUARD = make({"x": {0, 1}}, {"x": X}, enabled=b.div(1, X) > 0)
ATOM = make({"x": 0}, {"x": X + 1})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("system", "claim", "allowed"),
    [
        *((USED, claim, None) for claim in ("X (x < 5)", "X (x >= 5)", "EX (x < 5)", "AX (x < 5) | AX (x > 5)")),
        (USED, "AX EX (x < 5)", None),
        (SOMETIMES, "X (x == 1)", None),
        (SOMETIMES, "X (x != 1)", VIOLATED),
        (SOMETIMES, "EX (x == 1)", None),
        (CHOSEN, "X (x == 3)", None),
        (CHOSEN, "X (x != 3)", VIOLATED),
        (CHOSEN, "EX (x == 3)", HOLDS),
        (CHOSEN, "EX (x != 3)", None),
        (UNTAKEN, "G[0,2] (x <= 2)", HOLDS),
        (UNTAKEN, "EX EX (x == 0.5)", HOLDS),
        (UNSEEN, "X (x == 1)", HOLDS),
        (UNSEEN, "X (x == 2)", None),
        *((ROOT, claim, None) for claim in ("X (x >= 0)", "X (x < 0)", "EX (x >= 0)")),
        *((ORIGIN, claim, None) for claim in ("X (x == 0)", "X (x <= 4)", "EX (x == 0)", "AX (x < 1) | AX (x >= 1)")),
        (ORIGIN, "X (x > 0)", VIOLATED),
        (WHERE, "x == 1", None),
        (WHERE, "x != 1", VIOLATED),
        (WHERE, "EX (x == 1)", None),
        (GUARD, "X (x == 1)", None),
        (GUARD, "G[0,1] (x <= 1)", HOLDS),
        (ATOM, "1/x > 0", None),
        (ATOM, "1/x <= 0", None),
        (ATOM, "1/x == 1/x", None),
        (ATOM, "G[0,1] (1/x > 0 | x == 0)", HOLDS),
    ],
)
def test_nothing_is_claimed_from_an_undefined_value(
    name: str, system: System, claim: str, allowed: Verdict | None
) -> None:
    assert verdict(name, system, claim, timeout=0.5) in (allowed, UNKNOWN)


@pytest.mark.parametrize(
    ("claim", "assurance"), [("X (x <= 1/3)", "exact"), ("X (if(x < 2, x, 5) <= 1/3)", "rigorous")]
)
def test_a_margin_of_zero_is_as_sure_as_the_branches_that_lead_to_it(claim: str, assurance: str) -> None:
    """The margin is rational arithmetic; whether x < 2, bounds in floating point have said."""
    task = Task(make({"x": (0, Fraction(1, 3))}, {"x": X}))
    result = ask(task, parse_formula(task, claim), None, "bounds", Budget(timeout=60))
    assert (result.verdict, str(result.assurance)) == (HOLDS, assurance)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("claim", ["AX (x <= 0.5 | x >= 1.5)", "EX (x != 1)"])
def test_between_many_starts_nothing_starts(name: str, claim: str, workers: int) -> None:
    """Beside a constraint, more values than are taken one by one were filled up to an interval by exact arithmetic."""
    system = make({"x": {2 * value for value in range(300)}, "y": (0, 1)}, {"x": X * 1}, where=[X >= 0])
    assert verdict(name, system, claim, workers) in (HOLDS, UNKNOWN)


# Random loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "instances"), [("finite", 15), ("intervals", 8)])
def test_hard_loops(family: str, instances: int, capsys: pytest.CaptureFixture[str]) -> None:
    """No answer is wrong, and `auto` decides all that it has to (these loops are small enough for any machine)."""
    run = Run(NAMES[2:], timeout=60)
    for seed in range(instances):
        run.ask(instance(seed, family))
    assert not any(column.wrong for column in run.columns.values()), capsys.readouterr().out
    assert not run.left_open


@pytest.mark.parametrize(
    ("seed", "family", "names"),
    [
        (51687, "recurrent", ["paths"]),  # a step at which every piece belongs to a box that is cut anyway
        (70273, "recurrent", ["deepened"]),  # the margin of a claim is not that of the same claim with a smaller bound
        (290, "intervals", ["bounds"]),  # a bound from below for each box, and one from above for all
    ],
)
def test_loops_that_found_something(
    seed: int, family: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(names, timeout=2)
    run.ask(instance(seed, family))
    assert not any(column.wrong for column in run.columns.values()), capsys.readouterr().out
