"""Nonlinear loops: no proof with a sampled violation, no violation that does not replay, and what has to be decided."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.engines.test_truth import check_evidence
from tests.loops import nonlinear_loop
from tests.portion import some
from tests.systems import make
from tests.work import processor
from vernal.engines.check import asked_of, find_engine
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result, Verdict
from vernal.logic.formula import Always, Atom, Bound, Eventually, Formula, Next
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Function, Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.model.traits import nonlinear_node
from vernal.run.budget import Budget
from vernal.simulate.runs import simulate
from vernal.simulate.targets import Target

LOOPS = some(25)
RUNS = 2000


def claim(rng: random.Random, system: System) -> Formula:
    """A claim about x whose threshold is near what runs reach: a little above, or a little below."""
    steps = rng.randint(1, 4)
    runs = simulate(system, 500, steps, np.random.default_rng(0), corners=True)
    reached = runs.state["x"][:, steps]
    spread = float(np.ptp(reached)) or 1.0
    limit = float(reached.max()) + rng.choice([0.5, 0.1, 0.02, -0.02, -0.1]) * spread
    atom = Atom(build.compare("<", build.var("x"), build.const(Fraction(f"{limit:.6f}"))))
    bound = Bound(Fraction(0), Fraction(steps))
    return rng.choice([Next(atom, steps, None), Always(atom, bound, None), Eventually(atom, bound, None)])


def least_margin(system: System, formula: Formula) -> float:
    """The smallest margin of many runs, in floating point."""
    runs = simulate(system, RUNS, 4, np.random.default_rng(1), corners=True)
    return float(Target(system, formula, formula).margins(runs).min())


@pytest.mark.parametrize("engine", ["paths", "bounds", "auto", "milp"])
def test_nonlinear_loops_agree_with_dense_sampling(engine: str) -> None:
    verdicts: list[Verdict] = []
    for seed in range(LOOPS):
        rng = random.Random(seed)
        system = nonlinear_loop(rng)
        asked = claim(rng, system)
        result = asked_of(find_engine(engine), Question(system, asked), processor(0.5 if engine == "bounds" else 5))
        verdicts.append(result.verdict)
        check_evidence(system, asked, result)
        if result.verdict is HOLDS:
            least = least_margin(system, asked)
            assert least > -1e-9, f"seed {seed}: {asked}"
            assert result.margin is None or result.margin <= least + 1e-9, f"seed {seed}: {asked}"
    decided = {"paths": 0.8, "auto": 0.9, "bounds": 0.3, "milp": 0.1}[engine]
    assert sum(verdict is not UNKNOWN for verdict in verdicts) >= decided * LOOPS
    if engine in ("paths", "auto"):
        assert {HOLDS, VIOLATED} <= set(verdicts)


# The pendulum ---------------------------------------------------------------------------------------------------------


def pendulum(act: str) -> System:
    """An inverted pendulum under a policy that pushes against 8 theta + 2 omega: with full force, or in proportion."""
    theta, omega = build.var("theta"), build.var("omega")
    x = network_input(2)
    hidden = build.relu(build.affine(x, Matrix(np.array([[8.0, 2.0], [-8.0, -2.0]])), Matrix(np.zeros(2))))
    scores = np.array([[1.0, -1.0], [-1.0, 1.0]] if act == "argmax" else [[-1.0, 1.0]])
    network = Network("policy", x, build.affine(hidden, Matrix(scores), Matrix(np.zeros(len(scores)))))
    agent = make_agent("push", [network], [theta, omega], act)
    force = build.if_(build.eq(agent.var, 0), -1, 1) if act == "argmax" else 5 * build.clip(agent.var, -1, 1)
    later = omega + Fraction("0.05") * (15 * build.apply(Function.SIN, theta) + 3 * force)
    moves = {"theta": theta + Fraction("0.05") * later, "omega": later}
    return make({"theta": (0, "0.05"), "omega": (0, "0.3")}, moves, agents=[agent])


def ask(system: System, formula: Formula, engine: str) -> Result:
    result = asked_of(find_engine(engine), Question(system, formula), Budget(timeout=60))
    check_evidence(system, formula, result)
    return result


@pytest.mark.parametrize("engine", ["paths", "auto"])
@pytest.mark.parametrize(
    ("act", "steps", "limit", "expected"),
    [
        ("argmax", 8, "0.1", HOLDS),
        ("argmax", 8, "0.03", VIOLATED),
        ("argmax", 10, "0.1", HOLDS),
        ("raw", 8, "0.03", HOLDS),
        ("raw", 8, "-0.05", VIOLATED),
    ],
)
def test_a_pendulum_is_decided(engine: str, act: str, steps: int, limit: str, expected: Verdict) -> None:
    system = pendulum(act)
    atom = Atom(build.compare("<", build.var("theta"), build.const(Fraction(limit))))
    assert ask(system, Next(atom, steps, None), engine).verdict is expected


@pytest.mark.parametrize("engine", ["paths", "auto"])
def test_a_pendulum_stays_upright(engine: str) -> None:
    theta = build.absolute(build.var("theta"))
    upright = Atom(build.compare("<", theta, build.const(Fraction("0.15"))))
    assert ask(pendulum("argmax"), Always(upright, Bound(Fraction(0), Fraction(8)), None), engine).verdict is HOLDS


def test_values_without_a_bound_are_looked_at_in_halves() -> None:
    """Intervals allow the denominator to be 0, which it never is; on narrow pieces that is seen."""
    x = build.var("x")
    system = make({"x": (-1, 1)}, {"x": 1 / (x * x - x + Fraction(1, 2))})
    atom = Atom(build.compare("<=", x, build.const(Fraction("4.01"))))
    assert ask(system, Next(atom, 1, None), "paths").verdict is HOLDS


@pytest.mark.parametrize("engine", ["falsify", "paths", "auto"])
def test_a_counterexample_through_angles_is_rigorous_and_not_exact(engine: str) -> None:
    """The state (1, 1) is rational and so is the claim, the angle is not."""
    x, y = build.var("x"), build.var("y")
    system = make({"x": 1, "y": 1}, {"x": build.atan2(y, x), "y": y})
    asked = Next(Atom(build.compare("<", x, Fraction(78, 100))), 1, None)
    result = asked_of(find_engine(engine), Question(system, asked), Budget(timeout=20))
    assert (result.verdict, str(result.assurance)) == (VIOLATED, "rigorous")


def test_which_steps_are_nonlinear() -> None:
    x, y = build.var("x"), build.var("y")
    assert nonlinear_node([2 * x + build.relu(y), x / 3, build.apply(Function.SIN, build.const(1)) * y]) is None
    for node in (x * y, x / y, x * x, build.apply(Function.TANH, x)):
        assert nonlinear_node([x, node + 1]) is not None
