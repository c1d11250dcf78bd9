"""Flows with known or published errors of abstraction, written once for the tests of learners and certifiers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from vernal.model import build
from vernal.model.expr import Expr, Function
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import Variable

x, y, z = (build.var(name) for name in "xyz")
HALF = Fraction(1, 2)


def flow(region: Mapping[str, tuple[Fraction | int, Fraction | int]], **rates: Expr) -> Flow:
    """A flow that may start anywhere in its region."""
    ends = {name: (Fraction(low), Fraction(high)) for name, (low, high) in region.items()}
    state = tuple(Variable(name, REAL, low, high) for name, (low, high) in ends.items())
    return Flow("test", state, Init({name: Span(low, high) for name, (low, high) in ends.items()}), rates)


def sin(u: Expr) -> Expr:
    return build.apply(Function.SIN, u)


def cos(u: Expr) -> Expr:
    return build.apply(Function.COS, u)


def exp(u: Expr) -> Expr:
    return build.apply(Function.EXP, u)


def sqrt(u: Expr) -> Expr:
    return build.apply(Function.SQRT, u)


UNIT = (-1, 1)
PLANE = {"x": UNIT, "y": UNIT}

JET = flow(PLANE, x=-y - 3 * HALF * x**2 - HALF * x**3 - Fraction(1, 10), y=3 * x - y)
STEAM = flow({**PLANE, "z": UNIT}, x=y, y=z**2 * sin(x) * cos(x) - sin(x) - 3 * y, z=1 - cos(x))
EXPONENTIAL = flow(PLANE, x=-sin(exp(y**3 + 1)) - y**2, y=-x)
WATER_TANK = flow({"x": (0, 2)}, x=3 * HALF - sqrt(x))
NON_LIPSCHITZ_1 = flow({"x": (0, 1), "y": UNIT}, x=y, y=sqrt(x))
NON_LIPSCHITZ_2 = flow(PLANE, x=x**2 + y, y=(x**2) ** Fraction(1, 3) - x)

# The errors of Table 1 of "Neural Abstractions" (NeurIPS 2022) and the number of modes they took there.
PUBLISHED: dict[str, tuple[Flow, tuple[str, ...], int]] = {
    "jet": (JET, ("0.039", "0.015"), 8),
    "steam": (STEAM, ("0.013", "0.105", "0.064"), 29),
    "exponential": (EXPONENTIAL, ("0.113", "0.005"), 12),
    "water tank": (WATER_TANK, ("0.097",), 6),
    "non-Lipschitz 1": (NON_LIPSCHITZ_1, ("0.012", "0.093"), 12),
    "non-Lipschitz 2": (NON_LIPSCHITZ_2, ("0.036", "0.081"), 32),
}
