"""Linear constraints on the inputs tighten bounds without a solver: any multiplier that is not negative is sound.

For p in a box with C p <= d: min a.p >= min (a + l C).p - l.d for every l >= 0. Along one multiplier the right side is
concave and piecewise linear, so its best point is one of the breaks; the multipliers are visited in turn.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.linear_rows import Rows, lower_bounds
from vernal.interpret.rounding import Array, Backend, gamma

SWEEPS = 2


class Constraints:
    """C p <= d, batched over boxes; the columns are the first `count` inputs."""

    def __init__(self, C: Array, d: Array, count: int) -> None:
        if C.ndim != 3 or d.ndim != 2 or C.shape[-1] != count or C.shape[1] != d.shape[1]:
            raise ValueError(f"constraints {tuple(C.shape)} and {tuple(d.shape)} do not fit {count} inputs")
        self.C, self.d, self.count = C, d, count


def tighten_rows(rows: Rows, low: Array, constraints: Constraints) -> Array:
    """Better lower bounds of finished rows, where the constraints give any."""
    backend, k = rows.backend, constraints.count
    assert rows.coefficients is not None
    A = rows.coefficients
    C, d = rows.take(constraints.C), rows.take(constraints.d)
    centre, radius, size = (rows.take(part) for part in rows.graph.inputs.ball)
    weights = [backend.xp.zeros_like(low) for _ in range(C.shape[1])]
    current = A
    for turn in range(SWEEPS * len(weights)):
        i = turn % len(weights)
        step = _best(backend, current, C[:, i], d[:, i], centre, radius, -weights[i])
        weights[i] = weights[i] + step
        current = _shift(backend, current, step, C[:, i], k)
    tilted = Rows(rows.graph, rows.index, rows.constant)
    total, cost = A, abs(A)
    for i, weight in enumerate(weights):
        weight = backend.positive(weight)
        total = _shift(backend, total, weight, C[:, i], k)
        cost = _shift(backend, cost, weight, abs(C[:, i]), k)
        share = weight * d[:, i : i + 1]
        tilted.gain(-share)
        tilted.lose(4.0 * gamma(1) * abs(share))
    tilted.lose(tilted.weigh(cost, gamma(2 * len(weights) + 4) * size[:, : A.shape[-1]]))
    tilted.coefficients = total
    return backend.xp.maximum(low, lower_bounds(tilted))


def _shift(backend: Backend, A: Array, weight: Array, c: Array, count: int) -> Array:
    """A + weight * c on the constrained columns."""
    more = weight[..., None] * c[:, None, :]
    if A.shape[-1] == count:
        return A + more
    parts = [A[..., :count] + more, A[..., count:]]
    return backend.xp.concatenate(parts, -1) if backend.native else backend.xp.concat(parts, -1)


def _best(backend: Backend, A: Array, c: Array, d: Array, centre: Array, radius: Array, least: Array) -> Array:
    """The best change (at least `least`) of one multiplier: a break of the concave bound, or none."""
    k = c.shape[-1]
    breaks = backend.where(c[:, None, :] == 0, 0.0, -A[..., :k] / c[:, None, :])
    breaks = backend.where(backend.xp.isfinite(breaks), breaks, 0.0)
    zero = backend.xp.zeros_like(breaks[..., :1])
    tries = [breaks[..., i] for i in range(k)] + [zero[..., 0], least]
    best, gain = zero[..., 0], None
    for step in tries:
        step = backend.xp.maximum(step, least)
        tilted = A[..., :k] + step[..., None] * c[:, None, :]
        middle = backend.dot(tilted, centre[:, None, :k]) - backend.dot(abs(tilted), radius[:, None, :k])
        value = middle - step * d[:, None]
        if gain is None:
            best, gain = step, value
        better = value > gain
        best, gain = backend.where(better, step, best), backend.where(better, value, gain)
    return backend.where(np.abs(best) < np.inf if backend.native else best.isfinite(), best, 0.0)
