"""Trajectories for tests: batches by classical Runge-Kutta, and whether the segments of a run contain them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vernal.interpret.concrete import compile as compiled
from vernal.interpret.flow.integration import Segments
from vernal.interpret.numbers.rounding import Array, Floats
from vernal.model.expr import Expr
from vernal.model.flow import Flow


class Simulation:
    """Many trajectories at once; disturbances are constant on each of a number of legs, different in each."""

    def __init__(self, flow: Flow, seed: int, legs: int = 8, steps: int = 64) -> None:
        self.flow, self.legs, self.steps = flow, legs, steps
        self.rng = np.random.default_rng(seed)
        self.rates = compiled(flow.vector_field)

    def run(self, start: Floats, horizon: float) -> tuple[Floats, Floats]:
        """Times (m,) and states (m, batch, n)."""
        h = horizon / (self.legs * self.steps)
        states = [start]
        for _ in range(self.legs):
            shares = self._shares(len(start))
            for _ in range(self.steps):
                states.append(self._step(states[-1], shares, h))
        return np.asarray(np.arange(len(states)) * h, dtype=np.float64), np.array(states)

    def _shares(self, batch: int) -> Floats:
        """Where in its interval each disturbance is: at an end more often than not."""
        shares = self.rng.uniform(-1, 2, (batch, max(1, len(self.flow.disturbances))))
        return np.clip(shares, 0, 1)

    def _step(self, x: Floats, shares: Floats, h: float) -> Floats:
        k1 = self._rates(x, shares)
        k2 = self._rates(x + h / 2 * k1, shares)
        k3 = self._rates(x + h / 2 * k2, shares)
        k4 = self._rates(x + h * k3, shares)
        return np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    def _rates(self, x: Floats, shares: Floats) -> Floats:
        inputs: dict[Expr, Floats] = {var: x[:, i] for i, var in enumerate(self.flow.vars)}
        inputs |= {node: shares[:, i] for i, node in enumerate(self.flow.disturbances)}
        return np.stack([np.broadcast_to(rate, len(x)) for rate in self.rates(inputs, len(x))], 1)


def escapes(
    segments: Segments,
    directions: Floats,
    region: Sequence[tuple[float, float]],
    times: Floats,
    states: Floats,
    origins: Array,
    tolerance: float = 1e-8,
) -> list[str]:
    """Trajectories that are in no segment from their box at some time, as long as they are inside the region."""
    low, high = np.array(region).T
    followed = np.ones(states.shape[1], dtype=bool)
    found = []
    for time, x in zip(times[::4], states[::4], strict=True):
        followed &= ((x >= low) & (x <= high)).all(1)
        there = (segments.times[:, 0] <= time) & (time <= segments.times[:, 1])
        for origin in np.unique(origins[followed]):
            mine = followed & (origins == origin) & (time <= segments.until[origin])
            own = there & (segments.sets.trail == origin)
            values = x[mine] @ directions.T
            inside = (values[:, None] >= segments.sets.lower[own] - tolerance) & (
                values[:, None] <= segments.sets.upper[own] + tolerance
            )
            if not inside.all(2).any(1).all():
                found.append(f"from box {origin} at time {time:.5f}: {x[mine][~inside.all(2).any(1)][0]}")
        if time <= segments.inside.min() and not followed.all():
            found.append(f"outside the region at time {time:.5f}, though all should be inside")
    return found
