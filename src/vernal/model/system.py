"""Systems: neural agents in the loop with an uncertain environment, as frozen data.

What a user writes stays as written: expressions over the names of state variables, actions and lets. `System.step`
resolves it into one closed graph over state, memory and draws; everything downstream reads that graph.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, TypeAlias, TypeVar, cast, overload

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.arrays import Operands
from vernal.model.build import TRUE
from vernal.model.ending import options_left, refuse_unseen
from vernal.model.expr import Argmax, Between, Choose, Draw, Expr, Operand, Role, Var
from vernal.model.given import Declaration, GivenNames, Initials, Policy
from vernal.model.graph import decisions, draws, exclusive, order, substitute
from vernal.model.initial import Box, InitialSet
from vernal.model.initial import Init as Init
from vernal.model.initial import OneOf as OneOf
from vernal.model.initial import Span as Span
from vernal.model.initial import Start as Start
from vernal.model.network import Network
from vernal.model.portable import Portable
from vernal.model.sorts import INT, REAL, Sort

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Variable:
    """A state variable. Its range is a claim about the model, never clipping and never assumed.

    A range is `enforced` where whoever made the steps saw to it that none leaves it; then there is nothing to warn of.
    """

    name: str
    sort: Sort
    lower: Fraction | None = None
    upper: Fraction | None = None
    enforced: bool = False

    @property
    def var(self) -> Var:
        return build.var(self.name, self.sort)


OPEN = "open"  # how an agent acts whose action comes from outside; nothing can be said about such a system


@dataclass(frozen=True, slots=True)
class Slot(Portable):
    """A vector an agent remembers: its start (one per component) and how a step changes it."""

    var: Var
    starts: tuple[Start, ...]
    next: Expr  # over observations already filled in, i.e. over state and memory variables, lets and draws


@dataclass(frozen=True, slots=True)
class Agent(Portable):
    """A policy in the loop: what it sees, which networks it uses, and the action that follows.

    `action` and the slots' `next` are complete expressions over state, lets, memory and draws, made by
    `vernal.model.agent.make_agent`; the other fields keep what they were made from, for reports and for engines.
    """

    name: str
    observe: tuple[Expr, ...]
    networks: tuple[Network, ...]
    select: Expr | None  # which network, by index; None for a single one
    act: str  # "argmax", "raw", "expressions", or OPEN: the action comes from outside
    action: Expr
    slots: tuple[Slot, ...] = ()
    usual: Expr | None = None  # of an open agent, the action its networks would take
    remember: str | None = None  # the name under which properties speak of its memory

    @property
    def starts(self) -> tuple[Start, ...]:
        """Where its memory may start, component by component."""
        return tuple(start for slot in self.slots for start in slot.starts)

    @property
    def var(self) -> Var:
        """The agent's name as it appears in expressions: its action."""
        return build.var(self.name, self.action.sort, self.action.shape, Role.ACTION)

    def pack(self, values: Mapping[Expr, Sequence[T]]) -> tuple[T, ...]:
        """What it remembers as one list, slot after slot, from values by variable."""
        return tuple(value for slot in self.slots for value in values[slot.var])

    def unpack(self, memory: Sequence[T]) -> dict[Expr, tuple[T, ...]]:
        """What it remembers by variable, from one list."""
        rest = iter(memory)
        return {slot.var: tuple(islice(rest, slot.var.size)) for slot in self.slots}


@dataclass(frozen=True)
class Step(Portable):
    """One step of the closed loop as a closed graph: every expression is over state and memory variables and draws."""

    state: tuple[Var, ...]
    memory: tuple[Var, ...]
    actions: Mapping[str, Expr] = field(hash=False)
    lets: Mapping[str, Expr] = field(hash=False)
    next_state: tuple[Expr, ...]
    next_memory: tuple[Expr, ...]
    enabled: Expr  # as the environment says it, and that every choice has an option left
    names: Mapping[Choose | Between | Argmax, str] = field(hash=False)  # under which a trace records a decision
    _made: dict[Callable[[Step], object], object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def inputs(self) -> tuple[Var, ...]:
        return (*self.state, *self.memory)

    def once(self, make: Callable[[Step], T]) -> T:
        """What a function makes of this graph, made once for all systems that share it, and kept as long as it is."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    @property
    def roots(self) -> tuple[Expr, ...]:
        """Everything a transition computes: actions, lets, guard, next state and next memory."""
        return (*self.actions.values(), *self.lets.values(), self.enabled, *self.next_state, *self.next_memory)

    def resolve(self, expression: Expr) -> Expr:
        """An expression over state variables, actions and lets, as one over state, memory and draws."""
        return substitute([expression], self._values)[0]

    @cached_property
    def _values(self) -> dict[Expr, Expr]:
        values: dict[Expr, Expr] = {}
        for role, named in ((Role.ACTION, self.actions), (Role.LET, self.lets)):
            values.update(_named(named, role))
        return values


Fields: TypeAlias = tuple[
    str, tuple[Variable, ...], Init, Mapping[str, Expr], tuple[Agent, ...], Mapping[str, Expr], Expr
]  # of a System, in their order


@dataclass(frozen=True, init=False)
class System(Portable):
    """Agents, an environment and initial states; see DESIGN section 3 for the meaning of a step."""

    name: str
    state: tuple[Variable, ...]
    init: Init
    next: Mapping[str, Expr]
    agents: tuple[Agent, ...]
    lets: Mapping[str, Expr]
    enabled: Expr

    tracer: ClassVar[Callable[..., Fields]]  # set by `vernal.model.declare`, the home of `vn.System`

    @overload
    def __init__(
        self,
        name: str,
        state: tuple[Variable, ...],
        init: Init,
        next: Mapping[str, Expr],
        agents: tuple[Agent, ...] = (),
        lets: Mapping[str, Expr] = ...,
        enabled: Expr = TRUE,
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str = "system",
        *,
        state: Mapping[str, Declaration],
        init: Mapping[str, Initials],
        step: Callable[[GivenNames], Mapping[str, Operands]],
        agents: Mapping[str, Policy] | None = None,
        lets: Mapping[str, Callable[[GivenNames], Operand]] | None = None,
        where: Callable[[GivenNames], Sequence[Expr]] | None = None,
        enabled: Callable[[GivenNames], Expr] | None = None,
    ) -> None: ...

    def __init__(
        self,
        name: str = "system",
        state: Any = (),
        init: Any = None,
        next: Any = None,
        agents: Any = None,
        lets: Any = None,
        enabled: Any = None,
        *,
        step: Any = None,
        where: Any = None,
    ) -> None:
        """A system from functions of names: `step` gives next values, each of `lets` a named expression.

        A let is drawn once a step and shared by its uses. A later let sees the earlier ones; agents observe state
        variables and the lets that depend on no action. Without `step` the arguments are the fields themselves.
        """
        if (step is None) == (next is None):
            raise TypeError("a system is given by `step`, a function of names, or by `next`, expressions: one of them")
        if step is not None:
            fields = System.tracer(name, state, init, step, agents or {}, lets or {}, where, enabled)
        else:
            fields = (name, state, init, next, agents or (), lets or {}, TRUE if enabled is None else enabled)
        for entry, value in zip(dataclasses.fields(self), fields, strict=True):
            object.__setattr__(self, entry.name, value)

    def __repr__(self) -> str:
        agents = f"; agents {', '.join(agent.name for agent in self.agents)}" if self.agents else ""
        return f"<System {self.name}: {', '.join(variable.name for variable in self.state)}{agents}>"

    @cached_property
    def step(self) -> Step:
        """The closed graph of one step; made once."""
        return _close(self)

    @cached_property
    def initial(self) -> InitialSet:
        """Where every component of state and memory starts."""
        starts: dict[Expr, Sequence[Start]] = {v.var: (self.init.starts[v.name],) for v in self.state}
        return InitialSet({**starts, **{slot.var: slot.starts for slot in self.slots}}, self.init.where)

    def starting(self, init: Init, agents: tuple[Agent, ...] | None = None) -> System:
        """The same system from elsewhere; agents may differ in what they remember at first. The graph is shared."""
        system = replace(self, init=init, agents=self.agents if agents is None else agents)
        system.__dict__["step"] = self.step  # where cached_property keeps it
        return system

    def cut(self, box: Box) -> System | None:
        """The same system from the part of its initial set inside a box; None where there is none."""
        part = self.initial.cut(box)
        if part is None:
            return None
        starts, _ = self.pack(part.starts)
        agents = (replace(agent, slots=_restarted(agent.slots, part)) for agent in self.agents)
        return self.starting(Init(starts, part.where), tuple(agents))

    def pack(self, values: Mapping[Expr, Sequence[T]]) -> tuple[dict[str, T], dict[str, tuple[T, ...]]]:
        """Values by variable in the form of traces: of the state by name, of what is remembered by agent."""
        return {variable.name: values[variable.var][0] for variable in self.state}, self.pack_memory(values)

    def unpack(self, state: Mapping[str, T], memory: Mapping[str, Sequence[T]]) -> dict[Expr, tuple[T, ...]]:
        """Values by variable, from those of the state by name and those remembered by agent."""
        return {**{variable.var: (state[variable.name],) for variable in self.state}, **self.unpack_memory(memory)}

    def pack_memory(self, values: Mapping[Expr, Sequence[T]]) -> dict[str, tuple[T, ...]]:
        """What each agent that has a memory remembers, as one list."""
        return {agent.name: agent.pack(values) for agent in self.agents if agent.slots}

    def unpack_memory(self, memory: Mapping[str, Sequence[T]]) -> dict[Expr, tuple[T, ...]]:
        """What the agents remember, by variable."""
        unpacked = (agent.unpack(memory[agent.name]) for agent in self.agents if agent.slots)
        return {var: values for one in unpacked for var, values in one.items()}

    def variable(self, name: str) -> Variable:
        return next(variable for variable in self.state if variable.name == name)

    @property
    def open_agents(self) -> tuple[str, ...]:
        """The agents whose actions come from outside; a system that has any cannot be verified."""
        return tuple(agent.name for agent in self.agents if agent.act == OPEN)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for agent in self.agents for slot in agent.slots)

    @property
    def networks(self) -> tuple[Network, ...]:
        return tuple(dict.fromkeys(network for agent in self.agents for network in agent.networks))


def _restarted(slots: Iterable[Slot], initial: InitialSet) -> tuple[Slot, ...]:
    return tuple(replace(slot, starts=tuple(initial.starts[slot.var])) for slot in slots)


def _close(system: System) -> Step:
    """Replace names by what they stand for, in an order in which each needs only earlier ones."""
    named = _named(system.lets, Role.LET) | _named({agent.name: agent.action for agent in system.agents}, Role.ACTION)
    closed = _resolve_all(named)
    following = [system.next.get(variable.name, variable.var) for variable in system.state]
    updates = [slot.next for slot in system.slots]
    *resolved, enabled = substitute([*following, *updates, system.enabled], closed)
    actions = {agent.name: closed[agent.var] for agent in system.agents}
    lets = {n: closed[build.var(n, x.sort, x.shape, Role.LET)] for n, x in system.lets.items()}
    seen = set(draws(actions.values()))
    _refuse_drawn(enabled, seen)
    count = len(system.state)
    next_state, next_memory = tuple(resolved[:count]), tuple(resolved[count:])
    refuse_unseen([*actions.values(), *next_memory])
    enabled = build.conj(enabled, options_left([*next_state, *next_memory], seen))
    names = _name_decisions(system, [*actions.values(), *lets.values(), enabled, *next_state, *next_memory])
    state = tuple(variable.var for variable in system.state)
    memory = tuple(slot.var for slot in system.slots)
    return Step(state, memory, actions, lets, next_state, next_memory, enabled, names)


def _named(values: Mapping[str, Expr], role: Role) -> dict[Expr, Expr]:
    """What names stand for. One that was written as a real may turn out to be an integer, and is known as both.

    An action may be handed on from an observation, and a draw that is decided once and for all be a whole number.
    """
    named: dict[Expr, Expr] = {build.var(name, x.sort, x.shape, role): x for name, x in values.items()}
    return named | {build.var(name, REAL, x.shape, role): x for name, x in values.items() if x.sort == INT}


def resolve_lets(roots: Sequence[Expr], lets: Mapping[str, Expr]) -> list[Expr]:
    """Expressions with the lets they use filled in."""
    return substitute(roots, _resolve_all(_named(lets, Role.LET)))


def _refuse_drawn(enabled: Expr, seen: Collection[Draw]) -> None:
    """Whether there is a step is known before its draws; those an agent saw belong to the position, like its action."""
    late = [draw.occurrence.name for draw in draws([enabled]) if draw not in seen]
    if late:
        raise TypeClash(f"whether a step is enabled cannot depend on what is drawn in it ({', '.join(late)})")


def _resolve_all(named: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
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


def _name_decisions(system: System, roots: list[Expr]) -> dict[Choose | Between | Argmax, str]:
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
