"""One open agent: the system as an environment of Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from vernal.interpret.numbers.rounding import Array
from vernal.worlds.batch import Batch
from vernal.worlds.spaces import action_space, observation_space


class Single(gymnasium.Env[Array, Any]):
    """A system in which the actions of one agent come from outside."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, copies: Batch, steps: int | None) -> None:
        self.copies, self.steps, self.taken = copies, steps, 0
        (self.name,) = copies.agents
        self.observation_space = observation_space(copies.sizes[self.name])
        self.action_space = action_space(copies.agents[self.name])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin somewhere in the initial set, or in the state that the options give."""
        super().reset(seed=seed)
        self.copies.random, self.taken = self.np_random, 0
        seen = self.copies.reset(state=(options or {}).get("state"))
        return seen[self.name][0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """One step with this action."""
        seen, reward, over = self.copies.step({self.name: np.asarray([action])})
        self.taken += 1
        return seen[self.name][0], float(reward[0]), bool(over[0]), self.taken == self.steps, {}
