"""Taylor coefficients: against known series, for points and for all points of a ball."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, arb_series, ctx

from vernal.interpret.flow.series import NoSeries, taylor
from vernal.model import build, functions
from vernal.model.expr import Expr
from vernal.model.sorts import REAL

T, Y = build.var("t", REAL), build.var("y", REAL)
ORDER = 12
RATES: Mapping[str, tuple[Expr, Callable[[Any], Any]]] = {  # along t' = 1, and the same in series of t
    "sine": (functions.sin(T), lambda t: t.sin()),
    "cosine of a square": (functions.cos(T * T), lambda t: (t * t).cos()),
    "both waves": (functions.sin(T) * functions.cos(T) + functions.sin(T), lambda t: t.sin() * t.cos() + t.sin()),
    "exponential": (functions.exp(2 * T), lambda t: (2 * t).exp()),
    "tanh": (functions.tanh(T), lambda t: ((2 * t).exp() - 1) / ((2 * t).exp() + 1)),
    "quotient": ((1 + T) / (2 + T * T), lambda t: (1 + t) / (2 + t * t)),
    "by a constant": (T / 3 - 2 * T, lambda t: t / 3 - 2 * t),
    "power": (build.power(T, 5), lambda t: t * t * t * t * t),
    "inverse power": (build.power(T, -3), lambda t: 1 / (t * t * t)),
    "root": (build.power(T, Fraction(3, 2)), lambda t: t * t.sqrt()),
    "on one side of kinks": (abs(T) + build.relu(-T) + build.maximum(T, 0), lambda t: 2 * t),
    "no power": (build.power(T, 0) + T, lambda t: 1 + t),
}


def coefficients(rate: Expr, start: arb) -> list[arb]:
    with ctx.workprec(128):
        return taylor([build.const(1), rate], {T: start, Y: arb(0)}, {}, ORDER)[1]


@pytest.mark.parametrize("name", RATES)
def test_coefficients_are_those_of_known_series(name: str) -> None:
    rate, series = RATES[name]
    with ctx.workprec(128):
        before, ctx.cap = ctx.cap, ORDER + 1
        expected = series(arb_series([arb("0.7"), arb(1)], prec=ORDER)).integral()
        ctx.cap = before
        wide = coefficients(rate, arb("0.7", 0.01))
        for k, found in enumerate(coefficients(rate, arb("0.7"))):
            assert found.overlaps(expected[k])
            assert found.rad() < 1e-25
            assert wide[k].contains(found)


def test_coefficients_of_a_solution_of_its_own() -> None:
    """y' = y^2 from 1/2 is 1 / (2 - t); all of x' = -x y and y' = y / x have series from balls as well."""
    with ctx.workprec(128):
        (found,) = taylor([Y * Y], {Y: arb(0.5)}, {}, ORDER)
        assert all(value.overlaps(arb(2) ** -(k + 1)) for k, value in enumerate(found))
        balls = taylor([-T * Y, Y / T], {T: arb(1, 0.1), Y: arb(2, 0.1)}, {}, ORDER)
        inside = taylor([-T * Y, Y / T], {T: arb(1.05), Y: arb(1.95)}, {}, ORDER)
        assert all(a.contains(b) for x, y in zip(balls, inside, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("rate", [1 / T, abs(T), functions.log(T), build.power(T, -2)], ids=str)
def test_there_is_no_series_where_a_field_may_have_no_value_or_a_kink(rate: Expr) -> None:
    with pytest.raises(NoSeries):
        coefficients(rate, arb(0, 0.1))
