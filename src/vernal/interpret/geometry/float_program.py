"""Linear programs in floating point: what comes of them is a proposal, which counts only once it is checked."""

from __future__ import annotations

import threading
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
    given = [array for array in (c, rows, ends, equations, values) if array is not None]
    if not all(np.isfinite(array).all() for array in given):
        return None
    below = np.zeros((0, len(c))) if not len(rows) else rows
    equal = np.zeros((0, len(c))) if equations is None or values is None else equations
    fixed = ROWLESS if values is None else values
    lower = np.array([-np.inf if low is None else low for low, _ in limits])
    upper = np.array([np.inf if high is None else high for _, high in limits])
    least = np.concatenate([np.full(len(below), -np.inf), fixed])
    most = np.concatenate([ends[: len(below)], fixed])
    found = _solved(c, np.concatenate([below, equal]), least, most, lower, upper)
    if found is None:
        return None
    point, duals = found
    return FloatOptimum(point, np.maximum(-duals[: len(below)], 0.0), -duals[len(below) :])


def _solved(
    c: Floats, rows: Floats, least: Floats, most: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats] | None:
    """An optimal point and the dual of every row, by HiGHS itself: a wrapper takes six times as long for a few rows."""
    import highspy

    if not hasattr(_OWN, "solver"):
        _OWN.solver = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
            _OWN.solver.setOptionValue(option, value)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(c), len(rows)
    program.col_cost_, program.col_lower_, program.col_upper_ = c, lower, upper
    program.row_lower_, program.row_upper_ = least, most
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    row, column = np.nonzero(rows)
    program.a_matrix_.start_ = np.searchsorted(row, np.arange(len(rows) + 1))
    program.a_matrix_.index_ = column
    program.a_matrix_.value_ = rows[row, column]
    if _OWN.solver.passModel(program) == highspy.HighsStatus.kError:
        return None
    _OWN.solver.run()
    if _OWN.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = _OWN.solver.getSolution()
    return np.array(solution.col_value, dtype=np.float64), np.array(solution.row_dual, dtype=np.float64)


_OWN = threading.local()  # of every thread its solver: making one takes half as long as a small program
