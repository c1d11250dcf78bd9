"""The angle of a point: the same conventions everywhere, enclosures that contain it, and planes that are near."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.interpret.sets import inside
from vernal.errors import TypeClash
from vernal.interpret import concrete, exact, interval
from vernal.interpret.linear.surfaces import angle_planes
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.kernels import atan2
from vernal.interpret.numbers.reals import Undefined
from vernal.interpret.numbers.rounding import PI, Backend, torch_tensor
from vernal.interpret.value_sets import Range
from vernal.model import build

HERE = Backend()
X, Y = build.var("x"), build.var("y")
ANGLE = build.atan2(Y, X)
NUMBERS = st.one_of(
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300]),
)
WIDTHS = st.one_of(st.floats(0, 4), st.sampled_from([0.0, 1e-300, 1e-9, 1e-3]))


def box(y: tuple[float, float], x: tuple[float, float]) -> tuple[Range, Range]:
    return Range(*np.array(y).reshape(2, 1, 1)), Range(*np.array(x).reshape(2, 1, 1))


def true(y: Fraction, x: Fraction) -> Any:
    return exact.evaluate([ANGLE], {Y: y, X: x})[0]


# Conventions ----------------------------------------------------------------------------------------------------------

RIGHT, UP, LEFT, DOWN = ((0, 1), 0.0), ((1, 0), math.pi / 2), ((0, -1), math.pi), ((-1, 0), -math.pi / 2)


@pytest.mark.parametrize(("point", "angle"), [RIGHT, UP, LEFT, DOWN, ((-1, -1), -3 * math.pi / 4)])
def test_every_meaning_has_the_same_conventions(point: tuple[int, int], angle: float) -> None:
    y, x = point
    found = true(Fraction(y), Fraction(x))
    assert float(found if isinstance(found, Fraction) else found.mid()) == pytest.approx(angle, abs=1e-15)
    signed, twice = np.array([float(y), -0.0 if y == 0 else y]), np.array([float(x)] * 2)
    (floats,) = concrete.evaluate([ANGLE], {Y: signed, X: twice})
    assert floats == pytest.approx([angle, angle], abs=1e-15)
    low, high = atan2(HERE, signed, twice)
    assert (low <= angle).all()
    assert (high >= angle).all()
    assert (high - low < 1e-13).all()


def test_the_origin_has_no_angle() -> None:
    assert isinstance(true(Fraction(0), Fraction(0)), Undefined)
    (floats,) = concrete.evaluate([ANGLE], {Y: np.array([0.0, -0.0]), X: np.array([0.0, -0.0])})
    assert np.isnan(floats).all()
    for y, x in (((0.0, 0.0), (0.0, 0.0)), ((-1.0, 1.0), (-1.0, 1.0)), ((0.0, 1.0), (-1.0, 0.0))):
        found = interval.angle(HERE, *box(y, x))
        assert (float(found.lower[0, 0]), float(found.upper[0, 0])) == (-math.inf, math.inf)
    with pytest.raises(TypeClash, match="origin"):
        build.atan2(0, 0)


def test_balls_that_may_hold_the_jump_or_the_origin_are_undecided() -> None:
    with ctx.workprec(128):
        near, left, right = arb(0, 1e-9), arb(-1), arb(1)
        assert reals.atan2(near, left) is None
        assert reals.atan2(near, near) is None
        assert reals.atan2(arb(0), near) is None
        across = reals.atan2(near, right)
        assert isinstance(across, arb)
        assert across.contains(0)
        up = reals.atan2(arb(1), near)
        assert isinstance(up, arb)
        assert up.overlaps(arb.pi() / 2)
        assert up.rad() < 1e-8


# Enclosures -----------------------------------------------------------------------------------------------------------


@given(points=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_the_kernel_contains_the_angle(points: list[tuple[float, float]]) -> None:
    y, x = (np.array(part) for part in zip(*points, strict=True))
    with np.errstate(all="ignore"):
        low, high = atan2(HERE, y, x)
    for a, b, q, p in zip(low.tolist(), high.tolist(), y.tolist(), x.tolist(), strict=True):
        if q or p:
            assert inside(a, b, true(Fraction(q), Fraction(p))), (q, p)
            assert b - a <= 3e-14 * max(abs(a), abs(b)) + 1e-300


@given(data=st.data(), lows=st.tuples(NUMBERS, NUMBERS), widths=st.tuples(WIDTHS, WIDTHS))
def test_ranges_and_planes_contain_the_angle(
    data: st.DataObject, lows: tuple[float, float], widths: tuple[float, float]
) -> None:
    ends = [(low, low + width) for low, width in zip(lows, widths, strict=True)]
    y, x = box(*ends)
    with np.errstate(all="ignore"):
        own = interval.angle(HERE, y, x)
        a, b, c, d = (float(part[0, 0]) for part in angle_planes(HERE, y, x, own))
    for _ in range(4):
        shares = data.draw(st.tuples(*[st.integers(0, 16)] * 2))
        q, p = (
            Fraction(low) + Fraction(share, 16) * (Fraction(high) - Fraction(low))
            for (low, high), share in zip(ends, shares, strict=True)
        )
        found = true(q, p)
        if isinstance(found, Undefined):
            assert not math.isfinite(c)
            assert not math.isfinite(d)
            continue
        assert inside(float(own.lower[0, 0]), float(own.upper[0, 0]), found)
        if math.isfinite(c) and math.isfinite(d):
            bottom, top = reals.ends(found) if isinstance(found, arb) else (found, found)
            plane = Fraction(a) * q + Fraction(b) * p
            assert plane + Fraction(c) <= top
            assert bottom <= plane + Fraction(d)


@pytest.mark.parametrize(
    ("y", "x", "range_", "gap"),
    [
        ((-0.5, 0.5), (0.5, 1.0), math.pi / 2, 0.4),
        ((1.0, 2.0), (-1.0, 1.0), math.pi / 2, 0.5),
        ((0.0, 0.5), (-2.0, -1.0), math.atan(0.5), 0.12),  # from above, the jump is no jump
        ((-0.51, -0.5), (-1.01, -1.0), 0.02, 1e-4),
        ((-0.5, 0.0), (-2.0, -1.0), 2 * math.pi, 2 * math.pi),  # from below it is
        ((-1.0, 1.0), (-2.0, -1.0), 2 * math.pi, 2 * math.pi),
    ],
)
def test_ranges_are_the_least_and_planes_are_near(
    y: tuple[float, float], x: tuple[float, float], range_: float, gap: float
) -> None:
    own = interval.angle(HERE, *box(y, x))
    assert float((own.upper - own.lower)[0, 0]) <= range_ + 1e-13
    _, _, c, d = angle_planes(HERE, *box(y, x), own)
    assert 0 <= float((d - c)[0, 0]) <= gap + 1e-13


def test_unbounded_coordinates_have_angles_too() -> None:
    infinity = math.inf
    with np.errstate(all="ignore"):
        first = interval.angle(HERE, *box((1.0, infinity), (1.0, 2.0)))
        whole = interval.angle(HERE, *box((1.0, infinity), (1.0, infinity)))
        planes = angle_planes(HERE, *box((1.0, infinity), (1.0, infinity)), whole)
    assert float(first.lower[0, 0]) <= math.atan2(1, 2) <= math.pi / 2 <= float(first.upper[0, 0])
    assert (float(whole.lower[0, 0]), float(whole.upper[0, 0])) == (-PI[1], PI[1])
    assert [float(part[0, 0]) for part in planes] == [0.0, 0.0, -PI[1], PI[1]]


def test_bounds_shrink_with_the_square_of_the_width() -> None:
    gaps = []
    for width in (0.1, 0.01, 0.001):
        y, x = box((0.3, 0.3 + width), (-0.4, -0.4 + width))
        _, _, c, d = angle_planes(HERE, y, x, interval.angle(HERE, y, x))
        gaps.append(float((d - c)[0, 0]))
    assert gaps[1] < gaps[0] / 50
    assert gaps[2] < gaps[1] / 50


@pytest.mark.torch
def test_torch_draws_the_same_planes() -> None:
    import torch

    rng = np.random.default_rng(1)
    lows = rng.uniform(-2, 2, (2, 200, 3))
    highs = lows + rng.uniform(0, 2, (2, 200, 3))
    there = Backend(torch.asarray(lows))
    y, x = (Range(low, high) for low, high in zip(lows, highs, strict=True))
    v, u = (Range(torch.asarray(part.lower), torch.asarray(part.upper)) for part in (y, x))
    with np.errstate(all="ignore"):
        here_planes = angle_planes(HERE, y, x, interval.angle(HERE, y, x))
        there_planes = angle_planes(there, v, u, interval.angle(there, v, u))
    for a, b in zip(here_planes, there_planes, strict=True):
        assert np.allclose(a, torch_tensor(b).numpy(), rtol=1e-6, atol=1e-6)
