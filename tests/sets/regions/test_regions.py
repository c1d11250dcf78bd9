"""TemplateSets contain what they stand for, through cuts, steps, hulls and tubes; and tubes prove what is true only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests import systems
from vernal.engines.check import asked_of
from vernal.engines.paths.engine import Paths
from vernal.engines.paths.tubes import Tubes
from vernal.evidence.result import HOLDS
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.positions import NotExplorable
from vernal.sets.regions.regions import (
    clipped,
    cut,
    from_box,
    gathered,
    moved,
    regions,
    template,
    tightened,
)
from vernal.simulate.runs import simulate

SHEAR = np.array([[1.0, -1.0, -0.5], [0.0, 1.0, 1.0]])  # h - v - a/2, v + a


def holds_in(whole: TemplateSets, points: Floats) -> Mask:
    """Which points lie in one of the regions, but for the rounding of this very product."""
    measured = (points @ whole.template.rows.T)[:, None]
    slack = 1e-12 * (1 + np.abs(measured))
    outside = (measured < whole.lower - slack) | (measured > whole.upper + slack)
    return np.asarray(~np.all(np.any(outside, axis=2), axis=1), dtype=bool)


def start(made: Template, low: tuple[float, ...] = (-3.0, 1.0), high: tuple[float, ...] = (2.0, 4.0)) -> TemplateSets:
    return from_box(made, np.array(low), np.array(high), np.array([0]))


def walk(count: int, rng: np.random.Generator) -> tuple[TemplateSets, Floats]:
    """A region after a few steps, and states that get there: from corners too, and by the ends of draws."""
    made = template(2, [SHEAR], 3)
    region, points = start(made), rng.uniform((-3, 1), (2, 4), (5000, 2))
    points[:4] = [(-3, 1), (-3, 4), (2, 1), (2, 4)]
    for _ in range(count):
        ends = np.array([[-1.0]]), np.array([[0.5]])
        region = regions(made, *moved(region, SHEAR, np.array([0.25, 0.0]), np.zeros(2), ends), region.trail)
        draws = [np.full(len(points), -1.0), np.full(len(points), 0.5), rng.uniform(-1, 0.5, len(points))]
        points = np.concatenate([np.column_stack([points, a]) @ SHEAR.T + (0.25, 0.0) for a in draws])
    return region, points


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_step_contains_its_states_and_is_no_wider_than_they_are(steps: int) -> None:
    region, points = walk(steps, np.random.default_rng(steps))
    assert holds_in(region, points).all()
    low, high = region.ranges()
    assert np.allclose(low[0], points.min(axis=0))
    assert np.allclose(high[0], points.max(axis=0))


def test_halves_contain_the_whole_and_neither_is_the_whole() -> None:
    region, points = walk(2, np.random.default_rng(0))
    halves = cut(region, np.array([0]))
    assert len(halves) == 2
    assert holds_in(halves, points).all()
    assert not holds_in(halves.rows(np.array([0])), points).all()
    assert (halves.upper - halves.lower < region.upper - region.lower - 1e-6).any(axis=1).all()


def test_empty_halves_are_left_out() -> None:
    made = template(2, [SHEAR], 2)
    region = start(made, (0.0, 0.0), (1.0, 1.0))
    row = int(np.flatnonzero((made.rows == (1, -1)).all(axis=1))[0])
    region.upper[0, row] = -1.5  # h - v <= -1.5 is nowhere in the unit square
    assert not len(tightened(region))


def test_hulls_and_tubes_contain_their_parts() -> None:
    rng = np.random.default_rng(1)
    region, points = walk(2, rng)
    parts = region
    for side in (0, 1, 0):
        parts = cut(parts, np.full(len(parts), side))
    joined, pairs = gathered(parts, np.array([4.0, 4.0]))
    assert pairs is not None
    assert len(joined) < len(parts)
    assert holds_in(joined, points).all()
    tube = parts.rows(np.array([0, 3]))
    inside = points[holds_in(tube, points)]
    assert len(inside)
    assert holds_in(clipped(region, tube), inside).all()
    far = from_box(region.template, np.array([100.0, 100.0]), np.array([101.0, 101.0]), np.array([0]))
    assert not len(clipped(region, far))


# Proofs ---------------------------------------------------------------------------------------------------------------

X, Y = build.var("x"), build.var("y")


def drift() -> System:
    """Two numbers that push each other about."""
    x = X + build.if_(build.compare("<", X, Y), build.between(-0.5, 1, name="a"), build.between(-1, 0.25, name="b"))
    y = build.if_(
        build.compare("<", build.const(1), X + Y),
        Y - build.between(0, 0.5, name="c"),
        Y + build.between(-0.25, 0.25, name="d"),
    )
    return systems.make({"x": (-1, 1), "y": (0, 0.5)}, {"x": x, "y": y})


def always(atom: Expr, steps: int) -> Formula:
    return Always(Atom(atom), Bound(Fraction(0), Fraction(steps)))


def proves(system: System, atom: Expr, steps: int) -> bool:
    formula = always(atom, steps)
    tubes = Tubes(Question(system, formula), formula, initial_boxes(system).boxes, Budget(timeout=30))
    try:
        return not tubes.run(steps).open
    except NotExplorable:
        return False


def test_what_runs_reach_is_never_excluded() -> None:
    runs = simulate(drift(), 20_000, 5, np.random.default_rng(0), corners=True)
    highest = float(runs.state["x"].max())
    assert not proves(drift(), build.compare("<", X, build.const(Fraction(highest))), 5)


@pytest.mark.parametrize("more", [Fraction(-1, 100), Fraction(0), Fraction(1, 100)])
def test_a_claim_is_proven_as_soon_as_there_is_a_margin(more: Fraction) -> None:
    """The least upper bound of x in five steps is 2.5: from x = -1 up to 1.5 together with y, then by one."""
    assert proves(drift(), build.compare("<", X, build.const(Fraction(5, 2) + more)), 5) == (more > 0)


def test_the_engine_proves_where_there_are_many_draws() -> None:
    claim = always(build.compare("<", X, build.const(Fraction(13, 5))), 5)
    result = asked_of(Paths(), Question(drift(), claim), Budget(timeout=60))
    assert result.verdict is HOLDS
    assert result.margin == pytest.approx(0.1)
    assert "rounds" in result.statistics


def test_the_tube_is_what_makes_a_second_look_cheap() -> None:
    """After a round that is not enough, only what led to a failure is looked at again."""
    formula = always(build.compare("<", X, build.const(Fraction(251, 100))), 5)
    tubes = Tubes(Question(drift(), formula), formula, initial_boxes(drift()).boxes, Budget(timeout=30))
    assert not tubes.run(5).open
    assert int(tubes.outcome.statistics["rounds"]) > 1
