"""Verdicts while a policy is learned; stable-baselines3 itself is not needed to look at a policy."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vernal as vn
from vernal.model.network import Network
from vernal.plugins import sb3_callback


def pushing(gain: float) -> Network:
    """A policy of one number."""
    from vernal.formats.layers import dense
    from vernal.model.network import network_input

    x = network_input(1)
    return Network("pilot", x, dense(x, np.array([[gain]]), np.array([0.0])))


def loop(policy: Network) -> vn.System:
    """A number that the policy pushes."""
    return vn.System(
        state={"x": vn.real()},
        init={"x": vn.interval(0, 1)},
        agents={"pilot": vn.agent(policy, observe=lambda s: [s.x], act="raw")},
        step=lambda s: {"x": s.x + s.pilot},
    )


def test_a_policy_is_looked_at_and_logged() -> None:
    watch = sb3_callback.PolicyWatch(loop, {"low": "G[0,4] (x <= 3)"}, 10.0)
    told = [sb3_callback.records(watch.look(pushing(gain))) for gain in (-0.5, 1.0)]
    assert [one["vernal/low"] for one in told] == ["holds", "violated"]
    assert [one["vernal/low_holds"] for one in told] == [1.0, 0.0]
    assert told[0]["vernal/low_margin"] == pytest.approx(2.0)
    assert watch.results[1]["low"].trace is not None


class Base:
    """As much of their base class as is used."""

    num_timesteps = 0

    def __init__(self) -> None:
        self.model = SimpleNamespace(gain=-0.5)
        self.logged: dict[str, Any] = {}
        self.logger = SimpleNamespace(record=lambda key, value, exclude=None: self.logged.update({key: value}))


def test_it_looks_every_so_many_steps_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stable_baselines3", "stable_baselines3.common", "stable_baselines3.common.callbacks"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["stable_baselines3.common.callbacks"].BaseCallback = Base  # type: ignore[attr-defined]
    monkeypatch.setattr(sb3_callback, "from_sb3", lambda model: pushing(model.gain))
    made = vn.verdict_callback(loop, "G[0,4] (x <= 3)", every=10)
    for made.num_timesteps in range(1, 26):
        assert made._on_step()
    assert len(made.watch.results) == 2
    made._on_training_end()
    assert len(made.watch.results) == 3
    assert made.logged["vernal/property"] == "holds"


def test_what_is_missing_is_named() -> None:
    if importlib.util.find_spec("stable_baselines3") is not None:
        pytest.skip("stable-baselines3 is installed")
    with pytest.raises(vn.MissingExtra, match=r"vernal\[sb3\]"):
        vn.verdict_callback("cartpole", "G[0,4] (theta <= 3)")
    with pytest.raises(vn.InputError, match="at least 1"):
        vn.verdict_callback("cartpole", "G[0,4] (theta <= 3)", every=0)
