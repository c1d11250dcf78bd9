"""Simulation of flows: thousands of trajectories at once, in float64, under disturbances that are constant for a while.

The method is that of J. R. Dormand and P. J. Prince (A family of embedded Runge-Kutta formulae, 1980), with one step
size for the whole batch. Floats decide nothing; they are for looking, and for finding candidates that are then
enclosed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.errors import BeyondFloats
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Decision, Expr
from vernal.model.numbers import nearest
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.starts import typed

POSITIONS = 200  # about, between the first and the last time
CLOSE = 1e-9  # times this close, compared with the last, are looked at once
STRETCHES = 8  # of time, on each of which the disturbances are constant
TOLERANCE = 1e-8  # of one step, relative and absolute
FINEST = 256  # steps between two positions, at most
FINEST_UNDEFINED = 8  # ... where they are only for trajectories on which the field is not defined

# The tableau: each stage from the rates of those before; then the result of order 5, less that of order 4.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERRORS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def positions(time: Fraction | float, stretches: int, more: Iterable[Fraction]) -> Floats:
    """The times at which trajectories are looked at: evenly spaced, those where disturbances change, and more."""
    last = nearest(Fraction(time))
    even = np.linspace(0.0, last, stretches * -(-POSITIONS // stretches) + 1)
    asked = np.unique([nearest(Fraction(instant)) for instant in more if 0 <= instant <= time])
    near = np.abs(even[:, None] - asked).min(axis=1, initial=np.inf) <= CLOSE * last  # the same time, but for rounding
    return np.unique(np.concatenate([even[~near], asked, [0.0, last]]))


class Integrator:
    """A compiled vector field, and steps along it."""

    def __init__(self, flow: Model) -> None:
        self.flow = flow
        self.program = concrete.compile(flow.vector_field)

    def advance(self, states: Floats, given: Mapping[Decision, Floats], time: float, tick: Tick) -> Floats:
        """The states after a time in which the disturbances are constant."""
        done, step = 0.0, time
        while done < time and len(states):
            tick()
            step = min(step, time - done)
            reached, error = self._step(states, given, step)
            lost = bool((~np.isfinite(reached).all(axis=1) & np.isfinite(states).all(axis=1)).any())
            if (error > 1 and step * FINEST > time) or (lost and step * FINEST_UNDEFINED > time):
                step /= 2
                continue
            states, done = reached, done + step
            step *= 2 if error < 1 / 64 else 1
        return states

    def _step(self, states: Floats, given: Mapping[Decision, Floats], step: float) -> tuple[Floats, float]:
        """One step of all, and the largest error in units of what is tolerated."""
        rates = [self.rates(states, given)]
        reached = states
        for weights in STAGES:
            moved = sum(weight * rate for weight, rate in zip(weights, rates, strict=True) if weight)
            reached = states + step * moved
            rates.append(self.rates(reached, given))
        error = step * np.abs(sum(weight * rate for weight, rate in zip(ERRORS, rates, strict=True) if weight))
        relative = error / (TOLERANCE * (1 + np.abs(reached)))
        return reached, float(np.max(relative, initial=0.0, where=np.isfinite(relative)))

    def rates(self, states: Floats, given: Mapping[Decision, Floats]) -> Floats:
        """The rates in states (batch, n), under disturbances of each."""
        inputs: dict[Expr, NDArray[np.generic]] = {
            var: typed(var, states[:, i]) for i, var in enumerate(self.flow.vars)
        }
        inputs.update(given.items())
        values = self.program(inputs, len(states))
        return np.stack([np.broadcast_to(value, len(states)) for value in values], axis=1)


class FlowSimulator:
    """A compiled vector field, followed as often as needed."""

    def __init__(
        self,
        flow: Model,
        time: Fraction | float,
        stretches: int = STRETCHES,
        more: Iterable[Fraction] = (),
    ) -> None:
        """`more` are times at which the trajectories are looked at besides."""
        self.flow, self.model, self.time = flow, flow, Fraction(time)
        self.changes = [self.time * k / stretches for k in range(stretches)]  # when disturbances may change
        self.times = positions(time, stretches, more)
        self.columns, self.steps = stretches - 1, len(self.times) - 1
        if not np.isfinite(self.times).all():
            raise BeyondFloats("the time is beyond all floats; try other units")
        middles = (self.times[1:] + self.times[:-1]) / 2
        self.stretch = np.minimum(np.floor(middles / max(self.times[-1], 1e-300) * stretches), stretches - 1).astype(
            int
        )
        self.integrator = Integrator(flow)
        self.lower, self.upper = (np.array([nearest(ends[side]) for ends in flow.region]) for side in (0, 1))

    def run(self, plan: Plan, tick: Tick = idle) -> Runs:
        """The trajectories a plan makes; its decisions have a column for each stretch of time."""
        count, last = plan.runs, self.steps
        states = np.full((count, last + 1, len(self.flow.state)), np.nan)
        states[:, 0] = np.stack([plan.first[var] for var in self.flow.vars], axis=1)
        lengths = np.ones(count, np.intp)
        rows = np.flatnonzero(self._inside(states[:, 0]))
        with np.errstate(all="ignore"):
            for k in range(last):
                given = {node: array[rows, self.stretch[k]] for node, array in plan.decisions.items()}
                reached = self.integrator.advance(
                    states[rows, k], given, float(self.times[k + 1] - self.times[k]), tick
                )
                inside = self._inside(reached)
                rows = rows[inside]
                states[rows, k + 1] = reached[inside]
                lengths[rows] = k + 2
        return self._runs(plan, states, lengths)

    def _runs(self, plan: Plan, states: Floats, lengths: NDArray[np.intp]) -> Runs:
        """What happened, with the disturbances at every position."""
        columns = np.append(self.stretch, self.stretch[-1:]) if len(self.stretch) else np.zeros(1, int)
        given: Mapping[Decision, Floats] = {node: array[:, columns] for node, array in plan.decisions.items()}
        state = {variable.name: states[:, :, i] for i, variable in enumerate(self.flow.state)}
        spread = Plan(plan.first, given)
        return Runs(self.flow, spread, state, {}, {}, lengths, self.steps, self.times)

    def _inside(self, states: Floats) -> NDArray[np.bool_]:
        return np.asarray(((states >= self.lower) & (states <= self.upper)).all(axis=1))
