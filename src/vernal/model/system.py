"""Models: neural agents in the loop with an uncertain environment, as frozen data.

What a user writes stays as written: expressions over the names of state variables, actions and lets. `Model.step`
resolves it into one closed graph over state, memory and draws; everything downstream reads that graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, overload

from vernal.model import build
from vernal.model.arrays import Operands
from vernal.model.build import TRUE
from vernal.model.closed_graph import ClosedStep, name_decisions, named_as, refuse_drawn, resolve_all, resolve_lets
from vernal.model.expr import Between, Expr, Operand, Role, Var
from vernal.model.graph import draws, substitute
from vernal.model.initial import Box, Ends, InitialSet
from vernal.model.initial import Init as Init
from vernal.model.initial import OneOf as OneOf
from vernal.model.initial import Span as Span
from vernal.model.initial import Start as Start
from vernal.model.lazy import cached_property
from vernal.model.motion import Motion, Step, common_period
from vernal.model.network import Network
from vernal.model.path_ends import options_left, refuse_unseen
from vernal.model.portable import Portable
from vernal.model.sorts import Sort
from vernal.model.system_arguments import Declaration, GivenNames, GivenNumber, Initials, Policy

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
    every: Fraction | None = None  # seconds between its actions; None where it acts at every step
    delay: Fraction = Fraction(0)  # seconds from what it reads to its action
    start: tuple[Fraction, ...] | None = None  # its action until the first one is in force, where there is a delay
    acts: tuple[Expr, ...] = ()  # where `act` is "expressions": these, over `vernal.model.agent.output_var`

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


Fields: TypeAlias = tuple[
    str, tuple[Variable, ...], Init, Motion, tuple[Agent, ...], Mapping[str, Expr]
]  # of a Model, in their order


@dataclass(frozen=True)
class Model(Portable):
    """What questions are about: variables, initial states, agents, named expressions, and a motion."""

    name: str
    state: tuple[Variable, ...]
    init: Init
    motion: Motion
    agents: tuple[Agent, ...] = ()
    lets: Mapping[str, Expr] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        agents = f"; agents {', '.join(agent.name for agent in self.agents)}" if self.agents else ""
        return f"<{type(self).__name__} {self.name}: {', '.join(variable.name for variable in self.state)}{agents}>"

    # What is written --------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Mapping[str, Expr]:
        """The next values of the variables that a step changes, as written."""
        return self.motion.next

    @property
    def enabled(self) -> Expr:
        """Where there is a step, as written."""
        return self.motion.enabled

    @property
    def rates(self) -> Mapping[str, Expr]:
        """The rates of change of the variables that flow, as written."""
        return self.motion.rates or {}

    @property
    def signals(self) -> Mapping[str, Expr]:
        """The lets that rates see."""
        return {**self.lets, **self.motion.signals}

    @property
    def vars(self) -> tuple[Var, ...]:
        """The state variables as they appear in expressions."""
        return tuple(variable.var for variable in self.state)

    def variable(self, name: str) -> Variable:
        return next(variable for variable in self.state if variable.name == name)

    @property
    def open_agents(self) -> tuple[str, ...]:
        """The agents whose actions come from outside; a model that has any cannot be verified."""
        return tuple(agent.name for agent in self.agents if agent.act == OPEN)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for agent in self.agents for slot in agent.slots)

    @property
    def networks(self) -> tuple[Network, ...]:
        return tuple(dict.fromkeys(network for agent in self.agents for network in agent.networks))

    # What follows from it ---------------------------------------------------------------------------------------------

    @cached_property
    def step(self) -> ClosedStep:
        """The closed graph of the motion; made once."""
        return _close(self)

    @cached_property
    def vector_field(self) -> tuple[Expr, ...]:
        """The rate of change of each variable, over state variables, held actions and disturbances; () without any."""
        if self.motion.rates is None:
            return ()
        written = [self.rates.get(variable.name, build.const(0)) for variable in self.state]
        return tuple(resolve_lets(written, self.signals))

    @cached_property
    def grid(self) -> Fraction | None:
        """Of a motion that samples, the seconds from one instant to the next; else None."""
        if self.motion.every is None:
            return None
        return common_period([self.motion.every, *(agent.every for agent in self.agents if agent.every is not None)])

    @cached_property
    def disturbances(self) -> tuple[Between, ...]:
        """What disturbs the flow, each once."""
        return tuple(node for node in draws(self.vector_field) if isinstance(node, Between))

    @cached_property
    def region(self) -> tuple[Ends, ...]:
        """The ends of each variable's range, in which a flow is followed."""
        return tuple((_given(variable.lower), _given(variable.upper)) for variable in self.state)

    @cached_property
    def initial(self) -> InitialSet:
        """Where every component of state and memory starts."""
        starts: dict[Expr, Sequence[Start]] = {v.var: (self.init.starts[v.name],) for v in self.state}
        return InitialSet({**starts, **{slot.var: slot.starts for slot in self.slots}}, self.init.where)

    def resolve(self, expression: Expr) -> Expr:
        """An expression over state variables, actions and lets, as one over state, memory and draws."""
        return self.step.resolve(expression)

    # The same from elsewhere ------------------------------------------------------------------------------------------

    def starting(self, init: Init, agents: tuple[Agent, ...] | None = None) -> Self:
        """The same model from elsewhere; agents may differ in what they remember at first. The graph is shared."""
        made = replace(self, init=init, agents=self.agents if agents is None else agents)
        made.__dict__["step"] = self.step  # where cached_property keeps it
        return made

    def cut(self, box: Box) -> Self | None:
        """The same model from the part of its initial set inside a box; None where there is none."""
        part = self.initial.cut(box)
        if part is None:
            return None
        starts, _ = self.pack(part.starts)
        agents = (replace(agent, slots=_restarted(agent.slots, part)) for agent in self.agents)
        return self.starting(Init(starts, part.where), tuple(agents))

    # Values -----------------------------------------------------------------------------------------------------------

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


class System(Model):
    """A model that moves in steps, or samples a flow; see DESIGN section 3 for the meaning of a step."""

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
        step: Callable[[GivenNames], Mapping[str, Operands]] | None = None,
        agents: Mapping[str, Policy] | None = None,
        lets: Mapping[str, Callable[[GivenNames], Operand]] | None = None,
        where: Callable[[GivenNames], Sequence[Expr]] | None = None,
        enabled: Callable[[GivenNames], Expr] | None = None,
        rates: Callable[[GivenNames], Mapping[str, Operands]] | None = None,
        every: GivenNumber | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        state: tuple[Variable, ...],
        init: Init,
        *,
        motion: Motion,
        agents: tuple[Agent, ...] = (),
        lets: Mapping[str, Expr] = ...,
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
        rates: Any = None,
        every: Any = None,
        motion: Motion | None = None,
    ) -> None:
        """A system from functions of names: `step` gives next values, each of `lets` a named expression.

        A let is drawn once a step and shared by its uses. A later let sees the earlier ones; agents observe state
        variables and the lets that depend on no action. With `rates`, a function that gives the rates of change, the
        state flows between instants, and `step`, if given, is what jumps `every` so many seconds. Without functions
        the arguments are the fields themselves.
        """
        if [next, motion, step or rates].count(None) != 2:
            raise TypeError("a system is given by `step`, a function of names, or by `next`, expressions: one of them")
        if step or rates:
            functions = (step, agents or {}, lets or {}, where, enabled, rates, every)
            fields = System.tracer(name, state, init, *functions)
        else:
            made = motion or Step(next, TRUE if enabled is None else enabled)
            fields = (name, state, init, made, agents or (), lets or {})
        super().__init__(*fields)


def _restarted(slots: Iterable[Slot], initial: InitialSet) -> tuple[Slot, ...]:
    return tuple(replace(slot, starts=tuple(initial.starts[slot.var])) for slot in slots)


def _given(end: Fraction | None) -> Fraction:
    assert end is not None, "whoever makes a flow refuses a variable without a region"
    return end


def _close(model: Model) -> ClosedStep:
    """Replace names by what they stand for, in an order in which each needs only earlier ones."""
    named = named_as({agent.name: agent.action for agent in model.agents}, Role.ACTION)
    closed = resolve_all(named_as(model.lets, Role.LET) | named)
    following = [model.next.get(variable.name, variable.var) for variable in model.state]
    updates = substitute([slot.next for slot in model.slots], closed)
    holds = model.grid is not None  # actions are held: steps and lets see those that are in force
    seen_by_steps = resolve_all(named_as(model.lets, Role.LET)) if holds else closed
    *moved, enabled = substitute([*following, model.enabled], seen_by_steps)
    actions = {agent.name: closed[agent.var] for agent in model.agents}
    lets = {n: seen_by_steps[build.var(n, x.sort, x.shape, Role.LET)] for n, x in model.lets.items()}
    seen = set(draws(actions.values()))
    refuse_drawn(enabled, seen)
    refuse_unseen([*actions.values(), *updates])
    enabled = build.conj(enabled, options_left([*moved, *updates], seen))
    names = name_decisions([*actions.values(), *lets.values(), enabled, *moved, *updates, *model.vector_field])
    state, memory = model.vars, tuple(slot.var for slot in model.slots)
    after = (tuple(moved), tuple(updates), enabled)
    return ClosedStep(state, memory, actions, lets, *after, names, model.vector_field, holds)
