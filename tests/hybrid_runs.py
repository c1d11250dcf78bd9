"""Simulated trajectories of affine hybrid automata, and whether flowpipes have them; locations lie side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vernal.engines.flow.template import octagon
from vernal.evidence.flowpipe import Flowpipe
from vernal.model.hybrid import HybridAutomaton

Vector = NDArray[np.float64]


def field(automaton: HybridAutomaton) -> Callable[[Vector], Vector]:
    """A x + b of the location that each point is in, or nearest to."""
    sizes = [len(location.invariant.offsets) for location in automaton.locations]
    normals = np.concatenate([location.invariant.normals for location in automaton.locations])
    lengths = np.linalg.norm(normals, axis=1)
    rows = (normals / lengths[:, None]).T
    offsets = np.concatenate([location.invariant.offsets for location in automaton.locations]) / lengths
    begins = np.cumsum([0, *sizes[:-1]])
    matrices = np.stack([location.matrix for location in automaton.locations])
    drifts = np.stack([location.drift for location in automaton.locations])

    def at(points: Vector) -> Vector:
        owner = np.minimum.reduceat(offsets - points @ rows, begins, axis=1).argmax(axis=1)
        return np.asarray(np.einsum("pij,pj->pi", matrices[owner], points) + drifts[owner])

    return at


def trajectories(
    automaton: HybridAutomaton, lower: Vector, upper: Vector, steps: int, dt: float, count: int = 1000, seed: int = 0
) -> tuple[Vector, NDArray[np.bool_]]:
    """States (steps + 1, count, n) from corners and points of a box, under disturbances at their ends that sometimes
    change; and whether each is still inside the region.
    """
    rng = np.random.default_rng(seed)
    n = len(lower)
    shares = np.where(rng.random((count, 1)) < 0.7, rng.integers(0, 2, (count, n)), rng.random((count, n)))
    x = lower + shares * (upper - lower)
    patience = rng.choice([0.0, 0.002, 0.05], (count, 1))
    d = rng.choice([-1.0, 1.0], (count, n)) * automaton.radius
    inside, rate = np.ones(count, dtype=bool), field(automaton)
    states, alive = [x], [inside]
    for _ in range(steps):
        d = np.where(rng.random((count, 1)) < patience, rng.choice([-1.0, 1.0], (count, n)) * automaton.radius, d)
        k1 = rate(x) + d
        k2 = rate(x + dt / 2 * k1) + d
        k3 = rate(x + dt / 2 * k2) + d
        k4 = rate(x + dt * k3) + d
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        inside = inside & ((x >= automaton.lower) & (x <= automaton.upper)).all(axis=1)
        states.append(x)
        alive.append(inside)
    return np.stack(states), np.stack(alive)


def outside(pipe: Flowpipe, states: Vector, alive: NDArray[np.bool_], dt: float, tolerance: float = 1e-6) -> int:
    """How many of the states are in no segment of their time."""
    count = 0
    for index, (points, here) in enumerate(zip(states, alive, strict=True)):
        time = index * dt
        now = (pipe.times[:, 0] <= time) & (time <= pipe.times[:, 1])
        values = points[here] @ pipe.directions.T  # (points, d)
        fits = (values[:, None] <= pipe.upper[now] + tolerance) & (values[:, None] >= pipe.lower[now] - tolerance)
        count += int((~fits.all(axis=2).any(axis=1)).sum())
    return count


def template(n: int) -> Vector:
    return np.concatenate([np.eye(n), octagon(n)])


def at(found: Flowpipe, time: float) -> tuple[Vector, Vector]:
    """The bounds around all segments of a time."""
    now = (found.times[:, 0] <= time) & (time <= found.times[:, 1])
    return found.lower[now].min(axis=0), found.upper[now].max(axis=0)


def gap(found: Flowpipe, lower: Vector, upper: Vector) -> float:
    """The least over all segments of the largest distance to a box in a direction: above 0, it is not met."""
    least = np.minimum(found.directions * lower, found.directions * upper).sum(axis=1)
    most = np.maximum(found.directions * lower, found.directions * upper).sum(axis=1)
    return float(np.maximum(least - found.upper, found.lower - most).max(axis=1).min())
