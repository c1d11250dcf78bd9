"""Samples of a part of a vector field: at each point the least and the largest value that disturbances leave it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Between, Expr
from vernal.model.graph import draws
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.parts import Part

MAX_CORNERS = 64  # positions of the disturbances that are tried: all corners, or as many at random
FIRST_POINTS = 257  # of a line, before points are added where the function bends
LEAST_SIDE = 9  # of a grid
ON_FACE = 0.2  # of the coordinates of random points
BEND = 3e-6  # of the function's range: how far it may be from the chord between neighbouring points


@dataclass(frozen=True, slots=True, eq=False)
class PartSamples:
    """Points in the coordinates of a part, and the interval of its values there, for each of its outputs."""

    points: Floats  # (N, r), each coordinate within [-1, 1]
    lower: Floats  # (N, q)
    upper: Floats

    def join(self, other: PartSamples) -> PartSamples:
        """Both."""
        pairs = ((self.points, other.points), (self.lower, other.lower), (self.upper, other.upper))
        return PartSamples(*(np.concatenate(pair) for pair in pairs))

    def at(self, rows: NDArray[np.intp]) -> PartSamples:
        """Some of them."""
        return PartSamples(self.points[rows], self.lower[rows], self.upper[rows])

    def sorted(self) -> PartSamples:
        """By their first coordinate, each place once."""
        return self.at(np.unique(self.points[:, 0], return_index=True)[1]) if self.points.shape[1] == 1 else self

    def errors(self, values: Floats) -> Floats:
        """How far a function with these values may be from the part, at each point and for each output."""
        return np.maximum(self.upper - values, values - self.lower)


class PartField:
    """Evaluates a part at points of its own coordinates u, with `directions @ x = middle + radius * u`."""

    def __init__(self, part: Part, lower: Floats, upper: Floats, seed: int, tick: Tick = idle) -> None:
        self.part, self.outputs, self.tick = part, part.outputs, tick
        self.lower, self.upper = lower, upper
        rows = part.directions
        self.least = np.where(rows > 0, lower, upper)
        self.most = np.where(rows > 0, upper, lower)
        low, high = (rows * self.least).sum(axis=1), (rows * self.most).sum(axis=1)
        self.middle, self.radius = (low + high) / 2, (high - low) / 2
        self._program = concrete.compile([part.sums[i] for i in self.outputs])
        self._draws = [node for node in draws(part.sums) if isinstance(node, Between)]
        self._corners = _corners(len(self._draws), seed)

    @property
    def dimension(self) -> int:
        return len(self.part.directions)

    def coordinates(self, states: Floats) -> Floats:
        """Where states are in the coordinates of the part."""
        return np.asarray((states @ self.part.directions.T - self.middle) / self.radius)

    def at_states(self, states: Floats, variables: tuple[Expr, ...]) -> PartSamples:
        """The part at states; points at which it is not a number, or beyond all floats, are left out."""
        lower = np.full((len(states), len(self.outputs)), np.inf)
        upper = -lower
        for corner in self._corners:
            self.tick()
            inputs = {variable: states[:, j] for j, variable in enumerate(variables)}
            inputs |= {node: np.full(len(states), place) for node, place in zip(self._draws, corner, strict=True)}
            with np.errstate(all="ignore"):
                values = [np.broadcast_to(value, len(states)) for value in self._program(inputs, len(states))]
            stacked = np.stack(values, axis=1)
            lower, upper = np.minimum(lower, stacked), np.maximum(upper, stacked)
        finite = np.isfinite(upper - lower).all(axis=1)
        return PartSamples(self.coordinates(states)[finite], lower[finite], upper[finite])

    def states(self, points: Floats) -> Floats:
        """States of the region at points of the part's coordinates; for one coordinate, or if they are variables."""
        shares, rows = (points + 1) / 2, self.part.directions != 0
        states = np.tile((self.lower + self.upper) / 2, (len(points), 1))
        for k, row in enumerate(rows):
            states[:, row] = (1 - shares[:, k : k + 1]) * self.least[k, row] + shares[:, k : k + 1] * self.most[k, row]
        return states

    @property
    def has_states(self) -> bool:
        """Whether every point of the coordinates' box is that of a state."""
        return bool(((self.part.directions != 0).sum(axis=0) <= 1).all())


def line_samples(field: PartField, variables: tuple[Expr, ...], count: int) -> PartSamples:
    """Samples of a part with one coordinate, in order, denser where it bends."""
    known = field.at_states(field.states(np.linspace(-1, 1, FIRST_POINTS)[:, None]), variables)
    while len(known.points) < count:
        places = known.points[:, 0]
        between = field.at_states(field.states((places[1:] + places[:-1])[:, None] / 2), variables)
        if len(between.points) != len(places) - 1:
            return known.join(between).sorted()
        bend = np.abs(between.lower + between.upper - _chords(known.lower + known.upper)) / 2
        span = np.ptp(known.lower + known.upper, axis=0) / 2
        wanted = (bend > BEND * np.maximum(span, np.finfo(float).tiny)).any(axis=1)
        wanted &= places[1:] - places[:-1] > 1e-12
        if not wanted.any():
            return known
        known = known.join(between.at(np.flatnonzero(wanted))).sorted()
    return known


def _chords(values: Floats) -> Floats:
    return (values[1:] + values[:-1]) / 2


def _corners(disturbances: int, seed: int) -> list[tuple[float, ...]]:
    if 2**disturbances <= MAX_CORNERS:
        return list(itertools.product((0.0, 1.0), repeat=disturbances))
    random = np.random.default_rng(seed)
    drawn = random.integers(0, 2, size=(MAX_CORNERS, disturbances)).astype(float)
    return [tuple(row) for row in drawn.tolist()]


def spread_samples(field: PartField, variables: tuple[Expr, ...], count: int, seed: int) -> PartSamples:
    """Samples of a part with several coordinates: a grid where that is fine enough, else random states."""
    involved = np.flatnonzero((field.part.directions != 0).any(axis=0))
    side = int(count ** (1 / len(involved))) if len(involved) else 0
    if side >= LEAST_SIDE:
        axes = np.meshgrid(*[np.linspace(0, 1, side)] * len(involved), indexing="ij")
        shares = np.stack([axis.ravel() for axis in axes], axis=1)
    else:
        shares = random_shares(np.random.default_rng(seed), count if len(involved) else 1, len(involved))
    states = np.tile((field.lower + field.upper) / 2, (len(shares), 1))
    states[:, involved] = field.lower[involved] + shares * (field.upper - field.lower)[involved]
    return field.at_states(states, variables)


def random_shares(random: np.random.Generator, count: int, width: int) -> Floats:
    """Points of the unit cube, many of them on its faces, where errors are often largest."""
    drawn = random.uniform(0, 1, size=(count, width))
    return np.where(random.uniform(size=drawn.shape) < ON_FACE, np.round(drawn), drawn)
