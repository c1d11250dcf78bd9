"""Parts of a vector field, each learned as a sum of ridge functions with a given number of hyperplanes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vernal.errors import BeyondFloats
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Expr
from vernal.model.lazy import cached_property
from vernal.model.tick import Tick
from vernal.reduce.neural.hyperplanes import GreedyPlanes
from vernal.reduce.neural.knots import Knots
from vernal.reduce.neural.part_samples import PartField, PartSamples, line_samples, spread_samples
from vernal.reduce.neural.ridges import Minimax, Ridges, vertices

MAX_KNOTS = 100  # of a part with one coordinate
MAX_HYPERPLANES = 12  # of a part with several
RANDOM_STARTS = 6  # random first choices of hyperplanes
DESCENTS = 2  # of them, the best, are improved
HYPERPLANE_ROUNDS = 15  # of moving hyperplanes
CHECKED = 20_000  # points at which a fit is compared with the part, to find more samples
WORST = 60  # of these, added to the samples
HOPELESS = 1.4  # times what is good enough: a fit this far from it is not worth more work
REFINEMENTS = 2  # of knots, by candidates around those found before
COARSE = 0.9  # what finer candidates for knots may make of their error
IMPROVEMENT = 0.6  # what moving the hyperplanes makes of the first error, by experience


class PartFit:
    """Learns one part; samples stay, also for fits with other scales."""

    def __init__(self, field: PartField, variables: tuple[Expr, ...], samples: int, seed: int, tick: Tick) -> None:
        self.field, self.variables, self.seed, self.tick = field, variables, seed, tick
        self.samples = self._first(samples)
        if not len(self.samples.points):
            raise BeyondFloats("rates of change are beyond all floats in most of the region; try other units")
        self.checked = spread_samples(field, variables, CHECKED, seed) if field.dimension > 1 else self.samples

    def _first(self, count: int) -> PartSamples:
        if self.field.dimension == 1:
            return line_samples(self.field, self.variables, count)
        return spread_samples(self.field, self.variables, count, self.seed)

    def add(self, states: Floats) -> None:
        """More samples."""
        self.samples = self.samples.join(self.field.at_states(states, self.variables)).sorted()

    def scaled(self, scale: Floats, enough: float) -> ScaledFit:
        """Fits with this scale of errors, one for each output of the part, of which so much is good enough."""
        return ScaledFit(self, scale, enough)


class ScaledFit:
    """Fits of one part for any number of hyperplanes, with errors relative to one scale."""

    def __init__(self, part: PartFit, scale: Floats, enough: float) -> None:
        self.part, self.scale, self.enough, self.field = part, scale, enough, part.field
        self._known: dict[int, Ridges] = {}
        self._first: dict[int, list[Ridges]] = {}

    @property
    def most(self) -> int:
        """Hyperplanes, at most."""
        return (0, MAX_KNOTS)[self.field.dimension] if self.field.dimension < 2 else MAX_HYPERPLANES

    @cached_property
    def _knots(self) -> Knots:
        return Knots(self.part.samples, self.scale)

    @cached_property
    def _greedy(self) -> list[GreedyPlanes]:
        part = self.part
        randoms = [np.random.default_rng([part.seed, start]) for start in range(RANDOM_STARTS)]
        return [GreedyPlanes(part.samples, self.scale, random, part.tick) for random in randoms]

    @cached_property
    def least(self) -> Floats:
        """The error of each output that disturbances leave to any network."""
        samples = self.part.samples
        return np.asarray((samples.upper - samples.lower).max(axis=0) / 2)

    def estimate(self, size: int) -> Floats:
        """About the error of each output with so many hyperplanes, found quickly."""
        if size in self._known:
            return self.errors(size)
        if self.field.dimension == 1:
            return self._knots.ratio(size) * COARSE * self.scale
        return self._starts(size)[0].errors(self.part.samples) * (IMPROVEMENT if size else 1.0)

    def errors(self, size: int) -> Floats:
        """The error of each output at all points that are known to matter."""
        return np.asarray(self._points(self.fit(size)).max(axis=0))

    def fit(self, size: int) -> Ridges:
        """The best that was found with so many hyperplanes."""
        if size not in self._known:
            found = list[Ridges]()
            for start in self._starts(size)[:DESCENTS]:
                found.append(self._improved(start))
                if self._ratio(found[-1]) <= self.enough:
                    break
            self._known[size] = min(found, key=self._ratio)
        return self._known[size]

    def _points(self, ridges: Ridges) -> Floats:
        """Errors at the samples, at the points it is checked at, and at the vertices of its pieces."""
        everywhere = self.part.samples.join(self.part.checked).join(self._vertices(ridges))
        return everywhere.errors(ridges(everywhere.points))

    def _ratio(self, ridges: Ridges) -> float:
        return float((self._points(ridges) / self.scale).max())

    def _improved(self, ridges: Ridges) -> Ridges:
        """Moved with ever more samples where it is worst; at last only the output layer, for hyperplanes that stay."""
        if not len(ridges.offsets):
            return ridges
        for rounds in (HYPERPLANE_ROUNDS, HYPERPLANE_ROUNDS // 2):
            ridges = self._minimax().descend(ridges, rounds)
            self._sharpen(ridges)
            if self.enough and self._ratio(ridges) > HOPELESS * self.enough:
                break
        return self._minimax().output_layer(ridges.normals, ridges.offsets)

    def _sharpen(self, ridges: Ridges) -> None:
        """Take vertices, and the worst points that it is checked at, as samples."""
        samples, checked = self.part.samples.join(self._vertices(ridges)), self.part.checked
        errors = checked.errors(ridges(checked.points)) / self.scale
        worst = np.argsort(-errors.max(axis=1))[: 10 * WORST : 10]
        self.part.samples = samples.join(checked.at(worst)).sorted()

    def _vertices(self, ridges: Ridges) -> PartSamples:
        if not (self.field.dimension == 1 or self.field.has_states):
            return self.part.samples.at(np.zeros(0, dtype=np.intp))
        return self.field.at_states(self.field.states(vertices(ridges)), self.part.variables)

    def _minimax(self) -> Minimax:
        return Minimax(self.part.samples, self.scale, self.part.tick)

    def _starts(self, size: int) -> list[Ridges]:
        """Hyperplanes to begin with, each with its best output layer; the most promising first."""
        if size not in self._first:
            fit = self._minimax()
            self._first[size] = sorted((fit.output_layer(*planes) for planes in self._planes(size)), key=fit.merit)
        return self._first[size]

    def _planes(self, size: int) -> Iterator[tuple[Floats, Floats]]:
        dimension = self.field.dimension
        if size == 0 or dimension == 0:
            yield np.zeros((0, dimension)), np.zeros(0)
        elif dimension == 1:
            knots = self._knots.best(size)
            for _ in range(REFINEMENTS):
                yield np.ones((len(knots), 1)), -knots
                knots = Knots(self.part.samples, self.scale, near=knots).best(size)
            yield np.ones((len(knots), 1)), -knots
        else:
            yield from (greedy.best(size) for greedy in self._greedy)
