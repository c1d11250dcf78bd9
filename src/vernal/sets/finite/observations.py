"""What a policy decides, remembered by what it sees: states that differ elsewhere share one run of its network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vernal.interpret.numbers.rounding import Mask
from vernal.model.expr import Argmax
from vernal.model.graph import decisions, variables
from vernal.sets.finite.columns import Columns
from vernal.sets.finite.table import Codes, Numbers, RowTable

MAX_OBSERVATIONS = 4_000_000  # remembered; with more, networks run for every state


class Observations:
    """The winners of an argmax at everything its network has seen so far."""

    def __init__(self, node: Argmax, columns: Columns) -> None:
        self.columns = columns.of(var for var in variables([node]) if var in columns.places)
        self.useful = len(self.columns) < columns.count and not decisions(node.args)
        self._table = RowTable(len(self.columns))
        self._winners: Mask = np.zeros((0, node.args[0].size), bool)

    def winners(self, rows: Codes, compute: Callable[[Numbers], Mask]) -> Mask:
        """Which components are largest ones in every row; computed for rows of which the like was not seen before."""
        if not self.useful or len(self._table) > MAX_OBSERVATIONS:
            return compute(np.arange(len(rows)))
        known = len(self._table)
        numbers = self._table.enter(rows[:, self.columns])
        fresh = np.flatnonzero(numbers >= known)
        if len(fresh):
            _, first = np.unique(numbers[fresh], return_index=True)
            self._keep(known, compute(fresh[first]))
        return self._winners[numbers]

    def _keep(self, known: int, winners: Mask) -> None:
        """Winners at the newest observations, in their order."""
        if len(self._table) > len(self._winners):
            grown = np.zeros((2 * len(self._table), winners.shape[1]), bool)
            grown[:known] = self._winners[:known]
            self._winners = grown
        self._winners[known : len(self._table)] = winners
