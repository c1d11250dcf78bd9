"""Sets of states that do not wrap: an image of the initial box, and errors in a frame that turns with the flow.

A set is { c + C r + Q s : |r| <= spread, |s| <= error }. C is what the linearised flow makes of the initial box; what
cannot be said linearly goes into the error, whose frame Q is made orthogonal after every step (R. Lohner, Enclosing the
solutions of ordinary initial and boundary value problems, 1987).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.flow.balls import SLACK, BallArrays, around, points
from vernal.interpret.numbers.rounding import TINY, Array, Floats, Mask, all_along, gamma


@dataclass(frozen=True, slots=True, eq=False)
class Doubletons:
    """A batch of sets, each of them cut by a box; every float is meant exactly."""

    centre: Floats  # (batch, n)
    image: Floats  # (batch, n, n)
    spread: Floats  # (batch, n)
    frame: Floats  # (batch, n, n), nearly orthogonal
    error: Floats  # (batch, n)
    lower: Floats  # (batch, n): the box
    upper: Floats

    def __getitem__(self, index: Array) -> Doubletons:
        return Doubletons(*(getattr(self, name)[index] for name in Doubletons.__slots__))

    @property
    def radius(self) -> Floats:
        """Of the box around the centre that contains each set, whatever cuts it."""
        reach = weighted(np.abs(self.image), self.spread) + weighted(np.abs(self.frame), self.error)
        return np.asarray(reach * SLACK)

    @property
    def finite(self) -> Mask:
        parts = (self.centre, self.image.reshape(len(self.centre), -1), self.error)
        return all_along(np.isfinite(np.concatenate(parts, 1)))

    def support(self, directions: Floats) -> BallArrays:
        """What each direction (d, n) is over each set: (batch, d)."""
        rows = points(directions)
        middle = (points(self.centre[:, None]) @ points(directions.T))[:, 0]
        reach = weighted((rows @ points(self.image)).size, self.spread)
        reach = reach + weighted((rows @ points(self.frame)).size, self.error)
        return BallArrays(middle.mid, (middle.rad + reach) * SLACK + TINY)


def boxes(lower: Floats, upper: Floats) -> Doubletons:
    """Boxes (batch, n) as sets."""
    ball = around(lower, upper)
    batch, n = lower.shape
    axes = np.broadcast_to(np.eye(n), (batch, n, n))
    return Doubletons(ball.mid, axes, ball.rad, axes, np.zeros_like(ball.rad), lower, upper)


def joined(parts: list[Doubletons]) -> Doubletons:
    """Batches as one."""
    columns = [[getattr(part, name) for part in parts] for name in Doubletons.__slots__]
    return Doubletons(*(np.concatenate(column) for column in columns))


def weighted(matrix: Floats, vector: Floats) -> Floats:
    """Matrices (batch, m, n) times vectors (batch, n), none of them negative, rounded up."""
    return np.asarray((matrix @ vector[..., None])[..., 0] * (SLACK + gamma(2 * vector.shape[-1])) + TINY)


def moved(sets: Doubletons, centre: BallArrays, slopes: BallArrays, doubt: Floats) -> Doubletons:
    """The sets { phi(c) + J (x - c) + w : x in a set, J in slopes, |w| <= doubt }, enclosed; `centre` is phi(c)."""
    image, turned = slopes @ points(sets.image), slopes @ points(sets.frame)
    rest = (centre.rad + doubt + weighted(image.rad, sets.spread)) * SLACK + TINY
    frame, error = _turned(turned, sets.error, rest)
    return _boxed(centre.mid, image.mid, sets.spread, frame, error)


def reduced(columns: Floats, error: Floats) -> tuple[Floats, Floats]:
    """A frame, and errors in it, around { G s : |s| <= error } for columns G (batch, m, n) with m <= n."""
    return _turned(points(columns), error, np.zeros(columns.shape[:2]))


def _turned(columns: BallArrays, error: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """A frame, and errors in it, around { G s + w : |s| <= error, |w| <= rest }."""
    frame = _frames(columns.mid * error[:, None])
    back = points(np.swapaxes(frame, 1, 2).copy())
    size = (weighted(columns.size, error) + rest) * SLACK
    lost = _defect(frame) * size.max(1, keepdims=True) * SLACK  # |(Q Q^T)^-1 v - v| for any v of that size
    found = weighted((back @ columns).size, error) + weighted(np.abs(back.mid), (rest + lost) * SLACK)
    return frame, np.asarray(found * SLACK)


def _boxed(centre: Floats, image: Floats, spread: Floats, frame: Floats, error: Floats) -> Doubletons:
    """Sets with the boxes around them."""
    reach = weighted(np.abs(image), spread) + weighted(np.abs(frame), error)
    return Doubletons(centre, image, spread, frame, error, *BallArrays(centre, reach * SLACK).ends)


def _frames(columns: Floats) -> Floats:
    """Orthogonal frames, the first axis along the longest column."""
    lengths = np.where(np.isfinite(columns), columns, 0.0)
    order = np.argsort(-np.linalg.norm(lengths, axis=1), axis=1)
    found: Floats = np.linalg.qr(np.take_along_axis(lengths, order[:, None], axis=2))[0]
    return found


def _defect(frame: Floats) -> Floats:
    """A bound e / (1 - e) on the norm of (Q Q^T)^-1 - I, where e bounds that of Q Q^T - I: (batch, 1)."""
    product = points(frame) @ points(np.swapaxes(frame, 1, 2).copy())
    off = BallArrays(product.mid - np.eye(frame.shape[-1]), product.rad).size  # the difference is exact
    e = off.sum(2).max(1, keepdims=True) * (SLACK + gamma(frame.shape[-1])) + 2.0**-50
    return np.asarray(np.where(e < 0.5, e / (1 - e) * SLACK, np.nan))
