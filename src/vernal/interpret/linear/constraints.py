"""Linear constraints on the inputs tighten bounds without a solver: any multiplier that is not negative is sound.

For p in a box with C p <= d: min a.p >= min (a + l C).p - l.d for every l >= 0. Along one multiplier the right side is
concave and piecewise linear, so its best point is one of the breaks; the multipliers are visited in turn, and where
that gets stuck on a ridge, a few supergradient steps go on. Whatever is found is then evaluated with rounding.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from vernal.interpret.linear.rows import Rows, lower_bounds
from vernal.interpret.numbers.rounding import TINY, Array, Backend, gamma

SWEEPS = 2
STEPS = 24


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
    weights = _multipliers(backend, A[..., :k], C, d, centre[:, None, :k], radius[:, None, :k])
    tilted = Rows(rows.graph, rows.index, rows.constant)
    total, cost = A, abs(A)
    for i in range(C.shape[1]):
        weight = weights[..., i]
        total = _shift(backend, total, weight, C[:, i], k)
        cost = _shift(backend, cost, weight, abs(C[:, i]), k)
        share = weight * d[:, i : i + 1]
        tilted.gain(-share)
        tilted.lose(4.0 * gamma(1) * abs(share))
    tilted.lose(tilted.weigh(cost, gamma(2 * C.shape[1] + 4) * size[:, : A.shape[-1]]))
    tilted.coefficients = total
    return backend.xp.maximum(low, lower_bounds(tilted))


def _shift(backend: Backend, A: Array, weight: Array, c: Array, count: int) -> Array:
    """A + weight * c on the constrained columns."""
    more = weight[..., None] * c[:, None, :]
    if A.shape[-1] == count:
        return cast(Array, A + more)
    parts = [A[..., :count] + more, A[..., count:]]
    return backend.concat(parts, -1)


def _multipliers(backend: Backend, A: Array, C: Array, d: Array, centre: Array, radius: Array) -> Array:
    """Good multipliers, none negative: (groups, r, constraints)."""
    count = C.shape[1]
    weights = backend.xp.zeros_like(A[..., :1]) + backend.xp.zeros_like(d[:, None, :])

    def bound(w: Array) -> tuple[Array, Array]:
        tilted = A + w @ C
        value = backend.dot(tilted, centre) - backend.dot(abs(tilted), radius) - backend.dot(w, d[:, None, :])
        return tilted, value

    for turn in range(SWEEPS * count if count > 1 else 1):
        i = turn % count
        tilted, _ = bound(weights)
        step = _best(backend, tilted, C[:, i], d[:, i], centre, radius, -weights[..., i])
        weights[..., i] = backend.positive(weights[..., i] + step)
    if count == 1:
        return weights
    tilted, best = bound(weights)
    current, start = weights, abs(A).sum(-1) / (abs(C).sum(-1).sum(-1)[:, None] + TINY)
    for turn in range(STEPS):
        worst = centre - backend.xp.sign(tilted) * radius  # where the tilted row is least
        slope = backend.xp.matmul(worst, C.transpose(1, 2) if not backend.native else C.transpose(0, 2, 1)) - d[:, None]
        length = backend.xp.sqrt(backend.dot(slope, slope) + TINY)[..., None]
        current = backend.positive(current + (start / (turn + 1))[..., None] * slope / length)
        tilted, value = bound(current)
        better = value > best
        best = backend.where(better, value, best)
        weights = backend.where(better[..., None], current, weights)
    return backend.where(backend.xp.isfinite(weights), weights, 0.0)


def _best(backend: Backend, A: Array, c: Array, d: Array, centre: Array, radius: Array, least: Array) -> Array:
    """The best change (at least `least`) of one multiplier: a break of the concave bound, or none."""
    breaks = backend.where(c[:, None, :] == 0, 0.0, -A / c[:, None, :])
    breaks = backend.where(backend.xp.isfinite(breaks), breaks, 0.0)
    zero = backend.xp.zeros_like(least)
    best, gain = zero, zero - np.inf
    for step in [zero, least, *(breaks[..., i] for i in range(breaks.shape[-1]))]:
        step = backend.xp.maximum(step, least)
        tilted = A + step[..., None] * c[:, None, :]
        value = backend.dot(tilted, centre) - backend.dot(abs(tilted), radius) - step * d[:, None]
        better = value > gain
        best, gain = backend.where(better, step, best), backend.where(better, value, gain)
    return best
