"""Lines around curves: rigorous at exact points, and as near as tangents and chords can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interpret.sets import inside
from vernal.interpret import exact, interval
from vernal.interpret.linear.curves import at, lines, slope, value
from vernal.interpret.numbers.rounding import Backend, torch_tensor
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model.expr import Expr, Function

HERE = Backend()
X = build.var("x")
NAMES = [*Function, Fraction(2), Fraction(3), Fraction(5), Fraction(4), Fraction(-1), Fraction(-2), Fraction(1, 2)]

BOXES = st.builds(
    lambda low, width: (low, low + width),
    st.one_of(st.floats(-7, 7), st.floats(-500, 500), st.sampled_from([0.0, -0.0, 1e-9, np.pi, -np.pi / 2, 1e8])),
    st.one_of(st.floats(0, 12), st.sampled_from([0.0, 1e-300, 1e-12, 1e-3, 3.0])),
)


def expression(name: Function | Fraction) -> Expr:
    return build.apply(name, X) if isinstance(name, Function) else build.power(X, name)


@pytest.mark.parametrize("name", NAMES, ids=str)
@given(box=BOXES, shares=st.lists(st.integers(0, 64), min_size=3, max_size=3))
def test_lines_are_rigorous(name: Function | Fraction, box: tuple[float, float], shares: list[int]) -> None:
    low, high = (np.array([[end]]) for end in box)
    with np.errstate(all="ignore"):
        own = value(HERE, name, Range(low, high))
        a, c, b, d = (float(part[0, 0]) for part in lines(HERE, name, Range(low, high), own))
    if not (np.isfinite(c) and np.isfinite(d)):
        return
    for share in [0, *shares, 64]:
        x = Fraction(box[0]) + Fraction(share, 64) * (Fraction(box[1]) - Fraction(box[0]))
        (found,) = exact.evaluate([expression(name)], {X: x})
        below, above = Fraction(a) * x + Fraction(c), Fraction(b) * x + Fraction(d)
        # as floats one further, which is less than the precision of `exact`
        assert inside(float(below) - 1e-300, float("inf"), found) or below <= _top(found)
        assert inside(float("-inf"), float(above) + 1e-300, found) or above >= _bottom(found)


def _top(found: object) -> Fraction:
    from vernal.interpret.numbers import reals

    return found if isinstance(found, Fraction) else reals.ends(found)[1]  # type: ignore[arg-type]


def _bottom(found: object) -> Fraction:
    from vernal.interpret.numbers import reals

    return found if isinstance(found, Fraction) else reals.ends(found)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "box", "gap"),
    [
        (Function.TANH, (-1.0, 3.0), 0.85),  # the two lines of a CROWN relaxation with the best tangents
        (Function.TANH, (-3.0, 3.0), 1.55),
        (Function.TANH, (0.5, 1.0), 0.05),
        (Function.SIGMOID, (-2.0, 2.0), 0.2),
        (Function.SIN, (-0.5, 0.5), 0.025),
        (Function.SIN, (2.0, 4.5), 0.6),
        (Function.COS, (1.0, 2.0), 0.09),
        (Function.TAN, (-1.0, 1.0), 0.8),
        (Fraction(3), (-1.0, 1.0), 0.8),
        (Fraction(2), (-1.0, 1.0), 1.01),
    ],
    ids=str,
)
def test_lines_are_tight(name: Function | Fraction, box: tuple[float, float], gap: float) -> None:
    """The mean distance of the two lines, which is the area between them by the width."""
    x = Range(*(np.array([[end]]) for end in box))
    a, c, b, d = (float(part[0, 0]) for part in lines(HERE, name, x, value(HERE, name, x)))
    middle = 0.5 * (box[0] + box[1])
    assert 0 <= (b - a) * middle + d - c <= gap


@pytest.mark.parametrize("name", NAMES, ids=str)
def test_narrow_boxes_have_narrow_strips(name: Function | Fraction) -> None:
    """Second order: the gap is at most a bound on the curvature times the width squared."""
    low = np.linspace(0.1, 1.3, 50)[:, None]
    for width in (1e-1, 1e-2, 1e-3):
        x = Range(low, low + width)
        a, c, b, d = lines(HERE, name, x, value(HERE, name, x))
        middle = low + 0.5 * width
        bend = abs(slope(HERE, name, x).upper - slope(HERE, name, x).lower) / width
        assert (((b - a) * middle + d - c) <= 0.5 * bend * width**2 + 1e-12 * (1 + abs(c))).all()


@pytest.mark.parametrize("name", [*Function, Fraction(3), Fraction(-2)], ids=str)
@given(box=st.tuples(st.floats(-20, 20), st.floats(0, 2)))
def test_slopes_contain_difference_quotients(name: Function | Fraction, box: tuple[float, float]) -> None:
    low, high = np.array([box[0]]), np.array([box[0] + box[1]])
    with np.errstate(all="ignore"):
        steep = slope(HERE, name, Range(low, high))
        first, last = at(HERE, name, low), at(HERE, name, high)
        whole = interval.divide(HERE, interval.add(HERE, last, interval.negate(first)), Range(high - low, high - low))
    if (high - low)[0] > 1e-3 and np.isfinite(steep.upper[0]) and np.isfinite(steep.lower[0]):
        slack = 1e-9 * (1 + abs(whole.upper[0]))
        assert steep.lower[0] <= whole.upper[0] + slack
        assert whole.lower[0] <= steep.upper[0] + slack


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES, ids=str)
def test_torch_draws_the_same_lines(name: Function | Fraction) -> None:
    import torch

    rng = np.random.default_rng(1)
    low = rng.uniform(-4, 4, (200, 3))
    high = low + rng.uniform(0, 3, (200, 3))
    there = Backend(torch.asarray(low))
    with np.errstate(all="ignore"):
        x = Range(low, high)
        y = Range(torch.asarray(low), torch.asarray(high))
        here_lines = lines(HERE, name, x, value(HERE, name, x))
        there_lines = lines(there, name, y, value(there, name, y))
    for a, b in zip(here_lines, there_lines, strict=True):
        assert np.allclose(a, torch_tensor(b).numpy(), rtol=1e-6, atol=1e-6)
