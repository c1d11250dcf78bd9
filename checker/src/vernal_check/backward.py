"""Lower bounds of sums of a network's outputs over many boxes at once, from the outputs back to the inputs.

A sum is a row of factors for each vector of the network. From an affine map to its argument the row is multiplied by
the weights; at an activation each factor takes a line below it (where positive) or above it (where negative), so that a
row over the inputs is left, whose least value over a box is known. A line below may have any slope between those of
the two pieces, and of a number that is at least 0 in a part any multiple may be taken away: these are the hints of a
file, and whatever they are, the bound is one. All is done in floats; `mass` is at least the sum of the sizes of all
products that a result is made of, so that it is off by at most `mass` times the number of roundings on the way.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter
from typing import Any

from vernal_check import curves
from vernal_check.clock import tick
from vernal_check.directed import GROW, TINY, UNIT
from vernal_check.errors import Unreadable
from vernal_check.networks import arrays
from vernal_check.onnx import Instruction, Network

try:
    np: Any = importlib.import_module("numpy")
except ImportError:
    np = None
KINDS = {"affine", "relu", "leaky", "tanh", "sigmoid", "same", "add", "join"}
GRID, FARTHEST = 512, 16  # points of a curve that are computed, for each unit, and up to where


@dataclass(frozen=True)
class Parts:
    """Boxes of inputs, row by row, in which some rectifiers take the left (-1) or the right (1) piece."""

    low: Any  # (parts, inputs)
    high: Any
    sides: Any  # (parts, rectifiers), of all layers one after the other
    slopes: Any  # of the line below each, between 0 for the left piece and 1 for the right one; below 0 for any
    factors: Any  # how much of each rectifier's argument is taken away, times its side

    def __len__(self) -> int:
        return len(self.low)

    def rows(self, which: Any) -> Parts:
        return Parts(*(one[which] for one in (self.low, self.high, self.sides, self.slopes, self.factors)))


class Layout:
    """A network, how many numbers each of its vectors has, and where those of rectifiers are among all of them."""

    def __init__(self, network: Network) -> None:
        if not {step.kind for step in network.instructions} <= KINDS:
            raise Unreadable("of queries only networks of affine maps, rectifiers, tanh and sigmoid are read")
        self.network, self.widths, self.places, self.rectifiers = network, [network.size], dict[int, slice](), 0
        for number, step in enumerate(network.instructions):
            of = [self.widths[vector] for vector in step.inputs]
            self.widths.append(len(step.rows) if step.kind == "affine" else sum(of) if step.kind == "join" else of[0])
            if step.kind in ("relu", "leaky"):
                self.places[number] = slice(self.rectifiers, self.rectifiers + of[0])
                self.rectifiers += of[0]
        self.roundings = UNIT * (64 + 4 * len(network.instructions) + 2 * max(self.widths))


@dataclass(frozen=True)
class Lines:
    """Lines around the activations of a layer in some parts: slopes, and what is added."""

    below: Any
    above: Any
    less: Any
    more: Any


class Backward:
    """Bounds over the vectors of a network in some parts."""

    def __init__(self, layout: Layout, parts: Parts) -> None:
        self.network, self.places, self.roundings = layout.network, layout.places, layout.roundings
        self.parts = parts
        self.low, self.high = [parts.low], [parts.high]
        self.lines: dict[int, Lines] = {}
        self.empty = np.zeros(len(parts), bool)  # parts in which there is no input
        for number, step in enumerate(self.network.instructions):
            if number in self.places:
                self.rectify(number, step, self.places[number])
            elif step.kind in ("tanh", "sigmoid"):
                self.bend(number, step)
            else:
                low, high = self.interval(step)
                self.low.append(low)
                self.high.append(high)

    def size(self, vector: int) -> Any:
        return np.maximum(np.abs(self.low[vector]), np.abs(self.high[vector]))

    def interval(self, step: Instruction) -> tuple[Any, Any]:
        """The least and the largest values of each number by itself."""
        given = [(self.low[number], self.high[number]) for number in step.inputs]
        if step.kind == "join":
            return np.concatenate([a for a, _ in given], axis=1), np.concatenate([b for _, b in given], axis=1)
        low, high = given[0]
        if step.kind == "same":
            return low, high
        if step.kind == "add":
            a, b = given[1] if step.scale > 0 else (-given[1][1], -given[1][0])
            lost = (np.abs(low) + np.abs(high) + np.abs(a) + np.abs(b)) * 2 * UNIT + TINY
            return low + a - lost, high + b + lost
        weights, shift = arrays(step)
        positive, negative, size = np.maximum(weights, 0), np.minimum(weights, 0), np.maximum(np.abs(low), np.abs(high))
        lost = (size @ np.abs(weights).T + np.abs(shift)) * self.roundings * GROW + TINY
        return low @ positive.T + high @ negative.T + shift - lost, high @ positive.T + low @ negative.T + shift + lost

    def rectify(self, number: int, step: Instruction, own: slice) -> None:
        """Lines around the rectifiers of a layer."""
        vector = step.inputs[0]
        wide = (self.low[vector] < 0) & (self.high[vector] > 0)
        low, high = self.arguments(number, vector, np.flatnonzero(wide.any(axis=0)))
        sides = self.parts.sides[:, own]
        low, high = np.where(sides > 0, np.maximum(low, 0.0), low), np.where(sides < 0, np.minimum(high, 0.0), high)
        self.empty |= (low > high).any(axis=1)
        high = np.maximum(low, high)  # of empty parts, of which nothing is said
        self.low[vector], self.high[vector] = low, high
        flat = float(step.scale)
        if not 0 <= flat <= 1 or flat != step.scale:
            raise Unreadable("a slope of a rectifier is not read")
        wide = (low < 0) & (high > 0)
        above = np.where(low >= 0, 1.0, np.where(high <= 0, flat, 0.0))
        above = np.where(wide, (high - flat * low) / np.where(wide, high - low, 1.0), above)
        more = np.where(wide, np.maximum(flat * low - above * low, high - above * high), 0.0)
        more += wide * (self.size(vector) * 8 * UNIT + TINY)
        share = self.parts.slopes[:, own]
        share = np.where(share < 0, (high > -low) * 1.0, share)
        below = np.where(wide, np.minimum(flat + share * (1 - flat), 1.0), above)
        self.lines[number] = Lines(below, above, 0.0 * more, more)
        # what is between both lines: rectifiers rise
        left, right = np.where(low < 0, flat * low, low), np.where(high < 0, flat * high, high)
        lost = (np.abs(left) + np.abs(right)) * UNIT * (flat > 0)
        self.low.append(left - lost)
        self.high.append(right + lost)

    def arguments(self, number: int, vector: int, which: Any) -> tuple[Any, Any]:
        """Bounds of a vector, some of its numbers brought back to the inputs."""
        low, high = self.low[vector].copy(), self.high[vector].copy()
        count = len(which)
        if number and count:
            rows = np.zeros((2 * count, low.shape[1]))
            rows[np.arange(count), which] = 1.0
            rows[count + np.arange(count), which] = -1.0
            found = self.bound({vector: rows}, np.zeros(2 * count))[0]
            low[:, which] = np.maximum(low[:, which], found[:, :count])
            high[:, which] = np.minimum(high[:, which], -found[:, count:])
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise Unreadable("numbers become too large for floats")
        return low, high

    def bend(self, number: int, step: Instruction) -> None:
        """Lines around curves that rise, bend upward below 0 and downward above: they are least steep at an end."""
        vector = step.inputs[0]
        low, high = self.arguments(number, vector, np.arange(self.low[vector].shape[1]))
        high = np.maximum(low, high)
        self.low[vector], self.high[vector] = low, high
        first, last = np.floor(low * GRID), np.ceil(high * GRID)
        (a, b), (c, d) = values(step.kind, first), values(step.kind, last)
        first, last = (np.clip(end / GRID, -FARTHEST, FARTHEST) for end in (first, last))
        outside = (low < -FARTHEST) | (high > FARTHEST)
        if step.kind == "tanh":
            slope = 1 - np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(c), np.abs(d))) ** 2
        else:
            slope = np.minimum(a * (1 - b), c * (1 - d))
        slope = np.where(outside, 0.0, np.maximum(slope - 1e-12, 0.0))
        chord = np.where(outside | (last <= first), slope, (c - b) / np.where(last > first, last - first, 1.0))
        chord = np.clip(chord, 0.0, 1.0)
        below, above = np.where(first >= 0, chord, slope), np.where(last <= 0, chord, slope)
        # of a chord both ends count; of the least slope the end from which the curve leaves the line
        less = np.where(below == slope, a - below * first, np.minimum(a - below * first, c - below * last))
        more = np.where(above == slope, d - above * last, np.maximum(b - above * first, d - above * last))
        lost = (self.size(vector) + 2) * 8 * UNIT
        self.lines[number] = Lines(below, above, less - lost, more + lost)
        self.low.append(a)
        self.high.append(d)

    def bound(self, rows: dict[int, Any], shift: Any, use_factors: bool = False) -> tuple[Any, Any]:
        """Lower bounds of rows over some vectors, (parts, rows), and what is left of the rows over the inputs."""
        first = next(iter(rows.values()))
        total, mass = np.zeros((len(self.parts), first.shape[-2])) + shift, np.abs(shift) + np.zeros(1)
        waiting = dict(rows)
        for vector, row in rows.items():
            mass = mass + dot(np.abs(row), self.size(vector))
        for number in reversed(range(max(rows))):
            tick()
            row = waiting.pop(number + 1, None)
            if row is None:
                continue
            step = self.network.instructions[number]
            if step.kind == "affine":
                weights, more = arrays(step)
                made = row @ weights
                total = total + row @ more
                mass = mass + dot(np.abs(row), self.size(step.inputs[0]) @ np.abs(weights).T + np.abs(more))
                self.push(waiting, step.inputs[0], made)
            elif number in self.lines:
                lines, size = self.lines[number], self.size(step.inputs[0])
                positive, negative = np.maximum(row, 0.0), np.minimum(row, 0.0)
                total = total + dot(negative, lines.more) + dot(positive, lines.less)
                made = positive * lines.below[:, None] + negative * lines.above[:, None]
                mass = mass + dot(np.abs(row), size + np.maximum(np.abs(lines.less), np.abs(lines.more)))
                factors = self.parts.factors[:, self.places.get(number, slice(0, 0))]
                if use_factors and factors.any():
                    made = made - factors[:, None]
                    mass = mass + dot(np.abs(factors)[:, None], size)
                self.push(waiting, step.inputs[0], made)
            elif step.kind == "join":
                place = 0
                for vector in step.inputs:
                    count = self.low[vector].shape[1]
                    self.push(waiting, vector, row[..., place : place + count])
                    place += count
            else:
                self.push(waiting, step.inputs[0], row)
                if step.kind == "add":
                    self.push(waiting, step.inputs[1], row * float(step.scale))
        row = waiting[0] if 0 in waiting else np.zeros((1, 1, self.parts.low.shape[1]))
        row = np.broadcast_to(row, (len(self.parts), *row.shape[-2:])) if row.ndim == 3 else row[None]
        mass = mass + dot(np.abs(row), self.size(0))
        total = total + dot(np.maximum(row, 0.0), self.parts.low) + dot(np.minimum(row, 0.0), self.parts.high)
        lost = mass * self.roundings * GROW + TINY
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(total - lost, nan=-np.inf), row

    def push(self, waiting: dict[int, Any], vector: int, row: Any) -> None:
        waiting[vector] = waiting[vector] + row if vector in waiting else row


@lru_cache(maxsize=2**16)
def value(kind: str, place: int) -> tuple[float, float]:
    """Floats around a curve at a point of the grid."""
    low, high = curves.RISING[kind](Fraction(place, GRID))
    return nextafter(float(low), -inf), nextafter(float(high), inf)


def values(kind: str, places: Any) -> tuple[Any, Any]:
    """Floats around a curve at points of the grid; beyond its ends those that it never reaches."""
    inside = np.clip(places, -FARTHEST * GRID, FARTHEST * GRID).astype(int)
    known, where = np.unique(inside, return_inverse=True)
    table = np.array([value(kind, place) for place in known.tolist()])[where.reshape(inside.shape)]
    least = -1.0 if kind == "tanh" else 0.0
    low = np.where(places < -FARTHEST * GRID, least, table[..., 0])
    return np.maximum(low, least), np.where(places > FARTHEST * GRID, 1.0, np.minimum(table[..., 1], 1.0))


def dot(rows: Any, values: Any) -> Any:
    """(parts or 1, rows, n) times (parts, n)."""
    return (rows @ values[..., None])[..., 0]
