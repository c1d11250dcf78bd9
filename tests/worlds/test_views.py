"""The views pass the checkers of the libraries they are for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")

THERMOSTAT = Path(__file__).parents[2] / "examples" / "thermostat" / "thermostat.toml"

# Remarks of check_env, not errors: observations have no bounds, nothing is drawn, the motor's torque is not normalised.
remarks = pytest.mark.filterwarnings(
    "ignore:.*A Box observation space m:UserWarning",
    "ignore:.*alternative render modes:UserWarning",
    "ignore:.*recommend using a symmetric and normalized:UserWarning",
)


@remarks
@pytest.mark.parametrize("world", [*(name for name in vn.worlds.names() if "spread" not in name), "spread1"])
def test_worlds_are_environments_of_gymnasium(world: str) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(vn.worlds.gym(world))


@remarks
def test_so_is_any_system_of_one_s_own() -> None:
    from gymnasium.utils.env_checker import check_env

    view = vn.worlds.gym(vn.load(THERMOSTAT), reward="-abs(next_T - 20)", terminated="T < 10", steps=20)
    check_env(view)
    seen, _ = view.reset(seed=3)
    seen, reward, over, cut, _ = view.step(1)
    assert reward == pytest.approx(-abs(10 * seen[0]))
    assert (over, cut) == (False, False)


def test_spaces_say_what_an_agent_can_do() -> None:
    assert vn.worlds.gym("lander").action_space == gymnasium.spaces.Discrete(4)
    assert vn.worlds.gym("pendulum").action_space == gymnasium.spaces.Box(-2, 2, (1,), np.float64)
    assert vn.worlds.gym("pendulum").observation_space.shape == (3,)


def test_episodes_end_as_in_gymnasium() -> None:
    view, original = vn.worlds.gym("cartpole"), gymnasium.make("CartPole-v1")
    original.reset(seed=0)
    view.reset(options={"state": dict(zip(["x", "v", "theta", "omega"], original.unwrapped.state, strict=True))})
    for step in range(500):
        told, wanted = view.step(step % 2), original.step(step % 2)
        np.testing.assert_allclose(told[0], wanted[0], rtol=1e-5, atol=1e-6)
        assert told[1:4] == wanted[1:4]
        if told[2]:
            break
    assert told[2]


def test_episodes_are_cut_off() -> None:
    view = vn.worlds.gym("pendulum", steps=3)
    view.reset(seed=0)
    assert [view.step([0.5])[3] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("world", ["spread2", "spread4"])
def test_several_agents_are_a_parallel_environment_of_pettingzoo(world: str, capsys: Any) -> None:
    testing = pytest.importorskip("pettingzoo.test", reason="needs the extra gym")
    testing.parallel_api_test(vn.worlds.gym(world), num_cycles=60)
    assert "Passed" in capsys.readouterr().out


def test_agents_share_reward_and_end() -> None:
    pytest.importorskip("pettingzoo", reason="needs the extra gym")
    view = vn.worlds.gym("spread2", terminated="x1 > 2", steps=2)
    start = {"x1": 1.95, "y1": 0, "vx1": 1, "vy1": 0, "x2": -0.5, "y2": 0}
    view.reset(seed=1, options={"state": start})
    seen, rewards, over, cut, _ = view.step({"move1": 0, "move2": 0})
    np.testing.assert_allclose(seen["move2"][:4], [-0.5, 0, 2.05, 0])
    assert rewards == {"move1": pytest.approx(-1), "move2": pytest.approx(-1)}
    assert over == {"move1": True, "move2": True}
    assert cut == {"move1": False, "move2": False}
    assert view.agents == []


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name in {"vernal.worlds.single_view", "vernal.worlds.spaces"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(vn.MissingExtra, match=r"vernal\[gym\]"):
        vn.worlds.gym("cartpole")
