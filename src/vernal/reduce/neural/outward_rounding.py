"""Exact polytopes and affine functions in floats: themselves where these are floats, otherwise more than they were.

Where weights lie on a coarse binary grid, rows and flows are floats exactly. Otherwise rows are rounded and their
offsets moved until the half-space contains the polytope again, and what rounding does to a flow is an error, to be
added to the disturbance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.polytopes import IntegerRow, Polytope
from vernal.interpret.numbers.rounding import float_above
from vernal.model.hybrid import Facets
from vernal.reduce.neural.activation import IntegerForms


def facets_of(polytope: Polytope) -> Facets:
    """The rows of a polytope, each scaled by a power of two to a largest coefficient in [1, 2)."""
    rows = [_float_row(row, polytope) for row in polytope.rows]
    return Facets(np.array([normal for normal, _ in rows]), np.array([offset for _, offset in rows]))


def _float_row(row: IntegerRow, polytope: Polytope) -> tuple[list[float], float]:
    scale = 1 << max(abs(a) for a in row[:-1]).bit_length() - 1
    normal = [a / scale for a in row[:-1]]
    offset = Fraction(-row[-1], scale)
    if all(Fraction(x) == Fraction(a, scale) for x, a in zip(normal, row[:-1], strict=True)):
        return normal, float_above(offset)
    return normal, float_above(polytope.most([*map(Fraction, normal), Fraction(0)]))


def float_flow(flow: IntegerForms, denominator: int) -> NDArray[np.float64]:
    """The coefficients and constants of affine functions, each rounded to the nearest float."""
    return np.array([[x / denominator for x in form] for form in flow])


def exact_flow(rounded: NDArray[np.float64]) -> list[list[Fraction]]:
    """What the floats of a flow are."""
    return [[Fraction(x) for x in form] for form in rounded.tolist()]


def rounding_error(
    flow: IntegerForms, denominator: int, rounded: NDArray[np.float64], polytope: Polytope
) -> list[Fraction]:
    """How far the rounded functions are from the exact ones on a polytope, at most."""
    worst = []
    for form, near in zip(flow, exact_flow(rounded), strict=True):
        gap = [Fraction(x, denominator) - y for x, y in zip(form, near, strict=True)]
        worst.append(max(polytope.most(gap), polytope.most([-x for x in gap])) if any(gap) else Fraction(0))
    return worst
