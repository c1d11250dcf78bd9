"""A model has a motion: a step, rates, both on a grid of instants, or modes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import pytest

import vernal as vn
from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.expr import Role
from vernal.model.graph import variables
from vernal.model.motion import Rates, Sampled, Step, common_period
from vernal.model.network import Network, network_input
from vernal.model.system import Model, System

DECAY = vn.Flow(
    state={"x": vn.real(0, 3)},
    init={"x": vn.interval(1, 2)},
    rates=lambda s: {"x": -s.x * s.d},
    lets={"d": lambda s: vn.between(1, 2)},
)
HALF = vn.System(state={"x": vn.real(0, 3)}, init={"x": vn.interval(1, 2)}, step=lambda s: {"x": s.x / 2})
TANK = {"state": {"x": vn.real(0, 3), "n": vn.integer(0, 9)}, "init": {"x": 1, "n": 0}}


def tank(**given: object) -> System:
    return vn.System(**{**TANK, "rates": lambda s: {"x": -s.x}, "step": lambda s: {"n": s.n + 1}, **given})  # type: ignore[call-overload, no-any-return]


def test_systems_and_flows_are_models_with_a_motion() -> None:
    assert isinstance(HALF, Model)
    assert isinstance(HALF.motion, Step)
    assert isinstance(DECAY, Model)
    assert isinstance(DECAY.motion, Rates)


def test_what_is_read_of_any_motion() -> None:
    assert (HALF.rates, HALF.vector_field, HALF.grid) == ({}, (), None)
    assert (DECAY.next, DECAY.grid) == ({}, None)
    assert DECAY.step.next_state == DECAY.step.state
    assert DECAY.step.rates == DECAY.vector_field
    assert [DECAY.step.names[node] for node in DECAY.disturbances] == ["d"]


def test_a_loop_that_samples_has_a_flow_and_a_step() -> None:
    made = tank(every="0.1")
    assert isinstance(made.motion, Sampled)
    assert made.grid == made.motion.every == Fraction(1, 10)
    assert list(made.rates) == ["x"]
    assert list(made.next) == ["n"]
    assert made.vector_field == (-made.vars[0], build.const(0))


def test_a_rate_sees_the_action_that_is_held() -> None:
    x = network_input(1)
    pump = vn.agent(Network("double", x, 2 * x), observe=lambda s: [s.x], act="raw", every="0.2", delay="0.01", start=0)
    made = tank(agents={"pump": pump}, rates=lambda s: {"x": s.pump - s.x}, step=None)
    assert made.grid == Fraction(1, 5)
    assert (made.agents[0].delay, made.agents[0].start) == (Fraction(1, 100), (Fraction(0),))
    assert [var.name for var in variables(made.vector_field) if var.role is Role.ACTION] == ["pump"]
    assert [var.name for var in variables(made.step.actions.values())] == ["x"]


@pytest.mark.parametrize("given", [{}, {"every": 0}, {"every": -1}])
def test_a_loop_that_samples_says_how_often(given: dict[str, object]) -> None:
    with pytest.raises(TypeClash):
        tank(**given)


@pytest.mark.parametrize(
    "timing",
    [
        {"delay": "0.2", "start": 0},
        {"delay": "-0.1", "start": 0},
        {"delay": "0.1"},
        {"start": 0},
        {"delay": "0.1", "start": [0, 0]},
    ],
)
def test_a_delay_is_part_of_the_period_and_has_a_first_action(timing: dict[str, object]) -> None:
    x = network_input(1)
    pump = vn.agent(Network("double", x, 2 * x), observe=lambda s: [s.x], act="raw", every="0.2", **timing)  # type: ignore[arg-type]
    with pytest.raises(TypeClash):
        tank(agents={"pump": pump}, rates=lambda s: {"x": s.pump - s.x}, step=None)


@pytest.mark.parametrize("timing", [{"every": "0.2"}, {"delay": "0.1"}, {"start": 0}])
def test_seconds_are_for_loops_that_sample(timing: dict[str, object]) -> None:
    x = network_input(1)
    pump = vn.agent(Network("double", x, 2 * x), observe=lambda s: [s.x], act="raw", **timing)  # type: ignore[arg-type]
    with pytest.raises(TypeClash, match="rates"):
        vn.System(state={"x": vn.real()}, init={"x": 1}, step=lambda s: {"x": s.pump}, agents={"pump": pump})
    with pytest.raises(TypeClash, match="rates"):
        vn.System(state={"x": vn.real()}, init={"x": 1}, step=lambda s: {"x": s.x}, every="0.1")


def test_the_common_period() -> None:
    assert common_period([Fraction(1, 10), Fraction(3, 20)]) == Fraction(1, 20)


@pytest.mark.parametrize("model", [DECAY, HALF, tank(every=1)], ids=["flow", "steps", "samples"])
def test_models_travel_and_start_elsewhere(model: Model) -> None:
    assert pickle.loads(pickle.dumps(model)) == model
    moved = model.starting(replace(model.init, where=()))
    assert type(moved) is type(model)
    assert moved.step is model.step
