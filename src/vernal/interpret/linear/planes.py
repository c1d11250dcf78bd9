"""Planes below numbers, over boxes of which more is known: sums of inputs that stay between two ends.

Where `least <= b . x <= most` at every point that counts, any multiple of `b . x - most` may be added to a plane, and
any multiple of `least - b . x`: neither is above zero. The best multiple over a box is found by sorting, since the
bound is concave in it and changes its slope where a coefficient changes its sign; several such sums are taken one after
the other. Whatever the multiples are, the plane lies below: its rounding is paid for as everywhere in `rows`
(A. M. Geoffrion, Lagrangean relaxation for integer programming, 1974).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.linear.forms import Inputs
from vernal.interpret.linear.row_kernels import least, weigh
from vernal.interpret.numbers.backends import NUMPY
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Floats, Mask, gamma

TURNS = 2  # in which every sum has its best multiple found, the others being as they are


@dataclass(frozen=True, slots=True, eq=False)
class InputSums:
    """Sums of inputs that are known to stay between two ends, box by box; an infinite end says nothing."""

    factors: Floats  # (boxes, sums, inputs)
    least: Floats  # (boxes, sums)
    most: Floats

    def take(self, which: Array) -> InputSums:
        """Those of some boxes, perhaps several times."""
        return InputSums(self.factors[which], self.least[which], self.most[which])


@dataclass(frozen=True, slots=True, eq=False)
class PlaneBoxes:
    """A box for each of some planes: its ends; centre, radius and size as inputs have them."""

    lower: Floats
    upper: Floats
    centre: Floats
    radius: Floats
    size: Floats

    @classmethod
    def of(cls, inputs: Inputs, batch: int) -> PlaneBoxes:
        """All boxes of some inputs."""
        every = (inputs.range.lower, inputs.range.upper, *inputs.ball)
        return cls(*(np.broadcast_to(end, (batch, end.shape[1])) for end in every))

    def take(self, which: Array) -> PlaneBoxes:
        """Some of them, perhaps several times."""
        every = (self.lower, self.upper, self.centre, self.radius, self.size)
        return PlaneBoxes(*(end[which] for end in every))


@dataclass(frozen=True, slots=True, eq=False)
class LowerPlanes:
    """Planes that lie below something, each over a box of its own: slopes . x + constants."""

    slopes: Floats  # (planes, inputs)
    constants: Floats

    def raised(self, around: PlaneBoxes, sums: InputSums) -> LowerPlanes:
        """The planes with the best multiples of sums added; still below wherever the sums are between their ends."""
        A, c = self.slopes, self.constants
        count, slack = sums.factors.shape[1], gamma(A.shape[1] + 2)
        for _ in range(TURNS if count > 1 else 1):
            for number in range(count):
                B, low, high = sums.factors[:, number], sums.least[:, number], sums.most[:, number]
                multiple = best_multiples(A, B, low, high, around.lower, around.upper)
                added = multiple[:, None] * B
                gain = multiple * np.where(multiple > 0, high, np.where(multiple < 0, low, 0.0))
                cost = weigh(NUMPY, abs(A) + abs(added), around.size, slack, factor=4.0 * UNIT)
                c = c - gain - (cost + 4.0 * UNIT * (abs(c) + abs(gain)) + TINY)
                A = A + added
        return LowerPlanes(A, c)

    def least(self, around: PlaneBoxes) -> Floats:
        """(planes,): the least value over the box."""
        slack = np.asarray(gamma(self.slopes.shape[1] + 2))
        found: Floats = least(NUMPY, self.slopes, self.constants, slack, around.centre, around.radius)[0]
        return found


def best_multiples(A: Floats, B: Floats, low: Floats, high: Floats, lower: Floats, upper: Floats) -> Floats:
    """(rows,): which multiple of B, where low <= B x <= high, raises the least of A x over a box most; in floats.

    The least of (A + t B) x is concave in t. Its slope is B x at the corner where it is attained, less the end that
    counts: that corner moves from where B x is largest to where it is least as t passes the ratios -A / B.
    """
    with np.errstate(all="ignore"):
        ratios = np.where(B != 0, -A / B, np.inf)
        order = np.argsort(ratios, axis=1)
        ratios = np.take_along_axis(ratios, order, axis=1)
        drops = np.take_along_axis(np.abs(B) * (upper - lower), order, axis=1)
        largest = np.maximum(B * lower, B * upper).sum(axis=1, keepdims=True)
        after = largest - np.cumsum(drops, axis=1)
        above = np.where(largest[:, 0] <= high, 0.0, _first(ratios, after <= high[:, None]))
        below = _first(ratios, after <= low[:, None])
        found = np.minimum(below, np.maximum(above, 0.0))
    return np.where(np.isfinite(found), found, 0.0)


def _first(ratios: Floats, where: Mask) -> Floats:
    """The first ratio of each ascending row at which something is true; infinite where it is nowhere."""
    found: Floats = np.where(where, ratios, np.inf).min(axis=1, initial=np.inf)
    return found


# Several things at once -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """Where in boxes several numbers can be at most zero at once: nowhere, or within these integers."""

    nowhere: Mask  # (boxes,)
    lower: Floats  # (boxes, inputs)
    upper: Floats


def meeting(slopes: Floats, low: Floats, usable: Mask, around: PlaneBoxes) -> Meeting:
    """Of numbers with planes below them, (boxes, numbers), and their least values; only usable ones count.

    The one with the largest bound is raised by multiples of the others. A plane that is at most zero limits how far
    every input may be from the end where it is lowest.
    """
    usable = usable & np.isfinite(low) & np.isfinite(slopes).all(axis=2)
    slopes, low = np.where(usable[:, :, None], slopes, 0.0), np.where(usable, low, -np.inf)
    most = _most(slopes, low, around)
    rows, first = np.arange(len(low)), low.argmax(axis=1)
    planes, found = LowerPlanes(slopes[rows, first], -most[rows, first]), low[rows, first]
    if low.shape[1] > 1:
        others = most.copy()
        others[rows, first] = np.inf
        raised = planes.raised(around, InputSums(slopes, np.full(low.shape, -np.inf), others))
        better = raised.least(around)
        slopes = np.concatenate([slopes, raised.slopes[:, None]], axis=1)
        low = np.concatenate([low, better[:, None]], axis=1)
        found = np.maximum(found, better)
    return Meeting(found > 0, *_reached(slopes, low, around))


def _most(slopes: Floats, low: Floats, around: PlaneBoxes) -> Floats:
    """What slopes . x is at most where a plane of this least value is at most zero; rounded up."""
    corner = np.where(slopes > 0, around.lower[:, None], around.upper[:, None])
    total, size = (slopes * corner).sum(axis=2), (np.abs(slopes) * around.size[:, None]).sum(axis=2)
    with np.errstate(invalid="ignore"):
        pay = 4.0 * gamma(slopes.shape[2] + 4) * (size + np.abs(low)) + TINY
        return np.where(np.isfinite(low), total - low + pay, np.inf)


def _reached(slopes: Floats, low: Floats, around: PlaneBoxes) -> tuple[Floats, Floats]:
    """The integers that are no further from the ends where planes are lowest than these may rise."""
    with np.errstate(all="ignore"):
        steps = np.floor(np.nextafter(-low[:, :, None] / np.abs(slopes) * (1.0 + 4.0 * UNIT), np.inf))
        steps = np.where(np.isfinite(steps), np.maximum(steps, 0.0), np.inf)
        upper = np.where(slopes > 0, around.lower[:, None] + steps, np.inf).min(axis=1)
        lower = np.where(slopes < 0, around.upper[:, None] - steps, -np.inf).max(axis=1)
    return np.maximum(around.lower, lower), np.minimum(around.upper, upper)
