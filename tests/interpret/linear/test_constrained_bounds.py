"""Bounds over the points of boxes at which sums are between ends: they hold, and one sum is made the most of."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.planning_loops import relu_network
from tests.portion import seeds
from vernal.interpret import concrete
from vernal.interpret.geometry.float_program import minimise
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.constrained_bounds import LinearUnderRows
from vernal.interpret.linear.forms import Inputs
from vernal.interpret.linear.planes import InputSums, PlaneBoxes, best_multiples, meeting
from vernal.interpret.numbers.backends import NUMPY
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.value_sets import Range
from vernal.model.network import Network, network_input

BOXES, INPUTS, LARGE = 3, 4, 1e6


def drawn_network(rng: np.random.Generator, *widths: int) -> Network:
    shapes = list(zip(widths[1:], widths[:-1], strict=True))
    return relu_network([(rng.normal(size=shape), rng.normal(size=shape[0])) for shape in shapes])


def drawn_sums(rng: np.random.Generator, count: int) -> tuple[Range, InputSums]:
    """Boxes of integers, and sums whose ends leave some of their points; some ends are infinite."""
    lower = rng.integers(-3, 2, (BOXES, INPUTS)).astype(float)
    upper = lower + rng.integers(0, 4, (BOXES, INPUTS))
    factors = rng.integers(-2, 3, (BOXES, count, INPUTS)).astype(float)
    some = rng.integers(lower.astype(int), upper.astype(int) + 1).astype(float)
    value = (factors @ some[:, :, None])[:, :, 0]
    least = np.where(rng.random(value.shape) < 0.3, -np.inf, value - rng.integers(0, 2, value.shape))
    most = np.where(rng.random(value.shape) < 0.3, np.inf, value + rng.integers(0, 2, value.shape))
    return Range(lower, upper), InputSums(factors, least, most)


def points_of(box: Range, sums: InputSums, row: int) -> Floats:
    """All integer points of a box that count."""
    ends = zip(box.lower[row].astype(int), box.upper[row].astype(int), strict=True)
    every = np.array(list(product(*(range(low, high + 1) for low, high in ends))), float)
    value = every @ sums.factors[row].T
    found: Floats = every[((sums.least[row] <= value) & (value <= sums.most[row])).all(axis=1)]
    return found


def scores(network: Network, points: Floats) -> Floats:
    found: Floats = concrete.compile([network.output])({network.inputs: points}, len(points))[0].astype(np.float64)
    return found


@pytest.mark.parametrize("seed", seeds(30))
def test_bounds_hold_at_every_point_that_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = drawn_network(rng, INPUTS, 6, 5, 3)
    box, sums = drawn_sums(rng, 1 + seed % 3)
    linear = LinearUnderRows({network.inputs: box}, sums)
    x = linear.range(network.output)
    for row in range(BOXES):
        found = scores(network, points_of(box, sums, row))
        assert (found >= x.lower[row] - 1e-9).all()
        assert (found <= x.upper[row] + 1e-9).all()


@pytest.mark.parametrize("seed", seeds(30))
def test_one_sum_is_made_the_most_of(seed: int) -> None:
    """A row over a box and one sum between ends: the best multiple reaches the optimum of the linear program."""
    rng = np.random.default_rng(100 + seed)
    box, sums = drawn_sums(rng, 1)
    A, B = rng.normal(size=(BOXES, INPUTS)), sums.factors[:, 0]
    least, most = sums.least[:, 0], sums.most[:, 0]
    multiple = best_multiples(A, B, least, most, box.lower, box.upper)
    reached = np.minimum((A + multiple[:, None] * B) * box.lower, (A + multiple[:, None] * B) * box.upper).sum(axis=1)
    reached -= multiple * np.where(multiple > 0, most, np.where(multiple < 0, least, 0.0))
    for row in range(BOXES):
        ends = list(zip(box.lower[row].tolist(), box.upper[row].tolist(), strict=True))
        limits = np.clip([most[row], -least[row]], -LARGE, LARGE)
        optimum = minimise(A[row], np.stack([B[row], -B[row]]), limits, ends)
        assert optimum is not None
        assert reached[row] == pytest.approx(A[row] @ optimum.point, abs=1e-6)


def test_a_total_says_more_than_the_box() -> None:
    network = relu_network([(np.ones((1, 3)), np.zeros(1)), (np.eye(1), np.zeros(1))])
    box = Range(np.zeros((1, 3)), np.full((1, 3), 15.0))
    total = InputSums(np.ones((1, 1, 3)), np.array([[15.0]]), np.array([[15.0]]))
    assert Linear({network.inputs: box}).range(network.output).upper[0, 0] == pytest.approx(45.0)
    x = LinearUnderRows({network.inputs: box}, total).range(network.output)
    assert x.upper[0, 0] == pytest.approx(15.0)
    assert x.upper[0, 0] >= 15.0
    assert x.lower[0, 0] <= 15.0


def around(box: Range) -> PlaneBoxes:
    inputs = Inputs(NUMPY)
    inputs.add(network_input(INPUTS), box)
    return PlaneBoxes.of(inputs, BOXES)


@pytest.mark.parametrize("seed", seeds(40))
def test_what_is_left_holds_every_point_where_all_are_at_most_zero(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    box, _ = drawn_sums(rng, 1)
    slopes, constants = rng.normal(size=(BOXES, 3, INPUTS)), rng.normal(size=(BOXES, 3)) - 0.5
    usable = rng.random((BOXES, 3)) < 0.8
    corner = np.where(slopes > 0, box.lower[:, None], box.upper[:, None])
    low = (slopes * corner).sum(axis=2) + constants - 1e-12
    met = meeting(slopes, low, usable, around(box))
    free = InputSums(np.zeros((BOXES, 0, INPUTS)), np.zeros((BOXES, 0)), np.zeros((BOXES, 0)))
    for row in range(BOXES):
        points = points_of(box, free, row)
        value = points @ slopes[row].T + constants[row]
        points = points[((value <= 0) | ~usable[row]).all(axis=1)]
        assert not (met.nowhere[row] and len(points))
        assert (met.lower[row] <= points).all()
        assert (points <= met.upper[row]).all()


def test_numbers_that_are_low_apart_do_not_meet() -> None:
    """x - 2 and 5 - x are each at most zero somewhere in [0, 9], and nowhere at once; x is at most 2 for the first."""
    box = Range(np.zeros((BOXES, INPUTS)), np.full((BOXES, INPUTS), 9.0))
    slopes = np.zeros((BOXES, 2, INPUTS))
    slopes[:, 0, 0], slopes[:, 1, 0] = 1.0, -1.0
    low = np.tile([-2.0, 5.0 - 9.0], (BOXES, 1))
    assert meeting(slopes, low, np.ones((BOXES, 2), bool), around(box)).nowhere.all()
    alone = meeting(slopes, low, np.tile([True, False], (BOXES, 1)), around(box))
    assert not alone.nowhere.any()
    assert (alone.upper[:, 0] == 2.0).all()
    assert (alone.upper[:, 1:] == 9.0).all()
    assert (alone.lower == 0.0).all()
