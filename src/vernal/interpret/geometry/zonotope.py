"""Zonotopes: images of cubes under affine maps, closed under affine maps and Minkowski sums.

The floats of a center and of generators are meant exactly. What rounding adds to an operation is bounded and added
as a box, so that the result contains the true one. Support functions are rounded upward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Floats, gamma
from vernal.model.lazy import cached_property


@dataclass(frozen=True)
class Zonotope:
    """The points center + generators b with |b_i| <= 1: center (n,), generators (n, m)."""

    center: Floats
    generators: Floats

    @staticmethod
    def box(lower: Floats, upper: Floats) -> Zonotope:
        """The points between two corners, and a little more where middle and radius are no floats."""
        center = lower + 0.5 * (upper - lower)
        radius = np.maximum(upper - center, center - lower)
        radius = np.where(radius > 0, np.nextafter(radius, np.inf), 0.0)
        return Zonotope(center, np.diag(radius))

    @cached_property
    def size(self) -> Floats:
        """A bound on the absolute value of each coordinate."""
        m = self.generators.shape[1]
        found = np.abs(self.center) + np.abs(self.generators).sum(axis=1)
        return np.asarray(found * (1.0 + gamma(m + 2)) + TINY)

    def support(self, directions: Floats) -> Floats:
        """Upper bounds of directions x over the set, for directions (k, n)."""
        n, m = self.generators.shape
        value = directions @ self.center + np.abs(directions @ self.generators).sum(axis=1)
        return np.asarray(value + (np.abs(directions) @ self.size) * gamma(2 * n + m + 4) + TINY)

    def mapped(self, matrix: Floats, error: Floats, shift: Floats, slack: Floats) -> Zonotope:
        """Contains M x + s + e for every x of the set, every M within `error` of the matrix, and |e| <= slack."""
        n = len(self.center)
        center, generators = matrix @ self.center + shift, matrix @ self.generators
        rounding = gamma(n + 4)
        lost = error @ self.size + rounding * (np.abs(matrix) @ self.size + np.abs(shift)) + slack
        return Zonotope(center, _joined(generators, lost * (1.0 + gamma(n + 6)) + TINY))

    def reduced(self, keep: int) -> Zonotope:
        """With at most `keep` generators and those of one parallelotope around the smallest others."""
        m = self.generators.shape[1]
        if m <= keep:
            return self
        order = np.argsort(-np.abs(self.generators).sum(axis=0), kind="stable")
        kept, rest = self.generators[:, order[:keep]], self.generators[:, order[keep:]]
        frame, extents = _around(rest)
        return Zonotope(self.center, np.concatenate([kept, frame * extents], axis=1))


def _around(generators: Floats) -> tuple[Floats, Floats]:
    """A parallelotope around generators alone: its directions (columns) and how often each is taken.

    With an orthogonal frame Q up to rounding, g = Q Q'g + (1 - Q Q') g. The second part is bounded in the frame as
    well: its size is at most n 1e-13 |g|, and the inverse of Q enlarges it by less than a factor of 2.
    """
    n, m = generators.shape
    frame = np.linalg.svd(generators, full_matrices=True)[0]
    inner = np.abs(frame.T @ generators).sum(axis=1)
    size = np.abs(generators).sum(axis=1)
    assert np.abs(frame @ frame.T - np.eye(n)).max() < 1e-13
    extents = inner * (1.0 + gamma(m + 2 * n + 4)) + (1e-11 * n) * size.sum() + TINY
    return frame, extents


def _joined(generators: Floats, radius: Floats) -> Floats:
    """Generators and those of a box."""
    return np.concatenate([generators, np.diag(radius)], axis=1)
