"""Hybrid automata of networks: regions known by hand, and random networks against exact evaluation."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.networks_at_hand import abstraction, applied, drawn, float_outputs, outputs
from vernal.errors import InputError, Stopped
from vernal.evidence.neural import NeuralAbstraction
from vernal.model.hybrid import Facets, HybridAutomaton
from vernal.reduce.neural.coverage import covers, rows_of, uncovered
from vernal.reduce.neural.partition import LEAST_RADIUS, automaton_of

SHAPES = [([10], 2), ([10, 16], 2), ([12], 3), ([4, 4, 4], 2), ([5], 1), ([6], 4)]
KINK = abstraction([[[1.0]], [[1.0]]], [[-0.5], [0.0]], error=0.0)  # max(x - 1/2, 0)
CROSS = abstraction(  # x' = |x| + |y|, y' = 1
    [[[1, 0], [-1, 0], [0, 1], [0, -1]], [[1, 1, 1, 1], [0, 0, 0, 0]]], [[0, 0, 0, 0], [0, 1]], error=0.25
)


def automaton(given: NeuralAbstraction, transitions: str = "facet") -> HybridAutomaton:
    variables = [f"x{i}" for i in range(len(given.lower))]
    return automaton_of(given, name="net", variables=variables, transitions=transitions)


def contains(facets: Facets, point: list[Fraction]) -> bool:
    return all(form <= 0 for form in applied(facets.normals, -facets.offsets, point))


def points(given: NeuralAbstraction, count: int, seed: int = 0) -> list[list[Fraction]]:
    random = np.random.default_rng(seed)
    sample = random.uniform(given.lower, given.upper, (count, len(given.lower)))
    sample[: count // 4] = np.round(sample[: count // 4] * 4) / 4  # on hyperplanes of networks by hand, and on sides
    return [[Fraction(x) for x in row] for row in sample.tolist()]


def edges(made: HybridAutomaton) -> set[tuple[int, int]]:
    return {(crossing.source, crossing.target) for crossing in made.crossings}


def test_breakpoints_of_one_variable() -> None:
    """relu(x - 1/2) - 2 relu(x + 1/4) on [-1, 1]: three pieces."""
    made = automaton(abstraction([[[1.0], [1.0]], [[1.0, -2.0]]], [[-0.5, 0.25], [0.0]]))
    ends = sorted(
        (min(-Fraction(row[-1], row[0]) for row in rows), max(-Fraction(row[-1], row[0]) for row in rows))
        for rows in (rows_of(location.invariant) for location in made.locations)
    )
    assert ends == [(-1, Fraction(-1, 4)), (Fraction(-1, 4), Fraction(1, 2)), (Fraction(1, 2), 1)]
    slopes = sorted((float(location.matrix[0, 0]), float(location.drift[0])) for location in made.locations)
    assert slopes == [(-2.0, -0.5), (-1.0, -1.0), (0.0, 0.0)]


def test_a_flow_to_the_right_has_crossings_to_the_right_only() -> None:
    """x' = 1 + relu(x): one direction; with an error of 1 at x = 0 the flow may stand, and both are there."""
    forward = automaton(abstraction([[[1.0]], [[1.0]]], [[0.0], [1.0]], error=0.5))
    (crossing,) = forward.crossings
    middle = forward.locations[crossing.source].invariant
    assert contains(middle, [Fraction(-1, 2)])
    assert {tuple(rows) for rows in rows_of(crossing.guard)} == {(1, 0), (-1, 0)}
    both = automaton(abstraction([[[1.0]], [[1.0]]], [[0.0], [1.0]], error=1.0))
    assert len(both.crossings) == 2


def test_absolute_values_have_a_region_for_each_quadrant() -> None:
    made = automaton(CROSS)
    flows = {tuple(location.matrix[0].tolist()) for location in made.locations}
    assert flows == {(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)}
    assert all(len(location.invariant.offsets) == 4 for location in made.locations)
    index = {tuple(location.matrix[0].tolist()): i for i, location in enumerate(made.locations)}
    left, right = [(-1.0, -1.0), (-1.0, 1.0)], [(1.0, -1.0), (1.0, 1.0)]
    up = [(index[low], index[high]) for low, high in (left, right)]
    across = [(index[a], index[b]) for a, b in zip(left, right, strict=True)]
    # y' = 1 goes up only; at x = 0, x' = |y| may be zero, and the disturbance points either way
    assert edges(made) == {*up, *across, *((b, a) for a, b in across)}


def test_vertex_crossings_join_the_diagonal_regions_too() -> None:
    facet, vertex = edges(automaton(CROSS)), edges(automaton(CROSS, "vertex"))
    assert facet < vertex
    assert len(vertex - facet) == 2  # from the lower quadrants to the opposite upper ones, and not back


def test_regions_with_equal_flows_are_merged() -> None:
    """A neuron whose two pieces are the same function leaves no trace; nor do neurons that nothing depends on."""
    same = automaton(abstraction([[[1.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], [[0.0, 0.0], [0.0, 1.0]]))
    assert len(same.locations) == 2
    assert covers(same)
    linear = automaton(abstraction([[[1.0], [-1.0]], [[1.0, -1.0]]], [[0.0, 0.0], [0.0]]))  # relu(x) - relu(-x) = x
    assert len(linear.locations) == 1
    assert linear.crossings == ()


def test_equal_flows_stay_apart_where_the_union_is_not_convex() -> None:
    """max(x, y, 0) is zero on a quadrant; min(max(x, 0), max(y, 0)) is zero on three quadrants, an L."""
    weights = [[[1, 0], [0, 1]], [[1, -1], [1, 0]], [[-1, 1], [0, 0]]]  # a - relu(a - b) for a = relu(x), b = relu(y)
    made = automaton(abstraction(weights, [[0, 0], [0, 0], [0, 1]]))
    zero = [location for location in made.locations if not location.matrix.any()]
    assert len(made.locations) == 4
    assert len(zero) == 2
    assert covers(made)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("widths", "n"), SHAPES)
def test_every_point_is_in_a_location_that_moves_it_as_the_network_does(widths: list[int], n: int, seed: int) -> None:
    given = drawn(widths, n, seed)
    made = automaton(given)
    for point in points(given, 40, seed):
        homes = [location for location in made.locations if contains(location.invariant, point)]
        assert homes
        assert all(applied(home.matrix, home.drift, point) == outputs(given, point) for home in homes)


@pytest.mark.parametrize(("widths", "n"), SHAPES)
def test_the_region_is_covered_and_not_without_any_of_the_locations(widths: list[int], n: int) -> None:
    made = automaton(drawn(widths, n, 7))
    assert covers(made)
    for i in range(0, len(made.locations), max(1, len(made.locations) // 5)):
        less = replace(made, locations=made.locations[:i] + made.locations[i + 1 :])
        hole = uncovered(less)
        assert hole is not None
        assert hole.dimension == n


@pytest.mark.parametrize(("widths", "n"), SHAPES)
def test_no_row_of_an_invariant_is_redundant(widths: list[int], n: int) -> None:
    locations = automaton(drawn(widths, n, 3)).locations
    for location in locations[:: max(1, len(locations) // 16)]:
        normals, offsets = location.invariant.normals, location.invariant.offsets
        for i in range(len(offsets)):
            others = np.arange(len(offsets)) != i
            found = linprog(-normals[i], normals[others], offsets[others], bounds=(-9, 9))
            assert found.status == 0
            assert normals[i] @ found.x > offsets[i]


@pytest.mark.parametrize("transitions", ["facet", "vertex"])
@pytest.mark.parametrize(("widths", "n"), [([10], 2), ([6, 6], 2), ([8], 3)])
@pytest.mark.parametrize("seed", range(2))
def test_trajectories_change_location_along_crossings(widths: list[int], n: int, seed: int, transitions: str) -> None:
    """Polygons x + h (N(x) + d) with short sides are trajectories with disturbances a little larger than d."""
    given = drawn(widths, n, seed, error=0.3)
    made = automaton(given, transitions)
    known, random = edges(made), np.random.default_rng(seed)
    rows = np.concatenate([location.invariant.normals for location in made.locations])
    ends = np.concatenate([location.invariant.offsets for location in made.locations])
    starts = np.cumsum([0, *(len(location.invariant.offsets) for location in made.locations)])[:-1]
    changes = 0
    for _ in range(15):
        x, home = random.uniform(given.lower, given.upper), None
        push = random.choice([-0.27, 0.27], n)
        for step in range(600):
            push = random.choice([-0.27, 0.27], n) if step % 50 == 0 else push
            side = 0.002 * (float_outputs(given, x) + push)
            if not np.all((x + side < given.upper) & (x + side > given.lower)):
                break
            for middle in between_hyperplanes(x, side, rows, ends):
                here = int(np.argmax(np.minimum.reduceat(ends - rows @ middle, starts)))
                assert home is None or home == here or (home, here) in known
                changes += home not in (None, here)
                home = here
            x = x + side
    assert changes >= 10


def between_hyperplanes(x: np.ndarray, side: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    """Points of the segment from x to x + side, one between any two hyperplanes that it crosses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (ends - rows @ x) / (rows @ side)
    inner = np.unique(np.round(shares[(shares > 0) & (shares < 1)], 9))
    marks = np.concatenate([[0.0], inner, [1.0]])
    return [x + (a + b) / 2 * side for a, b in itertools.pairwise(marks) if b - a > 1e-6]


@pytest.mark.parametrize(("widths", "n"), [([8], 2), ([6, 6], 2), ([6], 3)])
def test_weights_off_the_grid_make_the_automaton_larger_never_smaller(widths: list[int], n: int) -> None:
    given = drawn(widths, n, 5, grid=None)
    made = automaton(given)
    slack = [Fraction(r) - Fraction(e) for r, e in zip(made.radius.tolist(), given.error.tolist(), strict=True)]
    assert all(s > 0 for s in slack)
    assert covers(made)
    inexact = 0
    for point in points(given, 60):
        homes = [location for location in made.locations if contains(location.invariant, point)]
        assert homes
        apart = [
            [abs(a - b) for a, b in zip(applied(home.matrix, home.drift, point), outputs(given, point), strict=True)]
            for home in homes
        ]
        inexact += any(any(gaps) for gaps in apart)
        assert any(all(gap <= s for gap, s in zip(gaps, slack, strict=True)) for gaps in apart)
    assert inexact > 0


def test_the_radius_is_larger_than_the_error_if_only_by_a_rounding() -> None:
    assert automaton(KINK).radius.tolist() == [LEAST_RADIUS]
    assert automaton(CROSS).radius.tolist() == [np.nextafter(0.25, 1.0)] * 2


def test_guards_are_facets_of_both_regions() -> None:
    made = automaton(drawn([6, 6], 2, 2))
    for crossing in made.crossings:
        guard = set(rows_of(crossing.guard))
        shared = {row for row in guard if tuple(-x for x in row) in guard}
        assert len(shared) == 2
        assert shared & set(rows_of(made.locations[crossing.source].invariant))
        assert shared & set(rows_of(made.locations[crossing.target].invariant))


def test_a_region_without_interior_is_refused() -> None:
    flat = replace(KINK, lower=np.zeros(1), upper=np.zeros(1))
    with pytest.raises(InputError, match="interior"):
        automaton(flat)


@pytest.mark.parametrize("allowed", [0, 10, 200])
def test_a_tick_may_stop_the_work(allowed: int) -> None:
    left = iter(range(allowed))

    def tick() -> None:
        if next(left, None) is None:
            raise Stopped("enough")

    with pytest.raises(Stopped):
        automaton_of(drawn([10], 3, 0), name="net", variables="xyz", tick=tick)
