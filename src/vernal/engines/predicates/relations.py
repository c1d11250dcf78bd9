"""Comparisons that relate several variables: sums of columns between two ends, and points moved to where they are so.

A comparison of one variable is an end of a box. One of several is not, and is kept beside the box: it tightens the box,
takes part in bounds over it, and says which of its points are worth a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.engines.predicates.atoms import AtomTable, Comparison, Condition, conjuncts
from vernal.engines.predicates.boxes import IntegerArray, IntegerBoxes
from vernal.interpret.numbers.rounding import Floats, Mask

MAX_RELATIONS = 6  # of one conjunction that bounds take into account


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """Sums of columns that have to be between two ends, batched; an infinite end asks nothing."""

    factors: Floats  # (boxes, sums, columns)
    least: Floats  # (boxes, sums)
    most: Floats

    @property
    def count(self) -> int:
        return int(self.least.shape[1])

    @property
    def any(self) -> Mask:
        """(boxes,): where anything is asked."""
        return np.asarray(np.abs(self.factors).sum(axis=(1, 2)) > 0)

    def take(self, which: IntegerArray | Mask) -> Relations:
        """Those of some boxes, perhaps several times."""
        return Relations(self.factors[which], self.least[which], self.most[which])

    def over(self, columns: IntegerArray, boxes: IntegerBoxes) -> Relations:
        """What is left for some columns where the others are anywhere in their boxes."""
        others = self.factors.copy()
        others[:, :, columns] = 0.0
        above, below = np.maximum(others, 0.0), np.minimum(others, 0.0)
        lower, upper = boxes.lower[:, :, None], boxes.upper[:, :, None]
        lowest, highest = (above @ lower + below @ upper)[:, :, 0], (above @ upper + below @ lower)[:, :, 0]
        return Relations(self.factors[:, :, columns], self.least - highest, self.most - lowest)


def relations(table: AtomTable, conjunctions: Sequence[Sequence[Condition]]) -> Relations:
    """The sums that conjunctions of conditions speak of, a row for each; where one has fewer, the rest ask nothing."""
    found = [_sums(table, conditions) for conditions in conjunctions]
    count = min(max(map(len, found), default=0), MAX_RELATIONS)
    factors = np.zeros((len(found), count, len(table.columns)))
    least, most = np.full((len(found), count), -np.inf), np.full((len(found), count), np.inf)
    for row, sums in enumerate(found):
        for place, (terms, ends) in enumerate(list(sums.items())[:count]):
            for column, factor in terms:
                factors[row, place, column] = factor
            least[row, place], most[row, place] = ends
    return Relations(factors, least, most)


SumTerms = tuple[tuple[int, int], ...]


def _sums(table: AtomTable, conditions: Sequence[Condition]) -> dict[SumTerms, tuple[float, float]]:
    """By the sum, between which ends comparisons of several variables want it."""
    found: dict[SumTerms, tuple[float, float]] = {}
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, Comparison):
                terms, most = table.atoms[part.atom]
                if len(terms) > 1:
                    low, high = found.get(terms, (-np.inf, np.inf))
                    found[terms] = (low, min(high, most)) if part.wanted else (max(low, most + 1.0), high)
    return found


def moved(points: Floats, boxes: IntegerBoxes, asked: Relations, rng: np.random.Generator) -> Floats:
    """Points of boxes (one each), their columns changed one by one until sums are between their ends, if that goes."""
    points = points.copy()
    for number in range(asked.count):
        factors, least, most = asked.factors[:, number], asked.least[:, number], asked.most[:, number]
        value = (factors * points).sum(axis=1)
        some: Mask = np.asarray(factors.any(axis=0))
        for column in (column for column in rng.permutation(len(some)).tolist() if some[column]):
            missing = np.where(value > most, most - value, np.where(value < least, least - value, 0.0))
            own = factors[:, column]
            steps = np.trunc(np.divide(missing, own, out=np.zeros(len(own)), where=own != 0))
            after = np.clip(points[:, column] + steps, boxes.lower[:, column], boxes.upper[:, column])
            value += own * (after - points[:, column])
            points[:, column] = after
    return points
