"""First hyperplanes for parts with several coordinates: the best few of many random ones, chosen one by one."""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import Tick
from vernal.reduce.neural.part_samples import PartSamples

CANDIDATES = 400
MAX_SAMPLES = 10_000  # at which candidates are compared
ALONG_AXIS = 0.3  # of the candidates: normal to a coordinate
LEAST_LENGTH = 1e-6  # of what a candidate adds to the chosen ones, per square root of a sample


class GreedyPlanes:
    """Each next hyperplane is the candidate that, with those before, leaves the least sum of squares."""

    def __init__(self, samples: PartSamples, scale: Floats, random: np.random.Generator, tick: Tick) -> None:
        rows = np.linspace(0, len(samples.points) - 1, min(len(samples.points), MAX_SAMPLES)).astype(np.intp)
        samples = samples.at(rows)
        points = samples.points
        self.normals, self.offsets = _candidates(points, random)
        self.chosen: list[int] = []
        self._tick = tick
        base = np.linalg.qr(np.hstack([points, np.ones((len(points), 1))]))[0]
        features = np.maximum(points @ self.normals.T + self.offsets, 0)
        wanted = (samples.lower + samples.upper) / 2 / scale
        self._features = features - base @ (base.T @ features)  # what affine functions and chosen ones leave of them
        self._rest = wanted - base @ (base.T @ wanted)

    def best(self, count: int) -> tuple[Floats, Floats]:
        """Normals (of length 1) and offsets of the first `count`."""
        while len(self.chosen) < count:
            self._tick()
            self._choose()
        return self.normals[self.chosen[:count]], self.offsets[self.chosen[:count]]

    def _choose(self) -> None:
        length = np.linalg.norm(self._features, axis=0)
        usable = length > LEAST_LENGTH * np.sqrt(len(self._rest))
        gains = ((self._features.T @ self._rest) ** 2).sum(axis=1) / np.where(usable, length, 1.0) ** 2
        best = int(np.argmax(np.where(usable, gains, -1.0)))
        unit = self._features[:, best] / max(length[best], LEAST_LENGTH)
        self._features -= np.outer(unit, unit @ self._features)
        self._rest -= np.outer(unit, unit @ self._rest)
        self.chosen.append(best)


def _candidates(points: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Hyperplanes through random samples, drawn towards the middle, in random directions."""
    normals = random.normal(size=(CANDIDATES, points.shape[1]))
    axes = np.eye(points.shape[1])[random.integers(0, points.shape[1], CANDIDATES)]
    normals = np.where(random.uniform(size=(CANDIDATES, 1)) < ALONG_AXIS, axes, normals)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    through = points[random.integers(0, len(points), CANDIDATES)] * random.uniform(0, 1, size=(CANDIDATES, 1))
    return normals, -(normals * through).sum(axis=1)
