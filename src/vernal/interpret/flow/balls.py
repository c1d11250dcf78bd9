"""Numbers known up to a radius, in arrays: midpoints and radii, with every rounding counted in the radius.

With u = 2^-53 a float operation is off by at most u times its result, or by 2^-1075 where it underflows; a sum of k
products by gamma(k) times the sum of the products' sizes. Each operation here adds that much, and a factor for what
its own computation of the radius may lose. A midpoint or radius that is infinite or not a number stays so in all that
is computed from it: whoever uses a result asks `finite` first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vernal.interpret.numbers.rounding import TINY, UNIT, Floats, Mask, gamma

SLACK = 1.0 + 64 * UNIT  # more than a few operations in a row can lose of a radius


@dataclass(frozen=True, slots=True, eq=False)
class BallArrays:
    """Every number is within `rad` of `mid`."""

    mid: Floats
    rad: Floats

    def __getitem__(self, index: Any) -> BallArrays:
        return BallArrays(self.mid[index], self.rad[index])

    def __add__(self, other: BallArrays) -> BallArrays:
        mid = self.mid + other.mid
        return BallArrays(mid, (self.rad + other.rad + UNIT * np.abs(mid)) * SLACK + TINY)

    def __sub__(self, other: BallArrays) -> BallArrays:
        return self + -other

    def __neg__(self) -> BallArrays:
        return BallArrays(-self.mid, self.rad)

    def __mul__(self, other: BallArrays) -> BallArrays:
        mid, size = self.mid * other.mid, np.abs(self.mid)
        rad = size * other.rad + self.rad * (np.abs(other.mid) + other.rad) + UNIT * np.abs(mid)
        return BallArrays(mid, rad * SLACK + TINY)

    def __matmul__(self, other: BallArrays) -> BallArrays:
        """Products of matrices (..., m, k) and (..., k, n)."""
        terms = self.mid.shape[-1]
        mid, size, other_size = self.mid @ other.mid, np.abs(self.mid), np.abs(other.mid)
        rad = size @ (other.rad + gamma(terms + 2) * other_size) + self.rad @ (other_size + other.rad)
        return BallArrays(mid, rad * (SLACK + gamma(2 * terms)) + TINY)

    @property
    def size(self) -> Floats:
        """The largest absolute value."""
        return np.asarray((np.abs(self.mid) + self.rad) * SLACK)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Floats below and above."""
        return np.nextafter(self.mid - self.rad, -np.inf), np.nextafter(self.mid + self.rad, np.inf)

    @property
    def finite(self) -> Mask:
        return np.isfinite(self.mid) & np.isfinite(self.rad)


def points(values: Floats) -> BallArrays:
    """Numbers known exactly."""
    return BallArrays(values, np.zeros_like(values))


def around(lower: Floats, upper: Floats) -> BallArrays:
    """The smallest balls around intervals, up to rounding; not a number where an end is infinite."""
    mid = 0.5 * lower + 0.5 * upper
    return BallArrays(mid, np.maximum(upper - mid, mid - lower) * SLACK + TINY * (lower != upper))


def inverse(x: BallArrays) -> BallArrays:
    """1 / x; not a number where x may be 0."""
    low, high = x.ends
    below, above = np.nextafter(1.0 / high, -np.inf), np.nextafter(1.0 / low, np.inf)
    zero = (low <= 0) & (high >= 0)
    return around(np.where(zero, np.nan, below), np.where(zero, np.nan, above))


def times(x: BallArrays, factor: Floats | float) -> BallArrays:
    """Products with floats, which are meant exactly."""
    mid = x.mid * factor
    return BallArrays(mid, (x.rad * np.abs(factor) + UNIT * np.abs(mid)) * SLACK + TINY)


def over(x: BallArrays, divisor: float) -> BallArrays:
    """Quotients by a float above 0."""
    mid = x.mid / divisor
    return BallArrays(mid, (x.rad / divisor + UNIT * np.abs(mid)) * SLACK + TINY)
