"""Layers that are tried at once, what is kept of layers, and the roundings that are paid with one factor."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite

import numpy as np
import pytest

from vernal.interpret.interval import affine
from vernal.interpret.layers import layer
from vernal.interpret.linear import bounds
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.relaxations import relu
from vernal.interpret.linear.row_kernels import _lowered, weigh
from vernal.interpret.linear.stacks import stack_below
from vernal.interpret.numbers.rounding import TINY, Array, Backend, gamma
from vernal.interpret.value_sets import Range, Truth
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix
from vernal.model.sorts import BOOL

BACKEND = Backend()
WIDTHS = (3, 6, 5, 6, 4)


def network(rng: np.random.Generator) -> tuple[list[Expr], e.Affine]:
    """Scalars, and a network of dense layers over them."""
    inputs: list[Expr] = [build.var(f"x{index}") for index in range(WIDTHS[0])]
    x: Expr = build.concat(*inputs)
    for number, (n, m) in enumerate(pairwise(WIDTHS)):
        made = build.affine(x, Matrix(rng.normal(size=(m, n))), Matrix(rng.normal(size=m)))
        x = build.relu(made) if number < len(WIDTHS) - 2 else made
    assert isinstance(x, e.Affine)
    return inputs, x


def around(rng: np.random.Generator, inputs: list[Expr], boxes: int, radius: float) -> dict[Expr, Range]:
    centre = rng.normal(size=(boxes, len(inputs)))
    return {var: Range(centre[:, i] - radius, centre[:, i] + radius) for i, var in enumerate(inputs)}


def layers_of(node: Expr) -> list[Expr]:
    stack = stack_below(node)  # type: ignore[arg-type]
    assert stack is not None
    return [part for part in (*stack.inner, node) if isinstance(part, e.Affine)]


@pytest.mark.parametrize("radius", [1e-4, 3e-3, 0.03, 0.3])
@pytest.mark.parametrize("boxes", [1, 3])
@pytest.mark.parametrize("mode", ["backward", "interval"])
def test_trying_layers_at_once_gives_what_each_gives(
    radius: float, boxes: int, mode: bounds.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(int(1e5 * radius) + boxes)
    settled = 0
    for _ in range(25):
        inputs, root = network(rng)
        box = around(rng, inputs, boxes, radius)
        at_once, one_by_one = Linear(box, mode=mode), Linear(box, mode=mode)
        at_once.need(root)
        with monkeypatch.context() as patch:
            patch.setattr(bounds, "MAX_STACKED_BOXES", 0)
            one_by_one.need(root)
        settled += root in at_once.forms
        for node in layers_of(root):
            assert (node in at_once.forms) == (node in one_by_one.forms)
            x, y = at_once.number(node), one_by_one.number(node)
            np.testing.assert_allclose(x.lower, y.lower, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(x.upper, y.upper, rtol=1e-12, atol=1e-12)
    assert settled < 25 if radius > 0.1 else settled > 0


def test_a_layer_that_is_given_ends_a_stack() -> None:
    """What is below it is not looked at: its variables need no values."""
    _, root = network(np.random.default_rng(5))
    given = layers_of(root)[1]
    linear = Linear({given: (np.full((1, given.size), 1.0), np.full((1, given.size), 2.0))})
    linear.need(root)
    assert layers_of(root)[0] not in linear.values


@pytest.mark.parametrize("radius", [3e-3, 0.05, 0.3])
def test_sharpened_bounds_are_those_of_backward_substitution(radius: float) -> None:
    rng = np.random.default_rng(int(1e4 * radius))
    for _ in range(20):
        inputs, root = network(rng)
        box = around(rng, inputs, 1, radius)
        rough, sharp = Linear(box, mode="interval"), Linear(box)
        rough.need(root)
        rough.sharpen()
        for linear in (rough, sharp):
            linear.need(root)
        for node in layers_of(root):
            x, y = rough.range(node), sharp.range(node)
            np.testing.assert_allclose([x.lower, x.upper], [y.lower, y.upper], rtol=1e-12, atol=1e-12)


def test_sharpening_keeps_what_is_given() -> None:
    p, x = build.var("p", BOOL), build.var("x")
    linear = Linear({p: Truth(np.array([True]), np.array([True])), x: (np.array([0.0]), np.array([1.0]))})
    node = build.if_(p, build.mul(x, x), 0)
    linear.need(node)
    linear.sharpen()
    assert float(linear.range(node).upper[0]) == pytest.approx(1.0)


# Roundings, in exact arithmetic ---------------------------------------------------------------------------------------


def exact(array: Array) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.ravel(array)]


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e30])
def test_magnitudes_of_a_layer_are_not_too_small(scale: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        m, n = rng.integers(1, 30, 2)
        weight, bias = scale * rng.normal(size=(m, n)), rng.normal(size=m) * 10.0 ** rng.integers(-9, 9, m)
        node = build.affine(build.var("v", shape=(int(n),)), Matrix(weight), Matrix(bias))
        assert isinstance(node, e.Affine)
        own, size = layer(BACKEND, node), np.abs(rng.normal(size=(1, n)))
        found = exact(own.most(BACKEND, size))
        for row, constant, most in zip(weight, bias, found, strict=True):
            true = sum((abs(w) * x for w, x in zip(exact(row), exact(size), strict=True)), abs(Fraction(constant)))
            assert most >= true * (1 + 5 * Fraction(own.slack))
        lower, upper = size - 1e-3, size + 1e-3
        x = affine(BACKEND, Range(lower, upper), own)
        for row, constant, low, high in zip(weight, bias, exact(x.lower), exact(x.upper), strict=True):
            ends = list(zip(exact(row), exact(lower), exact(upper), strict=True))
            assert low <= sum((min(w * a, w * b) for w, a, b in ends), Fraction(constant))
            assert high >= sum((max(w * a, w * b) for w, a, b in ends), Fraction(constant))


ENDS = (-inf, -1e308, -3.0, -1e-3, -1e-200, -5e-324, 0.0, 5e-324, 1e-310, 1e-5, 0.7, 1e200, 1.7e308, inf)


def test_the_lines_of_a_relu_lie_below_and_above() -> None:
    """At both ends of every interval between numbers of all sizes; rows times slopes are rounded, too."""
    x = build.var("v", shape=(1,))
    node = build.relu(x)
    for low in ENDS:
        for high in (end for end in ENDS if end >= low):
            arg = Range(np.array([[low]]), np.array([[high]]))
            with np.errstate(all="ignore"):
                rule = relu(BACKEND, node, Range(np.maximum(arg.lower, 0), np.maximum(arg.upper, 0)), arg)
            (below,), (above,) = rule.lower.slopes, rule.upper.slopes
            offset = 0.0 if rule.upper.offset is None else float(rule.upper.offset[0, 0])
            assert below[0, 0] in (0.0, 1.0)
            assert 0.0 <= above[0, 0] <= 1.0
            assert offset >= 0.0
            if offset == inf:
                continue
            for end in filter(isfinite, (low, high)):
                value = Fraction(float(above[0, 0])) * Fraction(end) + Fraction(offset)
                assert value >= max(Fraction(end), Fraction(0)), (low, high)
            if low == -inf:
                assert above[0, 0] == 0.0
            if high == inf:
                assert above[0, 0] == 1.0


def test_sums_are_lowered_by_at_least_what_they_should() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(1, 20))
        weights, amounts = np.abs(rng.normal(size=(2, 1, n))) * 10.0 ** rng.integers(-200, 100, (2, 1, n))
        one, other = rng.normal(size=2) * 10.0 ** rng.integers(-20, 20, 2)
        amount = weigh(BACKEND, weights, amounts, gamma(n + 2))
        need = sum((a * b for a, b in zip(exact(weights), exact(amounts), strict=True)), Fraction(TINY) / 2)
        low = _lowered(np.array([one + other]), amount)
        assert Fraction(float(low[0])) <= Fraction(one) + Fraction(other) - need
