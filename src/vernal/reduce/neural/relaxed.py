"""Upper bounds of a linear function minus a ReLU network over boxes, with the slopes of open ReLUs chosen for each.

A row asks for the largest a.x + c - s N_i(x) over a box, with s = 1 or -1; a and c come from linear bounds of the vector
field, and what each ReLU is applied to has a range. Where that is on one side of 0 the ReLU is linear. Elsewhere one
with a positive coefficient is replaced by its chord, and one with a negative coefficient by any line through 0 with a
slope from 0 to 1. Where f - N has its maximum its kinks are concave, and the best such slopes lose nothing to first
order (the bound is the dual of a linear program). They are found by Polyak's rule: the value to reach is known, since a
row needs no more than the error that is to be certified (Polyak, 1969; the bound is that of alpha-CROWN, Xu et al., 2021).

Rounding. A computed bound is a sum of products along the paths through the network, each off by at most N rounding
factors, with N the number of operations on a path. So it is off by at most gamma(N) times the same sum of absolute
values, for which `reach` has an upper bound: slopes are at most 1, and a chord is off by less than the range of its ReLU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Array, Floats, Mask, gamma

STEPS = 8  # of Polyak's rule, at most


@dataclass(frozen=True, slots=True, eq=False)
class Chords:
    """What a layer's ReLUs may be replaced by in each row: (rows, neurons)."""

    slope: Floats  # of the line above
    offset: Floats
    below: Floats  # the slope of the line below, which goes through 0; free where the ReLU is open
    open: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Linear functions over boxes, and for each the output of the network that it is compared with."""

    coefficients: Floats  # (rows, coordinates)
    constants: Floats  # (rows,)
    outputs: Array  # (rows,)
    signs: Floats  # (rows,)
    centre: Floats  # (rows, coordinates)
    radius: Floats
    layers: tuple[Chords, ...]

    def take(self, index: Array) -> Rows:
        """Some of the rows."""
        layers = tuple(Chords(*(part[index] for part in (x.slope, x.offset, x.below, x.open))) for x in self.layers)
        parts = (self.coefficients, self.constants, self.outputs, self.signs, self.centre, self.radius)
        return Rows(*(part[index] for part in parts), layers)

    def sloped(self, below: Sequence[Floats]) -> Rows:
        """The same rows with other slopes of the lines below."""
        return replace(self, layers=tuple(replace(x, below=y) for x, y in zip(self.layers, below, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class RowBounds:
    """What a row is at most, and where in its box the relaxed row is largest."""

    upper: Floats  # (rows,)
    corner: Floats  # (rows, coordinates)


def chords(lower: Floats, upper: Floats) -> Chords:
    """The lines around ReLUs of these ranges; below the one that cuts off less."""
    is_open = (lower < 0) & (upper > 0)
    p, q = np.maximum(upper, 0.0), np.maximum(-lower, 0.0)
    active = (lower >= 0).astype(np.float64)
    slope = np.where(is_open, p / np.where(is_open, p + q, 1.0), active)
    return Chords(slope, np.where(is_open, slope * q, 0.0), np.where(is_open, (p > q) * 1.0, active), is_open)


class NetworkRows:
    """Bounds rows for one network inside one region."""

    def __init__(self, weights: Sequence[Floats], biases: Sequence[Floats], region: Floats) -> None:
        """`region`: the largest absolute value of each input."""
        self.weights, self.biases = tuple(weights), tuple(biases)
        self.size = self.weights[0].shape[1]
        self.limits = self._limits(region)
        self.slack = gamma(sum(sum(weight.shape) + 16 for weight in weights) + 32)
        self.reach = abs(self.weights[-1]) @ (4.0 * self._last(region)) + 4.0 * abs(self.biases[-1]) + TINY

    def _limits(self, region: Floats) -> list[Floats]:
        """At least the absolute values of what the ReLUs of each layer are applied to, and of all that stands in."""
        limits, x = [], region
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            limits.append(4.0 * (abs(weight) @ x + abs(bias)))
            x = limits[-1]
        return limits

    def _last(self, region: Floats) -> Floats:
        return self.limits[-1] if self.limits else region

    def rounding(self) -> Floats:
        """How far rounding may put the bound of each output off, apart from what the rows themselves add."""
        return self.slack * self.reach

    def bound(self, rows: Rows, goal: Floats) -> RowBounds:
        """Upper bounds of rows; slopes are improved as long as that may take them to the goals (rows,)."""
        with np.errstate(all="ignore"):
            found, gradients = self._bound(rows)
            upper, corner = found.upper, found.corner
            at = np.flatnonzero(self._promising(upper, goal, gradients))
            rows, gradients = rows.take(at), [g[at] for g in gradients]
            for _ in range(STEPS):
                if not len(at):
                    break
                before = upper[at]
                rows = self._moved(rows, gradients, before - goal[at])
                now, gradients = self._bound(rows)
                better = now.upper < before
                upper[at] = np.where(better, now.upper, before)
                corner[at] = np.where(better[:, None], now.corner, corner[at])
                left = np.flatnonzero(self._promising(now.upper, goal[at], gradients))
                at, rows, gradients = at[left], rows.take(left), [g[left] for g in gradients]
        return RowBounds(np.where(np.isnan(upper), np.inf, upper), corner)

    def _promising(self, upper: Floats, goal: Floats, gradients: Sequence[Floats]) -> Mask:
        """Where the goal is not met and may be, as far as the slopes of the bound say."""
        gain = sum((abs(g).sum(1) for g in gradients), start=np.zeros(len(upper)))
        return (upper > goal) & np.isfinite(upper) & (gain > upper - goal)

    def _moved(self, rows: Rows, gradients: Sequence[Floats], excess: Floats) -> Rows:
        steep = sum((np.vecdot(g, g) for g in gradients), start=np.zeros(len(excess)))
        step = (excess / np.maximum(steep, TINY))[:, None]
        moved = [np.clip(x.below - step * g, 0.0, 1.0) for x, g in zip(rows.layers, gradients, strict=True)]
        return rows.sloped([np.where(x.open, y, x.below) for x, y in zip(rows.layers, moved, strict=True)])

    def _bound(self, rows: Rows) -> tuple[RowBounds, list[Floats]]:
        """The bound, and its slopes by the free slopes."""
        C = -rows.signs[:, None] * self.weights[-1][rows.outputs]
        constant = rows.constants - rows.signs * self.biases[-1][rows.outputs]
        arrived: list[Floats] = []
        for lines, weight, bias in zip(rows.layers[::-1], self.weights[-2::-1], self.biases[-2::-1], strict=True):
            arrived.append(C)
            above = np.maximum(C, 0.0)
            constant = constant + np.vecdot(above, lines.offset)
            passed = above * lines.slope + (C - above) * lines.below
            constant = constant + passed @ bias
            C = passed @ weight
        total = rows.coefficients.copy()
        total[:, : self.size] += C
        corner = rows.centre + np.sign(total) * rows.radius
        upper = constant + np.vecdot(total, rows.centre) + np.vecdot(abs(total), rows.radius)
        return RowBounds(upper + self._rounded(rows), corner), self._gradients(rows, arrived[::-1], corner)

    def _rounded(self, rows: Rows) -> Floats:
        most = np.vecdot(abs(rows.coefficients), abs(rows.centre) + rows.radius) + abs(rows.constants)
        return (4.0 * self.slack) * (most + self.reach[rows.outputs]) + TINY

    def _gradients(self, rows: Rows, arrived: Sequence[Floats], corner: Floats) -> list[Floats]:
        """The derivative of the bound by each free slope: what arrived at the ReLU times the value of its argument."""
        found, h = [], corner[:, : self.size]
        for lines, C, weight, bias in zip(rows.layers, arrived, self.weights, self.biases, strict=False):
            z = h @ weight.T + bias
            found.append(np.where(lines.open & (C < 0), C * z, 0.0))
            h = np.where(C > 0, lines.slope * z + lines.offset, lines.below * z)
        return found
