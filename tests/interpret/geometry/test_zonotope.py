"""Zonotopes against their own points, in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from vernal.interpret.geometry.zonotope import Zonotope


def exact(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def corner(zonotope: Zonotope, signs: tuple[int, ...]) -> list[Fraction]:
    """A point of a zonotope, exactly."""
    center = exact(zonotope.center)
    columns = [exact(column) for column in zonotope.generators.T]
    return [c + sum(s * g[i] for s, g in zip(signs, columns, strict=True)) for i, c in enumerate(center)]


def dot(row: np.ndarray, point: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(exact(row), point, strict=True)), Fraction(0))


def some(seed: int, n: int = 2, m: int = 5) -> Zonotope:
    rng = np.random.default_rng(seed)
    return Zonotope(rng.normal(size=n), rng.normal(size=(n, m)))


@pytest.mark.parametrize("seed", range(5))
def test_support_is_an_upper_bound_and_tight(seed: int) -> None:
    zonotope = some(seed, 3)
    rows = np.random.default_rng(seed + 9).normal(size=(6, 3))
    found = zonotope.support(rows)
    for row, value in zip(rows, found, strict=True):
        best = max(dot(row, corner(zonotope, signs)) for signs in product((-1, 1), repeat=5))
        assert best <= Fraction(float(value)) <= best + Fraction(1, 10**12)


def test_a_box_contains_its_corners_even_where_the_middle_is_no_float() -> None:
    lower, upper = np.array([0.1, 1.0, -1e-30]), np.array([0.3, 1.0, 1e30])
    box = Zonotope.box(lower, upper)
    axes = np.eye(3)
    assert np.all(box.support(axes) >= upper)
    assert np.all(-box.support(-axes) <= lower)
    assert box.generators[1, 1] == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_an_image_contains_the_images_of_points(seed: int) -> None:
    zonotope, rng = some(seed), np.random.default_rng(seed + 50)
    matrix, error, shift, slack = (
        rng.normal(size=(2, 2)),
        np.full((2, 2), 0.01),
        rng.normal(size=2),
        np.array([0.1, 0.0]),
    )
    image = zonotope.mapped(matrix, error, shift, slack)
    rows = rng.normal(size=(20, 2))
    bounds = exact(image.support(rows))
    for signs in product((-1, 1), repeat=5):
        point = corner(zonotope, signs)
        other = matrix + error * rng.choice([-1.0, 1.0], (2, 2))
        moved = [dot(other[i], point) + Fraction(float(shift[i])) + Fraction(float(slack[i])) for i in range(2)]
        slop = Fraction(1, 10**13)  # of matrix + error, which is rounded here
        assert all(dot(row, moved) <= bound + slop for row, bound in zip(rows, bounds, strict=True))


@pytest.mark.parametrize("keep", [0, 2, 4])
def test_fewer_generators_contain_the_same_points(keep: int) -> None:
    zonotope = some(3, 2, 8)
    fewer = zonotope.reduced(keep)
    assert fewer.generators.shape[1] == keep + 2
    rows = np.random.default_rng(1).normal(size=(50, 2))
    assert np.all(fewer.support(rows) >= zonotope.support(rows) - 1e-12)


def test_few_generators_stay() -> None:
    zonotope = some(0)
    assert zonotope.reduced(5) is zonotope
