"""Open agents: their actions come from outside the model, one step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vernal.errors import NameUnknown, nearest
from vernal.model import build
from vernal.model.expr import Role, Var
from vernal.model.system import OPEN, Agent, System


def opened(system: System, agents: Sequence[str]) -> System:
    """The system with these agents open; what they observe and what kind of action they take stays as it is."""
    known = [agent.name for agent in system.agents]
    for name in agents:
        if name not in known:
            raise NameUnknown(f"there is no agent {name!r}{nearest(name, known)}")
    return replace(system, agents=tuple(_open(agent) if agent.name in agents else agent for agent in system.agents))


def _open(agent: Agent) -> Agent:
    usual = agent.action if agent.usual is None else agent.usual
    return replace(agent, act=OPEN, action=hand(agent), slots=(), usual=usual)


def hand(agent: Agent) -> Var:
    """The free variable that stands for the action of an open agent."""
    return build.var(agent.name, agent.action.sort, agent.action.shape, Role.INPUT)
