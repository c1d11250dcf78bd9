"""Simulation of flows: thousands of trajectories at once, in float64, under disturbances that are constant for a while.

The method is that of J. R. Dormand and P. J. Prince (A family of embedded Runge-Kutta formulae, 1980), with one step
size for the whole batch. Floats decide nothing; they are for looking, and for finding candidates that are then
enclosed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

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
TOLERANCE = 1e-9  # of one step, relative and absolute
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


# Between both ends of a step: how much of each rate, as a polynomial in the share of the step that is gone, of order 4
# (L. F. Shampine, Some practical Runge-Kutta formulas, 1986).
BETWEEN = (
    (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
    (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
    (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
    (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
    (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
)


class Integrator:
    """A compiled vector field, and steps along it."""

    def __init__(self, flow: Model) -> None:
        self.flow = flow
        self.program = concrete.compile(flow.vector_field)
        self.lower, self.upper = (np.array([nearest(ends[side]) for ends in flow.region]) for side in (0, 1))

    def along(
        self, states: Floats, given: Mapping[Decision, Floats], times: Sequence[float], tick: Tick
    ) -> list[Floats]:
        """The states after each of these times, which ascend; the disturbances are constant.

        Steps are as long as their error allows, and what is between their ends is interpolated. Trajectories that have
        left the region go on, but how they do does not count.
        """
        if not len(states):
            return [states] * len(times)
        found: list[Floats] = []
        done, step, last = 0.0, times[-1], times[-1]
        rates = self.rates(states, given)
        finest = last / len(times)
        while len(found) < len(times):
            tick()
            step = min(step, last - done)
            counted = self.inside(states)
            reached, stages, error = self._step(states, rates, given, step, counted)
            lost = bool((~np.isfinite(reached).all(axis=1) & np.isfinite(states).all(axis=1) & counted).any())
            if (error > 1 and step * FINEST > finest) or (lost and step * FINEST_UNDEFINED > finest):
                step /= 2
                continue
            after = last if step == last - done else done + step
            while len(found) < len(times) and times[len(found)] < after:
                share = (times[len(found)] - done) / step
                found.append(states + step * _between(stages, share))
            if after == last:
                found.append(reached)
            states, rates, done = reached, stages[-1], after
            step *= 2 if error < 1 / 64 else 1
        return found

    def inside(self, states: Floats) -> NDArray[np.bool_]:
        """Which states are in the region."""
        return np.asarray(((states >= self.lower) & (states <= self.upper)).all(axis=1))

    def _step(
        self, states: Floats, start: Floats, given: Mapping[Decision, Floats], step: float, counted: NDArray[np.bool_]
    ) -> tuple[Floats, list[Floats], float]:
        """One step of all from states and the rates there: to which, by which rates, and the largest error that counts.

        Errors are in units of what is tolerated.
        """
        rates = [start]
        reached = states
        for weights in STAGES:
            moved = sum(weight * rate for weight, rate in zip(weights, rates, strict=True) if weight)
            reached = states + step * moved
            rates.append(self.rates(reached, given))
        error = step * np.abs(sum(weight * rate for weight, rate in zip(ERRORS, rates, strict=True) if weight))
        relative = error / (TOLERANCE * (1 + np.abs(reached)))
        known = np.isfinite(relative) & counted[:, None]
        return reached, rates, float(np.max(relative, initial=0.0, where=known))

    def rates(self, states: Floats, given: Mapping[Decision, Floats]) -> Floats:
        """The rates in states (batch, n), under disturbances of each."""
        inputs: dict[Expr, NDArray[np.generic]] = {
            var: typed(var, states[:, i]) for i, var in enumerate(self.flow.vars)
        }
        inputs.update(given.items())
        found = np.empty_like(states)
        for i, value in enumerate(self.program(inputs, len(states))):
            found[:, i] = value
        return found


def _between(stages: Sequence[Floats], share: float) -> Floats:
    """What a part of a step of length 1 adds."""
    powers = share ** np.arange(1, 5)
    weights = np.array(BETWEEN) @ powers
    return np.asarray(sum(weight * rate for weight, rate in zip(weights, stages, strict=True) if weight))


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

    def run(self, plan: Plan, tick: Tick = idle) -> Runs:
        """The trajectories a plan makes; its decisions have a column for each stretch of time."""
        count, last = plan.runs, self.steps
        states = np.full((count, last + 1, len(self.flow.state)), np.nan)
        states[:, 0] = np.stack([plan.first[var] for var in self.flow.vars], axis=1)
        lengths = np.ones(count, np.intp)
        rows = np.flatnonzero(self.integrator.inside(states[:, 0]))
        with np.errstate(all="ignore"):
            for stretch, places in groupby(range(last), self.stretch.__getitem__):
                own = [k + 1 for k in places]
                given = {node: array[rows, stretch] for node, array in plan.decisions.items()}
                first = own[0] - 1
                times = (self.times[own] - self.times[first]).tolist()
                alive = np.ones(len(rows), bool)
                for k, reached in zip(own, self.integrator.along(states[rows, first], given, times, tick), strict=True):
                    alive &= self.integrator.inside(reached)
                    states[rows[alive], k] = reached[alive]
                    lengths[rows[alive]] = k + 1
                rows = rows[alive]
        return self._runs(plan, states, lengths)

    def _runs(self, plan: Plan, states: Floats, lengths: NDArray[np.intp]) -> Runs:
        """What happened, with the disturbances at every position."""
        columns = np.append(self.stretch, self.stretch[-1:]) if len(self.stretch) else np.zeros(1, int)
        given: Mapping[Decision, Floats] = {node: array[:, columns] for node, array in plan.decisions.items()}
        state = {variable.name: states[:, :, i] for i, variable in enumerate(self.flow.state)}
        spread = Plan(plan.first, given)
        return Runs(self.flow, spread, state, {}, {}, lengths, self.steps, self.times)
