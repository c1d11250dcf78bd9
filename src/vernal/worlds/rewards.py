"""Rewards and endings: terms over the names of a system, closed like everything else in its step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from vernal.errors import TypeClash
from vernal.logic.elaboration import Scope, expression
from vernal.model import build
from vernal.model.declare import let_var
from vernal.model.expr import Expr, Operand, Role
from vernal.model.graph import draws, substitute, variables
from vernal.model.sorts import BOOL
from vernal.model.system import System
from vernal.model.system_arguments import GivenNames

Term: TypeAlias = str | Operand | Callable[[GivenNames], Operand]


def observed(system: System, agent: str) -> Expr:
    """What an agent sees, as one vector over state, memory and draws."""
    entries = next(each.observe for each in system.agents if each.name == agent)
    return build.concat(*(system.step.resolve(entry) for entry in entries))


def of_step(system: System, term: Term) -> Expr:
    """A number over state variables, actions, lets and, as `next_x`, what they become where the state alone says it."""
    step = system.step
    known = _settled(system)
    move: dict[Expr, Expr] = dict(zip(step.state, step.next_state, strict=True))
    names = {
        **known,
        **{agent.name: agent.var for agent in system.agents},
        **{name: let_var(name, body) for name, body in system.lets.items()},
        **{f"next_{name}": substitute([body], move)[0] for name, body in known.items()},
    }
    made = step.resolve(_read(term, names))
    if not made.sort.is_number or made.shape:
        raise TypeClash(f"a reward is one number, but this is of sort {made.sort}")
    return made


def of_state(system: System, term: Term) -> Expr:
    """A condition on the state alone."""
    made = _read(term, _settled(system))
    if made.sort != BOOL or made.shape:
        raise TypeClash(f"what ends an episode is one truth value, but this is of sort {made.sort}")
    return made


def _settled(system: System) -> dict[str, Expr]:
    """What the state says by itself: its variables, and lets that need no action, memory or draw."""
    lets = {
        name: body
        for name, body in system.step.lets.items()
        if not draws([body]) and all(var.role is Role.STATE for var in variables([body]))
    }
    return {**{variable.name: variable.var for variable in system.state}, **lets}


def _read(term: Term, names: Mapping[str, Expr]) -> Expr:
    if isinstance(term, str):
        return expression(term, Scope(dict(names), {}))
    return build.const(term(GivenNames(names)) if callable(term) and not isinstance(term, Expr) else term)
