"""A loop that samples, as a flow whose variables are reset at instants; a plain flow is one in which none is.

The variables of the flow are the state, what each agent holds, and what it has decided but not yet put into force; the
last two have rate 0. Everything that happens at an instant is a list of resets, each of them simultaneous assignments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value, indices
from vernal.model import build
from vernal.model.expr import Between, Expr, Role, Var
from vernal.model.flow import Flow
from vernal.model.graph import draws, substitute
from vernal.model.held_loop import Held, loop_of
from vernal.model.initial import Ends, Init, OneOf, Start
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort
from vernal.model.system import Agent, Model, Variable
from vernal.model.timetable import Instant, instants, unit_of

Reset = Mapping[Var, Expr]  # new values over old ones, all at once
ACTION_WIDENING = 2.0**-10  # by which the ranges of actions are widened, relative to their width
REMEMBERS = "agents that remember are not followed through continuous time yet"
UNBOUNDED = "the action of {!r} is not bounded in the region"


@dataclass(frozen=True)
class Plant:
    """The flow of a loop that samples, and what happens to its variables at instants."""

    model: Model
    flow: Model  # over the state and what agents hold
    held: Mapping[str, tuple[Var, ...]]  # of each agent, the components of the action in force
    pending: Mapping[str, tuple[Var, ...]]  # of agents with a delay, those of the action decided last

    @cached_property
    def discrete(self) -> tuple[Var, ...]:
        """The variables that are no reals: they jump only."""
        return tuple(var for var in self.flow.vars if var.sort != REAL)

    @cached_property
    def continuous(self) -> tuple[Var, ...]:
        return tuple(var for var in self.flow.vars if var.sort == REAL)

    @cached_property
    def holds(self) -> frozenset[Var]:
        """The variables that are actions, in force or decided: no reset takes them out of their range."""
        return frozenset(chain.from_iterable([*self.held.values(), *self.pending.values()]))

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

    def resets(self, instant: Instant) -> list[Reset]:
        """What happens at an instant, one thing after the other; nothing where nothing changes."""
        arriving = [self._arrival(name) for name in instant.arriving]
        reading = [self._reading(name) for name in instant.acting]
        found = [self.jump if instant.jumps else {}, _together(arriving), _together(reading)]
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
        return dict(zip(targets, parts_of(self.model.step.actions[name]), strict=True))

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
        return found

    @cached_property
    def drawn(self) -> frozenset[Between]:
        """Draws in rates that are made at instants and held until the next."""
        named = set(draws(self.model.step.lets.values()))
        return frozenset(node for node in self.flow.disturbances if node in named)


def _together(resets: Sequence[Reset]) -> Reset:
    return dict(chain.from_iterable(reset.items() for reset in resets))


def parts_of(action: Expr) -> list[Expr]:
    """The components of an action."""
    return [build.component(action, index) for index in range(action.size)] if action.shape else [action]


def plant_of(model: Model) -> Plant:
    """The plant of a loop that samples, or of the flow of one, or of any flow; `Stopped` where none is followed."""
    if model.grid is None:
        return Plant(model, model, {}, {})
    loop = loop_of(model)
    if loop is not None:  # from where the flow starts, which may be a part of the initial set
        model = loop.starting(Init({v.name: model.init.starts[v.name] for v in loop.state}, model.init.where))
    if model.slots:
        raise Stopped(REMEMBERS)
    held = {agent.name: _components(agent, agent.name) for agent in model.agents}
    pending = {agent.name: _components(agent, f"{agent.name}'") for agent in model.agents if agent.delay}
    bounds = {agent.name: action_ends(model, agent) for agent in model.agents}
    variables, starts = list(model.state), dict(model.init.starts)
    for agent in model.agents:
        for own in (held[agent.name], pending.get(agent.name, ())):
            first = agent.start or tuple(Fraction(0) for _ in own)
            variables += [_variable(var, *ends) for var, ends in zip(own, bounds[agent.name], strict=False)]
            starts |= {var.name: _point(value) for var, value in zip(own, first, strict=False)}
    bare = Plant(model, Flow(model.name, model.state, model.init, motion=model.motion), held, pending)
    rates = dict(zip((v.name for v in model.state), bare.with_held(model.vector_field), strict=True))
    lets = dict(zip(model.step.lets, bare.with_held(list(model.step.lets.values())), strict=True))
    assert model.grid is not None
    motion = Held(model.grid, rates, {}, loop=model)
    state, init = tuple(map(bounded, variables)), Init(starts, model.init.where)
    return replace(bare, flow=Flow(model.name, state, init, motion=motion, lets=lets))


def bounded(variable: Variable) -> Variable:
    """A variable with the ends of its domain as its range."""
    lower, upper = domain_of(variable)
    return replace(variable, lower=lower, upper=upper)


def _components(agent: Agent, name: str) -> tuple[Var, ...]:
    action = agent.action
    if not action.shape:
        return (build.var(name, action.sort),)
    return tuple(build.var(f"{name}[{index}]", action.sort) for index in range(action.size))


def _variable(var: Var, lower: Fraction, upper: Fraction) -> Variable:
    return Variable(var.name, var.sort, lower, upper, enforced=True)


def _point(value: Fraction) -> Start:
    return OneOf((value,))


def scaled(plant: Plant, known: Mapping[Expr, Expr]) -> list[Expr]:
    """The rates of the continuous variables in units of time of the plant, for known values of the others."""
    rates = dict(zip(plant.flow.vars, plant.flow.vector_field, strict=True))
    found = specialise([rates[var] for var in plant.continuous], known)
    return found if plant.unit == 1 else [build.mul(plant.unit, rate) for rate in found]  # a product is rounded


# Ranges of actions ----------------------------------------------------------------------------------------------------


def action_ends(model: Model, agent: Agent) -> list[Ends]:
    """What each component of an action can be wherever in the region it is decided, and where it starts."""
    inputs: dict[Expr, Value] = {v.var: set_of(v.sort, *_floats(v)) for v in model.state}
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
