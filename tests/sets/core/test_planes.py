"""Planes over boxes: what is bounded is true in exact arithmetic, and what a linear program excludes is excluded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vernal.interpret.geometry.float_program import minimise
from vernal.interpret.numbers.rounding import Floats
from vernal.sets.core.planes import HalfSpaces, PlanesOfBoxes, largest, stacked

BOXES, PLANES, INPUTS = 60, 7, 4


def some(seed: int) -> PlanesOfBoxes:
    """Random planes; in a third of the boxes an input has one value, and numbers are of all sizes."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(-6, 7, (BOXES, PLANES, 1))
    slopes = rng.normal(size=(BOXES, PLANES, INPUTS)) * size
    constants = (rng.normal(size=(BOXES, PLANES)) - 0.5) * size[..., 0]
    lower = rng.normal(size=(BOXES, INPUTS))
    upper = lower + rng.uniform(0, 2, (BOXES, INPUTS))
    upper[::3, 0] = lower[::3, 0]
    asked = np.broadcast_to(np.arange(PLANES) < 2, (BOXES, PLANES))
    return PlanesOfBoxes(slopes, constants, asked, lower, upper)


def exact(planes: PlanesOfBoxes, box: int, point: Floats) -> list[Fraction]:
    """The planes of a box at a point, in rational arithmetic."""
    x = [Fraction(v) for v in point.tolist()]
    return [
        sum((Fraction(a) * v for a, v in zip(row, x, strict=True)), Fraction(c))
        for row, c in zip(planes.slopes[box].tolist(), planes.constants[box].tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_at_every_point_that_has_the_other_planes_at_most_zero(seed: int) -> None:
    planes = some(seed)
    found = largest(planes)
    rng = np.random.default_rng(seed)
    met = 0
    for box in range(BOXES):
        for _ in range(30):
            share = rng.choice([0.0, 1.0, rng.random()], INPUTS)
            point = planes.lower[box] * (1 - share) + planes.upper[box] * share
            point = np.clip(point, planes.lower[box], planes.upper[box])
            values = exact(planes, box, point)
            if max(values[2:]) <= 0:
                met += 1
                assert found.low[box] <= 0 or max(values[:2]) >= Fraction(float(found.low[box]))
                assert np.isfinite(found.low[box]) or found.low[box] < 0
    assert met > 20


def best(planes: PlanesOfBoxes, box: int) -> float:
    """The least value of the largest plane, each divided by its size, as a linear program has it."""
    scale = np.abs(planes.slopes[box]).sum(axis=1) + np.abs(planes.constants[box])
    rows = np.hstack([planes.slopes[box] / scale[:, None], -np.ones((PLANES, 1))])
    limits = [*zip(planes.lower[box].tolist(), planes.upper[box].tolist(), strict=True), (None, None)]
    found = minimise(np.append(np.zeros(INPUTS), 1.0), rows, -planes.constants[box] / scale, limits)
    assert found is not None
    return float(found.point[-1])


def test_what_a_program_excludes_clearly_is_excluded_and_nothing_else_is() -> None:
    planes = some(7)
    found = largest(planes)
    least = np.array([best(planes, box) for box in range(BOXES)])
    assert (found.low[least > 0.05] > 0).all()
    assert not (found.low[least < -1e-9] > 0).any()
    assert (least > 0.05).sum() > 10
    assert (least < -1e-9).sum() > 5


def test_a_point_lies_in_its_box() -> None:
    planes = some(3)
    found = largest(planes)
    assert ((planes.lower <= found.point) & (found.point <= planes.upper)).all()


def test_two_planes_that_exclude_each_other_leave_no_point() -> None:
    """x <= -0.1 and x >= 0.1 of a number between -1 and 1: whatever is asked cannot fail."""
    slopes = np.array([[[0.0], [1.0], [-1.0]]])
    constants = np.array([[-1.0, 0.1, 0.1]])
    asked = np.array([[True, False, False]])
    found = largest(PlanesOfBoxes(slopes, constants, asked, np.array([[-1.0]]), np.array([[1.0]])))
    assert found.low[0] > 0


def test_planes_that_touch_exclude_nothing() -> None:
    """x <= 0 and x >= 0: the point 0 is left, where the plane that is asked about is -1."""
    slopes = np.array([[[0.0], [1.0], [-1.0]]])
    constants = np.array([[-1.0, 0.0, 0.0]])
    asked = np.array([[True, False, False]])
    found = largest(PlanesOfBoxes(slopes, constants, asked, np.array([[-1.0]]), np.array([[1.0]])))
    assert found.low[0] <= 0


def test_missing_and_infinite_planes_say_nothing() -> None:
    one = HalfSpaces(np.array([[1.0], [np.inf]]), np.array([5.0, 7.0]))
    slopes, constants = stacked([[one], []], 2)
    assert slopes.shape == (2, 2, 2)
    assert constants.tolist() == [[5.0, -1.0], [-1.0, -1.0]]
    asked = np.zeros((2, 2), dtype=bool)
    found = largest(PlanesOfBoxes(slopes, constants, asked, np.zeros((2, 2)), np.ones((2, 2))))
    assert found.low[0] > 0  # x + 5 is never at most zero
    assert found.low[1] <= 0


def test_numbers_that_overflow_prove_nothing() -> None:
    slopes, constants = np.full((1, 2, 1), 1e308), np.array([[1e308, 1e308]])
    box = np.array([[-1e300]]), np.array([[1e300]])
    found = largest(PlanesOfBoxes(slopes, constants, np.array([[True, False]]), *box))
    assert not found.low[0] > 0


def test_no_boxes_at_all() -> None:
    found = largest(
        PlanesOfBoxes(np.zeros((0, 1, 2)), np.zeros((0, 1)), np.zeros((0, 1), bool), np.zeros((0, 2)), np.zeros((0, 2)))
    )
    assert found.low.shape == (0,)
