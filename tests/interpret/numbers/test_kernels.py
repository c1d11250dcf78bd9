"""Kernels against ball arithmetic: enclosures contain the true values and are narrow, wherever the argument lies."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from vernal.interpret.numbers import enclosures, kernels
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.rounding import Backend
from vernal.model.expr import Function

HERE = Backend()
POINTS = st.lists(
    st.one_of(
        st.floats(-10, 10),
        st.floats(-800, 800),
        st.floats(-1e5, 1e5),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-90_000, 90_000).map(lambda k: k * math.pi / 2),
        st.integers(-1000, 1000).map(lambda k: k * math.log(2) / 2),
        st.sampled_from(
            [
                0.0,
                -0.0,
                1.0,
                5e-324,
                -5e-324,
                0.17,
                0.34,
                -0.34,
                0.41,
                -0.29,
                700.0,
                -700.0,
                2.0**17,
                2.0**-1022,
                1.4142135,
            ]
        ),
    ),
    min_size=1,
    max_size=20,
)


def true(function: Function, x: float) -> Any:
    return CALCULUS[function].ball(arb(x))


def is_inside(low: float, ball: arb, high: float) -> bool:
    above = low == -math.inf or bool(arb(low) <= ball) or bool(ball.overlaps(arb(low)))
    return above and (high == math.inf or bool(ball <= arb(high)) or bool(ball.overlaps(arb(high))))


@pytest.mark.parametrize("function", list(Function), ids=lambda f: f.value)
@given(points=POINTS)
def test_kernels_contain_the_true_value(function: Function, points: list[float]) -> None:
    with np.errstate(all="ignore"):  # as all interpreters do
        low, high = enclosures.values(HERE, function, np.array(points))
    with ctx.workprec(2400):
        for x, a, b in zip(points, low.tolist(), high.tolist(), strict=True):
            assert a <= b
            ball = true(function, x)
            if ball.is_finite():
                assert is_inside(a, ball, b), x


@pytest.mark.parametrize("function", list(Function), ids=lambda f: f.value)
def test_kernels_are_narrow(function: Function) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0.001, 1.5, 500), rng.uniform(0.001, 30, 500), 10.0 ** rng.uniform(-9, 0, 500)])
    low, high = enclosures.values(HERE, function, x)
    size = np.maximum(abs(low), abs(high))
    near_zero = x < 0.7  # there also the waves have relative margins
    absolute = ~near_zero if function in enclosures.WAVES else np.zeros(x.shape, dtype=bool)
    assert ((high - low) <= 1e-13 * np.where(absolute, 1 + size**2, size)).all()


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [(Function.SIN, 0, 0), (Function.COS, 0, 1), (Function.TAN, 0, 0), (Function.ATAN, 0, 0),
     (Function.TANH, 0, 0), (Function.ERF, 0, 0), (Function.EXP, 0, 1),
     (Function.LOG, 1, 0), (Function.SQRT, 9, 3), (Function.SIGMOID, 0, 0.5)],
)  # fmt: skip
def test_simple_values_are_points(function: Function, x: float, value: float) -> None:
    low, high = enclosures.values(HERE, function, np.array([float(x)]))
    assert low[0] == high[0] == value


def test_the_parts_of_constants_add_up() -> None:
    """What the proofs assume of ln 2 and pi / 2."""
    with ctx.workprec(400):
        assert abs(sum((arb(part) for part in kernels.LN2), -arb(2).log())) < arb(1e-25)
        assert abs(sum((arb(part) for part in kernels.HALF_PI), -arb.pi() / 2)) < arb(1e-36)
    for part, bits in ((kernels.LN2[0], 32), (kernels.HALF_PI[0], 33), (kernels.HALF_PI[1], 33)):
        assert (Fraction(part).numerator).bit_length() <= bits


@pytest.mark.parametrize("function", list(Function), ids=lambda f: f.value)
def test_what_is_not_finite_is_not_bounded_wrongly(function: Function) -> None:
    x = np.array([np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        low, high = enclosures.values(HERE, function, x)
    limits = enclosures.limits(function)
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    assert low[2] <= max(limits[0], -np.inf) or low[2] == -np.inf
    assert high[2] >= limits[1]


@given(ends=st.tuples(st.floats(-1e4, 1e4), st.floats(0, 10)), share=st.floats(0, 1))
@pytest.mark.parametrize("function", list(Function), ids=lambda f: f.value)
def test_ranges_contain_what_lies_between(function: Function, ends: tuple[float, float], share: float) -> None:
    lower, upper = ends[0], ends[0] + ends[1]
    with np.errstate(all="ignore"):
        low, high = enclosures.ranges(HERE, function, np.array([lower]), np.array([upper]))
    x = min(max(lower + share * (upper - lower), lower), upper)
    with ctx.workprec(200):
        ball: Any = true(function, x)
        if ball.is_finite():
            assert is_inside(float(low[0]), ball, float(high[0]))


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(5, 2), Fraction(-1, 2)], ids=str)
def test_fractional_powers_are_narrow(exponent: Fraction) -> None:
    x = np.array([0.25, 3.0, 1e10])
    low, high = enclosures.values(HERE, exponent, x)
    with ctx.workprec(200):
        for a, b, point in zip(low.tolist(), high.tolist(), x.tolist(), strict=True):
            assert is_inside(a, arb(point) ** arb(fmpq(exponent.numerator, exponent.denominator)), b)
            assert b - a <= 1e-14 * b
