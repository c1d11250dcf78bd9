"""Thousands of copies of a system at once, stepped from outside: the simulator policies are trained on.

    many = vn.worlds.batch("cartpole", 1000, seed=0)
    seen = many.reset()                                # {"push": array of (1000, 4)}
    seen, reward, terminated = many.step({"push": moves})

Values are float64; labels are indices, truth values 0 and 1. Draws and ties are uniform. What is drawn at a position is
drawn once: an agent that observes a disturbance observes the one that then happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vernal.errors import InputError, NameUnknown, nearest
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Array
from vernal.model.expr import Between, Choose, Expr, Var
from vernal.model.graph import decisions
from vernal.model.system import Agent, System
from vernal.simulate.runs import pick
from vernal.simulate.starts import initial_points, typed
from vernal.worlds.open_agents import hand
from vernal.worlds.rewards import Term, observed, of_state, of_step


class Batch:
    """`n` copies of a system whose open agents act from outside.

    `reward` is paid for every step: an expression over state variables, actions and lets, and `next_x` for the x that
    is reached. `terminated` is a condition on the state reached. Both are texts as in task files, or functions of names
    as in `vn.System`. Without them the reward is 0 and nothing ends. A copy that is not enabled stays where it is and
    is over.
    """

    def __init__(
        self,
        system: System,
        n: int,
        seed: int | np.random.Generator | None = None,
        *,
        reward: Term = 0,
        terminated: Term = False,
    ) -> None:
        self.system, self.n = system, n
        self.random = np.random.default_rng(seed)
        self.agents = {agent.name: agent for agent in system.agents if agent.name in system.open_agents}
        step = system.step
        self._inputs = step.inputs
        seen = [observed(system, name) for name in self.agents]
        self.sizes = {name: vector.size for name, vector in zip(self.agents, seen, strict=True)}
        ends = of_state(system, terminated)
        following = [*step.next_state, *step.next_memory, of_step(system, reward), step.enabled]
        self._decisions = decisions([*following, *seen, ends])
        self._look = concrete.compile([*seen, ends])
        self._move = concrete.compile(following)
        self.now: dict[Expr, Array] = {}
        self.drawn: dict[Expr, Array] = {}

    @property
    def state(self) -> dict[str, Array]:
        """The state variables of every copy, by name."""
        return {var.name: self.now[var] for var in self.system.step.state}

    def reset(self, rows: Array | None = None, *, state: Mapping[str, Any] | None = None) -> dict[str, Array]:
        """Start all copies, or the given ones, from uniform initial states; what the agents observe.

        `state` says where instead, for some variables or for all: a number for every copy, or an array.
        """
        fresh = dict(initial_points(self.system, self.n, self.random))
        for name, values in (state or {}).items():
            fresh[self._variable(name)] = np.broadcast_to(np.asarray(values, dtype=float), (self.n,))
        chosen = np.arange(self.n) if rows is None else rows
        for var in self._inputs:
            start = typed(var, np.array(fresh[var]))
            self.now.setdefault(var, start)[chosen] = start[chosen]
        return self.look()[0]

    def _variable(self, name: str) -> Var:
        known = {var.name: var for var in self.system.step.state}
        if name not in known:
            raise NameUnknown(f"there is no state variable {name!r}{nearest(name, known)}")
        return known[name]

    def step(self, actions: Mapping[str, Array]) -> tuple[dict[str, Array], Array, Array]:
        """Act for every open agent in every copy: what they observe then, the rewards, and which copies are over."""
        if not self.now:
            raise InputError("the copies are nowhere yet: call reset() before step()")
        missing = [name for name in self.agents if name not in actions]
        if missing:
            raise InputError(f"there is no action for {', '.join(missing)}; actions are given by agent")
        given: dict[Expr, Array] = {hand(a): _shaped(a, actions[name], self.n) for name, a in self.agents.items()}
        *following, reward, enabled = self._move({**self.now, **self.drawn, **given}, self.n)
        for var, values in zip(self._inputs, following, strict=True):
            self.now[var] = np.where(_columns(enabled, var), values, self.now[var])
        seen, over = self.look()
        return seen, np.where(enabled, reward, 0.0), over | ~enabled

    def look(self) -> tuple[dict[str, Array], Array]:
        """Draw what this position draws: what the agents observe, and which copies are over."""
        self.drawn = {node: self._draw(node) for node in self._decisions}
        *seen, over = self._look({**self.now, **self.drawn}, self.n)
        return {name: np.array(values) for name, values in zip(self.agents, seen, strict=True)}, np.array(over)

    def _draw(self, node: Expr) -> Array:
        uniform = self.random.random((self.n, *(node.shape if isinstance(node, Between) else ())))
        return pick(node, uniform) if isinstance(node, Choose) else uniform


def _shaped(agent: Agent, given: Array, n: int) -> Array:
    """An action for every copy, as the graph takes it; a number is no label unless it is the index of one."""
    shape, labels = agent.action.shape, agent.action.sort.labels
    values = np.broadcast_to(np.asarray(given, dtype=float).reshape((-1, *shape)), (n, *shape))
    if labels and not np.isin(values, range(len(labels))).all():
        raise InputError(f"{agent.name!r} acts by an index from 0 to {len(labels) - 1}: {', '.join(labels)}")
    return values


def _columns(rows: Array, var: Expr) -> Array:
    return rows.reshape((-1, *(1 for _ in var.shape)))
