"""Sums of ridge functions: one layer of ReLUs with an affine part beside it, and its best values in the maximum norm.

Given the hyperplanes, the rest that makes the largest error least is a linear program. Hyperplanes are moved by
Gauss-Newton steps in the same norm: the function is linearised, and a linear program with a trust region says where to
go. Programs take few of the samples, and get those that their solutions violate.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.part_samples import PartSamples
from vernal.solvers.growing_program import GrowingProgram

ROUNDS_OF_ROWS = 12  # of one linear program
MORE_ROWS = 24  # samples added in a round
SAMPLE_SLACK = 1e-4  # relative violation of samples outside the program that is good enough
FIRST_TRUST, LEAST_TRUST = 0.1, 1e-4  # of the coordinates' range [-1, 1]
MIN_GAIN = 3e-3  # a relative gain below this is no progress
MAX_IDLE_ROUNDS = 3  # rounds without progress
OTHERS = 0.1  # the weight of errors that are not the largest
KEPT_ERROR_SHARE = 0.7  # of the largest error: samples below it leave the programs
FIRST_ROWS = 40  # samples of the first program
LEVEL_SLACK = 1e-12  # absolute, beside the relative one
MAX_VERTICES = 3000

SampleIndices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Ridges:
    """weights @ relu(normals @ u + offsets) + slopes @ u + constants"""

    normals: Floats  # (h, r)
    offsets: Floats  # (h,)
    weights: Floats  # (q, h)
    slopes: Floats  # (q, r)
    constants: Floats  # (q,)

    def __call__(self, points: Floats) -> Floats:
        hidden = np.maximum(points @ self.normals.T + self.offsets, 0)
        return np.asarray(hidden @ self.weights.T + points @ self.slopes.T + self.constants)

    def errors(self, samples: PartSamples) -> Floats:
        """The largest error at the samples, for each output."""
        return np.asarray(samples.errors(self(samples.points)).max(axis=0))


def vertices(ridges: Ridges) -> Floats:
    """Where hyperplanes meet each other or the faces of [-1, 1]^r, inside of it: there errors are often largest."""
    h, r = ridges.normals.shape
    rows = np.vstack([ridges.normals, np.eye(r), -np.eye(r)])
    ends = np.concatenate([-ridges.offsets, np.ones(2 * r)])
    if not h or comb(len(rows), r) > MAX_VERTICES:
        return np.zeros((0, r))
    chosen = np.array([pick for pick in combinations(range(len(rows)), r) if pick[0] < h]).reshape(-1, r)
    systems = rows[chosen]
    regular = np.abs(np.linalg.det(systems)) > 1e-6
    points = np.linalg.solve(systems[regular], ends[chosen][regular][..., None])[..., 0]
    return np.clip(points[(np.abs(points) <= 1 + 1e-9).all(axis=1)], -1, 1)


class Minimax:
    """Fits ridges to samples; errors count relative to `scale`, one for each output."""

    def __init__(self, samples: PartSamples, scale: Floats, tick: Tick = idle) -> None:
        self.samples, self.scale, self.tick = samples, scale, tick
        self.size, self.outputs = samples.lower.shape
        self._first = np.unique(np.linspace(0, self.size - 1, min(self.size, FIRST_ROWS)).astype(int))
        self._active = [self._first for _ in range(self.outputs)]  # samples in the programs, for each output

    def merit(self, ridges: Ridges) -> float:
        """What is made small: the largest relative error, and a little the sum of those of all outputs."""
        ratios = ridges.errors(self.samples) / self.scale
        return float(ratios.max() + OTHERS * ratios.sum())

    def output_layer(self, normals: Floats, offsets: Floats) -> Ridges:
        """The best ridges with these hyperplanes, for each output by itself; by least squares if the solver fails."""
        h, r = normals.shape
        features = self._features(normals, offsets)
        rows = [self._program([q], np.zeros((self.size, 0)), features, 0.0) for q in range(self.outputs)]
        outer = np.array([self._squares(q, features) if row is None else row for q, row in enumerate(rows)])
        return Ridges(normals, offsets, outer[:, :h], outer[:, h : h + r], outer[:, -1])

    def _squares(self, q: int, features: Floats) -> Floats:
        """The parameters of an output with the least sum of squares."""
        middle = 0.5 * self.samples.lower[:, q] + 0.5 * self.samples.upper[:, q]
        return np.asarray(np.linalg.lstsq(features, middle)[0])

    def descend(self, ridges: Ridges, rounds: int, enough: float = 0.0) -> Ridges:
        """Move the hyperplanes while the error falls, until it is at most `enough` times the scale."""
        best, trust, unchanged = self.merit(ridges), FIRST_TRUST, 0
        for _ in range(rounds):
            if trust < LEAST_TRUST or unchanged >= MAX_IDLE_ROUNDS or best <= enough:
                break
            moved = self._moved(ridges, trust)
            other = None if moved is None else self.output_layer(*moved)
            reached = np.inf if other is None else self.merit(other)
            if other is None or reached >= best:
                trust *= 0.3
                continue
            unchanged = unchanged + 1 if reached > best * (1 - MIN_GAIN) else 0
            ridges, best, trust = other, reached, min(2 * trust, FIRST_TRUST)
            self._forget(ridges)
        return ridges

    def _features(self, normals: Floats, offsets: Floats) -> Floats:
        points = self.samples.points
        return np.hstack([np.maximum(points @ normals.T + offsets, 0), points, np.ones((self.size, 1))])

    def _moved(self, ridges: Ridges, trust: float) -> tuple[Floats, Floats] | None:
        """Hyperplanes that are better, as far as the linearised function knows."""
        points, (h, r) = self.samples.points, ridges.normals.shape
        acting = np.heaviside(points @ ridges.normals.T + ridges.offsets, 0.0)
        turning = [acting * points[:, j : j + 1] for j in range(r)] if r > 1 else []
        features = self._features(ridges.normals, ridges.offsets)
        found = self._program(list(range(self.outputs)), np.hstack([acting, *turning]), features, trust, ridges)
        if found is None:
            return None
        offsets = ridges.offsets + found[:h]
        if r == 1:
            return ridges.normals, offsets
        normals = ridges.normals + found[h : h * (r + 1)].reshape(r, h).T
        length = np.linalg.norm(normals, axis=1)
        return normals / length[:, None], offsets / length

    def _program(
        self, outputs: list[int], moving: Floats, features: Floats, trust: float, at: Ridges | None = None
    ) -> Floats | None:
        """The parameters, or their change, with which the outputs have the least error; over ever more samples.

        A hyperplane's move has the effect `moving` times its weight in the output; `features` are the rest.
        """
        program = _Program(self, outputs, moving, features, at)
        growing, more = program.without_samples(trust), [self._active[q] for q in outputs]
        point: Floats | None = None
        for _ in range(ROUNDS_OF_ROWS):
            self.tick()
            rows, ends = program.rows(more)
            growing.add(rows, ends)
            found = growing.minimise() if np.isfinite(rows).all() and np.isfinite(ends).all() else None
            if found is None:
                return None
            point = found
            more = self._violated(outputs, program.predicted(point), program.levels(point))
            if not any(len(chosen) for chosen in more):
                break
            for q, chosen in zip(outputs, more, strict=True):
                self._active[q] = np.union1d(self._active[q], chosen)
        return None if point is None else program.parameters(point)

    def _violated(self, outputs: list[int], predicted: Floats, levels: Floats) -> list[SampleIndices]:
        """For each output samples that are worse than the program thinks."""
        found = []
        errors = self.samples.errors(predicted) / self.scale
        for q, level in zip(outputs, levels * (1 + SAMPLE_SLACK) + LEVEL_SLACK, strict=True):
            worst = np.argsort(-errors[:, q])[: 8 * MORE_ROWS]
            worst = worst[errors[worst, q] > level]
            found.append(worst[:: max(1, len(worst) // MORE_ROWS)])
        return found

    def _forget(self, ridges: Ridges) -> None:
        """Leave out the samples that are far from being worst."""
        errors = self.samples.errors(ridges(self.samples.points))
        near = errors >= KEPT_ERROR_SHARE * errors.max(axis=0)
        for q in range(self.outputs):
            self._active[q] = np.union1d(self._first, self._active[q][near[self._active[q], q]])


class _Program:
    """A linear program: columns are moves of hyperplanes, the rest of each output, each output's error, the largest.

    All but the moves count in units of the outputs' scales: rates of a millionth or a million are the same program.
    """

    def __init__(self, fit: Minimax, outputs: list[int], moving: Floats, features: Floats, at: Ridges | None) -> None:
        self.fit, self.outputs, self.features = fit, outputs, features
        self.inner, self.width = moving.shape[1], features.shape[1]
        self.values = np.zeros((fit.size, fit.outputs)) if at is None else at(fit.samples.points)
        repeats = 0 if at is None else self.inner // max(1, len(at.offsets))
        self.moving = [moving if at is None else moving * np.tile(at.weights[q], repeats) for q in outputs]
        count = len(outputs)
        self.columns = self.inner + self.width * count + count + 1
        self.cost = np.zeros(self.columns)
        self.cost[-count - 1 :] = [*[OTHERS] * count, 1.0]

    def without_samples(self, trust: float) -> GrowingProgram:
        """The program before samples are asked for: no error is above the largest."""
        count = len(self.outputs)
        free = self.width * count
        lower = np.repeat([-trust, -np.inf, 0.0], [self.inner, free, count + 1])
        upper = np.repeat([trust, np.inf], [self.inner, free + count + 1])
        made = GrowingProgram(self.cost, lower, upper)
        largest = np.zeros((count, self.columns))
        largest[:, -count - 1 : -1], largest[:, -1] = np.eye(count), -1.0
        made.add(largest, np.zeros(count))
        return made

    def rows(self, samples: list[SampleIndices]) -> tuple[Floats, Floats]:
        """Every output is within its error of both ends of its samples."""
        rows, ends = [], []
        for k, q in enumerate(self.outputs):
            chosen, known = samples[k], self.fit.samples
            block = self._block(k, chosen)
            over, under = block.copy(), -block
            over[:, -len(self.outputs) - 1 + k] = under[:, -len(self.outputs) - 1 + k] = -1.0
            rows += [over, under]
            before, scale = self.values[chosen, q], self.fit.scale[q]
            ends += [(known.lower[chosen, q] - before) / scale, (before - known.upper[chosen, q]) / scale]
        return np.vstack(rows), np.concatenate(ends)

    def _block(self, k: int, chosen: SampleIndices) -> Floats:
        block = np.zeros((len(chosen), self.columns))
        block[:, : self.inner] = self.moving[k][chosen] / self.fit.scale[self.outputs[k]]
        start = self.inner + k * self.width
        block[:, start : start + self.width] = self.features[chosen]
        return block

    def predicted(self, point: Floats) -> Floats:
        """The values of all outputs, as the program has them."""
        values = self.values.copy()
        for k, q in enumerate(self.outputs):
            start = self.inner + k * self.width
            rest = self.fit.scale[q] * point[start : start + self.width]
            values[:, q] += self.moving[k] @ point[: self.inner] + self.features @ rest
        return values

    def levels(self, point: Floats) -> Floats:
        return point[-len(self.outputs) - 1 : -1]

    def parameters(self, point: Floats) -> Floats:
        """Moves of hyperplanes, then the rest of each output."""
        scales = np.repeat(self.fit.scale[self.outputs], self.width)
        return np.concatenate([point[: self.inner], scales * point[self.inner : -len(self.outputs) - 1]])
