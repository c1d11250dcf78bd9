"""Several open agents: the system as a parallel environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from vernal.interpret.numbers.rounding import Array
from vernal.worlds.batch import Batch
from vernal.worlds.spaces import action_space, observation_space


class Several(ParallelEnv):  # type: ignore[misc]
    """A system in which the actions of several agents come from outside, all at once; they share one reward."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - PettingZoo declares it so

    def __init__(self, copies: Batch, steps: int | None) -> None:
        self.copies, self.steps, self.taken = copies, steps, 0
        self.metadata = {**self.metadata, "name": copies.system.name}
        self.possible_agents = list(copies.agents)
        self.agents: list[str] = []
        self.observation_spaces = {name: observation_space(copies.sizes[name]) for name in copies.agents}
        self.action_spaces = {name: action_space(agent) for name, agent in copies.agents.items()}

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begin somewhere in the initial set, or in the state that the options give."""
        if seed is not None:
            self.copies.random = np.random.default_rng(seed)
        self.agents, self.taken = list(self.possible_agents), 0
        seen = self.copies.reset(state=(options or {}).get("state"))
        return self._each(seen), {name: {} for name in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """One step, with an action for every agent."""
        seen, reward, over = self.copies.step({name: np.asarray([actions[name]]) for name in self.agents})
        self.taken += 1
        ended, cut, names = bool(over[0]), self.taken == self.steps, list(self.agents)
        if ended or cut:
            self.agents = []
        rewards = dict.fromkeys(names, float(reward[0]))
        endings = dict.fromkeys(names, ended), dict.fromkeys(names, cut)
        return self._each(seen), rewards, *endings, {name: {} for name in names}

    def _each(self, seen: Mapping[str, Array]) -> dict[str, Array]:
        return {name: values[0] for name, values in seen.items()}
