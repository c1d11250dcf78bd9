"""What names mean where a text is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vernal.model import build
from vernal.model.expr import Expr, Role
from vernal.model.graph import draws, variables
from vernal.model.network import Network
from vernal.model.sorts import Kind, Sort
from vernal.model.system import System


@dataclass(frozen=True)
class Scope:
    """Names and what they stand for.

    `names` are state variables, actions (under the agents' names), lets, parameters and constants; `networks` are
    functions. A label may be written where its enum is the sort of a name or listed in `sorts`. Draws are named
    `draw_name` where they are allowed at all. The lets in `drawn` take draws, so that no property may speak of them.
    """

    names: Mapping[str, Expr] = field(default_factory=dict)
    networks: Mapping[str, Network] = field(default_factory=dict)
    sorts: tuple[Sort, ...] = ()
    allow_draws: bool = False
    draw_name: str = "draw"
    drawn: frozenset[str] = frozenset()

    def enums(self) -> tuple[Sort, ...]:
        """The enums in use, each once."""
        found = dict.fromkeys((*self.sorts, *(node.sort for node in self.names.values())))
        return tuple(sort for sort in found if sort.kind is Kind.ENUM)


def system_scope(
    system: System, constants: Mapping[str, Expr] | None = None, functions: Mapping[str, Network] | None = None
) -> Scope:
    """The scope of a system's properties: its variables, actions and lets, and the constants of its task."""
    names: dict[str, Expr] = dict(constants or {})
    names.update({variable.name: variable.var for variable in system.state})
    names.update({agent.name: agent.var for agent in system.agents})
    names.update({name: build.var(name, x.sort, x.shape, Role.LET) for name, x in system.lets.items()})
    return Scope(names, dict(functions or {}), drawn=drawn_lets(system.lets))


def drawn_lets(lets: Mapping[str, Expr]) -> frozenset[str]:
    """The lets that take a draw, themselves or through another let; an action is no draw but part of a position."""
    found = {name for name, body in lets.items() if draws([body])}
    uses = {name: {v.name for v in variables([body]) if v.role is Role.LET} for name, body in lets.items()}
    while more := {name for name in lets if name not in found and uses[name] & found}:
        found |= more
    return frozenset(found)
