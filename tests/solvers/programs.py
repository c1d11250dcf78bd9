"""Small programs with known answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.solvers.base import MilpProblem

INFINITE = float("inf")


def milp(
    objective: Sequence[float],
    rows: Sequence[tuple[Sequence[float], float, float]] = (),
    *,
    lower: float = 0.0,
    upper: float = 10.0,
    integer: bool = False,
) -> MilpProblem:
    """Maximise over columns with common bounds; rows are (coefficients, lower, upper), stored densely."""
    n, m = len(objective), len(rows)
    return MilpProblem(
        np.full(n, lower),
        np.full(n, upper),
        np.full(n, integer),
        np.array(objective, dtype=np.float64),
        np.arange(0, n * m + 1, n, dtype=np.int64),
        np.tile(np.arange(n, dtype=np.int64), m),
        np.array([value for row, _, _ in rows for value in row], dtype=np.float64),
        np.array([low for _, low, _ in rows], dtype=np.float64),
        np.array([high for _, _, high in rows], dtype=np.float64),
    )


def knapsack(items: int, rows: int, seed: int = 0) -> MilpProblem:
    """A multi-dimensional knapsack: easy to fill, hard to fill best."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 100, (rows, items)).astype(float)
    limits = [(row.tolist(), -INFINITE, float(row.sum() / 2)) for row in weights]
    return milp(rng.integers(1, 100, items).tolist(), limits, upper=1.0, integer=True)


def violation(problem: MilpProblem, point: Floats) -> float:
    """By how much a point misses the rows, bounds and integrality it should meet; 0 if it meets all."""
    integral = np.abs(point - np.round(point))[problem.integer]
    products = problem.values * point[problem.indices]
    sums = np.zeros(problem.rows)
    np.add.at(sums, np.repeat(np.arange(problem.rows), np.diff(problem.starts)), products)
    ends = (problem.lower - point, point - problem.upper, problem.row_lower - sums, sums - problem.row_upper)
    return max(0.0, *(float(miss.max(initial=0.0)) for miss in (*ends, integral)))
