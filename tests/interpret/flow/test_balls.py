"""Ball arithmetic against rationals: no rounding is lost, whatever the sizes of the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from vernal.interpret.flow.balls import BallArrays, around, inverse, over, times
from vernal.interpret.flow.jets import paired
from vernal.interpret.flow.zonotope_batches import KEPT_ORDER, MAX_ORDER, Zonotopes, boxes, moved, widened
from vernal.interpret.numbers.rounding import Array, Floats

RNG = np.random.default_rng(11)


def wild(shape: tuple[int, ...]) -> BallArrays:
    """Numbers of very different sizes, some of them exact, some far wider than their middle."""
    mid = RNG.normal(size=shape) * 10.0 ** RNG.integers(-12, 12, shape)
    return BallArrays(mid, np.abs(mid) * RNG.choice([0.0, 1e-16, 1e-9, 0.5, 3.0], shape))


def chosen(x: BallArrays) -> list[Fraction]:
    """A number of each ball, exactly: an end or one inside."""
    shares = RNG.choice([-1.0, -0.5, 0.0, 1.0], x.mid.shape)
    return [
        Fraction(float(m)) + Fraction(float(s)) * Fraction(float(r))
        for m, r, s in zip(x.mid.ravel(), x.rad.ravel(), shares.ravel(), strict=True)
    ]


def has(x: BallArrays, values: list[Fraction]) -> bool:
    pairs = zip(x.mid.ravel(), x.rad.ravel(), values, strict=True)
    return all(abs(Fraction(float(m)) - value) <= Fraction(float(r)) for m, r, value in pairs)


@pytest.mark.parametrize(
    ("operation", "exact"),
    [
        (lambda a, b: a + b, lambda a, b: a + b),
        (lambda a, b: a - b, lambda a, b: a - b),
        (lambda a, b: a * b, lambda a, b: a * b),
        (lambda a, b: times(a, 3.7), lambda a, b: a * Fraction(3.7)),
        (lambda a, b: over(a, 7.0), lambda a, b: a / 7),
    ],
    ids=["sum", "difference", "product", "multiple", "part"],
)
def test_operations(
    operation: Callable[[BallArrays, BallArrays], BallArrays], exact: Callable[[Fraction, Fraction], Fraction]
) -> None:
    for _ in range(50):
        a, b = wild((40,)), wild((40,))
        values = [exact(x, y) for x, y in zip(chosen(a), chosen(b), strict=True)]
        assert has(operation(a, b), values)


def test_reciprocals_and_the_balls_around_intervals() -> None:
    for _ in range(50):
        x = wild((40,))
        found = inverse(x)
        for m, r, value in zip(found.mid, found.rad, chosen(x), strict=True):
            assert np.isnan(m) or abs(Fraction(float(m)) - 1 / value) <= Fraction(float(r))
        low, high = x.ends
        assert has(around(low, high), [Fraction(float(end)) for end in low])
        assert has(around(low, high), [Fraction(float(end)) for end in high])


def test_sums_of_products_keep_the_product_rule() -> None:
    terms, rows = 7, 3
    for _ in range(20):
        a, b = wild((terms, rows, 1, 1)), wild((terms, rows, 1, 1))
        x, y = (np.array(chosen(ball), dtype=object).reshape(terms, rows) for ball in (a, b))
        value = sum(x[j, 0] * y[j, 0] for j in range(terms))
        slopes = [sum(x[j, 0] * y[j, i] + x[j, i] * y[j, 0] for j in range(terms)) for i in range(1, rows)]
        assert has(paired(a, b), [value, *slopes])


def test_products_of_matrices() -> None:
    for _ in range(20):
        a, b = wild((3, 4)), wild((4, 2))
        x = np.array(chosen(a), dtype=object).reshape(3, 4)
        y = np.array(chosen(b), dtype=object).reshape(4, 2)
        assert has(a @ b, list((x @ y).ravel()))


def test_moved_sets_contain_what_moves() -> None:
    """Points of a set under matrices of the slopes, with what is added, are in the set after it, many times over."""
    n = 3
    sets = boxes(np.full((1, n), -0.5), np.full((1, n), 0.25))
    points: Floats = RNG.uniform(-0.5, 0.25, (400, n))
    for _ in range(25):
        matrix = np.eye(n) + 0.3 * RNG.normal(size=(n, n))
        slopes = BallArrays(matrix[None], np.full((1, n, n), 1e-3))
        centre = BallArrays(sets.centre @ matrix.T + 0.1, np.full((1, n), 1e-4))
        doubt = np.full((1, n), 1e-3)
        own = matrix + RNG.choice([-1e-3, 1e-3], (len(points), n, n))
        shift = RNG.choice([-1.0, 1.0], (len(points), n)) * (1e-3 + 1e-4)
        points = centre.mid + np.einsum("pij,pj->pi", own, points - sets.centre) + shift
        sets = moved(sets, centre[None], slopes, doubt)
        assert (sets.lower - 1e-12 <= points).all()
        assert (points <= sets.upper + 1e-12).all()
        along = RNG.normal(size=(8, n))
        low, high = sets.support(along).ends
        assert (low - 1e-9 <= points @ along.T).all()
        assert (points @ along.T <= high + 1e-9).all()


def exactly(values: Floats) -> Array:
    """Floats as rationals."""
    return np.asarray(np.vectorize(Fraction, otypes=[object])(values))


def farthest(sets: Zonotopes, direction: Array) -> Fraction:
    """What a direction is over a set at most, in rationals."""
    along = direction @ exactly(sets.generators[0])
    total: Fraction = direction @ exactly(sets.centre[0]) + np.abs(along) @ exactly(sets.weights[0])
    return total


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-160, 1e-300])
def test_rounding_of_every_generator_counts(scale: float) -> None:
    """The image of a box under many matrices, in rationals, is never beyond the zonotope, not by the last digit."""
    n, rng = 2, np.random.default_rng(3)
    sets = boxes(np.full((1, n), -0.5) * scale, np.array([[0.25, 0.7]]) * scale)
    image, spread, none = exactly(np.eye(n)), exactly(sets.weights[0]), np.zeros((1, n))
    for _ in range(MAX_ORDER + 8):
        matrix = np.eye(n) + 0.3 * rng.normal(size=(n, n))
        image = exactly(matrix) @ image
        centre = BallArrays(rng.normal(size=(1, n)), none)
        sets = moved(sets, centre[None], BallArrays(matrix[None], np.zeros((1, n, n))), none)
        for direction in exactly(np.array([[1, 0], [0, 1], *rng.integers(-3, 4, (2, n))]).astype(float)):
            true = direction @ exactly(sets.centre[0]) + np.abs(direction @ image) @ spread
            assert true <= farthest(sets, direction)
            found = sets.support(direction.astype(float)[None]).ends[1]
            assert farthest(sets, direction) <= Fraction(found.item())
    assert sets.weights.shape[1] < MAX_ORDER * n


def test_reduced_zonotopes_contain_what_they_were() -> None:
    rng = np.random.default_rng(5)
    n, m = 3, MAX_ORDER * 3
    for size in (1.0, 1e-308, 1e200):
        spread = (rng.normal(size=(1, n, m)) * size, rng.uniform(0, 2, (1, m)))
        centre, rest = rng.normal(size=(1, n)), np.full((1, n), 1e-3)
        wide = replace(boxes(centre, centre), generators=spread[0], weights=spread[1])
        after = widened(wide, np.arange(n), rest)
        assert after.weights.shape[1] == KEPT_ORDER * n
        assert (after.generators[:, :, :n] == spread[0][:, :, :n]).all()
        before = replace(
            after, generators=np.concatenate([spread[0], np.eye(n)[None]], 2), weights=np.c_[spread[1], rest]
        )
        for direction in exactly(rng.integers(-3, 4, (6, n)).astype(float)):
            assert farthest(after, direction) >= farthest(before, direction)
        low, high = after.lower, after.upper
        for axis in range(n):
            assert Fraction(high[0, axis]) >= farthest(after, exactly(np.eye(n)[axis]))
            assert Fraction(low[0, axis]) <= -farthest(after, exactly(-np.eye(n)[axis]))
