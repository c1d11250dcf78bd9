"""A loop that samples, as a flow whose variables are reset at instants; a plain flow is one in which none is.

The variables of the flow are the state, what each agent holds, what it has decided but not yet put into force, and what
it remembers; all but the state have rate 0. Everything that happens at an instant is a list of resets, each of them
simultaneous assignments: an agent that reads changes its memory, and decides, at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value, indices
from vernal.model import build
from vernal.model.clock import clock_of
from vernal.model.expr import Between, Expr, Role, Var
from vernal.model.flow import Flow
from vernal.model.graph import draws, substitute
from vernal.model.held_loop import Held, loop_of
from vernal.model.initial import Ends, Init, OneOf, Start
from vernal.model.lazy import cached_property
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort
from vernal.model.system import Agent, Model, Variable
from vernal.model.timetable import Instant, instants, unit_of

Reset = Mapping[Var, Expr]  # new values over old ones, all at once
ACTION_WIDENING = 2.0**-10  # by which the ranges of actions are widened, relative to their width
LARGEST_MEMORY = Fraction(2**20)  # beyond which nothing is known of a path
UNBOUNDED = "the action of {!r} is not bounded in the region"


@dataclass(frozen=True)
class Plant:
    """The flow of a loop that samples, and what happens to its variables at instants."""

    model: Model
    flow: Model  # over the state and what agents hold
    held: Mapping[str, tuple[Var, ...]]  # of each agent, the components of the action in force
    pending: Mapping[str, tuple[Var, ...]]  # of agents with a delay, those of the action decided last
    memory: Mapping[str, tuple[Var, ...]]  # of agents that remember, what they do, slot after slot

    @cached_property
    def discrete(self) -> tuple[Var, ...]:
        """The variables that are no reals: they jump only."""
        return tuple(var for var in self.flow.vars if var.sort != REAL)

    @cached_property
    def continuous(self) -> tuple[Var, ...]:
        return tuple(var for var in self.flow.vars if var.sort == REAL)

    @cached_property
    def holds(self) -> frozenset[Var]:
        """What agents hold and remember: a path of which no more is known is left where one is out of its range."""
        own = (self.held, self.pending, self.memory)
        return frozenset(chain.from_iterable(vars for one in own for vars in one.values()))

    @cached_property
    def remembered(self) -> frozenset[Var]:
        """What agents remember."""
        return frozenset(chain.from_iterable(self.memory.values()))

    @cached_property
    def unit(self) -> Fraction:
        """A time of which all times between instants are multiples."""
        return unit_of(self.model)

    def instants(self, until: Fraction) -> Iterator[Instant]:
        """Those up to a time, which may be one of them."""
        for instant in instants(self.model):
            if instant.time > until:
                return
            yield instant

    @cached_property
    def clock(self) -> Var | None:
        """The variable that is the clock, where something names it."""
        return clock_of(self.flow)

    def resets(self, instant: Instant, *, told: bool = False) -> list[Reset]:
        """What happens at an instant, one thing after the other; nothing where nothing changes.

        Where the clock began at 0 it may be `told` the time: it had that value, up to rounding.
        """
        time: Reset = {self.clock: build.const(instant.time)} if told and self.clock is not None else {}
        arriving = [self._arrival(name) for name in instant.arriving]
        reading = [self._reading(name) for name in instant.acting]
        found = [time, self.jump if instant.jumps else {}, _together(arriving), _together(reading)]
        return [reset for reset in found if reset]

    @cached_property
    def jump(self) -> Reset:
        """The variables of `next`, from the values that the flow left and the actions held until then."""
        step = self.model.step
        after = self.with_held(step.next_state)
        return {var: node for var, node in zip(step.state, after, strict=True) if node != var}

    @cached_property
    def enabled(self) -> Expr:
        """Whether a path goes on from an instant of the grid, after everybody has acted."""
        (found,) = self.with_held([self.model.step.enabled])
        return found

    def _arrival(self, name: str) -> Reset:
        return dict(zip(self.held[name], self.pending[name], strict=True))

    def _reading(self, name: str) -> Reset:
        targets = self.pending.get(name, self.held[name])
        roots = [*parts_of(self.model.step.actions[name]), *self._remembering(name)]
        return dict(zip((*targets, *self.memory.get(name, ())), self.with_held(roots), strict=True))

    def _remembering(self, name: str) -> list[Expr]:
        """What an agent remembers after it has read."""
        step = self.model.step
        after = dict(zip(step.memory, step.next_memory, strict=True))
        (agent,) = (one for one in self.model.agents if one.name == name)
        return [part for slot in agent.slots for part in parts_of(after[slot.var])]

    def with_held(self, roots: Sequence[Expr]) -> list[Expr]:
        """Expressions over state variables and actions, over those of the flow."""
        return substitute(roots, self._actions)

    def resolve(self, expression: Expr) -> Expr:
        """An expression over state variables, actions and lets, as one over the variables of the flow."""
        (found,) = self.with_held([self.model.step.resolve(expression)])
        return found

    @cached_property
    def _actions(self) -> dict[Expr, Expr]:
        found: dict[Expr, Expr] = {}
        for agent in self.model.agents:
            own = self.held[agent.name]
            value = build.concat(*own) if agent.action.shape else own[0]
            found[agent.var] = value
            if agent.action.sort == INT:  # may have been written as a real
                found[build.var(agent.name, REAL, agent.action.shape, Role.ACTION)] = value
        return found | memory_parts(self.model, self.memory)

    def memory_places(self) -> dict[Var, tuple[Var, int]]:
        """Of each variable that is remembered, the vector of an agent, and which of its components it is."""
        slots = [(slot.var, k) for agent in self.model.agents for slot in agent.slots for k in range(slot.var.size)]
        return dict(zip(chain.from_iterable(self.memory.values()), slots, strict=True))

    @cached_property
    def drawn(self) -> frozenset[Between]:
        """Draws in rates that are made at instants and held until the next."""
        named = set(draws(self.model.step.lets.values()))
        return frozenset(node for node in self.flow.disturbances if node in named)


def memory_parts(model: Model, memory: Mapping[str, tuple[Var, ...]]) -> dict[Expr, Expr]:
    """The vectors that agents remember, in variables of their components."""
    found: dict[Expr, Expr] = {}
    for agent in model.agents:
        for var, parts in agent.unpack(memory.get(agent.name, ())).items():
            found[var] = build.concat(*parts) if var.shape else parts[0]
    return found


def _together(resets: Sequence[Reset]) -> Reset:
    return dict(chain.from_iterable(reset.items() for reset in resets))


def parts_of(action: Expr) -> list[Expr]:
    """The components of an action."""
    return [build.component(action, index) for index in range(action.size)] if action.shape else [action]


def plant_of(model: Model) -> Plant:
    """The plant of a loop that samples, or of the flow of one, or of any flow; `Stopped` where none is followed."""
    if model.grid is None:
        return Plant(model, model, {}, {}, {})
    loop = loop_of(model)
    if loop is not None:  # from where the flow starts, which may be a part of the initial set
        model = _restarted(loop, model.init)
    held = {agent.name: _components(agent, agent.name) for agent in model.agents}
    pending = {agent.name: _components(agent, f"{agent.name}'") for agent in model.agents if agent.delay}
    memory = {agent.name: _memory(agent) for agent in model.agents if agent.slots}
    remembered = memory_ends(model)
    bounds = {agent.name: action_ends(model, agent, remembered) for agent in model.agents}
    variables, starts = list(model.state), dict(model.init.starts)
    for agent in model.agents:
        for own in (held[agent.name], pending.get(agent.name, ())):
            first = agent.start or tuple(Fraction(0) for _ in own)
            variables += [_variable(var, *ends) for var, ends in zip(own, bounds[agent.name], strict=False)]
            starts |= {var.name: _point(value) for var, value in zip(own, first, strict=False)}
    for agent in model.agents:
        own = memory.get(agent.name, ())
        ends = [pair for slot in agent.slots for pair in remembered[slot.var]]
        variables += [_variable(var, *pair) for var, pair in zip(own, ends, strict=True)]
        starts |= {var.name: start for var, start in zip(own, agent.starts, strict=True)}
    bare = Plant(model, Flow(model.name, model.state, model.init, motion=model.motion), held, pending, memory)
    rates = dict(zip((v.name for v in model.state), bare.with_held(model.vector_field), strict=True))
    lets = dict(zip(model.step.lets, bare.with_held(list(model.step.lets.values())), strict=True))
    assert model.grid is not None
    motion = Held(model.grid, rates, {}, loop=model)
    state, init = tuple(map(bounded, variables)), Init(starts, model.init.where)
    return replace(bare, flow=Flow(model.name, state, init, motion=motion, lets=lets))


def from_elsewhere(model: Model, init: Init) -> Model:
    """The same model from other initial states, and with it the loop whose flow it is: paths may start there."""
    moved, loop = model.starting(init), loop_of(model)
    if loop is None:
        return moved
    made = replace(moved, motion=replace(moved.motion, loop=_restarted(loop, init)))  # type: ignore[call-arg]
    made.__dict__["step"] = moved.step  # where cached_property keeps it
    return made


def _restarted(loop: Model, init: Init) -> Model:
    """The loop from where its flow starts, memories included."""
    agents = []
    for agent in loop.agents:
        names = iter(_memory(agent))
        slots = [replace(s, starts=tuple(init.starts[next(names).name] for _ in s.starts)) for s in agent.slots]
        agents.append(replace(agent, slots=tuple(slots)))
    return loop.starting(Init({v.name: init.starts[v.name] for v in loop.state}, init.where), tuple(agents))


def bounded(variable: Variable) -> Variable:
    """A variable with the ends of its domain as its range."""
    lower, upper = domain_of(variable)
    return replace(variable, lower=lower, upper=upper)


def _components(agent: Agent, name: str) -> tuple[Var, ...]:
    action = agent.action
    if not action.shape:
        return (build.var(name, action.sort),)
    return tuple(build.var(f"{name}[{index}]", action.sort) for index in range(action.size))


def _memory(agent: Agent) -> tuple[Var, ...]:
    return tuple(build.var(f"{agent.name}.memory[{index}]") for index in range(len(agent.starts)))


def _variable(var: Var, lower: Fraction, upper: Fraction) -> Variable:
    return Variable(var.name, var.sort, lower, upper, enforced=True)


def _point(value: Fraction) -> Start:
    return OneOf((value,))


def scaled(plant: Plant, known: Mapping[Expr, Expr], unit: Fraction) -> list[Expr]:
    """The rates of the continuous variables in units of time, for known values of the others."""
    rates = dict(zip(plant.flow.vars, plant.flow.vector_field, strict=True))
    found = specialise([rates[var] for var in plant.continuous], known)
    return found if unit == 1 else [build.mul(unit, rate) for rate in found]  # a product is rounded


# Ranges of actions ----------------------------------------------------------------------------------------------------


MemoryEnds = dict[Var, list[Ends]]  # of each component of a vector that is remembered


def memory_ends(model: Model) -> MemoryEnds:
    """In which ends what is remembered stays wherever agents read; of what has none, the largest that is followed.

    From all that is followed, where memories start included, a reading leads into some ends. With where memories start
    these are kept from reading to reading, as long as they are followed.
    """
    largest: MemoryEnds = {slot.var: [_largest(start) for start in slot.starts] for slot in model.slots}
    if not largest:
        return {}
    step, found = model.step, MemoryEnds()
    after = dict(zip(step.memory, step.next_memory, strict=True))
    for slot in model.slots:
        values = evaluate(parts_of(after[slot.var]), _inputs(model, largest))
        found[slot.var] = [_kept(*hull_of(value), start) for value, start in zip(values, slot.starts, strict=True)]
    return found


def _largest(start: Start) -> Ends:
    first, last = start.ends
    return min(first, -LARGEST_MEMORY), max(last, LARGEST_MEMORY)


def _kept(lower: float, upper: float, start: Start) -> Ends:
    """Ends around what a reading leads to and where it starts; nothing beyond what is followed."""
    smallest, largest = _largest(start)
    if not (np.isfinite(lower) and np.isfinite(upper)):
        return smallest, largest
    slack = Fraction(ACTION_WIDENING * (upper - lower) + 2.0**-20)
    first, last = start.ends
    return max(min(Fraction(lower) - slack, first), smallest), min(max(Fraction(upper) + slack, last), largest)


def _inputs(model: Model, remembered: MemoryEnds) -> dict[Expr, Value]:
    """The region, and what may be remembered in it, as a batch of one."""
    inputs: dict[Expr, Value] = {v.var: set_of(v.sort, *_floats(v)) for v in model.state}
    for var, ends in remembered.items():
        low = np.array([[float_below(pair[0]) for pair in ends]])
        high = np.array([[float_above(pair[1]) for pair in ends]])
        inputs[var] = Range(low, high) if var.shape else Range(low[:, 0], high[:, 0])
    return inputs


def action_ends(model: Model, agent: Agent, remembered: MemoryEnds) -> list[Ends]:
    """What each component of an action can be wherever in the region it is decided, and where it starts."""
    inputs = _inputs(model, remembered)
    found: list[Ends] = []
    values = evaluate(parts_of(model.step.actions[agent.name]), inputs)
    starts = agent.start or (None,) * len(values)
    for value, start in zip(values, starts, strict=True):
        lower, upper = hull_of(value)
        if not (np.isfinite(lower) and np.isfinite(upper)):
            raise Stopped(UNBOUNDED.format(agent.name))
        discrete = agent.action.sort != REAL
        slack = Fraction(0) if discrete else Fraction(ACTION_WIDENING * (upper - lower) + 2.0**-20)
        ends = (Fraction(lower) - slack, Fraction(upper) + slack)
        found.append(ends if start is None else (min(ends[0], start), max(ends[1], start)))
    return found


def _floats(variable: Variable) -> tuple[Floats, Floats]:
    lower, upper = domain_of(variable)
    return np.array([float_below(lower)]), np.array([float_above(upper)])


def domain_of(variable: Variable) -> Ends:
    """The values that a variable may have, by its range or by its sort."""
    if variable.sort.kind in (Kind.BOOL, Kind.ENUM):
        return Fraction(0), Fraction(1 if variable.sort == BOOL else len(variable.sort.labels) - 1)
    assert variable.lower is not None
    assert variable.upper is not None
    return variable.lower, variable.upper


def set_of(sort: Sort, lower: Floats, upper: Floats) -> Value:
    """The values of a sort between ends (batch,)."""
    if sort.kind is Kind.BOOL:
        return Truth(lower > 0.5, upper > 0.5)
    if sort.kind is Kind.ENUM:
        labels = np.arange(len(sort.labels))
        return Finite((labels >= lower[:, None]) & (labels <= upper[:, None]), indices(len(labels)))
    return Range(lower, upper)


def hull_of(value: Value) -> tuple[float, float]:
    """The least and the largest number of a set, of a batch of one."""
    match value:
        case Truth(must, may):
            return float(must.min()), float(may.max())
        case Finite(mask, values):
            there = np.flatnonzero(mask.reshape(-1, len(values)).any(0))
            return float(values[there[0]]), float(values[there[-1]])
    return float(value.lower.min()), float(value.upper.max())
