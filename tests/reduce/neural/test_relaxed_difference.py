"""Bounds of rows: they contain what the network says at samples, whatever choices are made, and good choices help."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.portion import seeds
from vernal.interpret.numbers.rounding import Floats
from vernal.reduce.neural import bound_parameters
from vernal.reduce.neural.relaxed_difference import ErrorRows, LinearParts, NetworkRows, relu_lines

COUNT, SAMPLES = 40, 400


class Problem:
    """A random network, boxes around random points, and rows over them."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        shapes = [3, *random.integers(2, 6, 1 + seed % 2).tolist(), 2]
        self.weights = [random.normal(size=(m, n)) for n, m in pairwise(shapes)]
        self.biases = [random.normal(size=m) for m in shapes[1:]]
        centre, radius = random.uniform(-1, 1, (COUNT, 3)), random.uniform(0, 0.3, (COUNT, 3))
        outputs, signs = random.integers(0, 2, COUNT), random.choice([-1.0, 1.0], COUNT)
        self.parts = LinearParts(
            random.normal(size=(COUNT, 3)), random.normal(size=COUNT), outputs, signs, centre, radius
        )
        self.rows = ErrorRows(self.parts, tuple(relu_lines(*ends) for ends in self._ranges()))
        self.network = NetworkRows(self.weights, self.biases, np.full(3, 2.0))
        self.largest = self._sampled(random)

    def _ranges(self) -> list[tuple[Floats, Floats]]:
        """By intervals, widened a little."""
        low, high, found = self.parts.centre - self.parts.radius, self.parts.centre + self.parts.radius, []
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            middle, half = 0.5 * (low + high) @ weight.T + bias, 0.5 * (high - low) @ abs(weight).T + 1e-9
            found.append((middle - half, middle + half))
            low, high = (np.maximum(end, 0.0) for end in found[-1])
        return found

    def _sampled(self, random: np.random.Generator) -> Floats:
        points = self.parts.centre + random.uniform(-1, 1, (SAMPLES, COUNT, 3)) * self.parts.radius
        h = points
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = np.maximum(h @ weight.T + bias, 0.0)
        said = (h @ self.weights[-1].T + self.biases[-1])[:, np.arange(COUNT), self.parts.outputs]
        values = np.vecdot(points, self.parts.coefficients) + self.parts.constants - self.parts.signs * said
        return np.asarray(values.max(0))


@pytest.mark.parametrize("seed", seeds(12))
def test_any_choice_of_slopes_gives_a_bound(seed: int) -> None:
    problem, random = Problem(seed), np.random.default_rng(seed)
    layers = tuple(
        replace(lines, below=np.where(lines.open, random.uniform(size=lines.below.shape), lines.below))
        for lines in problem.rows.layers
    )
    assert (problem.largest <= problem.network.bound(replace(problem.rows, layers=layers)).upper).all()


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("seed", seeds(12))
def test_improved_bounds_hold_and_are_better(seed: int, depth: int) -> None:
    problem = Problem(seed)
    plain = problem.network.bound(problem.rows).upper
    found, corners = bound_parameters.bound(problem.network, problem.rows, problem.largest, depth)
    assert (problem.largest <= found).all()
    assert (found <= plain).all()
    assert (abs(corners - problem.parts.centre) <= problem.parts.radius * (1 + 1e-12)).all()


def test_phases_see_kinks_that_cancel() -> None:
    """x - (relu(x) - relu(-x)) is 0, which no slopes of single lines say."""
    network = NetworkRows([np.array([[1.0], [-1.0]]), np.array([[1.0, -1.0]])], [np.zeros(2), np.zeros(1)], np.ones(1))
    one, zero = np.ones((1, 1)), np.zeros((1, 1))
    parts = LinearParts(one, np.zeros(1), np.zeros(1, int), np.ones(1), zero, one)
    rows = ErrorRows(parts, (relu_lines(np.full((1, 2), -1.0), np.ones((1, 2))),))
    goal = np.array([1e-9])
    assert bound_parameters.bound(network, rows, goal, 0)[0][0] > 0.4
    assert 0 <= bound_parameters.bound(network, rows, goal, 2)[0][0] <= 1e-9
