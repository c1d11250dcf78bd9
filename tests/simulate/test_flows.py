"""Simulated flows: known solutions, disturbances that change, and trajectories that leave the region."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vernal.model import build, functions
from vernal.model.expr import Between, Expr
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.system import Variable
from vernal.simulate.flows import STRETCHES, FlowSimulator
from vernal.simulate.runs import random_plan
from vernal.simulate.trajectories import simulate_flow

X, Y = build.var("x"), build.var("y")
D = build.between(build.const(-1), build.const(3), "d")


def flow_of(x: Expr | int, y: Expr | int, where: tuple[Expr, ...] = ()) -> Flow:
    """Two variables from [0, 1], in the region [-2, 2]."""
    state = tuple(Variable(name, X.sort, Fraction(-2), Fraction(2)) for name in "xy")
    starts = {name: Span(Fraction(0), Fraction(1)) for name in "xy"}
    return Flow("flow", state, Init(starts, where), {"x": build.const(0) + x, "y": build.const(0) + y})


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_rotation() -> None:
    runs = simulate_flow(flow_of(Y, -X), 500, 6.0, rng(), corners=True)
    assert runs.times is not None
    assert runs.times[0] == 0
    assert runs.times[-1] == 6
    x, y = runs.state["x"], runs.state["y"]
    assert np.allclose(x, x[:, :1] * np.cos(runs.times) + y[:, :1] * np.sin(runs.times), atol=1e-7)
    assert (runs.lengths == len(runs.times)).all()
    assert {(1.0, 1.0), (0.5, 0.5), (0.0, 1.0)} <= set(zip(x[:, 0], y[:, 0], strict=True))


def test_it_is_accurate_where_rates_change_quickly() -> None:
    runs = simulate_flow(flow_of(-200 * (X - Y), 0), 50, 1.0, rng())
    x, y = runs.state["x"], runs.state["y"]
    assert runs.times is not None
    expected = y[:, :1] + (x[:, :1] - y[:, :1]) * np.exp(-200 * runs.times)
    assert np.allclose(x, expected, atol=1e-6)


def test_trajectories_end_where_they_leave_the_region() -> None:
    runs = simulate_flow(flow_of(1, 0), 300, 5.0, rng())
    assert runs.times is not None
    last = runs.times[runs.lengths - 1]
    assert (np.abs(last - (2 - runs.state["x"][:, 0])) <= 0.06).all()
    going = np.arange(runs.steps + 1) < runs.lengths[:, None]
    assert (np.isnan(runs.state["x"]) == ~going).all()
    assert (runs.state["x"][going] <= 2).all()


def test_a_field_that_is_not_defined_ends_a_trajectory() -> None:
    runs = simulate_flow(flow_of(-1 + 0 * functions.sqrt(X), 0), 100, 2.0, rng())
    assert runs.times is not None
    assert (np.abs(runs.times[runs.lengths - 1] - runs.state["x"][:, 0]) <= 0.04).all()


def test_disturbances_are_constant_for_a_while_and_within_their_interval() -> None:
    flow = flow_of(D, 0)
    runs = simulate_flow(flow, 100, 0.4, rng())
    assert runs.times is not None
    rates = np.diff(runs.state["x"]) / np.diff(runs.times)
    assert (rates > -1 - 1e-6).all()
    assert (rates < 3 + 1e-6).all()
    assert len({round(rate, 5) for rate in rates[0]}) == STRETCHES
    assert isinstance(D, Between)
    plan = random_plan(flow, 2, 0, rng())
    ends = FlowSimulator(flow, 0.25, 1).run(type(plan)(plan.first, {D: np.array([[0.0], [1.0]])}))
    assert np.allclose(ends.state["x"][:, -1] - ends.state["x"][:, 0], [-0.25, 0.75])


def test_constraints_on_initial_states_are_kept() -> None:
    runs = simulate_flow(flow_of(0, 0, (Fraction(1, 2) >= X + Y,)), 200, 1.0, rng())
    assert (runs.state["x"][:, 0] + runs.state["y"][:, 0] <= 0.5).all()


def test_times_that_are_asked_for_are_looked_at() -> None:
    simulator = FlowSimulator(flow_of(1, 0), Fraction(1), more=[Fraction(1, 3), Fraction(7)])
    assert 1 / 3 in simulator.times
    assert simulator.times[-1] == 1
    assert len(FlowSimulator(flow_of(1, 0), 0).times) == 1
