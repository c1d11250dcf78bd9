"""Flowpipes of affine hybrid automata: they contain all trajectories, and are not much larger than these."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm

from tests.hybrid_runs import outside, trajectories
from tests.slabs import FIELDS, box_facets, slab_automaton, together
from vernal.engines.flow.affine.jumps import Corners
from vernal.engines.flow.affine.pipe import Propagation, halves, pipe
from vernal.engines.flow.template import octagon
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.model.hybrid import Crossing, Facets, HybridAutomaton, Location


def template(n: int) -> np.ndarray:
    return np.concatenate([np.eye(n), octagon(n)])


def alone(matrix: list[list[float]], drift: list[float], radius: list[float], side: float = 10.0) -> HybridAutomaton:
    """One location, everywhere in a cube."""
    n = len(drift)
    low, high = np.full(n, -side), np.full(n, side)
    location = Location("only", box_facets(low, high), np.array(matrix), np.array(drift))
    return HybridAutomaton("alone", tuple("xyzuvw"[:n]), low, high, np.array(radius), (location,), ())


def at(found: Flowpipe, time: float) -> tuple[np.ndarray, np.ndarray]:
    """The bounds around all segments of a time."""
    now = (found.times[:, 0] <= time) & (time <= found.times[:, 1])
    return found.lower[now].min(axis=0), found.upper[now].max(axis=0)


def gap(found: Flowpipe, lower: np.ndarray, upper: np.ndarray) -> float:
    """The least over all segments of the largest distance to a box in a direction: above 0, it is not met."""
    least = np.minimum(found.directions * lower, found.directions * upper).sum(axis=1)
    most = np.maximum(found.directions * lower, found.directions * upper).sum(axis=1)
    return float(np.maximum(least - found.upper, found.lower - most).max(axis=1).min())


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


# Several locations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parts"), [*((name, 1) for name in FIELDS), ("jet", 4), ("nl1", 4)])
def test_simulated_trajectories_are_inside(name: str, parts: int) -> None:
    """Of interpolations of five published models, with the errors of their published abstractions."""
    model = FIELDS[name]
    automaton = model.automaton()
    found = pipe(automaton, (model.first, model.last), model.horizon, template(len(model.first)), parts=parts)
    dt = found.times[0, 1] / 2
    states, alive = trajectories(automaton, model.first, model.last, int(model.horizon / dt), dt, 1000 // parts)
    assert outside(found, states, alive, dt, 1e-5) == 0
    leaving = np.flatnonzero(~alive.all(axis=1))
    assert found.inside_until <= (leaving[0] * dt if len(leaving) else math.inf)


@pytest.mark.parametrize("name", FIELDS)
def test_bad_states_are_not_met(name: str) -> None:
    model = FIELDS[name]
    found = pipe(model.automaton(), (model.first, model.last), model.horizon, template(len(model.first)))
    assert gap(found, model.bad_lower, model.bad_upper) > 0
    assert found.until >= model.horizon


@pytest.mark.parametrize("seed", range(12))
def test_random_fields_are_contained(seed: int) -> None:
    """In one to three dimensions, bent at random knots, under random disturbances; many leave the region."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 3
    axis = int(rng.integers(n))
    knots = np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]) + np.array([0.0, *rng.uniform(-0.1, 0.1, 4), 0.0])
    values = rng.normal(size=(6, n)) / 2
    bent = slab_automaton(
        [-1.0] * n,
        [1.0] * n,
        knots.tolist(),
        axis,
        rng.normal(size=(n, n)).tolist(),
        lambda x: values[int(np.argmin(np.abs(knots - x)))],
        rng.uniform(0.0, 0.1, n).tolist(),
    )
    low = rng.uniform(-0.6, 0.4, n)
    high = low + rng.uniform(0.0, 0.3, n)
    found = pipe(bent, (low, high), 1.5, template(n), parts=1 + seed % 2)
    dt = found.times[0, 1] / 2
    states, alive = trajectories(bent, low, high, int(1.5 / dt), dt, 300, seed)
    assert outside(found, states, alive, dt, 1e-4) == 0
    leaving = np.flatnonzero(~alive.all(axis=1))
    assert found.inside_until <= (leaving[0] * dt if len(leaving) else math.inf)


@pytest.mark.parametrize("name", FIELDS)
def test_a_single_state_without_disturbances(name: str) -> None:
    """Sets without volume, also on the facets between locations."""
    model = FIELDS[name]
    automaton = model.automaton(radius=[0.0] * len(model.first))
    start = np.round(model.last * 4) / 4  # on a knot, where that is in the region
    found = pipe(automaton, (start, start), 0.5, template(len(start)))
    dt = found.times[0, 1] / 4
    states, alive = trajectories(automaton, start, start, int(0.5 / dt), dt, 1)
    assert outside(found, states, alive, dt, 1e-4) == 0
    lower, upper = at(found, 0.5)
    assert np.all(upper - lower < 0.1)


def test_two_engines_in_four_dimensions() -> None:
    model = FIELDS["jet"]
    coupling = np.zeros((4, 4))
    coupling[3, 0] = 0.1
    both = together(model.automaton(), model.automaton(), coupling)
    assert len(both.locations) == 144
    assert len(both.crossings) == 2 * 2 * 11 * 12
    low, high = np.tile(model.first, 2), np.tile(model.last, 2)
    found = pipe(both, (low, high), 1.5, np.eye(4))
    assert gap(found, np.tile(model.bad_lower, 2), np.tile(model.bad_upper, 2)) > 0
    dt = found.times[0, 1]
    states, alive = trajectories(both, low, high, int(1.5 / dt), dt, 50)
    assert outside(found, states, alive, dt, 1e-4) == 0


def test_wider_disturbances_do_meet_them() -> None:
    """The published error of the exponential model is too large for its bad set to be avoided."""
    model = FIELDS["exponential"]
    automaton = model.automaton(radius=(0.2, 0.01))
    found = pipe(automaton, (model.first, model.last), model.horizon, template(2))
    assert gap(found, model.bad_lower, model.bad_upper) <= 0


def test_a_kink_of_one_variable_is_followed_closely() -> None:
    """x' = 1 - |x| / 2 from [-0.5, -0.4], which crosses 0."""
    model = slab_automaton([-2], [2], [-2, 0, 2], 0, [[0]], lambda x: np.array([1 - abs(x) / 2]), [0.0])
    found = pipe(model, (np.array([-0.5]), np.array([-0.4])), 2.0, np.eye(1))

    def true(start: float, time: float) -> float:
        crossing = 2 * math.log(2 / (start + 2))  # up to 0 it is x' = (x + 2) / 2, and then (2 - x) / 2
        return 2 - 2 * math.exp(-(time - crossing) / 2)

    lower, upper = at(found, 2.0)
    low, high = true(-0.5, 2.0), true(-0.4, 2.0)
    assert lower[0] <= low + 1e-9
    assert high - 1e-9 <= upper[0]
    assert upper[0] - lower[0] <= 1.3 * (high - low + found.times[0, 1])


def test_crossing_back_and_forth() -> None:
    """A rotation around the origin in four quadrants with the same field: as in one location, up to rounding."""
    rotation, drift = np.array([[0.0, -1.0], [1.0, 0.0]]), np.zeros(2)
    low, high = np.array([-2.0, -2.0]), np.array([2.0, 2.0])
    corners = [(x, y) for x in (-1, 1) for y in (-1, 1)]
    locations = []
    for x, y in corners:
        least = np.array([-2.0 if x < 0 else 0.0, -2.0 if y < 0 else 0.0])
        locations.append(Location(f"{x}{y}", box_facets(least, least + 2), rotation, drift))
    crossings = []
    for i, first in enumerate(corners):
        for j, second in enumerate(corners):
            if i != j and (first[0] == second[0] or first[1] == second[1]):
                axis = 0 if first[0] != second[0] else 1
                lower, upper = low.copy(), high.copy()
                lower[axis] = upper[axis] = 0.0
                crossings.append(Crossing(i, j, box_facets(lower, upper)))
    whole = HybridAutomaton("quadrants", ("x", "y"), low, high, np.zeros(2), tuple(locations), tuple(crossings))
    start = (np.array([0.9, -0.1]), np.array([1.1, 0.1]))
    found = pipe(whole, start, 2 * math.pi, template(2))
    one = pipe(alone(rotation.tolist(), [0.0, 0.0], [0.0, 0.0], side=2.0), start, 2 * math.pi, template(2))
    for time in np.linspace(0.0, 6.28, 20):
        assert np.allclose(at(found, float(time)), at(one, float(time)), atol=1e-6)
    assert set(found.locations) == {0, 1, 2, 3}


def switching(jump: float) -> HybridAutomaton:
    """x' = 1 below 0 and 1 + jump above it: not continuous unless the jump is 0."""
    below = Location(
        "below", Facets(np.array([[1.0], [-1.0]]), np.array([0.0, 2.0])), np.zeros((1, 1)), np.array([1.0])
    )
    above = Location(
        "above", Facets(np.array([[1.0], [-1.0]]), np.array([2.0, 0.0])), np.zeros((1, 1)), np.array([1.0 + jump])
    )
    guard = Facets(np.array([[1.0], [-1.0]]), np.zeros(2))
    crossings = (Crossing(0, 1, guard), Crossing(1, 0, guard))
    return HybridAutomaton("switch", ("x",), np.array([-2.0]), np.array([2.0]), np.zeros(1), (below, above), crossings)


def test_a_field_that_is_not_continuous() -> None:
    """From [-0.5, -0.4]: at time 1 between 0.5 * 2 and 0.6 * 2."""
    found = pipe(switching(1.0), (np.array([-0.5]), np.array([-0.4])), 1.0, np.eye(1))
    lower, upper = at(found, 1.0)
    assert lower[0] <= 1.0
    assert 1.2 <= upper[0] <= 1.3
    assert lower[0] > 0.8


def test_fields_that_point_at_each_other() -> None:
    """x' = 1 below 0 and -1 above it: all end at 0 and stay there."""
    found = pipe(switching(-2.0), (np.array([-0.5]), np.array([-0.4])), 1.5, np.eye(1))
    lower, upper = at(found, 1.5)
    assert lower[0] <= 0.0 <= upper[0]
    assert upper[0] - lower[0] < 0.2


# Locations that overlap ---------------------------------------------------------------------------------------------


def thermostat() -> HybridAutomaton:
    """Heats up to 22 and cools down to 18; both locations are anywhere between."""
    everywhere = box_facets(np.array([15.0]), np.array([25.0]))
    rows = everywhere.normals
    on = Location("on", Facets(rows, np.array([22.0, -15.0])), np.array([[-0.1]]), np.array([3.0]))
    off = Location("off", Facets(rows, np.array([25.0, -18.0])), np.array([[-0.1]]), np.array([1.0]))
    crossings = (
        Crossing(0, 1, Facets(rows, np.array([22.0, -22.0]))),
        Crossing(1, 0, Facets(rows, np.array([18.0, -18.0]))),
    )
    return HybridAutomaton("thermostat", ("t",), np.array([15.0]), np.array([25.0]), np.zeros(1), (on, off), crossings)


def test_locations_that_overlap_keep_their_own_fields() -> None:
    """From 20 in either location; the first change is not before log(0.8) / -0.1 = 2.23 and not after 2.52."""
    found = pipe(thermostat(), (np.array([20.0]), np.array([20.1])), 12.0, np.eye(1), step=2.0**-6)
    assert found.upper.max() <= 22.0 + 1e-4
    assert found.lower.min() >= 18.0 - 1e-4
    early = found.times[:, 1] < 2.0
    heating = found.locations == 0
    assert found.lower[early & heating].min() >= 20.0 - 1e-4
    assert found.upper[early & ~heating].max() <= 20.1 + 1e-4
    late = (found.times[:, 0] > 2.6) & (found.times[:, 1] < 3.0)
    assert found.lower[late & ~heating].min() > 20.5  # those that have just begun to cool


@pytest.mark.parametrize("heating", [True, False])
def test_a_simulated_thermostat_is_in_segments_of_its_location(heating: bool) -> None:
    found = pipe(thermostat(), (np.array([20.0]), np.array([20.1])), 12.0, np.eye(1), step=2.0**-6)
    t, dt = 20.05, 2.0**-8
    for index in range(12 * 256):
        now = (found.times[:, 0] <= index * dt) & (index * dt <= found.times[:, 1]) & (found.locations == (not heating))
        assert ((found.lower[now, 0] <= t + 1e-9) & (t - 1e-9 <= found.upper[now, 0])).any()
        limit = 30.0 if heating else 10.0
        t = limit + (t - limit) * math.exp(-0.1 * dt)
        if (heating and t >= 22.0) or (not heating and t <= 18.0):
            t, heating = (22.0, False) if heating else (18.0, True)


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
