"""Cells: sets of states between bounds of directions, with fixed labels; candidates for the sets of an invariant.

The directions of a template begin with the numeric components themselves, so that every cell has a box around it.
Bounds are floats; a cell is what lies between them, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.weak_duality import box_maximum
from vernal.interpret.numbers.rounding import Floats
from vernal.sets.cells.dynamics import Labels

Chosen = NDArray[np.intp] | NDArray[np.bool_] | slice


@dataclass(frozen=True)
class Directions:
    """The template of cells: rows over the numeric components, of which the first are the components themselves."""

    rows: Floats  # (directions, numbers)
    name: str = "boxes"

    @property
    def numbers(self) -> int:
        return int(self.rows.shape[1])

    @property
    def is_box(self) -> bool:
        return len(self.rows) == self.numbers

    def over_boxes(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of all directions over boxes (batch, numbers), rounded outward."""
        A = np.broadcast_to(self.rows, (len(low), *self.rows.shape))
        zero = np.zeros(A.shape[:2])
        lower, upper = -box_maximum(-A, zero, low, high), box_maximum(A, zero, low, high)
        n = self.numbers
        lower[:, :n], upper[:, :n] = low, high
        return lower, upper


@dataclass(frozen=True)
class CellBatch:
    """A batch of cells of one template."""

    template: Directions
    lower: Floats  # (batch, directions)
    upper: Floats
    labels: Labels  # (batch, labels)

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, chosen: Chosen) -> CellBatch:
        """Some of the cells."""
        return CellBatch(self.template, self.lower[chosen], self.upper[chosen], self.labels[chosen])

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The box around each cell."""
        n = self.template.numbers
        return self.lower[:, :n], self.upper[:, :n]

    def half_spaces(self) -> tuple[Floats, Floats]:
        """The directions beyond the box as rows x <= ends, (batch, q, numbers) and (batch, q)."""
        n = self.template.numbers
        extra = self.template.rows[n:]
        rows = np.broadcast_to(np.vstack([extra, -extra]), (len(self), 2 * len(extra), n))
        return rows, np.hstack([self.upper[:, n:], -self.lower[:, n:]])

    def in_template(self, template: Directions) -> CellBatch:
        """Boxes around the cells, measured in the directions of another template."""
        return CellBatch(template, *template.over_boxes(*self.box), self.labels)

    def key(self, member: int) -> tuple[int, ...]:
        return tuple(self.labels[member].tolist())


def joined(parts: Sequence[CellBatch]) -> CellBatch:
    """Cells of one template, one after the other."""
    lower, upper, labels = (
        np.concatenate(part) for part in zip(*((one.lower, one.upper, one.labels) for one in parts), strict=True)
    )
    return CellBatch(parts[0].template, lower, upper, labels)


def hulls(cells: CellBatch) -> CellBatch:
    """One cell around all with the same labels."""
    if not len(cells):
        return cells
    labels, place = np.unique(cells.labels, axis=0, return_inverse=True)
    place = place.reshape(-1)
    lower = np.full((len(labels), cells.lower.shape[1]), np.inf)
    upper = np.full_like(lower, -np.inf)
    np.minimum.at(lower, place, cells.lower)
    np.maximum.at(upper, place, cells.upper)
    return CellBatch(cells.template, lower, upper, labels)


def within(inner: CellBatch, outer: CellBatch) -> NDArray[np.bool_]:
    """Which cells lie, bound by bound, inside a single one of the others."""
    found = np.zeros(len(inner), bool)
    for member in range(len(outer)):
        same = (inner.labels == outer.labels[member]).all(axis=1)
        inside = (inner.lower >= outer.lower[member]).all(axis=1) & (inner.upper <= outer.upper[member]).all(axis=1)
        found |= same & inside
    return found
