"""What an affine differential inclusion reaches in one step, from a zonotope: at its end, and at any time of it.

For x' = A x + b + e with |e_i| <= r_i, e measurable: let y be the solution with e = 0. Between the ends of the step it
is within h^2/8 max |y''| of the straight line, and y'' = A e^{As} (A x + b). The rest, the integral of e^{A(t-s)} e(s),
is at most t r + t^2/2 |A| e^{|A|h} r, which grows at least as fast as t. So every support value within the step is at
most the larger one of both ends, plus the distance from the line.

Reference: C. Le Guernic and A. Girard, Reachability analysis of linear systems using support functions, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.exponential import MatrixExponential
from vernal.interpret.geometry.zonotope import Zonotope
from vernal.interpret.numbers.rounding import TINY, Floats, gamma
from vernal.model.lazy import cached_property

TUBE_MARGIN = 2.0**-40  # relative: a tube contains a neighbourhood of what is reached, so no solution leaves it unseen


@dataclass(frozen=True)
class FlowTube:
    """Contains the convex hull of two zonotopes and all points within `bloat` of it."""

    first: Zonotope
    last: Zonotope
    bloat: Floats

    def support(self, directions: Floats) -> Floats:
        """Upper bounds of directions x over the tube, for directions (k, n)."""
        ends = np.maximum(self.first.support(directions), self.last.support(directions))
        around = np.abs(directions) @ self.bloat
        return np.asarray(ends + around + gamma(len(self.bloat) + 8) * (np.abs(ends) + around) + TINY)

    @cached_property
    def size(self) -> Floats:
        """A bound on the absolute value of each coordinate."""
        return np.asarray((np.maximum(self.first.size, self.last.size) + self.bloat) * (1.0 + gamma(3)))

    @cached_property
    def frame(self) -> Floats:
        """Directions (columns) in which the tube is about as wide as a cube: heuristic, for choices of multipliers."""
        shape = self.last.generators
        squares = shape @ shape.T
        least = 1e-10 * np.trace(squares) + 1e-200
        return np.asarray(np.linalg.cholesky(squares + np.diag(self.bloat**2 + least)))


def advance(
    start: Zonotope, matrix: Floats, drift: Floats, radius: Floats, power: MatrixExponential, h: float
) -> FlowTube:
    """The tube of one step of length h; its last zonotope contains what is reached at the end."""
    n = len(drift)
    up = 1.0 + gamma(4 * n + 16)
    steep = np.abs(matrix) @ power.majorant
    spread = (h * radius + (0.5 * h * h) * (steep @ radius)) * up
    slack = spread + power.integral_error @ np.abs(drift) + gamma(n + 2) * (np.abs(power.integral) @ np.abs(drift))
    last = start.mapped(power.flow, power.flow_error, power.integral @ drift, slack * up)
    speed = np.maximum(start.support(matrix) + drift, start.support(-matrix) - drift) * up
    speed = speed + gamma(n + 4) * (np.abs(matrix) @ start.size + np.abs(drift))
    bend = (0.125 * h * h) * (steep @ np.maximum(speed, 0.0)) * up
    return FlowTube(start, last, bend + TUBE_MARGIN * (last.size + start.size) + TINY)
