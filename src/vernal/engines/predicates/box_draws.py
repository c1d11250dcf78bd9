"""Points drawn from boxes of integers: the same from the same box, whatever else is drawn beside it.

So what a search finds depends on its question alone, in one process or in several. A set of random points is turned
for each box by what a hash of its ends says (R. Cranley, T. Patterson, SIAM J. Numer. Anal. 13, 1976).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.engines.predicates.boxes import IntegerArray, IntegerBoxes
from vernal.engines.predicates.relations import Relations, moved
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.sets.finite.table import hashes

BoxKeys = NDArray[np.uint64]  # one for each box

ORDERS = 4  # in which columns are changed, so that relations are satisfied in different ways
UNIT = 2.0**-53


def box_keys(boxes: IntegerBoxes, columns: Mask) -> BoxKeys:
    """What tells boxes apart in the columns that count for each, (boxes, columns)."""
    ends = [np.where(columns, end, 0.0).astype(np.int64) for end in (boxes.lower, boxes.upper)]
    return hashes(np.concatenate(ends, axis=1))


class BoxDraws:
    """Draws points from boxes."""

    def __init__(self, seed: int, columns: int) -> None:
        rng = np.random.default_rng(seed)
        self._turns = rng.integers(2**63, size=columns, dtype=np.uint64) | np.uint64(1)
        self._points: Floats = np.zeros((0, columns))
        self._rng = rng

    def points(self, boxes: IntegerBoxes, each: int, keys: BoxKeys) -> tuple[Floats, IntegerArray]:
        """So many points of each box, and whose they are."""
        owner = np.repeat(np.arange(len(boxes)), each)
        shares = (self._turned(keys)[:, None, :] + self._set_of(each)).reshape(len(owner), boxes.lower.shape[1])
        shares -= np.floor(shares)
        points = boxes.lower[owner] + np.floor(shares * (boxes.widths[owner] + 1))
        return np.minimum(points, boxes.upper[owner]), owner

    def _turned(self, keys: BoxKeys) -> Floats:
        """(boxes, columns): by how much the set is turned."""
        with np.errstate(over="ignore"):
            mixed = keys[:, None] * self._turns
            mixed ^= mixed >> np.uint64(31)
            mixed *= self._turns
        turned: Floats = (mixed >> np.uint64(11)).astype(np.float64) * UNIT
        return turned

    def _set_of(self, each: int) -> Floats:
        """The first so many of the random points that all boxes share."""
        missing = each - len(self._points)
        if missing > 0:
            self._points = np.concatenate([self._points, self._rng.random((missing, self._points.shape[1]))])
        return self._points[:each]

    def moved(self, points: Floats, boxes: IntegerBoxes, asked: Relations, columns: Mask) -> Floats:
        """Points of boxes (one each), moved to where relations are satisfied, in an order that the point says."""
        found = points.copy()
        orders = hashes(np.where(columns, points, 0.0).astype(np.int64)) % np.uint64(ORDERS)
        for order in np.unique(orders).tolist():
            rows = np.flatnonzero(orders == order)
            found[rows] = moved(points[rows], boxes.take(rows), asked.take(rows), np.random.default_rng(order))
        return found
