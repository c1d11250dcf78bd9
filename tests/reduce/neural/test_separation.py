"""Errors taken apart: the sums are those of the whole, affine rates cost nothing, and nothing undefined gets lost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.reduce.neural.fields import SQUARE, flow, region_of
from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.model.build import between
from vernal.model.flow import Flow
from vernal.model.functions import exp, sin, sqrt
from vernal.reduce.neural.certifier import certify
from vernal.reduce.neural.difference import ErrorField, errors_at
from vernal.reduce.neural.separation import SeparatedError, separated

CUBE = {**SQUARE, "z": (-1, 1)}


def ridge_network(random: np.random.Generator, size: int, looks: list[list[int]]) -> tuple[list[Floats], list[Floats]]:
    """Neurons that hand the variables on, and neurons that look at given variables."""
    inner = np.vstack([np.eye(size), np.zeros((len(looks), size))])
    for row, at in enumerate(looks):
        inner[size + row, at] = random.normal(size=len(at))
    heights = np.concatenate([np.full(size, 1.0), 0.3 * random.normal(size=len(looks))])
    outer = random.normal(size=(size, len(inner)))
    return [inner, outer], [heights, random.normal(size=size)]


def taken_apart(field: Flow, weights: list[Floats], biases: list[Floats]) -> SeparatedError:
    whole = ErrorField.of(field, weights, biases)
    return separated(whole, *whole.region(*region_of(field)))


@pytest.mark.parametrize("seed", range(6))
def test_errors_add_up_to_those_of_the_whole(seed: int) -> None:
    """Values of the parts and of the affine rest, added, are f - N; certified errors are those of samples, nearly."""
    random = np.random.default_rng(seed)
    field = flow(
        CUBE,
        lambda x, y, z: [
            -y + x**2 - 3 * z,
            sin(y) + exp(x) * z / 3 + between(-1, 1) / 4,
            x * z - y + between(0, 1) * y + 2,
        ],
    )
    weights, biases = ridge_network(random, 3, [[0], [1], [0, 2], [2]][: 2 + seed % 3])
    weights[1][0, 4:] = 0  # the first rate is separable whatever the others are
    whole, found = ErrorField.of(field, weights, biases), taken_apart(field, weights, biases)
    lower, upper = whole.region(*region_of(field))
    points = random.uniform(lower, upper, (20_000, len(lower)))
    total = np.array([float(x) for x in found.constants]) + points @ np.array(found.slopes, dtype=float).T
    for part in found.parts:
        total[:, part.outputs] += part.difference.at(points[:, part.coordinates])
    np.testing.assert_allclose(total, whole.at(points), atol=1e-12)
    certificate = certify(field, weights, biases, *region_of(field))
    largest = abs(whole.at(points)).max(0)
    assert (largest <= certificate.error).all()
    assert (certificate.error <= 1.01 * certificate.worst + 1e-4).all()
    assert found.count(0) >= 1
    assert max(len(part.coordinates) for part in found.parts if 0 in part.outputs) == 1


def test_the_two_sides_of_parts_are_added_apart() -> None:
    """x^2 + 2 - y^2 is between 1 and 3: its parts are one-sided, and 1 + 1 + 2 would be too much."""
    field = flow(SQUARE, lambda x, y: [x**2 + 2 - y**2, 0 * x])
    found = certify(field, [np.zeros((2, 2))], [np.zeros(2)], *region_of(field))
    assert found.worst[0] <= 3 <= found.error[0] <= 3.03
    assert errors_at(field, [np.zeros((2, 2))], [np.zeros(2)], found.points)[0, 0] == pytest.approx(3, abs=0.01)


def test_affine_rates_are_compared_in_rationals() -> None:
    """The network has 0.1 as a float, the field has a tenth: the error is what these differ by, to the last bit."""
    field = flow(SQUARE, lambda x, y: [3 * x - y + 1, x / 10])
    weights = [np.eye(2), np.array([[3.0, -1.0], [0.1, 0.0]])]
    found = certify(field, weights, [np.ones(2), np.array([-1.0, -0.1])], *region_of(field))
    gap = abs(Fraction(0.1) - Fraction(1, 10))
    assert found.error[0] == 0
    assert gap <= Fraction(float(found.error[1])) <= 2 * gap * (1 + Fraction(1, 10**9))
    assert found.boxes == 0


def test_neurons_that_are_never_active_are_left_out() -> None:
    field = flow(SQUARE, lambda x, y: [x**2, y])
    weights = [np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[5.0, 0.0], [0.0, 1.0]])]
    biases = [np.array([-2.0, 1.0]), np.array([0.5, -1.0])]  # x + y - 2 is at most 0, and 0 at a corner
    found = certify(field, weights, biases, *region_of(field))
    assert found.worst[0] <= 0.5 <= found.error[0] <= 0.505
    assert found.error[1] == 0


@pytest.mark.parametrize("rates", [lambda x: [sqrt(x) - sqrt(x)], lambda x: [0 * (1 / x) + x]], ids=["root", "pole"])
def test_what_cancels_has_to_be_defined(rates: object) -> None:
    field = flow({"x": (-1, 1)}, rates)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rate of 'x'"):
        certify(field, [np.eye(1)], [np.zeros(1)], *region_of(field))


def test_six_dimensions_cost_what_their_parts_cost() -> None:
    names = [f"x{k}" for k in range(6)]
    field = flow(dict.fromkeys(names, (-1, 1)), lambda *x: [x[k - 1] - x[k] ** 2 for k in range(6)])
    rows = np.vstack([np.eye(6), np.eye(6)])
    biases = [np.concatenate([np.ones(6), np.zeros(6)]), np.concatenate([-np.ones(6)]) + 0.25 + 1]
    shifted = np.roll(np.eye(6), -1, axis=1)
    weights = [rows, np.hstack([shifted + np.eye(6), -2 * np.eye(6)])]  # x_(k-1) + x_k - 2 relu(x_k) + ...
    found = certify(field, weights, biases, *region_of(field))
    assert found.boxes < 6 * 500
    truth = errors_at(field, weights, biases, np.random.default_rng(0).uniform(-1, 1, (50_000, 6))).max(0)
    assert (truth <= found.error).all()
    assert (found.error <= 1.01 * found.worst + 1e-4).all()
