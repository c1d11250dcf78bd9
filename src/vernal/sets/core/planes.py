"""Planes over boxes: is there a point of a box at which some planes are all at most zero? Asked for many boxes at once.

Where a weighted sum of the planes is above zero everywhere in the box, there is no such point. The largest sum is the
value of a game: one side chooses weights, the other a point. The weights are improved by multiplicative updates against
the point that is worst for them (Y. Freund and R. Schapire, 1999); the sum they end with is bounded with its rounding
paid for, so that what is excluded is excluded however the weights were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.weak_duality import dual_maximum
from vernal.interpret.numbers.rounding import TINY, Floats, Mask

ASCENT_STEPS = 80
BETWEEN_MEANS = 5  # steps, after which the mean of all weights so far is tried, too
FIRST_STEP = 2.0  # of the logarithms of weights, of planes whose values are at most 1; later steps are smaller
AT_ONCE = 256  # questions: their arrays stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpaces:
    """slopes x + constants <= 0, a row for each plane."""

    slopes: Floats  # (planes, inputs)
    constants: Floats  # (planes,)

    def __len__(self) -> int:
        return len(self.constants)

    def rows(self, index: Mask) -> HalfSpaces:
        """Some of the planes."""
        return HalfSpaces(self.slopes[index], self.constants[index])


@dataclass(frozen=True, slots=True, eq=False)
class PlanesOfBoxes:
    """For each of some boxes the same number of planes; `asked` are those whose largest value is of interest."""

    slopes: Floats  # (boxes, planes, inputs)
    constants: Floats  # (boxes, planes)
    asked: Mask  # (boxes, planes)
    lower: Floats  # (boxes, inputs)
    upper: Floats

    def __len__(self) -> int:
        return len(self.constants)

    def rows(self, index: slice) -> PlanesOfBoxes:
        """Some of the boxes."""
        slopes, constants, asked = self.slopes[index], self.constants[index], self.asked[index]
        return PlanesOfBoxes(slopes, constants, asked, self.lower[index], self.upper[index])


def stacked(parts: Sequence[Sequence[HalfSpaces]], inputs: int) -> tuple[Floats, Floats]:
    """For each box all the planes of its list; what is missing, and what is not finite, is -1 everywhere."""
    most = max((sum(map(len, own)) for own in parts), default=0)
    slopes, constants = np.zeros((len(parts), most, inputs)), np.full((len(parts), most), -1.0)
    for box, own in enumerate(parts):
        start = 0
        for planes in own:
            end = start + len(planes)
            slopes[box, start:end, : planes.slopes.shape[1]] = planes.slopes
            constants[box, start:end] = planes.constants
            start = end
    return usable(slopes, constants)


def usable(slopes: Floats, constants: Floats) -> tuple[Floats, Floats]:
    """Planes with those that are not finite as -1 everywhere, which says nothing."""
    good = np.isfinite(constants) & np.isfinite(slopes).all(axis=-1)
    return np.where(good[..., None], slopes, 0.0), np.where(good, constants, -1.0)


@dataclass(frozen=True, slots=True, eq=False)
class PlanesBound:
    """Of each box a lower bound of the largest plane that is asked about, where all others are at most zero."""

    low: Floats  # (boxes,): infinite where no point has the others at most zero
    point: Floats  # (boxes, inputs): where the planes are low together


def largest(planes: PlanesOfBoxes) -> PlanesBound:
    """Bound the largest of the planes that are asked about, box by box."""
    parts = [_largest(planes.rows(slice(start, start + AT_ONCE))) for start in range(0, len(planes), AT_ONCE)]
    if not parts:
        return PlanesBound(np.zeros(0), np.zeros_like(planes.lower))
    return PlanesBound(np.concatenate([part.low for part in parts]), np.concatenate([part.point for part in parts]))


def _largest(planes: PlanesOfBoxes) -> PlanesBound:
    with np.errstate(all="ignore"):
        weights, side = _weights(planes)
        low = _least_sum(planes, weights)
        total = np.where(planes.asked, weights, 0.0).sum(axis=1) * (1.0 + 1e-12)
        scaled = np.where(total > 0, np.nextafter(low / total, 0.0), np.inf)
    low = np.where(low > 0, scaled, np.where(low <= 0, low, -np.inf))
    centre = 0.5 * planes.lower + 0.5 * planes.upper
    point = centre + side * (0.5 * planes.upper - 0.5 * planes.lower)
    return PlanesBound(low, np.clip(point, planes.lower, planes.upper))


def _weights(planes: PlanesOfBoxes) -> tuple[Floats, Floats]:
    """The best weights met, and the mean of the points against them: for each input between -1 and 1."""
    centre, radius = 0.5 * planes.lower + 0.5 * planes.upper, 0.5 * planes.upper - 0.5 * planes.lower
    steep = planes.slopes * radius[:, None]
    level = planes.constants + (planes.slopes @ centre[:, :, None])[..., 0]
    scale = np.abs(steep).sum(axis=2) + np.abs(level) + TINY
    steep, level = steep / scale[..., None], level / scale
    game = _Game(steep, level)
    logs, mean, side = np.zeros(level.shape), np.zeros(level.shape), np.zeros(radius.shape)
    for step in range(1, ASCENT_STEPS + 1):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        answer = game.answer(weights)
        mean += (weights - mean) * (2.0 / (step + 1))
        side += (answer - side) / step
        if step % BETWEEN_MEANS == 0:
            game.answer(mean)
        if (game.best > 0).all():
            break
        logs += FIRST_STEP / np.sqrt(step) * (level + (steep @ answer[:, :, None])[..., 0])
    return game.weights / scale, side


class _Game:
    """Weights against points of a cube, for planes level + steep z; the best weights so far are kept."""

    def __init__(self, steep: Floats, level: Floats) -> None:
        self.steep, self.level = steep, level
        self.best, self.weights = np.full(len(level), -np.inf), np.zeros(level.shape)

    def answer(self, weights: Floats) -> Floats:
        """The corner at which the sum with these weights is least."""
        slope = (weights[:, None] @ self.steep)[:, 0]
        value = (weights * self.level).sum(axis=1) - np.abs(slope).sum(axis=1)
        better = value > self.best
        self.best = np.where(better, value, self.best)
        self.weights = np.where(better[:, None], weights, self.weights)
        return -np.sign(slope)


def _least_sum(planes: PlanesOfBoxes, weights: Floats) -> Floats:
    """Lower bounds of weighted sums over the boxes, rounded down: what the weights prove of nothing at all."""
    nothing = np.zeros((len(planes), 1, planes.lower.shape[1]))
    rows, ends, own = planes.slopes, -planes.constants, weights[:, None]
    return -dual_maximum(nothing, nothing[..., 0], planes.lower, planes.upper, rows, ends, own)[:, 0]
