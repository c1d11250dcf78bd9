"""Minimal and maximal invariants by forward images (M. Hosseini et al., AAMAS 2025, Algorithm 4, set right).

Minimal: images of the initial states, level by level, until one is inside those before; or their hull, widened where it
grows towards a limit. Maximal: images of all states there are, which shrink; where what is to be kept is true in them,
they prove it together with the first levels. The paper starts from the range of the states and takes it to be closed;
the whole space is closed by itself. These functions propose cells; what they are is for `certify` to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from vernal.engines.invariants.cells import Cells, Directions, hulls, joined, within
from vernal.engines.invariants.dynamics import Dynamics
from vernal.engines.invariants.images import Images
from vernal.interpret.numbers.rounding import Floats

MAX_LEVELS = 40
MAX_WIDENINGS = 80  # rounds of a hull that grows
JUMPS = (3, 6, 10, 15, 21, 28, 36, 45, 55, 66)  # rounds in which it is moved to where it seems to go
MAX_KEYS = 64  # combinations of labels for which the whole space is looked at
MAX_CELLS_OF_LEVEL = 64
ENDLESS = 15  # rounds after which a bound that grows as before is given up
SLOWEST = 0.98  # a bound that grows by this share of its last growth, or more, is said not to end


@dataclass
class Levels:
    """Where paths are after each number of steps, as far as it was followed."""

    cells: list[Cells] = field(default_factory=list)
    kept: int = 0  # levels, from the first on, in all of which what is claimed is true
    closed: bool = False  # whether the last level is inside those before


def levels(images: Images, start: Cells, dynamics: Dynamics) -> Levels:
    """Images of the initial cells until one is inside those before, or breaks what is to be kept."""
    made = Levels()
    cells = start if len(start) <= MAX_CELLS_OF_LEVEL else hulls(start)
    for _ in range(MAX_LEVELS):
        if made.cells and within(cells, joined(made.cells)).all():
            made.closed = True
            break
        if not images.keeps(cells, dynamics.keep).all():
            break
        made.kept += 1
        made.cells.append(cells)
        cells = images.after(cells)[1]
        if len(cells) > MAX_CELLS_OF_LEVEL:
            cells = hulls(cells)
        if not len(cells):
            made.closed = True
            break
    return made


class Widening:
    """The hull of all levels, one cell for each combination of labels, extrapolated until a step stays inside."""

    def __init__(self, images: Images, dynamics: Dynamics, limits: list[tuple[Floats, float]]) -> None:
        self.images, self.dynamics, self.limits = images, dynamics, limits

    def closed(self, start: Cells) -> Cells | None:
        """Cells that no step leaves, as far as floats tell; None where none were found."""
        thresholds = self._thresholds(start.template)
        before, cells = None, hulls(start)
        for number in range(MAX_WIDENINGS):
            self.dynamics.tick()
            grown = hulls(joined([cells, self.images.after(cells)[1]]))
            if len(grown) == len(cells):
                done = self._finished(cells, grown)
                if done is not None:
                    return done
            if not self.images.keeps(grown, self.dynamics.keep).all():
                return None
            jumped = None
            if number in JUMPS and before is not None and len(before) == len(cells) == len(grown):
                jumped = self._jump(before, cells, grown, thresholds, endless=number >= ENDLESS)
            before, cells = cells, grown
            if jumped is not None and self.images.keeps(jumped, self.dynamics.keep).all():
                before, cells = None, jumped
        return None

    def _finished(self, cells: Cells, grown: Cells) -> Cells | None:
        """The cells, if a step stays inside; where they hardly grow, a little larger ones if it stays inside those."""
        width = np.where(np.isfinite(grown.upper - grown.lower), grown.upper - grown.lower, 0.0)
        upper, lower = _growth(cells.upper, grown.upper), _growth(-cells.lower, -grown.lower)
        if not (upper.any() or lower.any()):
            return cells
        if (np.maximum(upper, lower) > 0.03 * width).any():
            return None
        for share in (0.01, 0.001):
            wide = Cells(
                grown.template, grown.lower - 2 * lower - share * width, grown.upper + 2 * upper + share * width, grown.labels
            )
            if within(self.images.after(wide)[1], wide).all() and self.images.keeps(wide, self.dynamics.keep).all():
                return wide
        still = (np.maximum(upper, lower) <= 1e-9 * width).all()
        return grown if still else None

    def _jump(self, before: Cells, cells: Cells, grown: Cells, thresholds: list[Floats], *, endless: bool) -> Cells:
        """Where bounds end if they go on growing by the same share of their growth."""
        upper = _limit(before.upper, cells.upper, grown.upper, endless)
        lower = -_limit(-before.lower, -cells.lower, -grown.lower, endless)
        for direction, values in enumerate(thresholds):
            for value in values[::-1]:
                above = (grown.upper[:, direction] <= value) & (value < upper[:, direction])
                upper[above, direction] = value
            for value in values:
                below = (grown.lower[:, direction] >= value) & (value > lower[:, direction])
                lower[below, direction] = value
        return Cells(grown.template, lower, upper, grown.labels)

    def _thresholds(self, template: Directions) -> list[Floats]:
        """For each direction, constants that the claim compares it with, in ascending order."""
        made: list[Floats] = []
        for row in template.rows:
            values = []
            for own, constant in self.limits:
                factor = float(own @ row) / float(row @ row)
                if factor and np.allclose(factor * row, own, rtol=1e-9, atol=0):
                    values.append(constant / factor)
            made.append(np.array(sorted(values)))
        return made


def _limit(before: Floats, now: Floats, then: Floats, endless: bool) -> Floats:
    """Where a growing bound ends. One whose growth does not slow down stays, or, after a while, has no end."""
    first, second = now - before, then - now
    with np.errstate(all="ignore"):
        share = np.where(second > 0, second / first, 0.0)
        rest = second * share / (1 - share)
        room = 0.05 * rest + 0.01 * np.abs(second)
        ends = np.where(share < SLOWEST, then + rest + room, np.inf if endless else then)
    return np.where(second > 0, np.where(first > 0, ends, then), then)


def _growth(now: Floats, then: Floats) -> Floats:
    """By how much bounds have grown; one that is infinite does not grow."""
    with np.errstate(invalid="ignore"):
        return np.where(then > now, then - now, 0.0)


def _is_same(a: Cells, b: Cells) -> bool:
    return bool((a.lower == b.lower).all() and (a.upper == b.upper).all() and (a.labels == b.labels).all())


def whole_space(dynamics: Dynamics, template: Directions) -> Cells | None:
    """Every state there is; None where there are too many combinations of labels."""
    counts = [dynamics.label_count(place) for place in range(len(dynamics.labels))]
    if np.prod([1, *counts]) > MAX_KEYS:
        return None
    keys = list(product(*map(range, counts)))
    labels = np.array(keys, dtype=np.int64).reshape(len(keys), len(counts))
    ends = np.full((len(labels), len(template.rows)), np.inf)
    return Cells(template, -ends, ends, labels)


def maximal(images: Images, dynamics: Dynamics, first: Levels) -> Cells | None:
    """The least image of all states in which what is to be kept is true, with the levels before it."""
    if not first.cells:
        return None
    cells = whole_space(dynamics, first.cells[0].template)
    for number in range(len(first.cells) + 1):
        if cells is None or not len(cells):
            return None
        if images.keeps(cells, dynamics.keep).all():
            return joined([*first.cells[:number], cells])
        moved = hulls(images.after(cells)[1])
        if len(moved) == len(cells) and _is_same(moved, cells):
            return None
        cells = moved
    return None
