"""Directions in which sets of states are measured, and what bounds of some of them say of others.

A direction that is a sum of two others, up to a rest, is bounded by the sum of their bounds; the rest is paid for by
how large components can be. Everything is rounded outward.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.weak_duality import box_maximum
from vernal.interpret.numbers.rounding import TINY, Floats, bounding, gamma
from vernal.model.lazy import cached_property
from vernal.model.portable import STAYS, ArrayData

WAYS = 12  # sums that bound a direction
ROW_TOLERANCE = 1e-9  # relative: rows that agree to this are one; what they differ by is paid for
SETS_PER_BLOCK = 256  # sets tightened at once
TIGHTENING_SLACK = 4 * gamma(16)

DirectionBounds = tuple[Floats, Floats]  # lower and upper ends, (batch, directions) each


@dataclass(frozen=True)
class Sums:
    """Directions as sums of two of a template's: which, the two, their factors, and what is left of each component."""

    which: NDArray[np.intp]  # (sums,), ascending
    pair: NDArray[np.intp]  # (sums, 2)
    factor: Floats  # (sums, 2)
    left: Floats  # (sums, components)

    def tighten(self, known: DirectionBounds, largest: Floats, lower: Floats, upper: Floats) -> None:
        """Cut bounds (batch, directions) by what sums of known ones say; `largest`: of every component."""
        if not len(self.which):
            return
        starts = np.flatnonzero(np.r_[True, self.which[1:] != self.which[:-1]])
        target = self.which[starts]
        for start in range(0, len(largest), SETS_PER_BLOCK):
            part = slice(start, start + SETS_PER_BLOCK)
            low, high = self._ends(known[0][part], known[1][part], largest[part])
            low, high = bounding(low, high)
            lower[part, target] = np.maximum(lower[part, target], np.maximum.reduceat(low, starts, axis=1))
            upper[part, target] = np.minimum(upper[part, target], np.minimum.reduceat(high, starts, axis=1))

    def _ends(self, lower: Floats, upper: Floats, largest: Floats) -> tuple[Floats, Floats]:
        rest = largest @ self.left.T * (1 + TIGHTENING_SLACK) + TINY
        low, high = -rest, rest
        for side in (0, 1):
            factor, at = self.factor[:, side], self.pair[:, side]
            one, other = factor * lower[:, at], factor * upper[:, at]
            rest = TIGHTENING_SLACK * np.maximum(np.abs(one), np.abs(other))
            low, high = low + np.minimum(one, other) - rest, high + np.maximum(one, other) + rest
        return low, high


@dataclass(frozen=True, eq=False)
class Template(ArrayData):
    """Directions in which states are measured; the first are the components themselves."""

    rows: Floats  # (directions, components)
    name: str = "boxes"
    _sums: dict[bytes, Sums] = field(default_factory=dict, compare=False, repr=False, metadata=STAYS)

    @property
    def size(self) -> int:
        """How many components a state has."""
        return int(self.rows.shape[1])

    @property
    def is_box(self) -> bool:
        """Whether nothing but the components is measured."""
        return len(self.rows) == self.size

    def over_boxes(self, low: Floats, high: Floats) -> DirectionBounds:
        """Bounds of all directions over boxes (batch, components), rounded outward; the components as they are."""
        n, zero = self.size, np.zeros(len(self.rows))
        lower, upper = -box_maximum(-self.rows, zero, low, high), box_maximum(self.rows, zero, low, high)
        lower[:, :n], upper[:, :n] = low, high
        return lower, upper

    def multiple(self, row: Floats) -> tuple[int, float, Floats] | None:
        """The direction of which a row is a multiple, by which factor, and what is left of each component."""
        factors = self.rows @ row / (self.rows**2).sum(axis=1)
        left = np.abs(factors[:, None] * self.rows - row)
        at = int(np.argmin(left.max(axis=1)))
        if not factors[at] or not left[at].max() <= ROW_TOLERANCE * np.abs(row).max() < np.inf:
            return None
        return at, float(factors[at]), left[at] + TIGHTENING_SLACK * np.abs(row)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], Floats]:
        """All pairs of directions, and what turns a row into their factors."""
        pairs: NDArray[np.intp] = np.array(list(combinations(range(len(self.rows)), 2)), dtype=np.intp).reshape(-1, 2)
        return pairs, np.asarray(np.linalg.pinv(self.rows[pairs].transpose(0, 2, 1)), dtype=np.float64)

    def sums(self, rows: Floats, others: bool = False) -> Sums:
        """Rows as sums of two directions, the best few of each; `others`: not of the row itself."""
        pairs, inverse = self._pairs
        factors = np.einsum("pin,rn->rpi", inverse, rows)
        made = np.einsum("rpi,pin->rpn", factors, self.rows[pairs])
        left = np.abs(made - rows[:, None])
        size = np.abs(rows).max(axis=1, initial=0.0)[:, None]
        cost = np.abs(factors).sum(axis=2)
        cost[~(left.max(axis=2, initial=0.0) <= ROW_TOLERANCE * size) | ~np.isfinite(cost)] = np.inf
        if others:
            cost[(pairs == np.arange(len(rows))[:, None, None]).any(axis=2)] = np.inf
        cost[:, (pairs < self.size).all(axis=1)] *= 1e-9  # the components themselves always count
        best = np.argsort(cost, axis=1, kind="stable")[:, :WAYS]
        which, place = np.nonzero(np.isfinite(np.take_along_axis(cost, best, axis=1)))
        pair = best[which, place]
        factor, steep = factors[which, pair], np.abs(self.rows[pairs[pair]])
        paid = TIGHTENING_SLACK * (np.einsum("si,sin->sn", np.abs(factor), steep) + np.abs(rows[which]))
        return Sums(which, pairs[pair], factor, left[which, pair] + paid)

    def images(self, rows: Floats) -> Sums:
        """Rows as sums of directions, worked out once."""
        key = rows.tobytes()
        if key not in self._sums:
            self._sums[key] = self.sums(rows)
        return self._sums[key]

    @cached_property
    def own(self) -> Sums:
        """Every direction as sums of two others."""
        return self.sums(self.rows, others=True)


def with_axes(dimension: int, rows: Iterable[Floats]) -> Floats:
    """The axes, then rows that are parallel to none before."""
    found: list[Floats] = list(np.eye(dimension))
    for row in rows:
        if not any(_is_parallel(row, other) for other in found):
            found.append(row)
    return np.array(found)


def _is_parallel(a: Floats, b: Floats) -> bool:
    first, second = a * np.abs(b).max(), b * np.abs(a).max()
    return bool(np.array_equal(first, second) or np.array_equal(first, -second))
