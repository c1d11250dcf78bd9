"""Linear programs in floating point: what comes of them is a proposal, which counts only once it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import Floats

ColumnLimits = Sequence[tuple[float | None, float | None]]  # of each variable; None is no limit
ROWLESS = np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class FloatOptimum:
    """A point, and the multipliers under which rows and equations add up to the function; none is negative of a row."""

    point: Floats
    multipliers: Floats
    of_equations: Floats


def minimise(
    c: Floats,
    rows: Floats,
    ends: Floats,
    limits: ColumnLimits,
    equations: Floats | None = None,
    values: Floats | None = None,
) -> FloatOptimum | None:
    """The least `c x` with `rows x <= ends` and `equations x = values`; None where the solver does not say.

    Numbers that are no floats (a bound that overflowed) are no program either.
    """
    from scipy.optimize import linprog

    given = [array for array in (c, rows, ends, equations, values) if array is not None]
    if not all(np.isfinite(array).all() for array in given):
        return None
    result = linprog(
        c,
        A_ub=rows if len(rows) else None,
        b_ub=ends if len(rows) else None,
        A_eq=equations,
        b_eq=values,
        bounds=limits,
        method="highs",
    )
    if result.status != 0 or result.x is None:
        return None
    below = np.maximum(-np.asarray(result.ineqlin.marginals, np.float64), 0.0) if len(rows) else ROWLESS
    equal = -np.asarray(result.eqlin.marginals, np.float64) if equations is not None else ROWLESS
    return FloatOptimum(np.asarray(result.x, np.float64), below, equal)
