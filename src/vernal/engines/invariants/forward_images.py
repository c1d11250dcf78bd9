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

from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, hulls, joined, labelled, within
from vernal.interpret.numbers.rounding import LEAST_FLOAT, Floats
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.images import Images

MAX_LEVELS = 30
PLAIN = (8, 24)  # rounds in which a hull grows by itself, before it is moved further
OVERSHOT = 15  # rounds in which it is moved further
FACTORS = (1.0, 3.0, 9.0)  # how much further
SNAP = 24  # bits of a bound that are kept from level to level
GROWTH_ROOM = 1e-6  # of a width, added to a bound that grows, so that rounding does not keep it growing
MAX_KEYS = 64  # combinations of labels for which the whole space is looked at
MAX_CELLS_OF_LEVEL = 16


@dataclass
class ImageLevels:
    """Where paths are after each number of steps, as far as it was followed."""

    cells: list[TemplateSets] = field(default_factory=list)
    kept: int = 0  # levels, from the first on, in all of which what is claimed is true
    closed: bool = False  # whether the last level is inside those before


def levels(images: Images, start: TemplateSets, dynamics: WatchedLoop) -> ImageLevels:
    """Images of the initial cells until one is inside those before, or breaks what is to be kept."""
    made = ImageLevels()
    cells = start if len(start) <= MAX_CELLS_OF_LEVEL else hulls(start)
    for _ in range(MAX_LEVELS):
        snapped = _snapped(cells)
        if images.keeps(snapped, dynamics.keep).all():
            cells = snapped
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


def _snapped(cells: TemplateSets) -> TemplateSets:
    """Bounds moved outward to multiples of a power of two: what comes back with other last digits is the same again."""
    size = np.maximum(np.abs(cells.lower), np.abs(cells.upper)).max(axis=0, initial=0.0)
    with np.errstate(all="ignore"):
        unit = np.exp2(np.floor(np.log2(np.where(np.isfinite(size) & (size > 0), size, 1.0))) - SNAP)
    unit = np.maximum(unit, LEAST_FLOAT)  # of bounds next to zero it would be zero itself
    return labelled(
        cells.template, np.floor(cells.lower / unit) * unit, np.ceil(cells.upper / unit) * unit, cells.labels
    )


class Widening:
    """The hull of all levels, one cell for each combination of labels, widened until a step stays inside."""

    def __init__(self, images: Images, dynamics: WatchedLoop, limits: list[tuple[Floats, float]]) -> None:
        self.images, self.dynamics, self.limits = images, dynamics, limits

    def closed(self, start: TemplateSets) -> TemplateSets | None:
        """Cells that no step leaves, as far as floats tell; None where none were found."""
        cells = hulls(start)
        for rounds in PLAIN:
            plain, done = self._grown(cells, 0.0, rounds)
            if done or plain is None:
                return plain
            for factor in FACTORS:
                wide, done = self._grown(plain, factor, OVERSHOT)
                if done:
                    return wide
            cells = plain
        wide, done = self._grown(self._endless(cells), 1.0, OVERSHOT)
        return wide if done else None

    def _grown(self, cells: TemplateSets, factor: float, rounds: int) -> tuple[TemplateSets | None, bool]:
        """The cells after some rounds, and whether a step stays inside; None where they break the claim.

        Where a step leaves them, bounds are moved as far as it leads, and a `factor` times that far beyond.
        """
        thresholds = self._thresholds(cells.template)
        for _ in range(rounds):
            self.dynamics.tick()
            grown = hulls(joined([cells, self.images.after(cells)[1]]))
            same = len(grown) == len(cells)
            if same and _is_same(grown, cells):
                return cells, True
            if same and factor:
                grown = self._overshot(cells, grown, factor, thresholds)
            if not self.images.keeps(grown, self.dynamics.keep).all():
                return None, False
            cells = grown
        return cells, False

    def _overshot(
        self, cells: TemplateSets, grown: TemplateSets, factor: float, thresholds: list[Floats]
    ) -> TemplateSets:
        """Bounds moved beyond where they have grown to, but not past a constant that the claim names."""
        width = np.where(np.isfinite(grown.upper - grown.lower), grown.upper - grown.lower, 0.0)
        up, down = _growth(cells.upper, grown.upper), _growth(-cells.lower, -grown.lower)
        upper = np.where(up > 0, grown.upper + factor * up + GROWTH_ROOM * width, grown.upper)
        lower = np.where(down > 0, grown.lower - factor * down - GROWTH_ROOM * width, grown.lower)
        for direction, values in enumerate(thresholds):
            for value in values[::-1]:
                above = (grown.upper[:, direction] <= value) & (value < upper[:, direction])
                upper[above, direction] = value
            for value in values:
                below = (grown.lower[:, direction] >= value) & (value > lower[:, direction])
                lower[below, direction] = value
        return labelled(grown.template, lower, upper, grown.labels)

    def _endless(self, cells: TemplateSets) -> TemplateSets:
        """The cells without the bounds that still grow."""
        grown = hulls(joined([cells, self.images.after(cells)[1]]))
        if len(grown) != len(cells):
            return grown
        upper = np.where(grown.upper > cells.upper, np.inf, cells.upper)
        return labelled(cells.template, np.where(grown.lower < cells.lower, -np.inf, cells.lower), upper, cells.labels)

    def _thresholds(self, template: Template) -> list[Floats]:
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


def _growth(now: Floats, then: Floats) -> Floats:
    """By how much bounds have grown; one that is infinite does not grow."""
    with np.errstate(invalid="ignore"):
        return np.where(then > now, then - now, 0.0)


def _is_same(a: TemplateSets, b: TemplateSets) -> bool:
    return bool((a.lower == b.lower).all() and (a.upper == b.upper).all() and (a.labels == b.labels).all())


def whole_space(dynamics: WatchedLoop, template: Template) -> TemplateSets | None:
    """Every state there is; None where there are too many combinations of labels."""
    counts = [dynamics.label_count(place) for place in range(len(dynamics.labels))]
    if np.prod([1, *counts]) > MAX_KEYS:
        return None
    keys = list(product(*map(range, counts)))
    labels = np.array(keys, dtype=np.int64).reshape(len(keys), len(counts))
    ends = np.full((len(labels), len(template.rows)), np.inf)
    return labelled(template, -ends, ends, labels)


def maximal(images: Images, dynamics: WatchedLoop, first: ImageLevels) -> TemplateSets | None:
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
