"""Sets of states between bounds of the directions of a template, with labels and the trail they came by.

A set is { x : lower <= D x <= upper } for fixed labels. The directions D begin with the numeric components themselves,
so that every set has a box around it. Bounds are floats that are meant exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.directions import DirectionBounds, Template
from vernal.interpret.numbers.rounding import Floats
from vernal.model.portable import ArrayData

Labels = NDArray[np.int64]  # (batch, components that are truth values or labels): their indices
Chosen = NDArray[np.intp] | NDArray[np.bool_] | slice


@dataclass(frozen=True, slots=True, eq=False)
class TemplateSets(ArrayData):
    """A batch of sets of one template."""

    template: Template
    lower: Floats  # (batch, directions)
    upper: Floats
    labels: Labels  # (batch, labels)
    trail: NDArray[np.intp]  # (batch,): how each came about

    def __len__(self) -> int:
        return len(self.trail)

    def rows(self, chosen: Chosen) -> TemplateSets:
        """Some of the sets."""
        parts = (self.lower[chosen], self.upper[chosen], self.labels[chosen], self.trail[chosen])
        return TemplateSets(self.template, *parts)

    def ranges(self) -> DirectionBounds:
        """The least box around each."""
        n = self.template.size
        return self.lower[:, :n], self.upper[:, :n]

    def largest(self) -> Floats:
        """The largest absolute value of every component."""
        low, high = self.ranges()
        return np.maximum(np.abs(low), np.abs(high))

    def half_spaces(self) -> tuple[Floats, Floats]:
        """The directions beyond the box as rows x <= ends, (batch, q, numbers) and (batch, q)."""
        n = self.template.size
        extra = self.template.rows[n:]
        rows = np.broadcast_to(np.vstack([extra, -extra]), (len(self), 2 * len(extra), n))
        return rows, np.hstack([self.upper[:, n:], -self.lower[:, n:]])

    def measured(self, template: Template, labels: int) -> TemplateSets:
        """In the first directions alone, which are those of a template, and with so many labels; -1 is none."""
        known = np.full((len(self), labels), -1, dtype=np.int64)
        known[:, : self.labels.shape[1]] = self.labels
        d = len(template.rows)
        return TemplateSets(template, self.lower[:, :d], self.upper[:, :d], known, self.trail)

    def key(self, member: int) -> tuple[int, ...]:
        return tuple(self.labels[member].tolist())


def labelled(template: Template, lower: Floats, upper: Floats, labels: Labels) -> TemplateSets:
    """Sets with labels, of which nobody asks how they came about."""
    return TemplateSets(template, lower, upper, labels, np.zeros(len(labels), dtype=np.intp))


def trailed(template: Template, lower: Floats, upper: Floats, trail: NDArray[np.intp] | None = None) -> TemplateSets:
    """Sets without labels, and perhaps without a trail."""
    made = np.zeros(len(lower), dtype=np.intp) if trail is None else trail
    return TemplateSets(template, lower, upper, np.zeros((len(lower), 0), dtype=np.int64), made)


def no_sets(template: Template) -> TemplateSets:
    """None, of a template."""
    return trailed(template, *np.empty((2, 0, len(template.rows))))


def joined(parts: Sequence[TemplateSets]) -> TemplateSets:
    """Sets of one template, one after the other."""
    columns = zip(*((one.lower, one.upper, one.labels, one.trail) for one in parts), strict=True)
    lower, upper, labels, trail = map(np.concatenate, columns)
    return TemplateSets(parts[0].template, lower, upper, labels, trail)


def hulls(cells: TemplateSets) -> TemplateSets:
    """One cell around all with the same labels."""
    if not len(cells):
        return cells
    labels, place = np.unique(cells.labels, axis=0, return_inverse=True)
    place = place.reshape(-1)
    lower = np.full((len(labels), cells.lower.shape[1]), np.inf)
    upper = np.full_like(lower, -np.inf)
    np.minimum.at(lower, place, cells.lower)
    np.maximum.at(upper, place, cells.upper)
    return labelled(cells.template, lower, upper, labels)


def within(inner: TemplateSets, outer: TemplateSets) -> NDArray[np.bool_]:
    """Which cells lie, bound by bound, inside a single one of the others."""
    found = np.zeros(len(inner), bool)
    for member in range(len(outer)):
        same = (inner.labels == outer.labels[member]).all(axis=1)
        inside = (inner.lower >= outer.lower[member]).all(axis=1) & (inner.upper <= outer.upper[member]).all(axis=1)
        found |= same & inside
    return found
