"""Flows for tests: written with operators, and the models whose pipes are known to be hard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from vernal.model import build
from vernal.model.expr import Expr, Function, Var
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


def sin(x: Expr) -> Expr:
    return build.apply(Function.SIN, x)


def cos(x: Expr) -> Expr:
    return build.apply(Function.COS, x)


def exp(x: Expr) -> Expr:
    return build.apply(Function.EXP, x)


def sqrt(x: Expr) -> Expr:
    return build.apply(Function.SQRT, x)


def jet() -> Flow:
    """A jet engine."""
    x, y = state("x", "y")
    rates = {x: -y - Fraction(3, 2) * x**2 - Fraction(1, 2) * x**3 - Fraction(1, 10), y: 3 * x - y}
    return flow_of(rates, [("0.45", "0.5"), ("-0.6", "-0.55")], [(-1, 1), (-1, 1)], "jet")


def steam() -> Flow:
    """A steam governor; its trajectories leave the region through z = 1."""
    x, y, z = state("x", "y", "z")
    rates = {x: 1 * y, y: z**2 * sin(x) * cos(x) - sin(x) - 3 * y, z: 1 - cos(x)}
    init: list[Interval] = [("0.7", "0.75"), ("-0.05", "0.05"), ("0.7", "0.75")]
    return flow_of(rates, init, [(-1, 1)] * 3, "steam")


def exponential() -> Flow:
    """A sine whose argument changes quickly."""
    x, y = state("x", "y")
    rates = {x: -sin(exp(y**3 + 1)) - y**2, y: -x}
    return flow_of(rates, [("0.45", "0.5"), ("0.86", "0.91")], [(-1, 1), (-1, 1)], "exponential")


def van_der_pol() -> Flow:
    """The oscillator."""
    x, y = state("x", "y")
    return flow_of({x: 1 * y, y: (1 - x**2) * y - x}, [(1.25, 1.35), (2.25, 2.35)], [(-4, 4), (-4, 4)], "van der Pol")


def cube_root() -> Flow:
    """A field whose slope is unbounded where x is 0."""
    x, y = state("x", "y")
    rates = {x: x**2 + y, y: build.power(x**2, Fraction(1, 3)) - x}
    return flow_of(rates, [("-0.025", "0.025"), ("-0.9", "-0.85")], [(-1, 1), (-1, 1)], "cube root")
