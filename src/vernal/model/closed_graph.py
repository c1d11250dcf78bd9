"""The closed graph of a model: names are replaced by what they stand for, once, and everything downstream reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.expr import Argmax, Between, Choose, Draw, Expr, Role, Var
from vernal.model.graph import decisions, draws, exclusive, order, substitute
from vernal.model.lazy import cached_property
from vernal.model.portable import Portable
from vernal.model.sorts import INT, REAL

T = TypeVar("T")


@dataclass(frozen=True)
class ClosedStep(Portable):
    """The motion of a closed loop as a closed graph: every expression is over state and memory variables and draws.

    A motion without steps changes no state in one, and a motion without a flow has no rates. Where agents act at
    instants and rates see what they hold, rates, guard and next state are over the held actions, too.
    """

    state: tuple[Var, ...]
    memory: tuple[Var, ...]
    actions: Mapping[str, Expr] = field(hash=False)
    lets: Mapping[str, Expr] = field(hash=False)
    next_state: tuple[Expr, ...]
    next_memory: tuple[Expr, ...]
    enabled: Expr  # as the environment says it, and that every choice has an option left
    names: Mapping[Choose | Between | Argmax, str] = field(hash=False)  # under which a trace records a decision
    rates: tuple[Expr, ...] = ()  # of the state variables
    holds: bool = False  # whether actions are held, so that what is asked of a state is over them, too
    _made: dict[Callable[[ClosedStep], object], object] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def inputs(self) -> tuple[Var, ...]:
        return (*self.state, *self.memory)

    def once(self, make: Callable[[ClosedStep], T]) -> T:
        """What a function makes of this graph, made once for all systems that share it, and kept as long as it is."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    @property
    def roots(self) -> tuple[Expr, ...]:
        """Everything that is computed: actions, lets, guard, next state, next memory and rates."""
        found = (*self.actions.values(), *self.lets.values(), self.enabled, *self.next_state, *self.next_memory)
        return found + self.rates

    def resolve(self, expression: Expr) -> Expr:
        """An expression over state variables, actions and lets, as one over state, memory, draws and held actions."""
        return substitute([expression], self._values)[0]

    @cached_property
    def _values(self) -> dict[Expr, Expr]:
        values = {} if self.holds else named_as(self.actions, Role.ACTION)
        return {**values, **named_as(self.lets, Role.LET)}


def named_as(values: Mapping[str, Expr], role: Role) -> dict[Expr, Expr]:
    """What names stand for. One that was written as a real may turn out to be an integer, and is known as both.

    An action may be handed on from an observation, and a draw that is decided once and for all be a whole number.
    """
    named: dict[Expr, Expr] = {build.var(name, x.sort, x.shape, role): x for name, x in values.items()}
    return named | {build.var(name, REAL, x.shape, role): x for name, x in values.items() if x.sort == INT}


def resolve_lets(roots: Sequence[Expr], lets: Mapping[str, Expr]) -> list[Expr]:
    """Expressions with the lets they use filled in."""
    return substitute(roots, resolve_all(named_as(lets, Role.LET)))


def refuse_drawn(enabled: Expr, seen: Collection[Draw]) -> None:
    """Whether there is a step is known before its draws; those an agent saw belong to the position, like its action."""
    late = [draw.occurrence.name for draw in draws([enabled]) if draw not in seen]
    if late:
        raise TypeClash(f"whether a step is enabled cannot depend on what is drawn in it ({', '.join(late)})")


def resolve_all(named: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Definitions with the definitions they use filled in; a cycle is an error."""
    waits = {var: {n for n in order([body]) if n in named} for var, body in named.items()}
    users: dict[Expr, list[Expr]] = {var: [] for var in named}
    for var, used in waits.items():
        for other in used:
            users[other].append(var)
    closed: dict[Expr, Expr] = {}
    ready = [var for var, used in waits.items() if not used]
    for var in ready:  # grows on the way
        (closed[var],) = substitute([named[var]], closed)
        for user in users[var]:
            waits[user].discard(var)
            if not waits[user]:
                ready.append(user)
    if len(closed) < len(named):
        cycle = ", ".join(sorted(var.name for var in named if var not in closed and isinstance(var, Var)))
        raise TypeClash(f"these depend on each other in a circle: {cycle}")
    return closed


def name_decisions(roots: Sequence[Expr]) -> dict[Choose | Between | Argmax, str]:
    """A name for each decision: its definition's, numbered where two decisions of one can meet in a step."""
    never_both = exclusive(roots)
    names: dict[Choose | Between | Argmax, str] = {}
    taken: dict[str, list[Choose | Between | Argmax]] = {}
    for node in decisions(roots):
        for number in range(1, len(names) + 2):
            name = node.occurrence.name if number == 1 else f"{node.occurrence.name}#{number}"
            if all(never_both(node, other) for other in taken.get(name, [])):
                break
        names[node] = name
        taken.setdefault(name, []).append(node)
    return names
