"""A linear program that gets more rows or other costs: HiGHS goes on from the last basis, much faster than anew.

What it finds is a proposal in floating point, for those who check it or need no proof.
"""

from __future__ import annotations

import highspy
import numpy as np

from vernal.interpret.numbers.rounding import Floats


class GrowingProgram:
    """The least `cost x` with `lower <= x <= upper` and all rows so far."""

    def __init__(self, cost: Floats, lower: Floats, upper: Floats) -> None:
        self.columns = len(cost)
        self._index = np.arange(self.columns, dtype=np.int32)
        self._highs = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
            self._highs.setOptionValue(option, value)
        self._highs.addVars(self.columns, lower, upper)
        self._highs.changeColsCost(self.columns, self._index, cost)

    def add(self, rows: Floats, ends: Floats) -> None:
        """Ask for `rows x <= ends` as well."""
        count = len(rows)
        starts = np.arange(0, count * self.columns, self.columns, dtype=np.int32)
        below = np.full(count, -np.inf)
        self._highs.addRows(count, below, ends, rows.size, starts, np.tile(self._index, count), rows.ravel())

    def minimise(self, cost: Floats | None = None) -> Floats | None:
        """A point with the least value, of another cost if one is given; None where the solver does not say."""
        if cost is not None:
            self._highs.changeColsCost(self.columns, self._index, cost)
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(self._highs.getSolution().col_value, dtype=np.float64)

    def multipliers(self) -> Floats:
        """How much each row adds to the cost at the point found last; none is negative."""
        return np.maximum(-np.array(self._highs.getSolution().row_dual, dtype=np.float64), 0.0)
