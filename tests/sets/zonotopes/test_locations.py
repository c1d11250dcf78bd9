"""Flowpipes through several locations: they contain all trajectories, and are not much larger than these."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from tests.hybrid_runs import at, gap, outside, template, trajectories
from tests.portion import every, seeds
from tests.slabs import FIELDS, alone, box_facets, slab_automaton, together
from vernal.evidence.flowpipe import Flowpipe
from vernal.model.hybrid import Crossing, Facets, HybridAutomaton, Location
from vernal.sets.zonotopes.pipe import pipe

# Several locations --------------------------------------------------------------------------------------------------


@cache
def published(name: str, parts: int) -> Flowpipe:
    """Of an interpolation of a published model, with the errors of its published abstraction."""
    model = FIELDS[name]
    start = (model.first, model.last)
    return pipe(model.automaton(), start, model.horizon, template(len(model.first)), parts=parts)


@pytest.mark.parametrize(("name", "parts"), every(2, [("jet", 4), *((name, 1) for name in FIELDS)]))
def test_simulated_trajectories_are_inside(name: str, parts: int) -> None:
    model, found = FIELDS[name], published(name, parts)
    dt = found.times[0, 1] / 2
    states, alive = trajectories(model.automaton(), model.first, model.last, int(model.horizon / dt), dt, 200 // parts)
    assert outside(found, states, alive, dt, 1e-5) == 0
    leaving = np.flatnonzero(~alive.all(axis=1))
    assert found.inside_until <= (leaving[0] * dt if len(leaving) else math.inf)


@pytest.mark.parametrize("name", FIELDS)
def test_bad_states_are_not_met(name: str) -> None:
    model, found = FIELDS[name], published(name, 1)
    assert gap(found, model.bad_lower, model.bad_upper) > 0
    assert found.until >= model.horizon


@pytest.mark.parametrize("seed", seeds(6, 3))
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
    states, alive = trajectories(bent, low, high, int(1.5 / dt), dt, 150, seed)
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


def test_what_is_met_beyond_the_first_guess_counts() -> None:
    """x' = 1 up to 0, then ever steeper: within one long step states come to locations that nothing pointed at."""

    def rate(x: np.ndarray) -> np.ndarray:
        return np.array([np.interp(x, [-1.0, 0.0, 0.28, 1.0], [1.0, 1.0, 2.4, 74.4])])

    steep = slab_automaton([-1], [1], [-1.0, 0.0, 0.28, 1.0], 0, [[0]], rate, [0.0])
    found = pipe(steep, (np.array([-0.01]), np.array([-0.01])), 0.25, np.eye(1), step=0.25)
    assert found.upper.max() == 1.0  # reached before 0.22
    assert found.inside_until == 0.0


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
    assert set(found.sets.labels[:, 0]) == {0, 1, 2, 3}


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


@cache
def warm() -> Flowpipe:
    return pipe(thermostat(), (np.array([20.0]), np.array([20.1])), 12.0, np.eye(1), step=2.0**-6)


def test_locations_that_overlap_keep_their_own_fields() -> None:
    """From 20 in either location; the first change is not before log(0.8) / -0.1 = 2.23 and not after 2.52."""
    found = warm()
    assert found.upper.max() <= 22.0 + 1e-4
    assert found.lower.min() >= 18.0 - 1e-4
    early = found.times[:, 1] < 2.0
    heating = found.sets.labels[:, 0] == 0
    assert found.lower[early & heating].min() >= 20.0 - 1e-4
    assert found.upper[early & ~heating].max() <= 20.1 + 1e-4
    late = (found.times[:, 0] > 2.6) & (found.times[:, 1] < 3.0)
    assert found.lower[late & ~heating].min() > 20.5  # those that have just begun to cool


@pytest.mark.parametrize("heating", [True, False])
def test_a_simulated_thermostat_is_in_segments_of_its_location(heating: bool) -> None:
    found = warm()
    t, dt, modes = 20.05, 2.0**-7, found.sets.labels[:, 0]
    for index in range(12 * 128):
        now = (found.times[:, 0] <= index * dt) & (index * dt <= found.times[:, 1]) & (modes == (not heating))
        assert ((found.lower[now, 0] <= t + 1e-9) & (t - 1e-9 <= found.upper[now, 0])).any()
        limit = 30.0 if heating else 10.0
        t = limit + (t - limit) * math.exp(-0.1 * dt)
        if (heating and t >= 22.0) or (not heating and t <= 18.0):
            t, heating = (22.0, False) if heating else (18.0, True)
