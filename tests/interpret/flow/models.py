"""Flows for tests: written with operators, and the models whose pipes are known to be hard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.six_models import model
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import Variable

Interval = tuple[str | float, str | float]


def state(*names: str) -> list[Var]:
    """Variables by these names."""
    return [build.var(name) for name in names]


def flow_of(
    rates: Mapping[Var, Expr], init: Sequence[Interval], region: Sequence[Interval], name: str = "flow"
) -> Flow:
    """A flow from a box inside a region; numbers are meant as written."""
    ends = [(Fraction(str(low)), Fraction(str(high))) for low, high in region]
    variables = tuple(Variable(var.name, REAL, low, high) for var, (low, high) in zip(rates, ends, strict=True))
    spans = [Span(*(Fraction(str(end)) for end in interval)) for interval in init]
    starts = {var.name: span for var, span in zip(rates, spans, strict=True)}
    return Flow(name, variables, Init(starts), {var.name: rate for var, rate in rates.items()})


def number(text: str) -> Fraction:
    """A decimal as it is written."""
    return Fraction(text)


def jet() -> Flow:
    """A jet engine."""
    return model("jet")


def steam() -> Flow:
    """A steam governor; its trajectories leave the region through z = 1."""
    return model("steam")


def exponential() -> Flow:
    """A sine whose argument changes quickly."""
    return model("exponential")


def van_der_pol() -> Flow:
    """The oscillator."""
    x, y = state("x", "y")
    return flow_of({x: 1 * y, y: (1 - x**2) * y - x}, [(1.25, 1.35), (2.25, 2.35)], [(-4, 4), (-4, 4)], "van der Pol")


def cube_root() -> Flow:
    """A field whose slope is unbounded where x is 0."""
    return model("nl2")
