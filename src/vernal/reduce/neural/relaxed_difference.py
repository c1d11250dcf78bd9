"""Upper bounds of a linear function minus a ReLU network over boxes.

A row asks for the largest a.x + c - s N_i(x) over a box, with s = 1 or -1; a and c come from linear bounds of the
vector field, and what each ReLU is applied to has a range. Where that is on one side of 0 the ReLU is linear. Elsewhere
one with a positive coefficient is replaced by its chord, and one with a negative coefficient by a line through 0 with
any slope from 0 to 1. A row may also ask for the part of the box in which some ReLUs have a given phase: then any
multiple, at least 0, of what is known not to be negative there may be added. All these choices give bounds that hold;
`bound_parameters` makes good ones (the bounds are those of alpha- and beta-CROWN, Xu et al., 2021, Wang et al., 2021).

Rounding. A computed bound is a sum of products along the paths through the network, each off by at most N rounding
factors, with N the number of operations on a path. So it is off by at most gamma(N) times the same sum of absolute
values, for which `reach` has an upper bound: slopes are at most 1, and the lines of a ReLU within its range. The same
slack pays for the rounding of chords, of centres and of radii, which are few more factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Array, Floats, Mask, gamma


@dataclass(frozen=True, slots=True, eq=False)
class ReluLines:
    """What the ReLUs of a layer are replaced by in each row: (rows, neurons)."""

    slope: Floats  # of the line above
    offset: Floats  # of the line above
    below: Floats  # the slope of the line below, which goes through 0; free where the ReLU is open
    open: Mask  # whether the ReLU may be on either side
    phase: Floats  # 1 or -1 where only points count at which its argument is not below, not above 0; else 0
    multiplier: Floats  # of what the phase says; 0 where there is none


@dataclass(frozen=True, slots=True, eq=False)
class LinearParts:
    """Linear functions over boxes, and for each the output of the network that it is compared with."""

    coefficients: Floats  # (rows, coordinates)
    constants: Floats  # (rows,)
    outputs: Array  # (rows,)
    signs: Floats  # (rows,)
    centre: Floats  # (rows, coordinates)
    radius: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ErrorRows:
    """Rows that ask for the largest difference between a linear function and an output of the network."""

    parts: LinearParts
    layers: tuple[ReluLines, ...]

    def take(self, index: Array) -> ErrorRows:
        """Some of the rows, or some of them several times."""
        return ErrorRows(taken(self.parts, index), tuple(taken(lines, index) for lines in self.layers))


RowArrays = TypeVar("RowArrays", ReluLines, LinearParts)


def taken(arrays: RowArrays, index: Array) -> RowArrays:
    """The same arrays for some rows."""
    return type(arrays)(*(getattr(arrays, entry.name)[index] for entry in fields(arrays)))


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedBounds:
    """What rows are at most, where the relaxed rows are largest in their boxes, and how bounds depend on choices."""

    upper: Floats  # (rows,)
    corner: Floats  # (rows, coordinates)
    by_slope: list[Floats]  # for each layer, (rows, neurons): derivatives by the free slopes
    by_multiplier: list[Floats]  # and by the multipliers
    arrived: list[Floats]  # the coefficients of the ReLUs


def relu_lines(lower: Floats, upper: Floats) -> ReluLines:
    """The lines around ReLUs of these ranges; below the one that cuts off less."""
    is_open = (lower < 0) & (upper > 0)
    p, q = np.maximum(upper, 0.0), np.maximum(-lower, 0.0)
    active = (lower >= 0).astype(np.float64)
    slope = np.where(is_open, p / np.where(is_open, p + q, 1.0), active)
    below = np.where(is_open, p > q, active)
    none = np.zeros_like(slope)
    return ReluLines(slope, np.where(is_open, slope * q, 0.0), below, is_open, none, none)


class NetworkRows:
    """Bounds rows for one network inside one region."""

    def __init__(self, weights: Sequence[Floats], biases: Sequence[Floats], region: Floats) -> None:
        """`region`: the largest absolute value of each input."""
        self.weights, self.biases = tuple(weights), tuple(biases)
        self.size = self.weights[0].shape[1]
        self.limits: list[Floats] = []  # at least the absolute values of what the ReLUs are applied to
        with np.errstate(all="ignore"):
            x = region
            for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
                x = 4.0 * (abs(weight) @ x + abs(bias))
                self.limits.append(x)
            self.reach = 4.0 * (abs(self.weights[-1]) @ x + abs(self.biases[-1])) + TINY
        self.slack = gamma(sum(sum(weight.shape) + 16 for weight in weights) + 32)

    def rounding(self) -> Floats:
        """How far rounding may put the bound of each output off, apart from what the rows themselves add."""
        return 4.0 * self.slack * self.reach

    def bound(self, rows: ErrorRows) -> RelaxedBounds:
        """The bounds with the choices that the rows have."""
        parts = rows.parts
        C = -parts.signs[:, None] * self.weights[-1][parts.outputs]
        constant = parts.constants - parts.signs * self.biases[-1][parts.outputs]
        arrived: list[Floats] = []
        for lines, weight, bias in zip(rows.layers[::-1], self.weights[-2::-1], self.biases[-2::-1], strict=True):
            arrived.append(C)
            above = np.maximum(C, 0.0)
            passed = above * lines.slope + (C - above) * lines.below + lines.multiplier * lines.phase
            constant = constant + np.vecdot(above, lines.offset) + passed @ bias
            C = passed @ weight
        total = parts.coefficients.copy()
        total[:, : self.size] += C
        corner = parts.centre + np.sign(total) * parts.radius
        upper = constant + np.vecdot(total, parts.centre) + np.vecdot(abs(total), parts.radius)
        upper = upper + self._rounded(rows)
        upper = np.where(np.isnan(upper), np.inf, upper)
        return RelaxedBounds(upper, corner, *self._derivatives(rows, arrived[::-1], corner), arrived[::-1])

    def _rounded(self, rows: ErrorRows) -> Floats:
        parts = rows.parts
        most: Floats = np.vecdot(abs(parts.coefficients), abs(parts.centre) + parts.radius) + abs(parts.constants)
        for lines, limit in zip(rows.layers, self.limits, strict=True):
            most = most + lines.multiplier @ limit
        most = most + self.reach[parts.outputs]
        return 4.0 * self.slack * most + TINY

    def _derivatives(
        self, rows: ErrorRows, arrived: Sequence[Floats], corner: Floats
    ) -> tuple[list[Floats], list[Floats]]:
        """By a slope: what arrived at the ReLU times its argument at the corner, in the relaxed network."""
        by_slope, by_multiplier, h = [], [], corner[:, : self.size]
        for lines, C, weight, bias in zip(rows.layers, arrived, self.weights, self.biases, strict=False):
            z = h @ weight.T + bias
            by_slope.append(np.where(lines.open & (C < 0), C * z, 0.0))
            by_multiplier.append(lines.phase * z)
            h = np.where(C > 0, lines.slope * z + lines.offset, lines.below * z)
        return by_slope, by_multiplier

    def losses(self, rows: ErrorRows, arrived: Sequence[Floats]) -> Floats:
        """What the lines of ReLUs are apart at most, times their coefficients: (rows, neurons of all layers)."""
        found = []
        for lines, C in zip(rows.layers, arrived, strict=True):
            q = np.where(lines.open, lines.offset / np.where(lines.open, lines.slope, 1.0), 0.0)
            p = np.where(lines.open, lines.offset / np.where(lines.open, 1.0 - lines.slope, 1.0), 0.0)
            gap = np.where(C > 0, lines.offset, np.maximum(lines.below * q, (1.0 - lines.below) * p))
            found.append(abs(C) * gap)
        return np.concatenate(found, axis=1) if found else np.zeros((len(rows.parts.constants), 0))
