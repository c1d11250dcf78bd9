"""Values of expressions as affine images of boxes, up to a rest.

A value v has linear bounds over a box: l z + a <= v <= u z + b. With A the mean of l and u, v is A z + m up to r, where
[m - r, m + r] contains l z - A z + a and u z - A z + b over the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.flow.balls import SLACK, BallArrays, around, points
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import TINY, Array, Floats, all_along, gamma
from vernal.model.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class AffineImages:
    """Of values, for each box: coefficients (batch, values, n), and what is added to them."""

    coefficients: Floats
    rest: BallArrays  # (batch, values)
    lower: Floats  # (batch, values): bounds over the boxes
    upper: Floats
    sources: Floats | None = None  # (batch, values, n): of the rest, due to which component, where that is known

    def rows(self, part: Array) -> AffineImages:
        """Those of some boxes."""
        rest = BallArrays(self.rest.mid[part], self.rest.rad[part])
        sources = None if self.sources is None else self.sources[part]
        return AffineImages(self.coefficients[part], rest, self.lower[part], self.upper[part], sources)


def affine_images(linear: Linear, nodes: Sequence[Expr], n: int, batch: int) -> AffineImages:
    """Of expressions over the first n inputs of linear bounds; further inputs are draws, of any value."""
    parts = [_image(linear, node, n, batch) for node in nodes]
    mid, rad = (np.concatenate([getattr(part.rest, end) for part in parts], 1) for end in ("mid", "rad"))
    coefficients, lower, upper = (
        np.concatenate([getattr(part, name) for part in parts], 1) for name in ("coefficients", "lower", "upper")
    )
    return AffineImages(coefficients, BallArrays(mid, rad), lower, upper)


def _image(linear: Linear, node: Expr, n: int, batch: int) -> AffineImages:
    """Every component of one value."""
    found, ends = linear.form(node), linear.box
    whole = around(*(np.broadcast_to(end, (batch, end.shape[1]))[:, None] for end in (ends.lower, ends.upper)))
    low, high = (_every(part, batch) for part in (found.lower_coefficients, found.upper_coefficients))
    known = all_along(np.isfinite(low) & np.isfinite(high))
    slopes = np.where(known[..., None], 0.5 * low + 0.5 * high, 0.0)
    slopes[..., n:] = 0.0  # draws are no part of a set
    rests = []
    for rows, constants in ((low, found.lower_constants), (high, found.upper_constants)):
        left = (points(rows) - points(slopes)) * whole
        rests.append(_sum(left) + points(_every(constants, batch)))
    lower, upper = rests[0].ends[0], rests[1].ends[1]
    own = _every(found.lower, batch), _every(found.upper, batch)
    good = np.isfinite(lower) & np.isfinite(upper)
    slopes = np.where(good[..., None], slopes, 0.0)
    rest = around(np.where(good, lower, own[0]), np.where(good, upper, own[1]))
    return AffineImages(slopes[..., :n], rest, *own)


def _every(array: Array, batch: int) -> Floats:
    return np.broadcast_to(array, (batch, *array.shape[1:])).astype(np.float64)


def _sum(terms: BallArrays) -> BallArrays:
    """Along the last axis."""
    count = terms.mid.shape[-1]
    rad = terms.rad.sum(-1) + gamma(count + 2) * np.abs(terms.mid).sum(-1)
    return BallArrays(terms.mid.sum(-1), rad * (SLACK + gamma(2 * count + 2)) + TINY)
