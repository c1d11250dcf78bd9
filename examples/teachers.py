"""Teachers: controllers that see the whole state of a world, computed from the world itself, by stepping it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import solve_discrete_are

import vernal as vn
from examples.playing import Array, State


def balance(world: str, cost: Mapping[str, float], effort: float, reach: float = 1e-5) -> Array:
    """Gains of the linear-quadratic regulator at rest in 0, for a world with two actions, as u from -1 to 1.

    The linear model comes from differences between steps of the world from points around 0.
    """
    n, names = len(cost), list(cost)
    points = np.vstack([reach * np.eye(n), -reach * np.eye(n)])
    less, more = (_after(world, names, points, action) for action in (0, 1))
    A = ((less + more)[:n] - (less + more)[n:]).T / (4 * reach)
    B = (more - less).mean(axis=0)[:, None] / 2
    Q, R = np.diag(list(cost.values())), np.array([[effort]])
    P = solve_discrete_are(A, B, Q, R)
    gains: Array = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0]
    return gains


def _after(world: str, names: Sequence[str], points: Array, action: int) -> Array:
    many = vn.worlds.batch(world, len(points), 0)
    many.reset(state=dict(zip(names, points.T, strict=True)))
    (agent,) = many.agents
    many.step({agent: np.full(len(points), action)})
    return np.column_stack([many.state[name] for name in names])


def pushes(state: State, cost: Mapping[str, float], gains: Array, most: float) -> Array:
    """Scores of pushing down and up: how much the regulator wants either, at most so much."""
    wanted = -sum(gain * state[name] for gain, name in zip(gains, cost, strict=True))
    wanted = np.clip(wanted, -most, most)
    return np.stack([-wanted, wanted], axis=1)
