"""How far linear functions go over boxes cut by rows: certified upper bounds, whatever the linear program said.

The largest value of a.x over a box with R x <= r is at most y.r + max over the box of (a - R'y).x for every y >= 0.
Corners or a solver, in floating point, propose the multipliers y; the bound is computed from them with outward rounding, so that a
wrong proposal costs tightness and nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import TINY, Floats, gamma
from vernal.model.tick import Tick

MAX_PROGRAMS = 4000  # functions bounded over one batch; beyond, boxes alone have to do
MAX_CORNERED = 5  # components for which all corners of a set are found


def upper_bounds(
    A: Floats, c: Floats, low: Floats, high: Floats, rows: Floats, ends: Floats, tick: Tick
) -> Floats:
    """Upper bounds of A x + c, (batch, K, n) and (batch, K), over boxes (batch, n) with rows x <= ends, (batch, q, n).

    A row whose end is infinite says nothing, and one of a single component is in the box already.
    """
    made = box_bounds(A, c, low, high)
    batch, count, n = A.shape
    useful = np.isfinite(ends) & ((rows != 0).sum(axis=2) > 1) if rows.size else np.zeros(ends.shape, bool)
    if not useful.any() or batch * count > MAX_PROGRAMS or not n:
        return made
    for b in range(batch):
        if useful[b].any():
            tick()
            part = Cut(low[b], high[b], rows[b][useful[b]], ends[b][useful[b]], tick)
            for k in range(count):
                made[b, k] = min(made[b, k], part.upper(A[b, k], float(c[b, k])))
    return made


def box_bounds(A: Floats, c: Floats, low: Floats, high: Floats) -> Floats:
    """Upper bounds of A x + c over boxes alone, rounded up."""
    with np.errstate(invalid="ignore", over="ignore"):
        terms = np.where(A > 0, A * high[:, None], np.where(A < 0, A * low[:, None], 0.0))
        return _summed(terms, c)


def _summed(terms: Floats, c: Floats) -> Floats:
    """The sum along the last axis, rounded up; what is no number is infinite."""
    total = terms.sum(axis=-1) + c
    slack = gamma(terms.shape[-1] + 4) * (np.abs(terms).sum(axis=-1) + np.abs(c)) + TINY
    made = np.nextafter(total + slack, np.inf)
    return np.where(np.isnan(made) | (made == -np.inf), np.inf, made)


class Cut:
    """A box cut by rows, over which many linear functions are bounded."""

    def __init__(self, low: Floats, high: Floats, rows: Floats, ends: Floats, tick: Tick) -> None:
        self.low, self.high, self.rows, self.ends, self.tick = low, high, rows, ends, tick
        self.vertices = self._vertices()

    def upper(self, a: Floats, c: float) -> float:
        """An upper bound of a.x + c; infinite where no multipliers are found."""
        y = None if self.vertices is None else self._at_vertex(a)
        if y is None:
            self.tick()
            y = self._by_program(a)
        return np.inf if y is None else self._bound(a, c, y)

    def _vertices(self) -> Floats | None:
        """The corners, where they are few and the set is not flat."""
        from scipy.optimize import linprog
        from scipy.spatial import HalfspaceIntersection, QhullError

        n = len(self.low)
        if not 2 <= n <= MAX_CORNERED or not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            return None
        A, b = np.vstack([self.rows, np.eye(n), -np.eye(n)]), np.concatenate([self.ends, self.high, -self.low])
        lengths = np.linalg.norm(A, axis=1, keepdims=True)
        inmost = linprog(np.r_[np.zeros(n), -1.0], A_ub=np.hstack([A, lengths]), b_ub=b, bounds=(None, None))
        if inmost.status != 0 or inmost.x[-1] <= 1e-9 * (1 + np.abs(self.high - self.low).max()):
            return None
        try:
            corners = HalfspaceIntersection(np.hstack([A, -b[:, None]]), inmost.x[:-1]).intersections
        except (QhullError, ValueError):
            return None
        return corners if np.isfinite(corners).all() and len(corners) else None

    def _at_vertex(self, a: Floats) -> Floats | None:
        """Multipliers of the rows through the corner that is furthest, such that they add up to the function."""
        from scipy.optimize import nnls

        assert self.vertices is not None
        corner = self.vertices[int(np.argmax(self.vertices @ a))]
        scale = 1e-9 * (1 + np.abs(self.rows) @ np.abs(corner))
        active = np.flatnonzero(np.abs(self.rows @ corner - self.ends) <= scale)
        sides = np.abs(corner - self.high) <= np.abs(corner - self.low)
        walls = np.diag(np.where(sides, 1.0, -1.0))[_near(corner, self.low, self.high)]
        try:
            found, _ = nnls(np.vstack([self.rows[active], walls]).T, a)
        except RuntimeError:
            return None
        y = np.zeros(len(self.rows))
        y[active] = found[: len(active)]
        return y

    def _by_program(self, a: Floats) -> Floats | None:
        """Multipliers that a solver proposes."""
        from scipy.optimize import linprog

        found = linprog(-a, A_ub=self.rows, b_ub=self.ends, bounds=np.stack([self.low, self.high], axis=1))
        if found.status != 0 or found.ineqlin is None:
            return None
        return np.maximum(-np.asarray(found.ineqlin.marginals, dtype=np.float64), 0.0)

    def _bound(self, a: Floats, c: float, y: Floats) -> float:
        """y.ends + c + max over the box of (a - rows'y).x, rounded up."""
        products = self.rows * y[:, None]
        rest = a - products.sum(axis=0)
        doubt = gamma(len(y) + 4) * (np.abs(a) + np.abs(products).sum(axis=0)) + TINY  # of every coefficient
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.maximum(np.abs(self.low), np.abs(self.high))
            ends = np.where(rest > 0, rest * self.high, np.where(rest < 0, rest * self.low, 0.0))
            terms = np.concatenate([ends, doubt * size, y * self.ends])
        return float(_summed(terms, np.float64(c)))


def _near(corner: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """In which components a corner is at a side of the box."""
    scale = 1e-9 * (1 + np.abs(corner))
    return (np.abs(corner - low) <= scale) | (np.abs(corner - high) <= scale)
