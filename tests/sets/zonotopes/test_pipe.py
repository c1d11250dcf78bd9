"""Flowpipes of affine hybrid automata: one location, sides of the region, options and limits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm

from tests.hybrid_runs import at, outside, template, trajectories
from tests.slabs import FIELDS, alone
from vernal.engines.flow.template import octagon
from vernal.errors import Stopped
from vernal.model.hybrid import Facets
from vernal.sets.zonotopes.jumps import Corners
from vernal.sets.zonotopes.pipe import Propagation, halves, pipe

# One location -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time", [0.25, 1.0, 3.0])
def test_a_linear_system_is_followed_nearly_exactly(time: float) -> None:
    matrix = [[-0.5, -2.0], [2.0, -0.5]]
    low, high = np.array([0.9, -0.1]), np.array([1.1, 0.1])
    found = pipe(alone(matrix, [0.1, 0.0], [0.0, 0.0]), (low, high), 3.0, template(2))
    flow = expm(time * np.array(matrix))
    middle = flow @ [1.0, 0.0] + np.linalg.solve(matrix, (flow - np.eye(2)) @ [0.1, 0.0])
    radius = np.abs(found.directions @ flow) @ [0.1, 0.1]
    lower, upper = at(found, time)
    true = found.directions @ middle
    step = found.times[0, 1]
    assert np.all(lower <= true - radius + 1e-9)
    assert np.all(true + radius <= upper + 1e-9)
    assert np.all(upper - lower <= 2 * radius + 10 * step)  # it moves during the step


@pytest.mark.parametrize("step", [0.5, 0.125])
def test_all_times_of_a_step_are_covered(step: float) -> None:
    """A rotation from one state: between the ends of a step it is beyond both of them."""
    start = np.array([1.0, 0.0])
    found = pipe(alone([[0.0, -1.0], [1.0, 0.0]], [0.0, 0.0], [0.0, 0.0]), (start, start), 6.0, template(2), step=step)
    for time in np.linspace(0.0, 6.0, 601):
        lower, upper = at(found, float(time))
        values = found.directions @ [math.cos(time), math.sin(time)]
        assert np.all((lower <= values) & (values <= upper))


def test_disturbances_of_a_contracting_system_stay_as_wide_as_they_are() -> None:
    """x' = -x + d with |d| <= 0.1 from 1: between e^-t + 0.1 (1 - e^-t) and e^-t - 0.1 (1 - e^-t)."""
    found = pipe(alone([[-1.0]], [0.0], [0.1]), (np.array([1.0]), np.array([1.0])), 4.0, np.eye(1))
    for time in (0.5, 2.0, 4.0):
        spread = 0.1 * (1 - math.exp(-time))
        lower, upper = at(found, time)
        assert lower[0] <= math.exp(-time) - spread
        assert upper[0] >= math.exp(-time) + spread
        assert upper[0] - lower[0] <= 1.05 * (2 * spread + 2 * found.times[0, 1])  # two segments meet there


def test_a_double_integrator_has_a_singular_matrix() -> None:
    found = pipe(alone([[0.0, 1.0], [0.0, 0.0]], [0.0, 1.0], [0.0, 0.25]), (np.zeros(2), np.zeros(2)), 2.0, template(2))
    lower, upper = at(found, 2.0)
    assert lower[0] <= 1.5
    assert upper[0] >= 2.5
    assert upper[0] - lower[0] < 1.1
    assert found.until >= 2.0
    assert found.inside_until == found.until


def test_a_set_within_an_earlier_one_is_not_followed_again() -> None:
    automaton = alone([[-1.0, -1.0], [1.0, -1.0]], [0.0, 0.0], [0.05, 0.05])
    search = Propagation(automaton, template(2), 2.0**-6, 640, lambda: None)
    search.run([Corners(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))])
    assert search.followed < 200
    found = search.flowpipe()
    assert found.until == 10.0
    assert np.all(at(found, 9.9)[1][:2] <= 1.1)
    dt = 2.0**-7
    states, alive = trajectories(automaton, np.array([-1.0, -1.0]), np.array([1.0, 1.0]), 1200, dt, 100)
    assert outside(found, states, alive, dt) == 0
    assert {step for step, _ in found.times[:, :] * 64} == set(range(640))


# Sides of the region ------------------------------------------------------------------------------------------------


def test_states_that_leave_are_clipped_and_it_is_said_until_when_all_are_inside() -> None:
    automaton = alone([[0.0]], [1.0], [0.1], side=1.0)
    found = pipe(automaton, (np.array([-0.1]), np.array([0.0])), 3.0, np.eye(1))
    assert found.upper.max() == 1.0
    assert 1.0 / 1.1 - 0.05 <= found.inside_until < 1.0 / 1.1
    assert found.until >= 3.0
    assert found.times[:, 1].max() < 1.3  # the slowest has left at 1.1 / 0.9


def test_a_side_that_cannot_be_left_is_no_exit() -> None:
    automaton = alone([[0.0]], [1.0], [0.5], side=1.0)
    found = pipe(automaton, (np.array([-1.0]), np.array([-1.0])), 1.0, np.eye(1))
    assert found.inside_until >= 1.0
    slow = pipe(alone([[0.0]], [0.25], [0.5], side=1.0), (np.array([-1.0]), np.array([-1.0])), 1.0, np.eye(1))
    assert slow.inside_until == 0.0


def test_what_explodes_outside_is_cut_off() -> None:
    automaton = alone([[50.0]], [0.0], [0.0], side=1.0)
    found = pipe(automaton, (np.array([-0.5]), np.array([0.5])), 20.0, np.eye(1), step=0.02)
    assert found.until >= 20.0
    assert at(found, 19.0)[1][0] == 1.0
    assert np.isfinite(found.upper).all()


def test_initial_states_as_facets() -> None:
    """A triangle: the box around it."""
    facets = Facets(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([1.0, 0.0, 0.0]))
    found = pipe(alone([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [0.0, 0.0]), facets, 1.0, np.eye(2))
    assert np.allclose(at(found, 0.0), [[0.0, 0.0], [1.0, 1.0]])


def test_no_initial_state_is_no_segment() -> None:
    found = pipe(alone([[0.0]], [0.0], [0.0]), (np.array([20.0]), np.array([21.0])), 1.0, np.eye(1))
    assert len(found.times) == 0
    assert found.until >= 1.0


# Options and limits -------------------------------------------------------------------------------------------------


def test_a_tick_stops_it() -> None:
    calls: list[None] = []

    def tick() -> None:
        calls.append(None)
        if len(calls) > 10:
            raise Stopped("time")

    model = FIELDS["jet"]
    with pytest.raises(Stopped):
        pipe(model.automaton(), (model.first, model.last), model.horizon, np.eye(2), tick)
    assert len(calls) == 11


def test_the_axes_come_first() -> None:
    found = pipe(alone([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [0.0, 0.0]), (np.zeros(2), np.ones(2)), 1.0, octagon(2))
    assert np.array_equal(found.directions[:2], np.eye(2))
    assert np.allclose(at(found, 0.5)[1], [1.0, 1.0, 2.0, 1.0])


def test_a_step_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than 0"):
        pipe(alone([[0.0]], [0.0], [0.0]), (np.zeros(1), np.ones(1)), 1.0, np.eye(1), step=0.0)


def test_a_horizon_of_thirds_is_covered() -> None:
    found = pipe(alone([[0.0]], [0.0], [0.0]), (np.zeros(1), np.ones(1)), Fraction(1, 3), np.eye(1))
    assert Fraction(found.until) >= Fraction(1, 3)


def test_parts_cover_a_box() -> None:
    parts = halves(Corners(np.zeros(2), np.array([1.0, 3.0])), 5)
    assert len(parts) == 8
    assert sum(float(np.prod(part.upper - part.lower)) for part in parts) == pytest.approx(3.0)
    assert len(halves(Corners(np.ones(2), np.ones(2)), 5)) == 1
    assert halves(None, 5) == []
