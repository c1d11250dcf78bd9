"""What names mean where a text is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vernal.errors import ParseError
from vernal.logic.parser import MAX_SYMBOLS
from vernal.model import build
from vernal.model.components import arrays_of, index_ranges
from vernal.model.expr import Expr, Role
from vernal.model.graph import draws, variables
from vernal.model.index_range import IndexRange
from vernal.model.lazy import cached_property
from vernal.model.network import Network
from vernal.model.sorts import Kind, Sort
from vernal.model.system import Model


class Repetition:
    """How much was written out so far of what stands for each of several integers, up to the limit of a task."""

    def __init__(self) -> None:
        self.symbols = 0

    def take(self, symbols: int) -> None:
        """Count what is about to be written out, and refuse what would take long."""
        self.symbols += symbols
        if self.symbols > MAX_SYMBOLS:
            what = f"written out for each index, this task has more than {MAX_SYMBOLS:,} names, numbers and signs"
            raise ParseError(f"{what}, which is more than is read")


@dataclass(frozen=True)
class Scope:
    """Names and what they stand for.

    `names` are state variables, actions (under the agents' names), lets, parameters and constants; `networks` are
    functions. A label may be written where its enum is the sort of a name or listed in `sorts`. Draws are named
    `draw_name` where they are allowed at all. The lets in `drawn` take draws, so that no property may speak of them.
    `arrays` are the components of each array of state variables, `ranges` what is known of indices.
    """

    names: Mapping[str, Expr] = field(default_factory=dict)
    networks: Mapping[str, Network] = field(default_factory=dict)
    sorts: tuple[Sort, ...] = ()
    allow_draws: bool = False
    draw_name: str = "draw"
    drawn: frozenset[str] = frozenset()
    arrays: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)
    ranges: Mapping[str, IndexRange] = field(default_factory=dict)
    repetition: Repetition = field(default_factory=Repetition, compare=False)

    def enums(self) -> tuple[Sort, ...]:
        """The enums in use, each once."""
        return self._enums

    @cached_property
    def _enums(self) -> tuple[Sort, ...]:
        found = dict.fromkeys((*self.sorts, *(node.sort for node in self.names.values())))
        return tuple(sort for sort in found if sort.kind is Kind.ENUM)


def system_scope(
    system: Model, constants: Mapping[str, Expr] | None = None, functions: Mapping[str, Network] | None = None
) -> Scope:
    """The scope of a system's properties: its variables, actions and lets, and the constants of its task."""
    names: dict[str, Expr] = dict(constants or {})
    names.update({variable.name: variable.var for variable in system.state})
    names.update({agent.name: agent.var for agent in system.agents})
    names.update({name: build.var(name, x.sort, x.shape, Role.LET) for name, x in system.lets.items()})
    arrays = {name: parts for name, parts in arrays_of(system.state).items() if name not in names}
    ranges = index_ranges(system.state, system.agents, system.lets) if arrays else {}
    return Scope(names, dict(functions or {}), drawn=drawn_lets(system.lets), arrays=arrays, ranges=ranges)


def drawn_lets(lets: Mapping[str, Expr]) -> frozenset[str]:
    """The lets that take a draw, themselves or through another let; an action is no draw but part of a position."""
    found = {name for name, body in lets.items() if draws([body])}
    uses = {name: {v.name for v in variables([body]) if v.role is Role.LET} for name, body in lets.items()}
    while more := {name for name in lets if name not in found and uses[name] & found}:
        found |= more
    return frozenset(found)
