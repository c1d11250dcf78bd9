"""Cells of a grid: boxes of one size that cover others, by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, floor

import numpy as np

from vernal.interpret.numbers.rounding import Floats


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
