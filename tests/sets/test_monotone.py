"""Sides of a region that are never left: known cases, and cases in which a side is left by one solution of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import pytest

import vernal as vn
from tests.reduce.neural.fields import flow
from tests.sampled_loops import linear_network
from vernal.interpret.sampled.plant import plant_of
from vernal.model.build import between, relu
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.functions import sqrt
from vernal.model.initial import Init, Span
from vernal.model.system import Model
from vernal.sets.monotone import kept_sides

Region = Mapping[str, tuple[int, int]]


def started(region: Region, init: Region, rates: Callable[..., Sequence[Expr]]) -> Flow:
    spans = {name: Span(Fraction(low), Fraction(high)) for name, (low, high) in init.items()}
    return flow(region, rates).starting(Init(spans))


def sides(of: Model) -> dict[str, bool]:
    plant = plant_of(of)
    names = [variable.name for variable in plant.flow.state]
    ends = [f"{name} {end}" for end in ("above", "below") for name in names]
    return dict(zip(ends, kept_sides(plant), strict=True))


def test_one_variable_keeps_another_from_falling() -> None:
    region, init = {"x": (0, 1), "y": (-1, 1)}, {"x": (0, 1), "y": (0, 1)}
    found = sides(started(region, init, lambda x, y: [y, sqrt(x)]))
    assert found == {"x above": False, "y above": False, "x below": True, "y below": True}
    lower = {"x": (0, 1), "y": (-1, 1)}
    assert not sides(started(region, lower, lambda x, y: [y, sqrt(x)]))["x below"]


def test_a_solution_that_waits_and_then_leaves() -> None:
    """x' = -sqrt(max(-x, 0)) is 0 in the region, and from x = 0 one of its solutions is -t^2/4."""
    found = sides(started({"x": (0, 1)}, {"x": (0, 1)}, lambda x: [-sqrt(relu(-x))]))
    assert found == {"x above": True, "x below": False}


def test_disturbances_count_at_their_worst() -> None:
    region = {"x": (0, 1), "y": (0, 1)}
    assert sides(started(region, region, lambda x, y: [between(0, 1), between(Fraction(-1, 8), 1)]))["x below"]
    assert not sides(started(region, region, lambda x, y: [between(0, 1), between(Fraction(-1, 8), 1)]))["y below"]


def test_sides_of_loops_that_sample() -> None:
    """What is held stays in its range, what jumps may leave, and what depends on an action does so at its worst."""
    system = vn.System(
        state={"x": vn.real(-4, 4), "y": vn.real(0, 1), "z": vn.real(0, 4), "w": vn.real(0, 4)},
        init={"x": 1, "y": 0, "z": vn.interval(0, 1), "w": 0},
        agents={"u": vn.agent(linear_network("gain", (-1.0,)), observe=lambda s: [s.x], act="raw", every="0.5")},
        rates=lambda s: {"x": s.u, "y": s.z, "z": abs(s.u), "w": s.z},
        step=lambda s: {"w": s.w - 1},
    )
    found = {name for name, kept in sides(system).items() if kept}
    assert found == {"u above", "u below", "y below", "z below"}


@pytest.mark.parametrize("engine", ["abstraction", "flowpipe"])
def test_the_scope_of_a_model_that_starts_at_a_side(engine: str) -> None:
    """x' = y, y' = sqrt(x) from a corner of the region, where nothing moves: no trajectory leaves through x = 0."""
    model = vn.Flow(
        state={"x": vn.real(0, 1), "y": vn.real(-1, 1)},
        init={"x": vn.interval(0, 0.05), "y": vn.interval(0, 0.1)},
        rates=lambda s: {"x": s.y, "y": vn.sqrt(s.x)},
    )
    result = vn.check(model, "G[0,1] (x < 0.9)", engine=engine, timeout=60)
    assert result.verdict is vn.HOLDS
    assert result.flowpipe is not None
    assert result.flowpipe.inside_until >= 1
