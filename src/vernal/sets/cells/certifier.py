"""The three conditions of an invariant, certified: whatever proposed the cells, nothing else is believed.

Images come from linear bounds over floats around the cells, and are compared with floats inside them. Where only
rounding stands in the way, exact ends of the operators are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, labelled, within
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.model import build
from vernal.model.graph import variables
from vernal.model.initial import InitialSet
from vernal.sets.cells.coverage import Coverage
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.exact_cells import ExactEnds, RationalCells, as_they_are
from vernal.sets.cells.images import Images

CELLS_PER_BATCH = 2048  # cells moved at once
MAX_STARTS = 4096  # combinations of discrete initial values


class TooManyStarts(Exception):
    """There are more discrete initial states than are looked at."""


@dataclass(frozen=True)
class StartBox:
    """A part of the initial set: labels, and exact ends of the numbers."""

    labels: tuple[int, ...]
    ends: tuple[tuple[Fraction, Fraction], ...]


def initial_parts(dynamics: WatchedLoop) -> list[StartBox]:
    """The initial set as far as the invariant sees it, constraints left aside."""
    initial = _seen(dynamics)
    if initial.count > MAX_STARTS:
        raise TooManyStarts
    found: dict[StartBox, None] = {}
    for part in initial.alternatives():
        labels = tuple(int(part.starts[var][i].first) for var, i in dynamics.labels)
        found[StartBox(labels, tuple(part.starts[var][i].ends for var, i in dynamics.numbers))] = None
    return list(found)


def _seen(dynamics: WatchedLoop) -> InitialSet:
    whole = dynamics.system.initial
    return InitialSet({var: entry for var, entry in whole.starts.items() if var in set(dynamics.followed)})


class Certifier:
    """The conditions, for one loop."""

    def __init__(self, dynamics: WatchedLoop, images: Images) -> None:
        self.dynamics, self.images = dynamics, images
        self.starts = initial_parts(dynamics)
        self.ends = ExactEnds(dynamics)
        self.where = build.conj(*dynamics.system.init.where)

    def initial_cells(self, template: Template) -> TemplateSets:
        """Cells around the initial states."""
        low = np.array([[float_below(low) for low, _ in start.ends] for start in self.starts])
        high = np.array([[float_above(high) for _, high in start.ends] for start in self.starts])
        n = len(self.dynamics.numbers)
        low, high = low.reshape(len(self.starts), n), high.reshape(len(self.starts), n)
        labels = np.array([start.labels for start in self.starts], dtype=np.int64)
        labels = labels.reshape(len(self.starts), len(self.dynamics.labels))
        cells = labelled(template, *template.over_boxes(low, high), labels)
        if self.where is build.TRUE or not self._is_over_followed():
            return cells
        return self.images.where(cells, self.where)

    def _is_over_followed(self) -> bool:
        return set(variables([self.where])) <= set(self.dynamics.followed)

    # The conditions ---------------------------------------------------------------------------------------------------

    def proves(self, cells: RationalCells, prefix: Sequence[RationalCells] = ()) -> bool:
        """Whether the cells, after the prefix, are an invariant that proves the claim."""
        unions = [*prefix, cells]
        if not self.holds_initial(unions[0]) or not self.keeps(cells):
            return False
        return all(self.leads(one, other) for one, other in zip(unions, [*unions[1:], cells], strict=True))

    def proves_joined(self, cells: RationalCells, parts: TemplateSets, prefix: Sequence[RationalCells] = ()) -> bool:
        """The same of boxes that other boxes make up, of which images are tighter."""
        around = cells.outer
        if not Coverage(parts, self.dynamics.whole).holds(around).all():
            return False
        small, unions = as_they_are(parts), [*prefix, cells]
        if not self.holds_initial(unions[0]) or not self.keeps(small):
            return False
        return all(self.leads(one, other) for one, other in zip([*prefix, small], [*unions[1:], cells], strict=True))

    def holds_initial(self, cells: RationalCells) -> bool:
        """Whether every initial state is in the cells."""
        if all(self._is_inside(start, cells) for start in self.starts):
            return True
        around = self.initial_cells(cells.template)
        return bool(self._covered(around, cells).all())

    def _is_inside(self, start: StartBox, cells: RationalCells) -> bool:
        """Whether one of the cells holds a box, in rationals."""
        rows = [[Fraction(a) for a in row] for row in cells.template.rows.tolist()]
        for member in np.flatnonzero((cells.labels == np.array(start.labels, np.int64)).all(axis=1)).tolist():
            if all(
                _between(row, start, low, high)
                for row, low, high in zip(rows, cells.lower[member], cells.upper[member], strict=True)
            ):
                return True
        return False

    def keeps(self, cells: RationalCells) -> bool:
        """Whether what is to be kept is true in every cell."""
        good = np.concatenate([self.images.keeps(part, self.dynamics.keep) for part in _batches(cells.outer)])
        open_cells = np.flatnonzero(~good).tolist()
        return all(self.ends.keeps(cells, member, self.dynamics.keep) for member in open_cells)

    def leads(self, cells: RationalCells, others: RationalCells) -> bool:
        """Whether every step from the cells ends in the others."""
        done = 0
        for part in _batches(cells.outer):
            source, moved = self.images.after(part)
            left = np.flatnonzero(~self._covered(moved, others)).tolist()
            if not all(self._ends_inside(cells, done + int(source[at]), moved, at, others) for at in left):
                return False
            done += len(part)
        return True

    def _covered(self, moved: TemplateSets, cells: RationalCells) -> NDArray[np.bool_]:
        """Which cells are in one of the others, or, of boxes, in their union."""
        inner = cells.inner
        if cells.template.is_box and len(cells) > 1:
            return Coverage(inner, self.dynamics.whole).holds(moved)
        return within(moved, inner)

    def _ends_inside(
        self, cells: RationalCells, source: int, moved: TemplateSets, at: int, others: RationalCells
    ) -> bool:
        """Whether exact ends show what rounded bounds did not: bound by bound, one of both has to be inside."""
        n = cells.template.size
        ends = self.ends.after(cells, source)
        inner = others.inner
        for member in np.flatnonzero((others.labels == moved.labels[at]).all(axis=1)).tolist():
            below = moved.lower[at] >= inner.lower[member]
            above = moved.upper[at] <= inner.upper[member]
            for place in range(n):
                low, high = ends[place]
                least, most = others.lower[member][place], others.upper[member][place]
                below[place] |= least is None or (low is not None and low >= least)
                above[place] |= most is None or (high is not None and high <= most)
            if below.all() and above.all():
                return True
        return False


def _batches(cells: TemplateSets) -> list[TemplateSets]:
    return [cells.rows(slice(at, at + CELLS_PER_BATCH)) for at in range(0, max(len(cells), 1), CELLS_PER_BATCH)]


def _between(row: Sequence[Fraction], start: StartBox, low: Fraction | None, high: Fraction | None) -> bool:
    least = most = Fraction(0)
    for a, (first, last) in zip(row, start.ends, strict=True):
        least += a * (first if a > 0 else last)
        most += a * (last if a > 0 else first)
    return (low is None or least >= low) and (high is None or most <= high)
