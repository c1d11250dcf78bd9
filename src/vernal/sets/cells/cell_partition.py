"""Invariants as unions of boxes: which boxes of a partition can be reached, and which can be stayed in for ever.

`reached` follows boxes of a grid from the initial states until no new one is met: the least fixpoint over the grid.
`greatest` goes backward: from boxes in which the claim's condition is true, those are removed from which a step may
lead out of what is left, until nothing changes; removed boxes are halved and tried again. Both propose cells only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.box_halves import halves
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, joined, labelled
from vernal.interpret.numbers.rounding import LEAST_FLOAT, Floats
from vernal.sets.cells.coverage import Coverage
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.images import Images

MAX_CELLS = 20_000
CELLS_PER_BATCH = 2048  # cells moved at once
HALVING_ROUNDS = 14  # of halving
MAX_IMAGE = 4096  # boxes of the grid that one image may meet
GridPlaces = NDArray[np.int64]


@dataclass(frozen=True)
class BoxGrid:
    """Boxes of equal size, counted from 0 on; an integer component has one for each integer."""

    step: Floats  # powers of two
    whole: NDArray[np.bool_]

    def places(self, low: Floats, high: Floats) -> tuple[GridPlaces, GridPlaces]:
        """The first and the last box that each of the given ones meets in its inside, component by component."""
        first = np.where(self.whole, np.ceil(low), np.floor(low / self.step))
        last = np.where(self.whole, np.floor(high), np.ceil(high / self.step) - 1)
        return first.astype(np.int64), np.maximum(last, first).astype(np.int64)

    def boxes(self, places: GridPlaces) -> tuple[Floats, Floats]:
        low = np.where(self.whole, places, places * self.step).astype(np.float64)
        return low, np.where(self.whole, places, (places + 1) * self.step).astype(np.float64)


def grid_of(width: Floats, whole: NDArray[np.bool_]) -> BoxGrid:
    """Boxes of about this width where components are real."""
    return BoxGrid(np.where(whole, 1.0, np.maximum(width, LEAST_FLOAT)), whole)


def reached(images: Images, dynamics: WatchedLoop, start: TemplateSets, grid: BoxGrid) -> TemplateSets | None:
    """All boxes of the grid that may be reached; None where one breaks the claim, or there are too many."""
    template = start.template
    known: set[bytes] = set()
    found: list[GridPlaces] = []
    waiting = [_met(start, grid)]
    while waiting:
        places = waiting.pop()
        if places is None:
            return None
        new = _new(places, known)
        if not len(new):
            continue
        found.append(new)
        if len(known) > MAX_CELLS:
            return None
        for at in range(0, len(new), CELLS_PER_BATCH):
            cells = grid_cells(new[at : at + CELLS_PER_BATCH], grid, template, start.labels.shape[1])
            if not images.keeps(cells, dynamics.keep).all():
                return None
            waiting.append(_met(images.after(cells)[1], grid))
    return grid_cells(np.concatenate(found), grid, template, start.labels.shape[1])


def grid_cells(places: GridPlaces, grid: BoxGrid, template: Template, labels: int) -> TemplateSets:
    """Boxes from their labels and places."""
    return labelled(template, *grid.boxes(places[:, labels:]), places[:, :labels])


def _new(places: GridPlaces, known: set[bytes]) -> GridPlaces:
    keys = [row.tobytes() for row in places]
    fresh = [at for at, key in enumerate(keys) if key not in known]
    known.update(keys[at] for at in fresh)
    return places[fresh]


def _met(cells: TemplateSets, grid: BoxGrid) -> GridPlaces | None:
    """Labels and places of all boxes of the grid that cells meet, each once; None where there are too many."""
    found = boxes_met(cells, grid)
    return None if found is None else np.unique(found[1], axis=0)


def boxes_met(cells: TemplateSets, grid: BoxGrid) -> tuple[NDArray[np.intp], GridPlaces] | None:
    """The boxes of the grid that cells meet, by labels and places, and which cell it is; None where too many."""
    low, high = cells.ranges()
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return None
    if (np.maximum(np.abs(low), np.abs(high)) / grid.step > 2**40).any():
        return None
    first, last = grid.places(low, high)
    counts = last - first + 1
    sizes = counts.astype(np.float64).prod(axis=1)
    if len(sizes) and (sizes.max() > MAX_IMAGE or sizes.sum() > 50 * MAX_CELLS):
        return None
    totals = counts.prod(axis=1)
    member = np.repeat(np.arange(len(cells)), totals)
    number = np.arange(len(member)) - np.repeat(np.cumsum(totals) - totals, totals)
    places = np.empty((len(member), low.shape[1]), np.int64)
    for column in range(low.shape[1]):
        size = counts[member, column]
        places[:, column] = first[member, column] + number % size
        number = number // size
    return member, np.hstack([cells.labels[member], places])


def merged(cells: TemplateSets) -> TemplateSets:
    """Neighbours that differ in one component only, joined where they touch or overlap, component after component."""
    for axis in range(cells.template.size):
        others = [cells.lower[:, k] for k in range(cells.lower.shape[1]) if k != axis]
        others += [cells.upper[:, k] for k in range(cells.upper.shape[1]) if k != axis]
        keys = np.stack([*cells.labels.T, *others], axis=1) if others or cells.labels.shape[1] else None
        order = np.lexsort((cells.lower[:, axis], *([] if keys is None else keys.T[::-1])))
        cells = cells.rows(order)
        same = np.ones(len(cells) - 1, bool) if keys is None else (keys[order][1:] == keys[order][:-1]).all(axis=1)
        groups = np.cumsum(np.r_[True, ~same])[: len(cells)]
        reach = np.concatenate([np.maximum.accumulate(cells.upper[groups == g, axis]) for g in np.unique(groups)])
        touching = (cells.lower[1:, axis] <= reach[:-1]) | _successive(cells, axis)
        starts = np.flatnonzero(np.r_[True, ~(same & touching)][: len(cells)])
        last = np.r_[starts[1:], len(cells)] - 1
        upper = cells.upper[starts].copy()
        upper[:, axis] = reach[last]
        cells = labelled(cells.template, cells.lower[starts], upper, cells.labels[starts])
    return cells


def needed(cells: TemplateSets, whole: NDArray[np.bool_]) -> TemplateSets:
    """Without the boxes that lie in the union of the others, the smallest of them first; the union stays the same."""
    size = (cells.upper - cells.lower).sum(axis=1)
    alive = np.ones(len(cells), bool)
    for member in np.argsort(size, kind="stable"):
        alive[member] = False
        alive[member] = not Coverage(cells.rows(alive), whole).holds(cells.rows(slice(member, member + 1)))[0]
    return cells.rows(alive)


def _successive(cells: TemplateSets, axis: int) -> NDArray[np.bool_]:
    """Integers one after the other: boxes without width."""
    low, high = cells.lower[:, axis], cells.upper[:, axis]
    points = (low[1:] == high[1:]) & (low[1:] == np.round(low[1:]))
    return np.asarray(points & (low[1:] == high[:-1] + 1))


# Backward -------------------------------------------------------------------------------------------------------------


class Greatest:
    """The largest union of boxes of a domain that can be stayed in, refined where it does not hold the start."""

    def __init__(self, images: Images, dynamics: WatchedLoop, within: TemplateSets) -> None:
        self.images, self.dynamics, self.within = images, dynamics, within
        self.scale = (within.upper - within.lower).max(axis=0, initial=0.0)  # of every component

    def holding(self, start: TemplateSets) -> TemplateSets | None:
        """Cells that no step leaves and that hold the start; None where there are none."""
        kept, tried = self.within.rows(slice(0, 0)), self.within
        source, moved = np.zeros(0, np.intp), self.within.rows(slice(0, 0))
        for _ in range(HALVING_ROUNDS):
            good = self.images.keeps(tried, self.dynamics.keep)
            new_source, new_moved = self._after(tried.rows(good))
            source, moved = np.concatenate([source, new_source + len(kept)]), joined([moved, new_moved])
            cells = joined([kept, tried.rows(good)])
            alive = self._stable(cells, source, moved)
            if Coverage(cells.rows(alive), self.dynamics.whole).holds(start).all():
                return cells.rows(alive)
            removed = joined([cells.rows(~alive), tried.rows(~good)])
            kept, source, moved = _restricted(cells, source, moved, alive)
            tried = self._halved(removed)
            if not len(tried) or len(kept) + len(tried) > MAX_CELLS:
                return None
        return None

    def _after(self, cells: TemplateSets) -> tuple[NDArray[np.intp], TemplateSets]:
        sources, parts = [np.zeros(0, np.intp)], [cells.rows(slice(0, 0))]
        for at in range(0, len(cells), CELLS_PER_BATCH):
            source, moved = self.images.after(cells.rows(slice(at, at + CELLS_PER_BATCH)))
            sources.append(source + at)
            parts.append(moved)
        return np.concatenate(sources), joined(parts)

    def _stable(self, cells: TemplateSets, source: NDArray[np.intp], moved: TemplateSets) -> NDArray[np.bool_]:
        """Cells from which every step leads into cells of this kind."""
        alive = np.ones(len(cells), bool)
        while True:
            self.dynamics.tick()
            asked = np.flatnonzero(alive[source])
            good = Coverage(cells.rows(alive), self.dynamics.whole).holds(moved.rows(asked))
            bad = source[asked[~good]]
            if not len(bad):
                return alive
            alive[bad] = False

    def _halved(self, cells: TemplateSets) -> TemplateSets:
        """Both halves of every cell across its longest side, in units of the domain; integers stay whole."""
        width = np.where(self.dynamics.whole, np.floor(cells.upper - cells.lower), cells.upper - cells.lower)
        side = np.argmax(width / np.where(self.scale > 0, self.scale, 1.0), axis=1)
        at = np.arange(len(cells))
        whole = self.dynamics.whole[side]
        wide = width[at, side] > np.where(whole, 0, 1e-6 * self.scale[side])
        cells = cells.rows(wide)
        ends = halves(cells.lower, cells.upper, side[wide], self.dynamics.whole)
        return labelled(cells.template, *ends, np.tile(cells.labels, (2, 1)))


def _restricted(
    cells: TemplateSets, source: NDArray[np.intp], moved: TemplateSets, alive: NDArray[np.bool_]
) -> tuple[TemplateSets, NDArray[np.intp], TemplateSets]:
    """Some cells with their images, counted anew."""
    number = np.cumsum(alive) - 1
    own = alive[source]
    return cells.rows(alive), number[source[own]], moved.rows(own)


def domain(
    points: Floats, labels: Sequence[tuple[int, ...]], template: Template, whole: NDArray[np.bool_]
) -> TemplateSets:
    """A box around all points that were met, twice as wide, for each combination of labels."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, 0.5 * (high - low), 0.5)
    low, high = low - room, high + room
    low, high = np.where(whole, np.floor(low), low), np.where(whole, np.ceil(high), high)
    count = len(labels)
    made = np.array(labels, dtype=np.int64).reshape(count, -1)
    return labelled(template, np.tile(low, (count, 1)), np.tile(high, (count, 1)), made)
