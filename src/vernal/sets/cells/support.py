"""Multipliers of rows over boxes: corners of a small set, or a linear program, say which are best.

What follows from them is certified by weak duality, so that a wrong proposal costs tightness and nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.float_program import minimise
from vernal.interpret.geometry.weak_duality import box_maximum, dual_maximum
from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import Tick
from vernal.solvers.growing_program import GrowingProgram

MAX_FUNCTIONS = 2000  # functions bounded over one batch; beyond, boxes alone have to do
PARALLEL = 1e-8  # unit vectors that are no further apart are taken for one
MAX_CORNERED = 5  # components for which all corners of a set are found


def upper_bounds(A: Floats, c: Floats, low: Floats, high: Floats, rows: Floats, ends: Floats, tick: Tick) -> Floats:
    """Upper bounds of A x + c, (batch, K, n) and (batch, K), over boxes (batch, n) with rows x <= ends, (batch, q, n).

    A row whose end is infinite says nothing, and one of a single component is in the box already.
    """
    made = box_maximum(A, c, low, high)
    batch, count, n = A.shape
    useful = np.isfinite(ends) & ((rows != 0).sum(axis=2) > 1) if rows.size else np.zeros(ends.shape, bool)
    if not useful.any() or batch * count > MAX_FUNCTIONS or not n:
        return made
    for b in range(batch):
        if useful[b].any():
            tick()
            part = Cut(low[b], high[b], rows[b][useful[b]], ends[b][useful[b]], tick)
            made[b] = np.minimum(made[b], part.upper(A[b], c[b]))
    return made


class Cut:
    """A box cut by rows, over which many linear functions are bounded."""

    def __init__(self, low: Floats, high: Floats, rows: Floats, ends: Floats, tick: Tick) -> None:
        self.low, self.high, self.rows, self.ends, self.tick = low, high, rows, ends, tick
        self.vertices = self._vertices()
        self.program: GrowingProgram | None = None
        self.units = rows / np.linalg.norm(rows, axis=1)[:, None]

    def upper(self, A: Floats, c: Floats) -> Floats:
        """Upper bounds of A x + c, (functions, n) and (functions,)."""
        multipliers = np.array([self._multipliers(a) for a in A]).reshape(len(A), -1)
        return dual_maximum(A, c, self.low, self.high, self.rows, self.ends, multipliers)

    def _multipliers(self, a: Floats) -> Floats:
        """Multipliers of the rows for one function; 0 where none are found."""
        y = None if self.vertices is None else self._at_vertex(a)
        if y is None:
            self.tick()
            y = self._of_parallel(a)
            y = self._by_program(a) if y is None else y
        return np.zeros(len(self.rows)) if y is None else y

    def _vertices(self) -> Floats | None:
        """The corners, where they are few and the set is not flat."""
        n = len(self.low)
        if not 2 <= n <= MAX_CORNERED or not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            return None
        if n == 2:
            return self._polygon()
        A, b = np.vstack([self.rows, np.eye(n), -np.eye(n)]), np.concatenate([self.ends, self.high, -self.low])
        inside = self._inside(A, b)
        return None if inside is None else _corners(A, b, inside)

    def _polygon(self) -> Floats | None:
        """The corners of a set in the plane: those of the box, clipped row by row."""
        (left, bottom), (right, top) = self.low.tolist(), self.high.tolist()
        corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
        for (a, b), c in zip(self.rows.tolist(), self.ends.tolist(), strict=True):
            gaps = [c - a * x - b * y for x, y in corners]
            if min(gaps, default=0.0) >= 0:
                continue
            made = []
            for k, (x, y) in enumerate(corners):
                u, v = corners[k - 1]
                here, before = gaps[k], gaps[k - 1]
                if here * before < 0:
                    made.append((x + here / (here - before) * (u - x), y + here / (here - before) * (v - y)))
                if here >= 0:
                    made.append((x, y))
            corners = made
        return np.array(corners) if len(corners) > 2 else None

    def _inside(self, A: Floats, b: Floats) -> Floats | None:
        """A point well inside, the centre of the box if it is; None where the set is flat or empty."""
        n = len(self.low)
        centre = 0.5 * (self.low + self.high)
        lengths = np.linalg.norm(A, axis=1)
        least = 1e-6 * float(np.abs(self.high - self.low).max())
        if ((b - A @ centre) / lengths).min() > least:
            return centre
        self.tick()
        rows = np.hstack([A, lengths[:, None]])
        inmost = minimise(np.r_[np.zeros(n), -1.0], rows, b, [(None, None)] * (n + 1))
        return None if inmost is None or inmost.point[-1] <= 1e-3 * least else inmost.point[:-1]

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

    def _of_parallel(self, a: Floats) -> Floats | None:
        """The multiplier of the row that says the same but for its length; None where there is none."""
        length = float(np.linalg.norm(a))
        if not 0 < length < np.inf:
            return None
        apart = np.abs(self.units - a / length).max(axis=1)
        place = int(np.argmin(apart))
        if apart[place] > PARALLEL:
            return None
        y = np.zeros(len(self.rows))
        y[place] = length / float(np.linalg.norm(self.rows[place]))
        return y

    def _by_program(self, a: Floats) -> Floats | None:
        """Multipliers that a solver proposes."""
        if not (np.isfinite(a).all() and np.isfinite(self.rows).all()):
            return None
        if self.program is None:
            self.program = GrowingProgram(-a, self.low, self.high)
            self.program.add(self.rows, self.ends)
        return None if self.program.minimise(-a) is None else self.program.multipliers()


def _corners(A: Floats, b: Floats, inside: Floats) -> Floats | None:
    """The corners of the set A x <= b around a point."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        found = HalfspaceIntersection(np.hstack([A, -b[:, None]]), inside).intersections
    except (QhullError, ValueError):
        return None
    return found if len(found) and np.isfinite(found).all() else None


def _near(corner: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """In which components a corner is at a side of the box."""
    scale = 1e-9 * (1 + np.abs(corner))
    return (np.abs(corner - low) <= scale) | (np.abs(corner - high) <= scale)
