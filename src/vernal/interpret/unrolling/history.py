"""The closed loop with every recurrent policy unrolled over its whole history, afresh at every step.

That is the baseline of M. Akintunde et al. (AAAI 2019, Algorithm 1): the action at step t comes from a feed-forward
network over the observations 0 to t, and the network of step t + 1 shares nothing with it but these observations. The
recursive unrolling (`Unrolling`) has each step once instead. Both are EXACT, and so are interchangeable in every
question; they differ only in the size of the graph: t steps take t (t + 1) / 2 copies of the network instead of t.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from vernal.interpret.unrolling.feedforward import Unrolled, Wait, unroll
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.model import build
from vernal.model.expr import Expr, Role, Var
from vernal.model.graph import fresh, order, substitute, variables
from vernal.model.system import Agent, Slot, System
from vernal.model.tick import Tick, idle


def refusal(system: System) -> str | None:
    """What keeps the policies of a system from being unrolled as networks of their own."""
    for agent in system.agents:
        if agent.slots and len(agent.networks) > 1:
            return f"agent {agent.name!r} selects among networks with memory, which are no single network to unroll"
        if agent.slots and _applied(agent)[1] != tuple(slot.next for slot in agent.slots):
            return f"agent {agent.name!r} remembers something else than its network does"
    return None


def _slots(agent: Agent) -> Iterator[tuple[tuple[Expr, Expr], Slot]]:
    """The memories of an agent's network, with the agent's own."""
    return zip(agent.networks[0].memory, agent.slots, strict=True)


def _applied(agent: Agent) -> tuple[Expr, tuple[Expr, ...]]:
    """Output and next memory of an agent's network, the nodes its action is made of."""
    return agent.networks[0].apply(agent.observe, [slot.var for slot in agent.slots])


@dataclass(frozen=True, slots=True)
class _Policy:
    """A recurrent policy in the closed step: the node of its output, and the variable put in its place."""

    agent: Agent
    output: Expr
    stand_in: Var


class HistoryUnrolling(Unrolling):
    """The positions of a path, each policy as a network over all it has seen.

    `twins` are the nodes of the recursive unrolling that always have the same value, so that both know the same bounds.
    """

    def __init__(self, system: System, wait: Wait) -> None:
        super().__init__(system.step)
        self._unrolled = cache(lambda network, length: unroll(network, length, wait))
        self._policies = _policies(system)
        self._cuts: dict[Expr, Expr] = {policy.output: policy.stand_in for policy in self._policies}
        self._runs: dict[tuple[str, int], tuple[Expr, tuple[Expr, ...]]] = {}
        self._seen: dict[tuple[str, int], Expr] = {}
        self._recursive = Unrolling(system.step)
        self.twins: dict[Expr, Expr] = {}

    def at(self, expression: Expr, t: int, tick: Tick = idle) -> Expr:
        """An expression over state variables, actions and lets, read at position t."""
        node = super().at(expression, t, tick)
        self.twins[node] = self._recursive.at(expression, t, tick)
        return node

    def _extend(self, tick: Tick) -> None:
        step, t = self.step, len(self._positions) - 1
        after = dict(zip(step.state, self._place(step.next_state, t, tick), strict=True))
        for policy in self._policies:
            _, memory = self._run(policy, t, tick)
            after.update(zip((slot.var for slot in policy.agent.slots), memory, strict=True))
        self._positions.append({var: after[var] for var in step.inputs})
        self.twins.update((after[var], self._recursive.position(t + 1)[var]) for var in step.inputs)

    def _place(self, expressions: Sequence[Expr], t: int, tick: Tick) -> list[Expr]:
        cut = substitute(expressions, self._cuts)
        values = dict(self.position(t, tick))
        needed = set(variables(cut))
        values.update((p.stand_in, self._run(p, t, tick)[0]) for p in self._policies if p.stand_in in needed)
        return fresh(cut, t, values, tick)

    def _run(self, policy: _Policy, t: int, tick: Tick) -> tuple[Expr, tuple[Expr, ...]]:
        """Output and next memory of a policy at position t, from the start and all observations up to then."""
        agent = policy.agent
        if (agent.name, t) not in self._runs:
            unrolled: Unrolled = self._unrolled(agent.networks[0], t + 1)
            start = [slot.var for slot in agent.slots]
            seen = [self._observation(agent, at, tick) for at in range(t + 1)]
            self._runs[agent.name, t] = unrolled.apply(start, seen)
            for at, layer in enumerate(unrolled.layers):
                tick()
                self.twins.update(
                    zip(unrolled.at(layer, start, seen), self._cell(agent, unrolled.cell, at), strict=True)
                )
        return self._runs[agent.name, t]

    def _cell(self, agent: Agent, nodes: Sequence[Expr], t: int) -> list[Expr]:
        """Nodes of an agent's network at position t of the recursive unrolling."""
        values = {slot: self._recursive.position(t)[own.var] for (slot, _), own in _slots(agent)}
        values[agent.networks[0].inputs] = build.concat(*(self._recursive.at(one, t) for one in agent.observe))
        return substitute(nodes, values)

    def _observation(self, agent: Agent, t: int, tick: Tick) -> Expr:
        if (agent.name, t) not in self._seen:
            observed = [self.step.resolve(one) for one in agent.observe]
            self._seen[agent.name, t] = build.concat(*self._place(observed, t, tick))
        return self._seen[agent.name, t]


def _policies(system: System) -> list[_Policy]:
    """The recurrent policies, those first whose actions others see; outputs with the earlier ones already cut out."""
    outputs: dict[Expr, Agent] = {}
    for agent in system.agents:
        if agent.slots:
            outputs[system.step.resolve(_applied(agent)[0])] = agent
    found: list[_Policy] = []
    cuts: dict[Expr, Expr] = {}
    for node in order(outputs):
        if node in outputs:
            agent = outputs[node]
            (output,) = substitute([node], cuts)
            stand_in = build.var(f"{agent.name}.output", shape=node.shape, role=Role.INPUT)
            cuts[output] = stand_in
            found.append(_Policy(agent, output, stand_in))
    return found
