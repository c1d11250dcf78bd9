"""Flows with known or published errors of abstraction, written once for the tests of learners and certifiers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tests.six_models import NAMES, model
from vernal.model import build
from vernal.model.expr import Expr
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


UNIT = (-1, 1)
PLANE = {"x": UNIT, "y": UNIT}

JET, STEAM, EXPONENTIAL, WATER_TANK, NON_LIPSCHITZ_1, NON_LIPSCHITZ_2 = map(model, NAMES)

# The errors of Table 1 of "Neural Abstractions" (NeurIPS 2022) and the number of modes they took there.
PUBLISHED: dict[str, tuple[Flow, tuple[str, ...], int]] = {
    "jet": (JET, ("0.039", "0.015"), 8),
    "steam": (STEAM, ("0.013", "0.105", "0.064"), 29),
    "exponential": (EXPONENTIAL, ("0.113", "0.005"), 12),
    "water tank": (WATER_TANK, ("0.097",), 6),
    "non-Lipschitz 1": (NON_LIPSCHITZ_1, ("0.012", "0.093"), 12),
    "non-Lipschitz 2": (NON_LIPSCHITZ_2, ("0.036", "0.081"), 32),
}
