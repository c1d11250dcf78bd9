"""How far linear functions go over boxes cut by half-spaces: certified bounds, whoever proposed the multipliers.

The largest value of a.x over a box with R x <= r is at most y.r + max over the box of (a - R'y).x for every y >= 0.
Corners, a solver, a game or a guess propose the multipliers y, in floating point; the bound is computed from them with
outward rounding, so that a wrong proposal costs tightness and nothing else.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Floats, gamma


def box_maximum(A: Floats, c: Floats, low: Floats, high: Floats) -> Floats:
    """Upper bounds of A x + c, (..., K, n) and (..., K), over boxes (..., n); rounded up."""
    with np.errstate(invalid="ignore", over="ignore"):
        return _summed(_highest(A, low, high), c)


def dual_maximum(
    A: Floats, c: Floats, low: Floats, high: Floats, rows: Floats, ends: Floats, multipliers: Floats
) -> Floats:
    """The same where rows x <= ends, (..., q, n) and (..., q), by multipliers (..., K, q), none of them negative."""
    rest, count = A - multipliers @ rows, multipliers.shape[-1]
    doubt = gamma(count + 4) * (np.abs(A) + multipliers @ np.abs(rows)) * (1 + 1e-12) + TINY  # of each coefficient
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.maximum(np.abs(low), np.abs(high))[..., None, :]
        parts = (_highest(rest, low, high), doubt * size, multipliers * ends[..., None, :])
        return _summed(np.concatenate(parts, axis=-1), c)


def _highest(A: Floats, low: Floats, high: Floats) -> Floats:
    """Of every term its largest value over the box."""
    return np.where(A > 0, A * high[..., None, :], np.where(A < 0, A * low[..., None, :], 0.0))


def _summed(terms: Floats, c: Floats) -> Floats:
    """The sum along the last axis, rounded up; what is no number is infinite."""
    total = terms.sum(axis=-1) + c
    slack = gamma(terms.shape[-1] + 4) * (np.abs(terms).sum(axis=-1) + np.abs(c)) + TINY
    made = np.nextafter(total + slack, np.inf)
    return np.where(np.isnan(made) | (made == -np.inf), np.inf, made)
