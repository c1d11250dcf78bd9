"""Simulation: thousands of runs at once, in float64, under random or given decisions.

Float runs decide nothing; they are for looking, and for finding candidates that replay then confirms exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.errors import InputError
from vernal.interpret import concrete
from vernal.model.expr import Argmax, Between, Choose, Expr, Var
from vernal.model.graph import decisions
from vernal.model.sorts import BOOL, REAL
from vernal.model.system import OneOf, Span, Start, System

Array = NDArray[np.float64]
Decision = Choose | Between | Argmax

BATCHES = 200  # of samples, before the initial set is called too thin to sample
SMALLEST_BATCH = 1000


class NoInitialState(InputError):
    """Sampling found no state that satisfies the constraints on the initial states."""


@dataclass(frozen=True)
class Plan:
    """Everything that determines runs: first states and memories, and every decision at every position.

    Arrays have a row for each run; decisions a column for each position (and a third dimension for a vector).
    """

    first: Mapping[Var, Array]
    decisions: Mapping[Decision, Array]

    @property
    def runs(self) -> int:
        return max((len(array) for array in self.first.values()), default=1)

    def rows(self, chosen: NDArray[np.intp]) -> Plan:
        """The plan of some of the runs."""
        return Plan(
            {var: array[chosen] for var, array in self.first.items()},
            {node: array[chosen] for node, array in self.decisions.items()},
        )


@dataclass(frozen=True)
class Runs:
    """What happened: a row for each run, a column for each position; nan after the end of a path that ends.

    `lengths` counts positions: `steps + 1`, or fewer where the system was not enabled any more.
    """

    system: System
    plan: Plan
    state: Mapping[str, Array]
    actions: Mapping[str, Array]
    memory: Mapping[Var, Array]
    lengths: NDArray[np.intp]
    steps: int  # how many transitions were asked for

    def inputs(self, position: int) -> dict[Expr, NDArray[np.generic]]:
        """State, memory and decisions at a position, as the concrete meaning takes them."""
        step = self.system.step
        given: dict[Expr, NDArray[np.generic]] = {
            var: _typed(var, self.state[var.name][:, position]) for var in step.state
        }
        given.update({var: self.memory[var][:, position] for var in step.memory})
        given.update({node: array[:, position] for node, array in self.plan.decisions.items()})
        return given


def simulate(system: System, runs: int, steps: int, rng: np.random.Generator, *, corners: bool = False) -> Runs:
    """Random runs: uniform initial states, draws and ties; centre and corners of the initial set first if asked."""
    return Simulator(system, steps).run(random_plan(system, runs, steps, rng, corners=corners))


# Running --------------------------------------------------------------------------------------------------------------


class Simulator:
    """A compiled step, walked as often as needed."""

    def __init__(self, system: System, steps: int) -> None:
        step = system.step
        self.system, self.steps = system, steps
        self.act = concrete.compile(list(step.actions.values()))
        self.move = concrete.compile([*step.actions.values(), step.enabled, *step.next_state, *step.next_memory])

    def run(self, plan: Plan, tick: Callable[[], None] = lambda: None) -> Runs:
        """The runs a plan makes; `tick` is called at every step and may stop the walk by raising."""
        step, runs = self.system.step, plan.runs
        state = {var.name: np.full((runs, self.steps + 1), np.nan) for var in step.state}
        memory = {var: np.full((runs, self.steps + 1, *var.shape), np.nan) for var in step.memory}
        actions = {n: np.full((runs, self.steps + 1, *x.shape), np.nan) for n, x in step.actions.items()}
        made = Runs(self.system, plan, state, actions, memory, np.full(runs, self.steps + 1), self.steps)
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


def _typed(var: Var, values: Array) -> NDArray[np.generic]:
    return values == 1 if var.sort == BOOL else values


# Plans ----------------------------------------------------------------------------------------------------------------


def random_plan(system: System, runs: int, steps: int, rng: np.random.Generator, *, corners: bool = False) -> Plan:
    """Uniform first states and decisions."""
    first = initial_points(system, runs, rng, corners=corners)
    made: dict[Decision, Array] = {}
    for node in decisions(system.step.roots):
        shape = (runs, steps + 1, *(node.shape if isinstance(node, Between) else ()))
        uniform = rng.random(shape)
        made[node] = np.floor(uniform * len(node.args)) if isinstance(node, Choose) else uniform
    return Plan(first, made)


def initial_points(system: System, runs: int, rng: np.random.Generator, *, corners: bool = False) -> dict[Var, Array]:
    """Initial states and memories, uniform over boxes and sets; constraints are met by rejection."""
    kept: list[dict[Var, Array]] = []
    count = 0
    if corners:
        kept.append(_where(system, _corners(system, min(runs, 256))))
        count = _count(kept[0])
    for tried in range(BATCHES):
        if count >= runs:
            break
        size = runs - count if not system.init.where else max(runs, SMALLEST_BATCH)
        kept.append(_where(system, _uniform(system, size, rng)))
        count += _count(kept[-1])
        if count and tried > BATCHES // 4:
            break
    if not count:
        raise NoInitialState(
            f"init.where: none of {BATCHES * max(runs, SMALLEST_BATCH):,} random points satisfies the constraints; "
            "they may contradict each other, or be too thin to hit by chance (an equation): give such variables values"
        )
    return {var: _fill(np.concatenate([part[var] for part in kept]), runs) for var in system.step.inputs}


def _count(points: Mapping[Var, Array]) -> int:
    return min((len(array) for array in points.values()), default=0)


def _fill(array: Array, runs: int) -> Array:
    """Exactly `runs` rows; where constraints let too few through, they are used again."""
    return np.resize(array, (runs, *array.shape[1:])) if len(array) < runs else array[:runs]


def _where(system: System, points: dict[Var, Array]) -> dict[Var, Array]:
    """The points that satisfy the constraints."""
    if not system.init.where:
        return points
    inputs: dict[Expr, NDArray[np.generic]] = {var: _typed(var, points[var]) for var in system.step.state}
    truths = concrete.evaluate(system.init.where, inputs)
    good = np.logical_and.reduce([np.broadcast_to(truth, _count(points)) for truth in truths])
    return {var: array[good] for var, array in points.items()}


def starts(system: System) -> Iterator[tuple[Var, int | None, Start, bool]]:
    """Every initial degree of freedom: variable, component of a vector, start, and whether it is a real."""
    for variable in system.state:
        yield variable.var, None, system.init.starts[variable.name], variable.sort == REAL
    for slot in system.slots:
        for index, start in enumerate(slot.starts):
            yield slot.var, index, start, True


def _uniform(system: System, runs: int, rng: np.random.Generator) -> dict[Var, Array]:
    return _points(system, [_sample(start, real, runs, rng) for _, _, start, real in starts(system)], runs)


def _sample(start: Start, real: bool, runs: int, rng: np.random.Generator) -> Array:
    if isinstance(start, OneOf):
        return rng.choice(np.array([float(value) for value in start.values]), runs)
    if not real:
        lowest, highest = _integers(start)
        return rng.integers(lowest, highest, runs, endpoint=True).astype(float)
    return place(start, rng.random(runs))


def _integers(start: Span) -> tuple[int, int]:
    return -(-start.lower.numerator // start.lower.denominator), start.upper.numerator // start.upper.denominator


def place(start: Span, position: Array) -> Array:
    """Positions from 0 to 1 as values of the span; both ends are met."""
    lower, upper = float(start.lower), float(start.upper)
    return np.where(position == 1, upper, np.minimum(lower + position * (upper - lower), upper))


def _corners(system: System, most: int) -> dict[Var, Array]:
    """The centre of the initial box, then its corners, combined with the values of sets."""
    options = [_extremes(start, real) for _, _, start, real in starts(system)]
    rows = [tuple(option[-1] for option in options), *itertools.islice(itertools.product(*options), most - 1)]
    columns = [np.array([float(value) for value in column]) for column in zip(*rows, strict=True)]
    return _points(system, columns, len(rows))


def _extremes(start: Start, real: bool) -> list[Fraction]:
    """Both ends and, last, the middle; of a set, its values."""
    if isinstance(start, OneOf):
        return list(start.values)
    if start.lower == start.upper:
        return [start.lower]
    if not real:
        lowest, highest = _integers(start)
        return [Fraction(lowest), Fraction(highest), Fraction((lowest + highest) // 2)]
    return [start.lower, start.upper, (start.lower + start.upper) / 2]


def _points(system: System, columns: Sequence[Array], runs: int) -> dict[Var, Array]:
    """Columns, one for each degree of freedom, as arrays by variable."""
    made: dict[Var, Array] = {var: np.empty((runs, *var.shape)) for var in (*system.step.state, *system.step.memory)}
    for (var, index, _, _), column in zip(starts(system), columns, strict=True):
        if index is None:
            made[var][:] = column
        else:
            made[var][:, index] = column
    return made
