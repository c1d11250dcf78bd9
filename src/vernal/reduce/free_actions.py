"""Systems whose policies do not decide alone: told what to do at the next step, or replaced by a free choice.

Both are about actions that an argmax takes, which are finitely many; other agents act as ever. In a *directed* system
each such agent has an order, a variable of the state: 0 means that its policy acts, any other number names an action,
and after one step the order is 0 again. So one graph serves every state, agent and action that is asked about. In a
*free* system these agents may take any action after which there is a step: its paths are those of all policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from vernal.evidence.trace import Enclosure, TraceNumber, TraceStep, components
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.expr import Argmax, Const, Expr
from vernal.model.graph import draws
from vernal.model.initial import Init, OneOf, Start, start_between
from vernal.model.motion import Step
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import INT
from vernal.model.system import Agent, System, Variable

OWN = Fraction(0)  # the order under which a policy acts by itself
MAX_COMBINATIONS = 1_000  # of the other agents' actions, when it is asked whether one of ours leaves a step


def deciders(system: System) -> dict[str, Argmax]:
    """The agents that take one of finitely many actions, each with its argmax."""
    return {agent.name: agent.action for agent in system.agents if isinstance(agent.action, Argmax)}


def actions_of(winner: Argmax) -> tuple[Const, ...]:
    """The actions that an argmax can take, in the order of its scores."""
    return tuple(Const((), winner.sort, (), (Fraction(index),)) for index in range(winner.args[0].size))


# Told what to do ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DirectedSystem:
    """A system whose agents can be told their next action, and the order of each."""

    system: System
    orders: Mapping[str, Variable]

    def told(self, position: TraceStep, orders: Mapping[str, int]) -> System:
        """The system from one position of a path, where these agents take these actions at once."""
        given: dict[str, Start] = {name: OneOf((OWN,)) for name in (one.name for one in self.orders.values())}
        given |= {self.orders[agent].name: OneOf((Fraction(action + 1),)) for agent, action in orders.items()}
        return _from(self.system, position, given)


def directed(system: System) -> DirectedSystem:
    """The system in which every agent that takes one of finitely many actions has an order."""
    taken = {*(variable.name for variable in system.state), *system.lets, *(agent.name for agent in system.agents)}
    orders = {name: _order(name, winner, taken) for name, winner in deciders(system).items()}
    agents = tuple(_directed(agent, orders) for agent in system.agents)
    following = {**system.next, **{order.name: build.const(0) for order in orders.values()}}
    state = (*system.state, *orders.values())
    starts: dict[str, Start] = {**system.init.starts, **{one.name: OneOf((OWN,)) for one in orders.values()}}
    init, motion = Init(starts, system.init.where), Step(following, system.enabled)
    return DirectedSystem(System(system.name, state, init, motion=motion, agents=agents, lets=system.lets), orders)


def _order(agent: str, winner: Argmax, taken: set[str]) -> Variable:
    name = f"order of {agent}"  # no name that a task can have, but one of a JANI model may be anything
    while name in taken:
        name += "'"
    return Variable(name, INT, OWN, Fraction(winner.args[0].size), enforced=True)


def _directed(agent: Agent, orders: Mapping[str, Variable]) -> Agent:
    winner = agent.action
    if not isinstance(winner, Argmax):
        return agent
    values = actions_of(winner)
    cases = [*(Fraction(index + 1) for index in range(len(values))), None]
    return replace(agent, action=build.switch(orders[agent.name].var, cases, [*values, winner]))


# Free -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FreeSystem:
    """A system in which agents take any action after which there is a step."""

    system: System

    def starting(self, position: TraceStep) -> System:
        """The system from one position of a path."""
        return _from(self.system, position, {})


def free(system: System) -> FreeSystem:
    """The system with a free choice in the place of every argmax that is an action."""
    winners = deciders(system)
    choices = {name: _choice(system, name, winners) for name in winners}
    agents = tuple(replace(agent, action=choices.get(agent.name, agent.action)) for agent in system.agents)
    return FreeSystem(replace(system, agents=agents))


def _choice(system: System, agent: str, winners: Mapping[str, Argmax]) -> Expr:
    """Any action after which there may be a step, whatever the other agents do; the first where there is none."""
    values = actions_of(winners[agent])
    guards = [_leads_on(system, winners, agent, value) for value in values]
    options = [build.when(value, guard) for value, guard in zip(values, guards, strict=True)]
    ends = build.negate(build.disj(*guards))
    return build.choose(*options, *([build.when(values[0], ends)] if ends is not build.FALSE else []), name=agent)


def _leads_on(system: System, winners: Mapping[str, Argmax], agent: str, value: Const) -> Expr:
    """That there is a step after this action and some actions of the others; true where that cannot be written down."""
    enabled, closed = system.step.enabled, system.step.actions
    others = [actions_of(winner) for name, winner in winners.items() if name != agent]
    if draws([enabled]) or prod(map(len, others)) > MAX_COMBINATIONS:
        return TRUE
    names = [name for name in winners if name != agent]
    ways = []
    for chosen in product(*others):
        known: dict[Expr, Expr] = {closed[name]: one for name, one in zip(names, chosen, strict=True)}
        ways += specialise([enabled], {**known, closed[agent]: value})
    return build.disj(*dict.fromkeys(ways))


# From one position ----------------------------------------------------------------------------------------------------


def is_exact(position: TraceStep) -> bool:
    """Whether state and memories of a position are known exactly, not only within enclosures."""
    values = (*position.state.values(), *position.memory.values())
    return not any(isinstance(one, Enclosure) for value in values for one in components(value))


def _from(system: System, position: TraceStep, more: Mapping[str, Start]) -> System:
    """The system from the states that a position may be: one, unless it is known within enclosures only."""
    starts = {name: _start(value) for name, value in position.state.items()}
    agents = tuple(_remembering(agent, position.memory) for agent in system.agents)
    return system.starting(Init({**starts, **more}), agents)


def _remembering(agent: Agent, memory: Mapping[str, Any]) -> Agent:
    if not agent.slots:
        return agent
    unpacked = agent.unpack([_start(value) for value in components(memory[agent.name])])
    slots: Sequence[Any] = [replace(slot, starts=unpacked[slot.var]) for slot in agent.slots]
    return replace(agent, slots=tuple(slots))


def _start(value: TraceNumber) -> Start:
    return start_between(value.lower, value.upper) if isinstance(value, Enclosure) else OneOf((value,))
