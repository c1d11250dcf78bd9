"""Polynomials with bounds against the points they stand for, and Taylor coefficients as functions of the start."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tests.interpret.flow.models import state
from vernal.interpret.flow.balls import BallArrays, points
from vernal.interpret.flow.polynomials import Monomials, monomials
from vernal.interpret.flow.taylor import Taylor
from vernal.interpret.flow.zonotope_batches import MAX_DEGREE, MAX_MONOMIALS, boxes, moved, ring_of
from vernal.interpret.numbers.rounding import Array, Floats
from vernal.model import build
from vernal.model.expr import Function
from vernal.model.functions import exp, sin

X, Y = state("x", "y")


def words(ring: Monomials) -> list[tuple[int, ...]]:
    """The monomials, as the symbols that are multiplied."""
    numbers = range(len(ring.symbols))
    return [word for k in range(ring.degree + 1) for word in combinations_with_replacement(numbers, k)]


def at(ring: Monomials, symbols: Array) -> Array:
    """The value of each monomial."""
    return np.array([math.prod([symbols[i] for i in word], start=Fraction(1)) for word in words(ring)])


def exactly(values: Floats) -> Array:
    return np.asarray(np.vectorize(Fraction, otypes=[object])(values))


def random_value(ring: Monomials, rng: np.random.Generator, scale: float) -> BallArrays:
    mid = rng.normal(size=(3, ring.count, 2, 1)) * scale
    return BallArrays(mid, np.abs(rng.normal(size=mid.shape)) * scale * 1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e100])
@pytest.mark.parametrize(("symbols", "degree"), [((0, 1), 3), ((0,), 5), ((0, 2, 5), 2), ((), 4)])
def test_products_contain_those_of_their_points(symbols: tuple[int, ...], degree: int, scale: float) -> None:
    """In rationals, with coefficients at the ends of their balls: rounding and what is beyond the degree count."""
    ring, rng = monomials(symbols, degree), np.random.default_rng(degree)
    a, b = random_value(ring, rng, scale), random_value(ring, rng, 1.0)
    made = ring.paired(a, b)
    whole = ring.range_of(made)
    for _ in range(20):
        values = at(ring, exactly(rng.choice([-1.0, 1.0, 0.5, -0.25], len(symbols))))
        ends = [exactly(x.mid) + exactly(x.rad) * rng.choice([-1, 1], x.mid.shape) for x in (a, b)]
        along = [np.einsum("m,kmbn->kbn", values, end) for end in ends]
        true = (along[0] * along[1]).sum(0)
        near = np.einsum("m,mbn->bn", values, exactly(made.mid))
        assert (abs(true - near) <= exactly(made.rad).sum(0)).all()
        assert (abs(true - exactly(whole.mid)) <= exactly(whole.rad)).all()


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_coefficients_are_functions_of_the_start(degree: int) -> None:
    """Every operator: sums, products, quotients, powers, elementary functions."""
    rates = [
        sin(X) * Y + build.apply(Function.TANH, Y) - build.relu(X + 2),
        X / (2 + Y * Y) + exp(X) * build.power(Y + 3, build.const(1) / 2) - X**3,
    ]
    taylor, ring, rng = Taylor(rates, [X, Y]), monomials((0, 1), degree), np.random.default_rng(degree)
    start = np.zeros((ring.count, 4, 2))
    start[0] = rng.uniform(-0.5, 0.5, (4, 2))
    start[1, :, 0], start[2, :, 1] = rng.uniform(0, 0.2, (2, 4))
    start[-1, :, 1] += 0.05
    found = taylor.solved(points(start), 6, ring)
    assert found.finite.all()
    for _ in range(60):
        values = at(ring, exactly(rng.uniform(-1, 1, 2))).astype(float)
        thin = taylor.coefficients(points(np.tensordot(values, start, 1)), 6, gradients=False)[:, 0]
        near = np.einsum("m,kmbn->kbn", values, found.mid)
        assert (np.abs(near - thin.mid) <= found.rad.sum(1) + thin.rad + 1e-13).all()


def test_kinks_and_poles_inside_a_range_have_no_coefficients() -> None:
    ring = monomials((0,), 2)
    for rate in (build.relu(X), build.const(1) / X, build.apply(Function.LOG, X)):
        start = np.zeros((ring.count, 2, 1))
        start[0, :, 0], start[1, :, 0] = [0.1, 1.0], 0.5
        known = Taylor([rate], [X]).solved(points(start), 2, ring).finite.all(axis=(0, 1, 3))
        assert known.tolist() == [False, True]


def test_rings_have_the_symbols_that_vary_and_not_too_many_monomials() -> None:
    lower, upper = np.zeros((2, 3)), np.array([[0, 1.0, 0], [0, 0, 2.0]])
    assert ring_of(lower, upper).symbols == (1, 2)
    assert ring_of(lower, lower).count == 1
    for n in (1, 4, 12):
        ring = ring_of(np.zeros((1, n)), np.ones((1, n)))
        assert 1 <= ring.degree <= MAX_DEGREE
        assert ring.count <= MAX_MONOMIALS


def test_images_under_quadratic_maps_are_kept_by_curved_sets() -> None:
    """x + x^2 of a box, twice: the set is that image exactly, up to rounding, where a zonotope has to be wider."""
    ring = monomials((0,), 4)
    sets = boxes(np.array([[0.5]]), np.array([[1.5]]), ring)
    slopes = BallArrays(np.zeros((1, 1, 1)), np.full((1, 1, 1), 9.0))
    for _ in range(2):
        p = sets.polynomials
        sets = moved(sets, p + ring.paired(p[None], p[None]), slopes, np.zeros((1, 1)))
    for s in np.linspace(-1, 1, 9):
        x = Fraction(1) + Fraction(s) / 2
        x = x + x * x
        true = x + x * x
        assert Fraction(sets.lower.item()) <= true <= Fraction(sets.upper.item())
        polynomial = at(ring, np.array([Fraction(s)])) @ exactly(sets.polynomials.mid[:, 0, 0])
        assert abs(true - polynomial) < Fraction(1, 10**12)
    low, high = sets.support(np.array([[-1.0]])).ends
    assert low.item() <= -(3.75 + 3.75**2)
    assert high.item() >= -(0.75 + 0.75**2)
