"""A world or a system as others see it: which agents act from outside, what is rewarded, when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vernal.errors import InputError, MissingExtra
from vernal.logic.task import Task
from vernal.model.system import System
from vernal.worlds.batch import Batch
from vernal.worlds.episodes import Episode, episode
from vernal.worlds.library import system
from vernal.worlds.open_agents import opened
from vernal.worlds.rewards import Term


def batch(
    world: str | System | Task,
    n: int,
    seed: int | np.random.Generator | None = None,
    *,
    agents: Sequence[str] | None = None,
    reward: Term | None = None,
    terminated: Term | None = None,
) -> Batch:
    """`n` copies at once of a world, or of a system of your own; see `Batch`.

    `agents` act from outside, whatever policy they have; without it, those that are open, else all. A world by name has
    the reward and the end of the environment it is modelled on, unless others are given.

    Example: `vn.worlds.batch("cartpole", 1000, seed=0)`
    """
    model, rules = resolve(world, agents, reward, terminated)
    return Batch(model, n, seed, reward=rules.reward, terminated=rules.terminated)


def gym(
    world: str | System | Task,
    *,
    agents: Sequence[str] | None = None,
    reward: Term | None = None,
    terminated: Term | None = None,
    steps: int | None = None,
) -> Any:
    """A world or a system as an environment of Gymnasium or, where several agents act from outside, of PettingZoo.

    `agents`, `reward` and `terminated` are those of `batch`; all agents get the same reward. An episode is cut off
    after `steps`. Draws are uniform. `reset(options={"state": {"x": 0.1}})` starts in a state of your choice.

    Example: `env = vn.worlds.gym("cartpole")`
    """
    model, rules = resolve(world, agents, reward, terminated)
    length = rules.steps if steps is None else steps
    copies = Batch(model, 1, reward=rules.reward, terminated=rules.terminated)
    try:
        if len(model.open_agents) == 1:
            from vernal.worlds.single_view import Single

            return Single(copies, length)
        from vernal.worlds.parallel_view import Several

        return Several(copies, length)
    except ImportError as error:
        raise MissingExtra(f"the view of a system as an environment ({error.name})", "gym") from error


def resolve(
    world: str | System | Task, agents: Sequence[str] | None, reward: Term | None, terminated: Term | None
) -> tuple[System, Episode]:
    """The system with its open agents, and the rules of its episodes."""
    rules = episode(world) if isinstance(world, str) else Episode()
    model = system(world) if isinstance(world, str) else world.system if isinstance(world, Task) else world
    chosen = agents if agents is not None else model.open_agents or [agent.name for agent in model.agents]
    model = opened(model, chosen)
    if not model.open_agents:
        raise InputError(f"{model.name!r} has no agent that could act from outside")
    return model, Episode(
        rules.reward if reward is None else reward, rules.terminated if terminated is None else terminated, rules.steps
    )
