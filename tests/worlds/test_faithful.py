"""The worlds move as the environments they are modelled on; `python -m benchmarks.worlds` prints by how much not."""

from __future__ import annotations

import numpy as np
import pytest

import vernal as vn

pytest.importorskip("gymnasium", reason="needs the extra gym: the worlds are compared with Gymnasium and mpe2")

from benchmarks import worlds

TRANSITIONS = 100_000


def test_cart_pole_is_that_of_gymnasium() -> None:
    assert worlds.cartpole(TRANSITIONS) < 1e-12


def test_the_pendulum_is_that_of_gymnasium() -> None:
    assert worlds.pendulum(TRANSITIONS) < 1e-12


def test_the_pendulum_with_two_torques_is_too() -> None:
    assert worlds.pendulum_bangbang(20_000) < 1e-12


def test_the_mountain_car_is_that_of_gymnasium() -> None:
    assert worlds.mountaincar(TRANSITIONS) < 1e-12


def test_the_mountain_car_with_a_motor_is_too() -> None:
    assert worlds.mountaincar_continuous(TRANSITIONS) < 2e-7  # its states are 32-bit floats


def test_the_acrobot_is_that_of_gymnasium() -> None:
    assert worlds.acrobot(20_000) < 1e-9  # fast links amplify rounding


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_simple_spread_is_that_of_mpe2_without_contact(agents: int) -> None:
    assert worlds.spread(1_000, agents=agents) < 1e-12


def test_the_lander_flies_as_in_box2d() -> None:
    pytest.importorskip("Box2D", reason="needs Box2D: pip install 'gymnasium[box2d]'")
    assert worlds.lander(1_000) < 1e-5  # Box2D computes in 32-bit floats
    assert 1e-3 < worlds.lander_with_legs(200) < 2e-2  # the legs are not in the model, and the comparison sees them


def test_a_wrong_world_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = vn.worlds.text("pendulum").replace("3 / (mass", "3.001 / (mass")
    monkeypatch.setattr("vernal.worlds.library.text", lambda name: text)
    assert worlds.pendulum(100) > 1e-5
    wall = vn.worlds.text("mountaincar").replace("max(faster, 0)", "faster")
    monkeypatch.setattr("vernal.worlds.library.text", lambda name: wall)
    assert worlds.mountaincar(1_000) > 1e-3


def test_the_paper_s_own_trace_of_the_pendulum() -> None:
    """AAAI 2019, section on experiments: three steps with force -1 from (0, 0) end in (-0.046, -0.472)."""
    one = vn.worlds.batch("pendulum_bangbang", 1)
    one.reset(state={"theta": 0, "omega": 0})
    for _ in range(3):
        seen, *_ = one.step({"motor": np.zeros(1)})
    theta, omega = seen["motor"][0]
    assert (int(1000 * theta) / 1000, int(1000 * omega) / 1000) == (-0.046, -0.472)
