"""First hyperplanes for parts with several coordinates: the best few of many random ones, chosen one after the other."""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.part_samples import PartSamples

CANDIDATES = 400
ALONG_AXIS = 0.3  # of the candidates: normal to a coordinate


def greedy(
    samples: PartSamples, scale: Floats, count: int, random: np.random.Generator, tick: Tick = idle
) -> tuple[Floats, Floats]:
    """Normals (of length 1) and offsets: each the one that with those before leaves the least sum of squares."""
    points = samples.points
    normals, offsets = _candidates(points, random)
    wanted = (samples.lower + samples.upper) / 2 / scale
    features = np.maximum(points @ normals.T + offsets, 0)
    base = np.linalg.qr(np.hstack([points, np.ones((len(points), 1))]))[0]
    features -= base @ (base.T @ features)
    rest = wanted - base @ (base.T @ wanted)
    chosen: list[int] = []
    for _ in range(count):
        tick()
        length = np.linalg.norm(features, axis=0)
        usable = length > 1e-6 * np.sqrt(len(points))
        gains = ((features.T @ rest) ** 2).sum(axis=1) / np.where(usable, length, 1.0) ** 2
        best = int(np.argmax(np.where(usable, gains, -1.0)))
        chosen.append(best)
        unit = features[:, best] / length[best]
        features -= np.outer(unit, unit @ features)
        rest -= np.outer(unit, unit @ rest)
    return normals[chosen], offsets[chosen]


def _candidates(points: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Hyperplanes through random samples, in random directions."""
    normals = random.normal(size=(CANDIDATES, points.shape[1]))
    axes = np.eye(points.shape[1])[random.integers(0, points.shape[1], CANDIDATES)]
    normals = np.where(random.uniform(size=(CANDIDATES, 1)) < ALONG_AXIS, axes, normals)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    through = points[random.integers(0, len(points), CANDIDATES)] * random.uniform(0, 1, size=(CANDIDATES, 1))
    return normals, -(normals * through).sum(axis=1)
