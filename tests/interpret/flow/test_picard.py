"""A-priori enclosures against solutions that are known in closed form, those that are not unique included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret.flow.models import flow_of, state
from vernal.interpret.flow.picard import GRID, VectorField, enclose, everywhere, region_of
from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.model.build import between
from vernal.model.expr import Between
from vernal.model.flow import Flow
from vernal.model.functions import sqrt


def boxes(*rows: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    ends = np.array(rows, dtype=np.float64)
    return ends[..., 0], ends[..., 1]


def growth(factor: int = 1) -> Flow:
    (x,) = state("x")
    return flow_of({x: factor * x}, [(1, 2)], [(-10, 10)])


def test_exponential_growth_is_enclosed_at_all_times_of_the_step() -> None:
    field, (lower, upper) = VectorField(growth()), boxes(((1, 2),), ((-1, 1),), ((3, 3),))
    found = enclose(field, lower, upper, np.full(3, 0.125), everywhere(1))
    assert found.found.all()
    for time in np.linspace(0, 1, 11)[:, None, None] * found.steps[:, None]:
        assert (lower * np.exp(time) >= found.lower).all()
        assert (upper * np.exp(time) <= found.upper).all()
    factor = np.exp(found.steps)[:, None]
    assert (lower * factor >= found.end_lower).all()
    assert (upper * factor <= found.end_upper).all()
    assert (found.end_upper - found.end_lower < 1.6 * (upper - lower) + 0.2).all()


def test_a_step_too_long_is_halved_and_stays_on_the_grid() -> None:
    field, (lower, upper) = VectorField(growth(100)), boxes(((1, 2),), ((0, 0),))
    found = enclose(field, lower, upper, np.array([1.0, 0.3]), everywhere(1))
    assert 0 < found.steps[0] < 0.01
    assert (found.steps / GRID == np.round(found.steps / GRID)).all()


def test_all_solutions_of_a_field_without_lipschitz_bound_are_enclosed() -> None:
    """x' = y, y' = sqrt(x) from (0, 0): x = 0 and x = t^4 / 144 are both solutions, and all that wait at first."""
    x, y = state("x", "y")
    flow = flow_of({x: 1 * y, y: sqrt(x)}, [(0, 0), (0, 0)], [(0, 1), (-1, 1)])
    lower, upper = boxes(((0, 0), (0, 0)))
    time = np.zeros(1)
    for _ in range(40):
        found = enclose(VectorField(flow), lower, upper, np.full(1, 0.0625), region_of(flow))
        assert found.found.all()
        time += found.steps
        lower, upper = np.maximum(found.end_lower, region_of(flow)[0]), found.end_upper
        assert lower[0, 0] <= 0
        assert upper[0, 0] >= time[0] ** 4 / 144
        assert upper[0, 1] >= time[0] ** 3 / 36


def test_a_field_that_is_undefined_beside_the_region_is_followed_inside_it() -> None:
    (x,) = state("x")
    flow = flow_of({x: 0 * x - sqrt(x)}, [(0, 1)], [(0, 1)])
    lower, upper = boxes(((0, 0.25),))
    inside = enclose(VectorField(flow), lower, upper, np.full(1, 0.25), region_of(flow))
    assert inside.found.all()
    assert inside.lower[0, 0] <= 0  # sqrt(x) falls by t/2
    assert inside.upper[0, 0] >= 0.25
    outside = enclose(VectorField(flow), lower, upper, np.full(1, 0.25), everywhere(1))
    assert not outside.found.any()


@pytest.mark.parametrize("given", [None, (0.5, 0.5)])
def test_disturbances_are_all_there_are_or_those_that_are_given(given: tuple[float, float] | None) -> None:
    (x,) = state("x")
    flow = flow_of({x: between(-1, 1) - x}, [(0, 0)], [(-2, 2)])
    (node,) = flow.disturbances
    assert isinstance(node, Between)
    found = enclose(VectorField(flow, given and {node: given}), *boxes(((0, 0),)), np.full(1, 0.125), everywhere(1))
    extreme = 1 - np.exp(-0.125)
    if given is None:
        assert found.end_lower[0, 0] <= -extreme
        assert found.end_upper[0, 0] >= extreme
    else:
        assert 0 < found.end_lower[0, 0] <= extreme / 2 <= found.end_upper[0, 0] < 0.07


def test_what_stands_still_is_enclosed_at_once() -> None:
    (x,) = state("x")
    flow = flow_of({x: build.const(0)}, [(0, 1)], [(-10, 10)])
    found = enclose(VectorField(flow), *boxes(((0.5, 0.5),), ((3, 3),), ((0, 0),)), np.full(3, 4.0), everywhere(1))
    assert found.steps.tolist() == [4.0] * 3
    assert found.end_lower.tolist() == found.end_upper.tolist() == [[0.5], [3.0], [0.0]]


def test_what_explodes_has_no_enclosure_beyond_its_time() -> None:
    """x' = x^2 from 1 is 1 / (1 - t)."""
    (x,) = state("x")
    flow = flow_of({x: x**2}, [(1, 1)], [(-10, 10)])
    lower, upper, time = np.ones((1, 1)), np.ones((1, 1)), 0.0
    for _ in range(200):
        found = enclose(VectorField(flow), lower, upper, np.full(1, 0.5), everywhere(1))
        time += float(found.steps[0])
        assert time < 1
        lower, upper = found.end_lower, found.end_upper
        if not found.found.all() or upper[0, 0] > 1e6:
            break
        assert lower[0, 0] <= 1 / (1 - time) <= upper[0, 0]
