"""Certified errors: known maxima are met, samples never exceed them, and what has no bound is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.portion import seeds
from tests.reduce.neural.fields import SIX, SQUARE, fitted, flow, region_of
from vernal.errors import InputError, Stopped
from vernal.interpret.numbers.rounding import Floats
from vernal.model.build import absolute, between, if_
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.functions import exp, log, sqrt
from vernal.reduce.neural.certifier import Certificate, certify
from vernal.reduce.neural.difference import errors_at

WIDTHS = {"jet": (10, 16), "steam": (12,), "exponential": (14, 14), "watertank": (12,), "nl1": (10,), "nl2": (12, 10)}
LINEAR = (np.eye(1),), (np.zeros(1),)  # N(x) = x


def certified(field: Flow, network: tuple[tuple[Floats, ...], tuple[Floats, ...]], **options: object) -> Certificate:
    return certify(field, *network, *region_of(field), **options)  # type: ignore[arg-type]


def interpolation(knots: Floats, values: Floats) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """The piecewise linear function through points, as a network of one input, to the right of the first knot."""
    slopes = np.diff(values) / np.diff(knots)
    jumps = np.diff(slopes, prepend=0.0)
    return (np.ones((len(jumps), 1)), jumps[None]), (-knots[:-1], np.array([values[0]]))


# Known maxima ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 4, 16])
def test_interpolation_of_a_square(pieces: int) -> None:
    """On every piece of length h the error of the chord of x^2 is h^2 / 4, in the middle."""
    knots = np.linspace(0, 1, pieces + 1)
    found = certified(flow({"x": (0, 1)}, lambda x: [x**2]), interpolation(knots, knots**2))
    truth = Fraction(1, 4 * pieces**2)
    assert Fraction(float(found.worst[0])) <= truth <= Fraction(float(found.error[0]))
    assert found.error[0] <= 1.01 * float(truth) + 1e-5
    assert found.worst[0] >= float(truth) / 1.01


def test_square_root_at_zero() -> None:
    """sqrt(x) - x is largest at 1/4: there it is 1/4."""
    found = certified(flow({"x": (0, 1)}, lambda x: [sqrt(x)]), LINEAR)
    assert found.worst[0] <= 0.25 <= found.error[0] <= 1.01 * 0.25
    assert found.points[0, 0] == pytest.approx(0.25, abs=0.1)


def test_cube_root_of_a_square() -> None:
    """|x|^(2/3) is 1 where |x| is 1 and has a cusp at 0; against 1/2 the error is 1/2 at both."""
    network = (np.zeros((1, 1)),), (np.array([0.5]),)
    found = certified(flow({"x": (-1, 1)}, lambda x: [(x**2) ** Fraction(1, 3)]), network)
    assert found.worst[0] <= 0.5 <= found.error[0] <= 0.505


def test_what_a_network_says_exactly_costs_nothing() -> None:
    field = flow(SQUARE, lambda x, y: [y, absolute(x)])
    weights = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    found = certified(field, (weights, (np.array([0.0, 0.0, 1.0]), np.array([-1.0, 0.0]))))
    assert (found.error <= 1e-9).all()
    assert (found.worst == 0).all()


def test_nothing_moves() -> None:
    field = flow({"x": (-1, 1), "y": (0, 0)}, lambda x, y: [0 * x, x - x])
    found = certified(field, ((np.zeros((2, 2)),), (np.zeros(2),)))
    assert (found.error <= 1e-12).all()


def test_a_region_of_one_point() -> None:
    found = certified(flow({"x": (2, 2)}, lambda x: [sqrt(x)]), LINEAR, slack=0.0)
    assert found.worst[0] <= 2 - np.sqrt(2) + 1e-15
    assert 2 - np.sqrt(2) - 1e-15 <= found.error[0] <= 0.6


def test_kinks_that_cancel_each_other() -> None:
    """x as relu(x - c) - relu(c - x) + c: no cut of boxes makes the bound of each ReLU alone good."""
    knots = np.array([-0.7, -0.25, 0.125, 0.6])
    weight = np.concatenate([np.ones((4, 1)), -np.ones((4, 1))])
    outer = np.concatenate([np.ones(4), -np.ones(4)])[None] / 4
    network = (weight, outer), (np.concatenate([-knots, knots]), np.array([knots.mean()]))
    found = certified(flow({"x": (-1, 1)}, lambda x: [x]), network, slack=1e-9)
    assert found.error[0] <= 2e-9
    assert found.boxes < 2000


@pytest.mark.parametrize("size", [Fraction(1, 10), Fraction(3)])
def test_disturbances_add_their_size(size: Fraction) -> None:
    found = certified(flow({"x": (-1, 1)}, lambda x: [x + between(-size, size)]), LINEAR)
    assert found.worst[0] <= size <= Fraction(float(found.error[0]))
    assert found.error[0] <= float(size) * (1 + 1e-9)
    assert found.positions[0, 0] in (0.0, 1.0)


def test_disturbances_between_ends_that_depend_on_the_state() -> None:
    """x + d with |d| <= x^2 and x up to 2: at most 4 from x; and the product of two disturbances."""
    found = certified(flow({"x": (0, 2)}, lambda x: [x + between(-(x**2), x**2)]), LINEAR)
    assert found.worst[0] <= 4 <= found.error[0] <= 4.04
    two = flow({"x": (0, 1)}, lambda x: [x + between(-1, 2) * between(-3, 1)])
    found = certified(two, LINEAR)
    assert found.worst[0] <= 6 <= found.error[0] <= 6.06


def test_a_jump() -> None:
    """The least upper bound beside a jump counts, though it is not attained."""
    field = flow({"x": (-1, 1)}, lambda x: [if_(x > Fraction(1, 3), x + 1, x)])
    found = certified(field, ((np.array([[1.0]]),), (np.array([0.25]),)))
    assert found.worst[0] <= 0.75 <= found.error[0] <= 0.7575


# Samples --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIX)
def test_no_sample_exceeds_the_bound(name: str) -> None:
    """Many points, and the points the certifier itself found worst."""
    field, widths = SIX[name], WIDTHS[name]
    network = fitted(field, widths)
    found = certified(field, network)
    lower, upper = region_of(field)
    random = np.random.default_rng(1)
    largest, rates = np.zeros(len(lower)), np.zeros(len(lower))
    for _ in range(2):
        points = random.uniform(lower, upper, (100_000, len(lower)))
        largest = np.maximum(largest, errors_at(field, *network, points).max(0))
        rates = np.maximum(rates, errors_at(field, *constant(len(lower)), points).max(0))
    assert (largest <= found.error).all()
    at_worst = np.diagonal(errors_at(field, *network, found.points))
    assert (at_worst <= found.error).all()
    np.testing.assert_allclose(at_worst, found.worst, rtol=1e-9, atol=1e-9)
    assert (found.error <= np.maximum(1.01 * found.worst, found.worst + 1e-5 * rates) + 1e-9).all()


def constant(size: int) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """A network that says 0."""
    return (np.zeros((size, size)),), (np.zeros(size),)


@pytest.mark.parametrize("seed", seeds(8))
def test_random_networks_against_a_grid(seed: int) -> None:
    """A Lipschitz constant of f - N says how far the maximum can be above that on a grid."""
    random = np.random.default_rng(seed)
    depth = 1 + seed % 3
    shapes = [2, *random.integers(2, 7, depth).tolist(), 2]
    weights = tuple(random.normal(size=(m, n)) for n, m in pairwise(shapes))
    biases = tuple(random.normal(size=m) for m in shapes[1:])
    a, b = random.integers(-3, 4, 2).tolist()
    field = flow(SQUARE, lambda x, y: [a * x**2 - y * x, b * y**3 + exp(x)])
    found = certified(field, (weights, biases))
    axis = np.linspace(-1, 1, 401)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    largest = errors_at(field, weights, biases, grid).max(0)
    slope = np.linalg.norm(np.linalg.multi_dot([*map(abs, weights[::-1]), np.ones((2, 1))])) + 20
    assert (largest <= found.error).all()
    assert (found.error <= 1.01 * (largest + slope * 0.005 / 2) + 1e-3).all()
    assert (found.error <= np.maximum(1.01 * found.worst, found.worst + 1e-3) + 1e-9).all()


def exact_error(weights: tuple[Floats, ...], biases: tuple[Floats, ...], x: Fraction) -> Fraction:
    """|x - N(x)| in rationals."""
    h = [x]
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        h = [
            sum((Fraction(w) * y for w, y in zip(row, h, strict=True)), Fraction(c))
            for row, c in zip(weight.tolist(), bias.tolist(), strict=True)
        ]
        if number + 1 < len(weights):
            h = [max(y, Fraction(0)) for y in h]
    return abs(x - h[0])


@pytest.mark.parametrize("size", [1e3, 1e8, 1e13])
def test_rounding_of_large_weights_is_paid_for(size: float) -> None:
    """N is x in exact arithmetic up to what 0.1 and 0.3 are as floats; floating point says otherwise."""
    weight = np.array([[size], [size * 0.3], [-size]])
    outer = np.array([[1.0, -1 / 0.3, -0.1]])
    network = (weight, outer), (np.array([size * 0.1, size * 0.03, size * 0.7]), np.array([0.1]))
    found = certified(flow({"x": (-1, 1)}, lambda x: [x]), network)
    points = [Fraction(k, 64) for k in range(-64, 65)] + [Fraction(float(found.points[0, 0]))]
    truth = max(exact_error(*network, x) for x in points)
    assert truth <= Fraction(float(found.error[0]))
    assert Fraction(float(found.worst[0])) <= exact_error(*network, points[-1])


def test_rounding_of_the_field_is_no_reason_to_cut() -> None:
    """Its terms cancel, and no box is so small that their rounding would not show."""
    third = Fraction(10**17, 3)
    found = certified(flow({"x": (0, 1)}, lambda x: [x * 10**17 - 3 * (x * third) + x]), LINEAR)
    assert found.worst[0] == 0  # the rate is x, and so is the network
    assert found.error[0] < 1000
    assert found.boxes < 10_000


def test_weights_beyond_floating_point_are_refused() -> None:
    network = (np.array([[1e200]]), np.array([[1e200]])), (np.zeros(1), np.zeros(1))
    with pytest.raises(InputError, match="too large"):
        certified(flow({"x": (-1, 1)}, lambda x: [x]), network)


# Enough ---------------------------------------------------------------------------------------------------------------


def test_it_stops_as_soon_as_the_error_is_small_enough() -> None:
    network = fitted(SIX["jet"], WIDTHS["jet"])
    whole = certified(SIX["jet"], network)
    enough = 1.5 * whole.error + 1e-6
    found = certified(SIX["jet"], network, enough=enough)
    assert (found.error <= enough).all()
    assert found.boxes <= whole.boxes


def test_it_stops_at_a_point_with_a_larger_error() -> None:
    network = fitted(SIX["jet"], WIDTHS["jet"])
    whole = certified(SIX["jet"], network)
    enough = np.array([0.5, 1.0]) * whole.worst + np.array([0.0, 1.0])
    found = certified(SIX["jet"], network, enough=enough)
    assert found.worst[0] > enough[0]
    assert errors_at(SIX["jet"], *network, found.points)[0, 0] > enough[0]
    assert (found.error >= whole.worst).all()  # a bound, if not a tight one


def test_a_tick_stops_it() -> None:
    left = [5]

    def tick() -> None:
        left[0] -= 1
        if not left[0]:
            raise Stopped("time is up")

    with pytest.raises(Stopped, match="time is up"):
        certified(SIX["steam"], fitted(SIX["steam"], (12,)), tick=tick)


# What has no bound ----------------------------------------------------------------------------------------------------

UNDEFINED = {
    "a root of negative numbers": ({"x": (Fraction(-1, 8), 1)}, lambda x: [sqrt(x)]),
    "a pole at an end": ({"x": (0, 1)}, lambda x: [1 / x]),
    "a pole inside": ({"x": (-1, 2)}, lambda x: [1 / x]),
    "a pole beside floats": ({"x": (-1, 2)}, lambda x: [1 / (x - Fraction(1, 3))]),
    "a logarithm at an end": ({"x": (0, 1)}, lambda x: [x * log(x)]),
    "beyond floats": ({"x": (0, 2)}, lambda x: [exp(1000 * x)]),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_an_undefined_rate_is_no_bound(name: str) -> None:
    region, rates = UNDEFINED[name]
    with pytest.raises(InputError, match="rate of 'x'"):
        certified(flow(region, rates), LINEAR)  # type: ignore[arg-type]


def test_a_pole_along_a_line() -> None:
    def rates(x: Expr, y: Expr) -> list[Expr]:
        return [y, 1 / (3 * x - 1)]

    with pytest.raises(InputError, match=r"rate of 'y' .* x = 0.333"):
        certified(flow(SQUARE, rates), (((np.eye(2),)), (np.zeros(2),)))


def test_a_network_of_another_shape() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        certified(SIX["jet"], LINEAR)
