"""Simulation: thousands of runs at once, in float64, under random or given decisions.

Float runs decide nothing; they are for looking, and for finding candidates that replay then confirms exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.program import Program
from vernal.model import build
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Between, Choose, Decision, Expr, Var
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.simulate.starts import initial_points, typed


@dataclass(frozen=True)
class Plan:
    """Everything that determines runs: first states and memories, and every decision at every position.

    Arrays have a row for each run; decisions a column for each position (and a third dimension for a vector).
    """

    first: Mapping[Var, Floats]
    decisions: Mapping[Decision, Floats]

    @property
    def runs(self) -> int:
        return max((len(array) for array in (*self.first.values(), *self.decisions.values())), default=1)

    def rows(self, chosen: NDArray[np.intp]) -> Plan:
        """The plan of some of the runs."""
        return Plan(
            {var: array[chosen] for var, array in self.first.items()},
            {node: array[chosen] for node, array in self.decisions.items()},
        )


@dataclass(frozen=True)
class Runs:
    """What happened: a row for each run, a column for each position; nan after the end of a path that ends.

    `lengths` counts positions: `steps + 1`, or fewer where the system was not enabled any more. Runs of a flow have the
    times of their positions; they end where they leave the region.
    """

    system: Model
    plan: Plan
    state: Mapping[str, Floats]
    actions: Mapping[str, Floats]
    memory: Mapping[Var, Floats]
    lengths: NDArray[np.intp]
    steps: int  # how many transitions were asked for
    times: Floats | None = None  # of the positions, in continuous time

    def inputs(self, position: int) -> dict[Expr, NDArray[np.generic]]:
        """State, memory and decisions at a position, as the concrete meaning takes them."""
        step = self.system.step
        given: dict[Expr, NDArray[np.generic]] = {
            var: typed(var, self.state[var.name][:, position]) for var in step.state
        }
        given.update({var: self.memory[var][:, position] for var in step.memory})
        given.update({node: array[:, position] for node, array in self.plan.decisions.items()})
        if step.holds:  # what agents hold is no function of the state
            given.update(self._held(position))
        return given

    def _held(self, position: int) -> dict[Expr, NDArray[np.generic]]:
        """What agents hold: by their actions, and component by component as variables of the flow."""
        found: dict[Expr, NDArray[np.generic]] = {}
        for agent in self.system.agents:
            values, sort = self.actions[agent.name][:, position], agent.action.sort
            found[agent.var] = values
            parts = {f"{agent.name}[{k}]": values[:, k] for k in range(agent.action.size)} if agent.action.shape else {}
            found.update({build.var(name, sort): part for name, part in (parts or {agent.name: values}).items()})
        return found

    def values(self, expressions: Sequence[Expr]) -> list[Floats]:
        """What expressions over state, actions and lets are on every run, at every position; nan after its end.

        Truth values are 0 and 1, labels their indices.
        """
        program = concrete.compile([self.system.step.resolve(expression) for expression in expressions])
        found = [np.full((len(self.lengths), self.steps + 1), np.nan) for _ in expressions]
        for t in range(self.steps + 1):
            going = self.lengths > t
            for target, values in zip(found, program(self.inputs(t), self.plan.runs), strict=True):
                target[going, t] = np.broadcast_to(values, going.shape)[going]
        return found

    @property
    def undefined(self) -> NDArray[np.bool_]:
        """Which runs lead to a state that is not defined: a quotient by 0, a logarithm of a negative number."""
        within = np.arange(self.steps + 1) < self.lengths[:, None]
        found = np.zeros(len(self.lengths), bool)
        for values in self.state.values():
            found |= (np.isnan(values) & within).any(axis=1)
        return found


def simulate(
    system: Model, runs: int, steps: int, rng: np.random.Generator, *, corners: bool = False, tick: Tick = idle
) -> Runs:
    """Random runs: uniform initial states, draws and ties; centre and corners of the initial set first if asked."""
    return StepSimulator(system, steps).run(random_plan(system, runs, steps, rng, corners=corners, tick=tick), tick)


# Running --------------------------------------------------------------------------------------------------------------


class Simulator(Protocol):
    """Runs plans of a model, whatever moves it: steps (here), a flow, or a loop that samples one."""

    model: Model  # whose initial states and decisions a plan has
    columns: int  # positions of a decision in a plan, less one
    steps: int  # positions of a run, less one

    def run(self, plan: Plan, tick: Tick = idle) -> Runs:
        """The runs a plan makes; `tick` is called on the way and may stop it by raising."""
        ...


class StepSimulator:
    """A compiled step, walked as often as needed."""

    def __init__(self, system: Model, steps: int) -> None:
        self.model, self.steps, self.columns = system, steps, steps
        self.act, self.move = system.step.once(_programs)

    def run(self, plan: Plan, tick: Tick = idle) -> Runs:
        """The runs a plan makes."""
        step, runs = self.model.step, plan.runs
        state = {var.name: np.full((runs, self.steps + 1), np.nan) for var in step.state}
        memory = {var: np.full((runs, self.steps + 1, *var.shape), np.nan) for var in step.memory}
        actions = {n: np.full((runs, self.steps + 1, *x.shape), np.nan) for n, x in step.actions.items()}
        made = Runs(self.model, plan, state, actions, memory, np.full(runs, self.steps + 1), self.steps)
        alive = np.ones(runs, bool)
        now: list[NDArray[np.generic]] = [np.asarray(plan.first[var]) for var in step.inputs]
        for t in range(self.steps + 1):
            tick()
            for var, values in zip(step.inputs, now, strict=True):
                target = memory[var] if var in memory else state[var.name]
                target[alive, t] = np.asarray(values)[alive]
            found = self._step(made, t)
            for name, values in zip(actions, found, strict=False):
                actions[name][alive, t] = np.asarray(values)[alive]
            if t < self.steps:
                enabled, *now = found[len(actions) :]
                made.lengths[alive & ~enabled.astype(bool)] = t + 1
                alive &= enabled.astype(bool)
        return made

    def _step(self, made: Runs, t: int) -> Sequence[NDArray[np.generic]]:
        program = self.move if t < self.steps else self.act
        return program(made.inputs(t), made.plan.runs)


def _programs(step: ClosedStep) -> tuple[Program, Program]:
    """The actions alone, as at the last position, and the whole step."""
    actions = list(step.actions.values())
    return concrete.compile(actions), concrete.compile([*actions, step.enabled, *step.next_state, *step.next_memory])


# Plans ----------------------------------------------------------------------------------------------------------------


def random_plan(
    system: Model, runs: int, steps: int, rng: np.random.Generator, *, corners: bool = False, tick: Tick = idle
) -> Plan:
    """Uniform first states and decisions."""
    first = initial_points(system, runs, rng, corners=corners, tick=tick)
    made: dict[Decision, Floats] = {}
    for node in system.step.names:
        shape = (runs, steps + 1, *(node.shape if isinstance(node, Between) else ()))
        uniform = rng.random(shape)
        made[node] = pick(node, uniform) if isinstance(node, Choose) else uniform
    return Plan(first, made)


def joined_plans(plans: Sequence[Plan]) -> Plan:
    """The runs of several plans of one model, one after the other."""
    first, made = plans[0].first, plans[0].decisions
    return Plan(
        {var: np.concatenate([plan.first[var] for plan in plans]) for var in first},
        {node: np.concatenate([plan.decisions[node] for plan in plans]) for node in made},
    )


def pick(node: Choose, uniform: Floats) -> Floats:
    """Options from uniform numbers, as the concrete meaning takes them: each that exists is as likely as any other."""
    index = uniform * len(node.options)
    return index if node.guarded else np.floor(index)
