"""Whether boxes are covered by a union of boxes, for many at once.

The ends of all boxes cut each component into points and the open intervals between them; a table says which products of
these the union fills. A closed box is covered if every product it meets is filled, which sums over the table tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.template_sets import TemplateSets
from vernal.interpret.numbers.rounding import Floats

MAX_TABLE = 1 << 24  # entries of the table
MAX_NUMBERS = 10  # components; sums over the table take twice as long with each


@dataclass(frozen=True)
class _FilledTable:
    """The union of boxes with the same labels: the ends of each component, and sums over what is filled."""

    ends: list[Floats]
    sums: NDArray[np.int64]  # of filled entries before each one

    def holds(self, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Which boxes are covered."""
        inside = np.ones(len(low), bool)
        for place, ends in enumerate(self.ends):
            inside &= (low[:, place] >= ends[0]) & (high[:, place] <= ends[-1])
        first, last = _places(self.ends, low), _places(self.ends, high) + 1
        wanted = np.maximum(last - first, 0).prod(axis=1)
        known = inside[:, None]
        full = self._count(np.where(known, first, 0), np.where(known, last, 0))
        return np.asarray(inside & (full == wanted))

    def _count(self, first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many entries between two corners are filled, by inclusion and exclusion."""
        n = first.shape[1]
        total = np.zeros(len(first), np.int64)
        for sides in _corners(n):
            sign = -1 if (n - int(sides.sum())) % 2 else 1
            total += sign * self.sums[tuple(np.where(sides, last, first).T)]
        return total


def _corners(n: int) -> list[NDArray[np.bool_]]:
    return [np.array([corner >> place & 1 for place in range(n)], bool) for corner in range(1 << n)]


def _places(ends: list[Floats], values: Floats) -> NDArray[np.intp]:
    """Which entry each value is in: an even one at an end, an odd one between two."""
    made = np.empty(values.shape, np.intp)
    for place, own in enumerate(ends):
        at = np.searchsorted(own, values[:, place], "right") - 1
        made[:, place] = 2 * at + (own[np.clip(at, 0, len(own) - 1)] != values[:, place])
    return made


class Coverage:
    """A union of boxes, by labels. `whole`: integer components, in which a box reaches up to the next integer."""

    def __init__(self, cells: TemplateSets, whole: NDArray[np.bool_]) -> None:
        self.tables: dict[tuple[int, ...], _FilledTable | None] = {}
        low, high = cells.ranges()
        low, high = np.where(whole, low - 0.5, low), np.where(whole, high + 0.5, high)
        for labels in np.unique(cells.labels, axis=0) if len(cells) else ():
            own = (cells.labels == labels).all(axis=1)
            self.tables[tuple(labels.tolist())] = _table(low[own], high[own])

    def holds(self, cells: TemplateSets) -> NDArray[np.bool_]:
        """Which cells are covered."""
        found = np.zeros(len(cells), bool)
        low, high = cells.ranges()
        for labels, table in self.tables.items():
            own = (cells.labels == np.array(labels, np.int64)).all(axis=1)
            if table is not None and own.any():
                found[own] = table.holds(low[own], high[own])
        return found


def _table(low: Floats, high: Floats) -> _FilledTable | None:
    """The table of a union; None where it would be too large, or there are no boxes."""
    n = low.shape[1]
    ends = [np.unique(np.concatenate([low[:, place], high[:, place]])) for place in range(n)]
    shape = tuple(2 * len(own) - 1 for own in ends)
    if n > MAX_NUMBERS or np.prod([size + 1.0 for size in shape]) > MAX_TABLE:
        return None
    first, last = _places(ends, low), _places(ends, high) + 1
    marks = np.zeros(tuple(size + 1 for size in shape), np.int64)
    for sides in _corners(n):
        np.add.at(marks, tuple(np.where(sides, last, first).T), -1 if int(sides.sum()) % 2 else 1)
    for axis in range(n):
        marks = marks.cumsum(axis=axis)
    sums = np.zeros_like(marks)
    sums[tuple(slice(1, None) for _ in shape)] = marks[tuple(slice(0, size) for size in shape)] > 0
    for axis in range(n):
        sums = sums.cumsum(axis=axis)
    return _FilledTable(ends, sums)
