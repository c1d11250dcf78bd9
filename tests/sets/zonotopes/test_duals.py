"""Bounds by weak duality against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.portion import seeds
from tests.slabs import box_facets
from vernal.interpret.geometry.zonotope import Zonotope
from vernal.model.hybrid import Facets, HybridAutomaton, Location
from vernal.sets.zonotopes.duals import greatest
from vernal.sets.zonotopes.modes import touches
from vernal.sets.zonotopes.pipe import pipe
from vernal.sets.zonotopes.tubes import FlowTube


def by_program(goal: np.ndarray, zonotope: Zonotope, facets: Facets) -> float | None:
    """The true maximum, over the coordinates of the cube."""
    G, c = zonotope.generators, zonotope.center
    rows, ends = facets.normals @ G, facets.offsets - facets.normals @ c
    found = linprog(-(goal @ G), A_ub=rows, b_ub=ends, bounds=(-1, 1))
    return float(goal @ c - found.fun) if found.fun is not None else None


def tube(zonotope: Zonotope) -> FlowTube:
    return FlowTube(zonotope, zonotope, np.zeros(len(zonotope.center)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", seeds(10))
def test_bounds_contain_the_optimum(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    zonotope = Zonotope(rng.normal(size=n), rng.normal(size=(n, n + 3)))
    facets = Facets(rng.normal(size=(3, n)), rng.normal(size=3))
    goals = rng.normal(size=(5, n))
    found = greatest(goals, tube(zonotope), facets)
    true = [by_program(goal, zonotope, facets) for goal in goals]
    if found is None:
        assert true == [None] * 5
        return
    for bound, best in zip(found, true, strict=True):
        assert best is None or best <= bound + 1e-9


@pytest.mark.parametrize("seed", seeds(10))
def test_bounds_are_the_optimum_for_boxes_with_two_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    zonotope = Zonotope(rng.normal(size=2), np.diag(rng.uniform(0.5, 2.0, 2)))
    normals = rng.normal(size=(2, 2))
    facets = Facets(normals, normals @ zonotope.center + rng.uniform(0.0, 0.5, 2))  # the center is inside
    goals = rng.normal(size=(8, 2))
    found = greatest(goals, tube(zonotope), facets)
    assert found is not None
    for bound, goal in zip(found, goals, strict=True):
        best = by_program(goal, zonotope, facets)
        assert best is not None
        assert best - 1e-9 <= bound <= best + 1e-9


def test_rows_that_exclude_everything_are_noticed() -> None:
    zonotope = Zonotope.box(np.zeros(2), np.ones(2))
    assert greatest(np.eye(2), tube(zonotope), Facets(np.array([[1.0, 1.0]]), np.array([-0.5]))) is None
    assert greatest(np.eye(2), tube(zonotope), Facets(np.zeros((0, 2)), np.zeros(0))) is not None


class Overflowed:
    """A set too large for its support to be known."""

    size = np.full(2, np.inf)
    frame = np.eye(2)

    def support(self, directions: np.ndarray) -> np.ndarray:
        return np.full(len(directions), np.nan)


def test_what_has_overflowed_excludes_nothing() -> None:
    side = Facets(np.array([[1.0, 0.0]]), np.array([1.0]))
    for facets in (side, Facets(np.empty((0, 2)), np.empty(0))):
        with np.errstate(all="ignore"):
            found = greatest(np.eye(2), Overflowed(), facets)
        assert found is not None
        assert (found == np.inf).all()
        assert touches(Overflowed(), facets)


@pytest.mark.parametrize("rate", [300.0, 690.0, 705.0])
def test_states_beyond_all_bounds_are_not_lost(rate: float) -> None:
    """A step of one unit of time, in which states grow beyond what can be computed with."""
    lower, upper = np.full(2, -10.0), np.full(2, 10.0)
    location = Location("only", box_facets(lower, upper), rate * np.eye(2), np.zeros(2))
    automaton = HybridAutomaton("fast", ("x", "y"), lower, upper, np.zeros(2), (location,), ())
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = pipe(automaton, (np.full(2, -1.0), np.full(2, -0.5)), 1.0, directions, step=1.0)
    assert found.inside_until == 0.0
    assert found.until == 0.0 or (found.lower[:, 0] <= -10.0).any()
