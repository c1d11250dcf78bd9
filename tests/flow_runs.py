"""Trajectories of flows in floats by Runge and Kutta's method: a second opinion beside the package's simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Array, Floats
from vernal.model.expr import Between, Expr
from vernal.model.flow import Flow

AGREE = 1e-7  # runs in steps of two lengths
INSIDE = 1e-12  # how far outside the region a state counts as inside: rounding of the end of a range


@dataclass(frozen=True, eq=False)
class FlowRuns:
    """States (runs, samples, n) at times (samples,); nan from the first sample outside the region on."""

    times: Floats
    states: Floats

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether a run is still inside at a sample."""
        return ~np.isnan(self.states[:, :, 0])


@dataclass(frozen=True, eq=False)
class Integrator:
    """Runs of a flow over a number of equal steps."""

    flow: Flow
    until: float
    steps: int

    @cached_property
    def _program(self) -> concrete.Program:
        return concrete.compile(self.flow.vector_field)

    def positions(self, states: Floats, values: Mapping[Between, float]) -> Floats:
        """Where values of disturbances are between their ends, which may depend on the state; (runs, disturbances)."""
        inputs: dict[Expr, Array] = {var: states[:, i] for i, var in enumerate(self.flow.vars)}
        found = np.full((len(states), len(self.flow.disturbances)), 0.5)
        for k, one in enumerate(self.flow.disturbances):
            low, high = (np.broadcast_to(end, len(states)) for end in concrete.evaluate(list(one.args), inputs))
            wide = high > low
            found[wide, k] = (values[one] - low[wide]) / (high - low)[wide]
        return found

    def driven(self, states: Floats, values: Mapping[Between, float]) -> Floats:
        """x' of every state under disturbances of these values; (runs, n)."""
        return self.rates(states, self.positions(states, values))

    def rates(self, states: Floats, positions: Floats) -> Floats:
        """x' of every state, disturbances at positions from 0 to 1; (runs, n)."""
        inputs: dict[Expr, Array] = {var: states[:, i] for i, var in enumerate(self.flow.vars)}
        inputs.update({one: positions[:, i] for i, one in enumerate(self.flow.disturbances)})
        with np.errstate(all="ignore"):
            return np.stack([np.broadcast_to(v, len(states)) for v in self._program(inputs, len(states))], axis=1)

    def run(self, starts: Floats, positions: Floats) -> FlowRuns:
        """From starts (runs, n), with positions of the disturbances (steps, runs, disturbances)."""
        return self._run(starts, [partial(self.rates, positions=now) for now in positions])

    def run_under(self, starts: Floats, values: Mapping[Between, float]) -> FlowRuns:
        """From starts (runs, n), with disturbances of constant values."""
        return self._run(starts, [partial(self.driven, values=values)] * self.steps)

    def _run(self, starts: Floats, rates: Sequence[Callable[[Floats], Floats]]) -> FlowRuns:
        lower, upper = np.array([[float(end) for end in ends] for ends in self.flow.region]).T
        step, states = self.until / self.steps, [starts]
        for rate in rates:
            x = states[-1]
            a = rate(x)
            b = rate(x + step / 2 * a)
            c = rate(x + step / 2 * b)
            d = rate(x + step * c)
            x = x + step / 6 * (a + 2 * b + 2 * c + d)
            outside = ((x < lower - INSIDE) | (x > upper + INSIDE)).any(axis=1)
            states.append(np.where(outside[:, None], np.nan, x))
        return FlowRuns(np.linspace(0, self.until, self.steps + 1), np.stack(states, axis=1))


def starts_of(flow: Flow, count: int, rng: np.random.Generator) -> Floats:
    """Initial states: corners of the box and points inside, conditions kept."""
    lower, upper = np.array([[float(e) for e in flow.init.starts[one.name].ends] for one in flow.state]).T
    share = rng.uniform(size=(count, len(lower)))
    corner = rng.uniform(size=count) < 0.5
    share[corner] = np.round(share[corner])
    points: Floats = lower + share * (upper - lower)
    for condition in flow.init.where:
        (kept,) = concrete.evaluate([flow.resolve(condition)], {v: points[:, i] for i, v in enumerate(flow.vars)})
        points = points[np.broadcast_to(kept, len(points))]
    return points


def positions_of(flow: Flow, steps: int, runs: int, rng: np.random.Generator) -> Floats:
    """Disturbances: constant extremes, extremes that switch, and values at random."""
    shape = (steps, runs, len(flow.disturbances))
    kind = rng.integers(3, size=runs)[None, :, None]
    constant = np.broadcast_to(rng.integers(2, size=shape[1:])[None], shape)
    switched, random = rng.integers(2, size=shape), rng.uniform(size=shape)
    return np.asarray(np.where(kind == 0, constant, np.where(kind == 1, switched, random)), dtype=np.float64)


def reliable(flow: Flow, until: float, *, runs: int, steps: int, seed: int = 0) -> FlowRuns:
    """The same trajectories in steps half as long, as far as these agree: kinks and steep fields need short steps."""
    rng = np.random.default_rng(seed)
    starts = starts_of(flow, runs, rng)
    positions = positions_of(flow, steps, len(starts), rng)
    coarse = Integrator(flow, until, steps).run(starts, positions)
    fine = Integrator(flow, until, 2 * steps).run(starts, np.repeat(positions, 2, axis=0)).states[:, ::2]
    agree = np.isclose(coarse.states, fine, rtol=AGREE, atol=AGREE, equal_nan=True).all(axis=(1, 2))
    return FlowRuns(coarse.times, fine[agree])


def simulated(flow: Flow, until: float, *, runs: int = 100, steps: int = 400, seed: int = 0) -> FlowRuns:
    """Many trajectories from initial states under extreme and random disturbances."""
    rng = np.random.default_rng(seed)
    starts = starts_of(flow, runs, rng)
    return Integrator(flow, until, steps).run(starts, positions_of(flow, steps, len(starts), rng))
