"""Boxes around boxes: cells of a grid that cover them, by their numbers, and hulls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, floor

import numpy as np

from vernal.interpret.numbers.rounding import Floats, Mask


class CellGrid:
    """Boxes of one size, numbered along each variable; a variable of no width has one value in each cell."""

    def __init__(self, widths: Floats) -> None:
        self.widths = widths

    def around(self, boxes: Floats) -> Iterator[tuple[int, ...]]:
        """The cells that cover boxes (k, 2, n), each box in turn."""
        for low, high in boxes:
            yield from product(*map(self._numbers, low, high, self.widths))

    def _numbers(self, low: float, high: float, width: float) -> range:
        """Those of the cells between two ends; widths are powers of two, so that quotients are exact."""
        if not width:
            return range(round(low), round(high) + 1)
        first = floor(low / width)
        return range(first, max(ceil(high / width), first + 1))

    def boxes(self, numbers: list[tuple[int, ...]]) -> Floats:
        """The cells of some numbers, (k, 2, n)."""
        index = np.array(numbers, dtype=float).reshape(len(numbers), -1)
        return np.stack([np.where(self.widths > 0, (index + k) * self.widths, index) for k in (0, 1)], axis=1)


def hulls(boxes: Floats, whole: Mask) -> Floats:
    """The smallest boxes around boxes (k, 2, n), one for each combination of values of the `whole` columns."""
    found, which = np.unique(boxes[:, 0][:, whole], axis=0, return_inverse=True)
    which, shape = which.reshape(-1), (len(found), boxes.shape[2])
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.minimum.at(low, which, boxes[:, 0])
    np.maximum.at(high, which, boxes[:, 1])
    return np.stack([low, high], axis=1)
