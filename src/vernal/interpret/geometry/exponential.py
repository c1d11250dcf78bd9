"""Matrix exponentials with bounds on their errors, by Taylor series, scaling and squaring.

With h = t / 2^s and |A h| <= 1/2 in the maximum norm, e^{Ah} is its series up to a fixed degree; an entry of the rest
is at most the rest of the series of e^{1/2}. Then e^{2Ah} = (e^{Ah})^2, and the integral of e^{As} over [0, 2h] is
(1 + e^{Ah}) times the one over [0, h], which exists for singular A as well. Rounding is bounded by gamma times the same
products of absolute values (N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Floats, gamma

DEGREE = 16
REST = 2.0 * 0.5 ** (DEGREE + 1) / math.factorial(DEGREE + 1)  # of the series of e^{1/2}, generously
MOST_SQUARINGS = 60


@dataclass(frozen=True, slots=True)
class MatrixExponential:
    """F = e^{At} and J, the integral of e^{As} over [0, t]: floats, and bounds on how far off each entry is."""

    flow: Floats
    flow_error: Floats
    integral: Floats
    integral_error: Floats
    majorant: Floats  # at least e^{|A| t}, hence at least |e^{As}| for all s of [0, t]


def exponential(matrix: Floats, time: float) -> MatrixExponential:
    """e^{At} and its integral, for t >= 0; the matrix and the time are meant exactly."""
    size = np.abs(matrix).sum(axis=1).max(initial=0.0) * time
    squarings = max(0, math.ceil(math.log2(2.0 * size)) + 1) if size > 0.25 else 0
    if not squarings <= MOST_SQUARINGS:  # a nan, too
        raise OverflowError("a matrix that is far too large for the step")
    found = _series(matrix, math.ldexp(time, -squarings))
    for _ in range(squarings):
        found = _doubled(found)
    return found


def _series(matrix: Floats, h: float) -> MatrixExponential:
    """The truncated series, for |A h| <= 1/2."""
    n = len(matrix)
    rounding = gamma(DEGREE * (n + 4) + 4)
    term, size = np.eye(n), np.eye(n)
    flow, integral, majorant = np.eye(n), np.eye(n), np.eye(n)
    scaled, absolute = matrix * h, np.abs(matrix) * h
    for k in range(1, DEGREE + 1):
        term, size = term @ scaled / k, size @ absolute / k
        flow, integral, majorant = flow + term, integral + term / (k + 1), majorant + size
    majorant = majorant * (1.0 + 2.0 * rounding) + 2.0 * REST
    error = rounding * majorant + REST + TINY
    return MatrixExponential(flow, error, integral * h, (error + rounding * majorant) * h + TINY, majorant)


def _doubled(half: MatrixExponential) -> MatrixExponential:
    """The same for twice the time."""
    n = len(half.flow)
    rounding, up = gamma(n + 4), 1.0 + gamma(4 * n + 12)
    flow, integral = half.flow @ half.flow, half.integral + half.flow @ half.integral
    F, J, e, i = np.abs(half.flow), np.abs(half.integral), half.flow_error, half.integral_error
    flow_error = F @ e + e @ F + e @ e + rounding * (F @ F)
    integral_error = i + F @ i + e @ J + e @ i + rounding * (J + F @ J)
    majorant = half.majorant @ half.majorant
    return MatrixExponential(flow, flow_error * up + TINY, integral, integral_error * up + TINY, majorant * up + TINY)
