"""Taylor coefficients against those of known functions, and against high-precision series of random expressions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.interpret.flow.models import exponential, jet, state, steam
from vernal.interpret.flow.balls import BallArrays, around, points
from vernal.interpret.flow.taylor import Taylor
from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.model.expr import Expr, Function
from vernal.model.flow import Flow
from vernal.model.functions import cos, exp, sin, sqrt

X, Y = state("x", "y")


def contains(balls: BallArrays, values: Floats) -> bool:
    low, high = balls.ends
    return bool(((low <= values) & (values <= high)).all())


def function(name: Function) -> Callable[[Expr], Expr]:
    return lambda x: build.apply(name, x)


@pytest.mark.parametrize(
    ("rate", "start", "solution"),  # the Taylor coefficients of the solution of x' = rate(x)
    [
        (lambda x: 1 * x, 1.0, [1 / math.factorial(k) for k in range(9)]),
        (lambda x: x**2, 1.0, [1.0] * 9),  # 1 / (1 - t)
        (lambda x: 0 * x - x * x, 1.0, [(-1.0) ** k for k in range(9)]),
        (lambda x: build.const(1) / x, 1.0, [1, 1, -1 / 2, 1 / 2, -5 / 8, 7 / 8]),  # sqrt(1 + 2t)
        (lambda x: x**-1, 1.0, [1, 1, -1 / 2, 1 / 2, -5 / 8, 7 / 8]),
        (sqrt, 1.0, [1, 1, 1 / 4, 0, 0, 0]),  # (1 + t/2)^2
        (lambda x: build.power(x, build.const(1) / 2), 1.0, [1, 1, 1 / 4, 0, 0, 0]),
        (function(Function.EXP), 0.0, [0.0, *[1 / k for k in range(1, 9)]]),  # -log(1 - t)
        (lambda x: exp(0 - x), 0.0, [0.0, *[(-1) ** (k + 1) / k for k in range(1, 9)]]),  # log(1 + t)
        (lambda x: 1 + x**2, 0.0, [0, 1, 0, 1 / 3, 0, 2 / 15, 0, 17 / 315]),  # tan
        (lambda x: build.relu(x + 1), 0.0, [0.0, *[1 / math.factorial(k) for k in range(1, 9)]]),
        (lambda x: abs(x - 1), 0.0, [0.0, *[-((-1) ** k) / math.factorial(k) for k in range(1, 9)]]),
    ],
)
def test_known_solutions(rate: Callable[[Expr], Expr], start: float, solution: list[float]) -> None:
    found = Taylor([rate(X)], [X]).coefficients(points(np.array([[start]])), len(solution) - 1, gradients=False)
    assert np.allclose(found.mid[:, 0, 0, 0], solution, rtol=1e-13, atol=1e-13)
    assert (found.rad[:, 0, 0, 0] < 1e-12).all()
    assert contains(found[:, 0, 0, 0], np.array(solution))


@pytest.mark.parametrize("name", list(Function), ids=lambda name: name.value)
def test_functions_by_differences(name: Function) -> None:
    """x' = phi(x), whose coefficients beyond the second are checked against those of y' = phi(y) at shifted starts."""
    taylor = Taylor([function(name)(X)], [X])
    step, start = 2.0**-13, 0.7
    x = points(np.array([[start - step], [start], [start + step]]))
    found = taylor.coefficients(x, 6, gradients=True)
    slopes = (found.mid[:, 0, 2, 0] - found.mid[:, 0, 0, 0]) / (2 * step)
    assert np.allclose(found.mid[:, 1, 1, 0], slopes, rtol=2e-5, atol=1e-6)
    rate = found.mid[1, 0, 1, 0]  # (k+1) x_(k+1) is the derivative of x_k along the flow
    ahead = np.array([(k + 1) * found.mid[k + 1, 0, 1, 0] for k in range(6)])
    assert np.allclose(ahead, slopes[:6] * rate, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("flow", [jet(), steam(), exponential()], ids=lambda flow: flow.name)
def test_boxes_contain_the_coefficients_and_gradients_of_their_points(flow: Flow) -> None:
    taylor, n = Taylor(flow.vector_field, flow.vars), len(flow.vars)
    rng = np.random.default_rng(5)
    centre = rng.uniform(-0.5, 0.9, (20, n))
    radius = rng.uniform(0, 0.05, (20, 1))
    wide = taylor.coefficients(around(centre - radius, centre + radius), 7, gradients=True)
    assert wide.finite.all()
    for _ in range(30):
        inner = points(centre + radius * rng.uniform(-1, 1, (20, n)))
        thin = taylor.coefficients(inner, 7, gradients=True)
        assert (wide.ends[0] <= thin.mid).all()
        assert (thin.mid <= wide.ends[1]).all()


def test_a_kink_has_slopes_but_no_coefficients() -> None:
    taylor = Taylor([build.relu(X)], [X])
    box = around(np.array([[-1.0], [1.0], [-2.0]]), np.array([[1.0], [2.0], [-1.0]]))
    slopes = taylor.values(box)[1, :, 0]
    assert np.allclose(slopes.ends[0], [0, 1, 0])
    assert np.allclose(slopes.ends[1], [1, 1, 0])
    assert taylor.coefficients(box, 3, gradients=False).finite.all(axis=(0, 1, 3)).tolist() == [False, True, True]


def test_where_the_derivative_is_unbounded_nothing_is_claimed() -> None:
    box = around(np.array([[0.0], [0.25]]), np.array([[1.0], [1.0]]))
    found = Taylor([sqrt(X)], [X]).coefficients(box, 3, gradients=True)
    assert found.finite.all(axis=(0, 1, 3)).tolist() == [False, True]


def test_disturbances_are_inputs_with_slopes_of_their_own() -> None:
    noise = build.between(-1, 1)
    found = Taylor([X * noise + cos(Y), sin(X) * Y], [X, Y, noise]).values(points(np.array([[2.0, 1.0, 0.5]])))
    expected: list[list[float]] = [
        [1 + math.cos(1), math.sin(2)],
        [0.5, math.cos(2)],
        [-math.sin(1), math.sin(2)],
        [2, 0],
    ]
    assert np.allclose(found.mid[:, 0], expected)
    assert (found.rad < 1e-14).all()
