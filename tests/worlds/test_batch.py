"""Thousands of copies at once: they do what the system does, copy by copy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from vernal.errors import NameUnknown, TypeClash
from vernal.interpret import concrete
from vernal.model.build import vector
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.simulate.runs import Plan, StepSimulator

THERMOSTAT = Path(__file__).parents[2] / "examples" / "thermostat" / "thermostat.toml"
EYE = Network("eye", network_input(1), network_input(1))


def test_copies_move_as_the_system_does() -> None:
    """Acting from outside as the policy would gives the runs of the closed loop."""
    task = vn.load(THERMOSTAT)
    many = vn.worlds.batch(task, 50, seed=1)
    seen = many.reset()
    first, network = many.state, task.system.networks[0]
    drawn, temperatures = [], [first["T"]]
    for _ in range(5):
        drawn.append(many.drawn)
        (scores,) = concrete.evaluate([network.output], {network.inputs: seen["control"]})
        seen, *_ = many.step({"control": np.argmax(scores, axis=1)})
        temperatures.append(many.state["T"])
    drawn.append(many.drawn)
    simulator = StepSimulator(task.system, 5)
    starts = {var: first[var.name] for var in task.system.step.state}
    decisions = {node: np.stack([at[node] for at in drawn], axis=1) for node in many.drawn}
    runs = simulator.run(Plan(starts, decisions))  # type: ignore[arg-type]
    np.testing.assert_array_equal(runs.state["T"], np.stack(temperatures, axis=1))


def noisy() -> System:
    """An agent that sees a disturbance, which then happens."""
    return vn.System(
        state={"x": vn.real(), "left": vn.integer(0, 3)},
        init={"x": 0, "left": 2},
        agents={"go": vn.agent(EYE, observe=lambda s: [s.noise], act="raw")},
        lets={"noise": lambda s: vn.between(-1, 1)},
        step=lambda s: {"x": s.noise - s.go, "left": s.left - 1},
        enabled=lambda s: s.left > 0,
    )


def test_what_is_seen_is_what_happens() -> None:
    many = vn.worlds.batch(noisy(), 100, seed=0, agents=["go"])
    seen = many.reset()
    assert len(np.unique(seen["go"])) == 100
    many.step({"go": seen["go"][:, 0]})
    np.testing.assert_array_equal(many.state["x"], 0)


def test_a_copy_that_is_not_enabled_stays_and_is_over() -> None:
    many = vn.worlds.batch(noisy(), 3, seed=0, reward=1)
    many.reset(state={"left": [2, 1, 0]})
    told = [many.step({"go": np.zeros(3)})[1:] for _ in range(2)]
    np.testing.assert_array_equal([over for _, over in told], [[False, False, True], [False, True, True]])
    np.testing.assert_array_equal([reward for reward, _ in told], [[1, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(many.state["left"], [0, 0, 0])


def test_some_copies_start_again() -> None:
    many = vn.worlds.batch("cartpole", 4, seed=0)
    many.reset(state={"x": 1})
    seen = many.reset(np.array([True, False, False, True]))["push"]
    np.testing.assert_array_equal(abs(seen[:, 0]) <= 0.05, [True, False, False, True])


def test_rewards_speak_of_both_ends_of_a_step() -> None:
    many = vn.worlds.batch("lander", 2, reward="next_seen_x - seen_x", terminated=lambda s: s.y > 1)
    seen = many.reset(state={"y": [0.5, 1.5], "theta": [0.3, -0.3]})["engine"][:, 0]
    after, reward, over = many.step({"engine": np.array([1, 2])})
    np.testing.assert_allclose(reward, after["engine"][:, 0] - seen, atol=1e-15)
    assert over.tolist() == [False, True]


def test_seeds_repeat_runs() -> None:
    first, second = (vn.worlds.batch("lander", 10, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.reset()["engine"], second.reset()["engine"])
    moves = {"engine": np.zeros(10)}
    np.testing.assert_array_equal(first.step(moves)[0]["engine"], second.step(moves)[0]["engine"])


def test_other_agents_keep_their_policies() -> None:
    idle = vn.agent(EYE, observe=lambda s: [s.x2], act=lambda out: [out[0]])
    with pytest.raises(TypeClash, match="the action of 'move2'"):
        vn.worlds.system("spread2", {"move2": idle})
    five = Network("five", network_input(1), vector([Fraction(score) for score in (0, 0, 1, 0, 0)]))
    world = vn.worlds.system("spread2", {"move2": vn.agent(five, observe=lambda s: [s.x2])})
    many = vn.worlds.batch(world, 10)
    assert list(many.reset()) == ["move1"]
    many.step({"move1": np.full(10, 1)})
    np.testing.assert_array_equal(many.state["vx1"], -0.5)
    np.testing.assert_array_equal(many.state["vx2"], 0.5)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(NameUnknown, match="no state variable 'z'"):
        vn.worlds.batch("cartpole", 1).reset(state={"z": 1})
    with pytest.raises(vn.InputError, match="call reset"):
        vn.worlds.batch("cartpole", 1).step({"push": np.zeros(1)})
    many = vn.worlds.batch("cartpole", 2)
    many.reset()
    with pytest.raises(vn.InputError, match="no action for push"):
        many.step({})
    for moves in ([0, 2], [-1, 0], [0.5, 1]):
        with pytest.raises(vn.InputError, match="an index from 0 to 1: LEFT, RIGHT"):
            many.step({"push": np.array(moves)})
    with pytest.raises(NameUnknown, match="unknown name 'y'"):
        vn.worlds.batch("cartpole", 1, reward="y")
    with pytest.raises(TypeClash, match="a reward is one number"):
        vn.worlds.batch("cartpole", 1, reward="x > 1")
    with pytest.raises(TypeClash, match="one truth value"):
        vn.worlds.batch("cartpole", 1, terminated="x + 1")
    with pytest.raises(NameUnknown, match="no agent 'pull'"):
        vn.worlds.batch(vn.load(THERMOSTAT), 1, agents=["pull"])
    with pytest.raises(vn.InputError, match="no agent that could act from outside"):
        vn.worlds.batch(vn.System(state={"x": vn.real()}, init={"x": 0}, step=lambda s: {"x": s.x}), 1)
