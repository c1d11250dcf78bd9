"""Phase portraits and error maps: they show the sets that are asked about, for any number of variables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal  # noqa: F401 - plugs the drawing in
from tests.portion import every
from tests.report import flow_samples as samples
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, Result
from vernal.interpret.concrete import evaluate
from vernal.interpret.numbers.rounding import Array
from vernal.logic.formula import And, Not
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.reduce.neural.difference import errors_at
from vernal.report.abstraction_error import plot_error
from vernal.report.flow_pictures import flow_pictures
from vernal.report.phase import plot_phase
from vernal.report.phase_parts import Portrait
from vernal.report.phase_sets import (
    PhasePlane,
    asked_sets_of,
    region_polygons,
    region_spans,
    segment_polygons,
    shadow_cells,
    stretches,
)
from vernal.run.budget import Budget

BAD = samples.inside(x="0.3 0.35", y="0.5 0.6")
SAFE = samples.never(BAD, "1.5")


def area(corners: list[tuple[float, float]]) -> float:
    x, y = np.array(corners).T
    return abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))) / 2


def portrait(runs: int = 3) -> Portrait:
    jet = samples.jet()
    pipe = samples.pipe(jet, 1.5, 10)
    found = samples.abstraction(jet).automaton
    return Portrait(jet, found, pipe, samples.trajectories(jet, 1.5, runs), asked_sets_of(jet, SAFE))


def words(figure: object) -> list[str]:
    (legend,) = figure.legends  # type: ignore[attr-defined]
    return [text.get_text() for text in legend.get_texts()]


def test_a_portrait_has_everything_that_is_given(tmp_path: Path) -> None:
    drawn = portrait()
    figure = plot_phase(drawn, tmp_path / "jet.svg")
    assert drawn.automaton is not None
    regions = f"{len(drawn.automaton.locations)} regions"
    assert words(figure) == ["initial set", "bad set", "flowpipe", "3 simulated", regions]
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("x", "y", "time")
    assert (tmp_path / "jet.svg").read_text().startswith("<?xml")


def test_a_flow_alone_is_drawn_and_no_more() -> None:
    figure = plot_phase(Portrait(samples.jet()))
    assert words(figure) == ["initial set"]
    assert len(figure.axes) == 1


def test_one_variable_is_drawn_over_time_and_three_in_their_planes() -> None:
    tank, steam = samples.tank("0.1"), samples.steam()
    over_time = plot_phase(Portrait(tank, samples.abstraction(tank, 4).automaton, samples.pipe(tank, 2.0, 5)))
    assert [axes.get_xlabel() for axes in over_time.axes] == ["time"]
    planes = plot_phase(Portrait(steam))
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in planes.axes] == [("x", "y"), ("x", "z"), ("y", "z")]
    chosen = plot_phase(Portrait(steam), of=("z", "y"))
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in chosen.axes] == [("z", "y")]


@pytest.mark.parametrize("of", [("x", "x"), ("x", "w"), ("x",), ()])
def test_a_plane_wants_two_variables(of: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="wants two of x, y"):
        plot_phase(Portrait(samples.jet()), of=of)


def test_regions_fill_the_region_without_overlap() -> None:
    found = samples.abstraction(samples.jet()).automaton
    assert found is not None
    assert sum(map(area, region_polygons(found))) == pytest.approx(4.0, rel=1e-4)  # a sample misses the smallest
    of_tank = samples.abstraction(samples.tank(), 5).automaton
    assert of_tank is not None
    assert sum(high - low for low, high in region_spans(of_tank)) == pytest.approx(2.0)


def test_segments_are_cut_by_the_directions_of_their_plane() -> None:
    pipe = samples.pipe(samples.jet(), 1.5, 4)
    for corners, low, high in zip(segment_polygons(pipe, PhasePlane(0, 1)), pipe.lower, pipe.upper, strict=True):
        points = np.array(corners) @ pipe.directions.T
        assert (points >= low - 1e-9).all()
        assert (points <= high + 1e-9).all()
        assert np.allclose(points.max(axis=0), high) or area(corners) <= np.prod((high - low)[:2])


def test_a_shadow_is_exact_for_boxes_whatever_the_other_variable() -> None:
    condition = samples.inside(x="0.5 0.6", y="-0.4 -0.3", z="0.7 0.71")  # thinner than any layer of a grid
    cells = shadow_cells(samples.steam(), condition, PhasePlane(0, 1), 50)
    assert cells is not None
    assert cells.where.any()
    across = cells.across[cells.where.any(axis=0)]
    up = cells.up[cells.where.any(axis=1)]
    assert (across.min(), across.max()) == (pytest.approx(0.5, abs=0.003), pytest.approx(0.6, abs=0.003))
    assert (up.min(), up.max()) == (pytest.approx(-0.4, abs=0.003), pytest.approx(-0.3, abs=0.003))
    turned = shadow_cells(samples.steam(), condition, PhasePlane(1, 0), 50)
    assert turned is not None
    assert np.array_equal(turned.where, cells.where.T)


def test_a_set_outside_the_region_has_no_shadow_and_a_thin_one_has() -> None:
    assert shadow_cells(samples.jet(), samples.X > 1, PhasePlane(0, 1), 50) is None
    seen = ((0.5, 1.0), (0.0, 1.0))  # cells are as fine as what is seen, not as the region
    near = shadow_cells(samples.jet(), samples.X > 0.875, PhasePlane(0, 1), 50, seen)
    assert near is not None
    assert near.across[0] == pytest.approx(0.875, abs=0.005)
    thin = shadow_cells(samples.jet(), build.compare("==", samples.X, samples.Y), PhasePlane(0, 1), 50)
    assert thin is not None
    assert np.diag(thin.where).all()
    assert thin.where.mean() < 0.1
    (end,) = stretches(samples.tank(), samples.X >= 2, 1000)
    assert end == pytest.approx((1.998, 2.0))


def test_a_formula_says_what_is_bad_and_what_is_a_goal() -> None:
    jet, goal = samples.jet(), samples.X <= 0
    asked = asked_sets_of(jet, And((SAFE, samples.some_time(goal, "1"))))
    assert asked.goal == (goal,)
    (bad,) = asked.bad
    assert [truth(bad, *point) for point in ((0.32, 0.55), (0.3, 0.5), (0.36, 0.55))] == [True, True, False]
    never_there = asked_sets_of(jet, Not(samples.some_time(goal, "1")))
    assert never_there.goal == ()
    assert [truth(one, x, 0) for one in never_there.bad for x in (-1, 0, 1)] == [True, True, False]


def truth(condition: Expr, x: float, y: float) -> bool:
    inputs: dict[Expr, Array] = {samples.X: np.array([float(x)]), samples.Y: np.array([float(y)])}
    return bool(evaluate([condition], inputs)[0][0])


def test_goals_and_conditions_on_the_start_are_drawn() -> None:
    jet = samples.jet()
    cut = jet.starting(Init(jet.init.starts, (samples.Y + Fraction(21, 20) >= samples.X,)))
    figure = plot_phase(Portrait(cut, asked=asked_sets_of(cut, samples.some_time(samples.X <= 0, "1"))))
    assert words(figure) == ["initial set", "goal"]


def test_errors_are_those_of_the_network_at_the_worst_disturbance() -> None:
    tank = samples.tank("0.5")
    found = samples.abstraction(tank, 4)
    point = np.array([[1.0]])
    ((learned,),) = (found.weights[1] @ np.maximum(found.weights[0] @ point[0] + found.biases[0], 0) + found.biases[1],)
    ((error,),) = errors_at(tank, found.weights, found.biases, point)
    assert error == pytest.approx(max(abs(0.5 - learned), abs(0.0 - learned)))


@pytest.mark.parametrize("name", every(2, ["tank", "jet", "steam"]))
def test_error_maps_have_a_panel_for_each_variable_with_its_bound(name: str, tmp_path: Path) -> None:
    flow = {"tank": samples.tank, "jet": samples.jet, "steam": samples.steam}[name]()
    found = samples.abstraction(flow, 5)
    figure = plot_error(flow, found, tmp_path / "error.png")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert len(titles) == len(flow.state)
    for title, variable, bound in zip(titles, flow.state, found.error, strict=True):
        assert f"{variable.name}'" in title
        assert f"{bound:.4g}" in title
    replace(found, flow=flow).plot_error(tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "error.png").read_bytes()


def test_what_does_not_know_its_flow_is_not_drawn() -> None:
    with pytest.raises(InputError, match="does not know"):
        samples.abstraction(samples.tank(), 3).plot_error()
    with pytest.raises(InputError, match="take it from a result"):
        samples.pipe(samples.jet(), 1.0, 3).plot()


def result() -> Result:
    jet = samples.jet()
    found = {"evidence": samples.pipe(jet, 1.5, 10), "abstraction": samples.abstraction(jet)}
    task = Task(jet, {"safe": SAFE})
    return Result(str(SAFE), HOLDS, "abstraction", "safe", task=task, **found)  # type: ignore[arg-type]


def test_the_flowpipe_of_a_result_draws_itself(tmp_path: Path) -> None:
    pipe = result().flowpipe
    assert pipe is not None
    assert "bad set" in words(pipe.plot(tmp_path / "pipe.png"))


def test_a_report_has_a_portrait_and_an_error_map() -> None:
    answered = result()
    assert answered.task is not None
    phase, error = (draw(Budget()) for draw in flow_pictures(answered.task, answered, SAFE))
    assert "All trajectories up to time 1.5, as a flowpipe." in phase
    assert "bad set" in phase
    assert "|f - N| of y" in error
    assert "certified bound" in error
    (alone,) = flow_pictures(answered.task, replace(answered, evidence=None, abstraction=None), SAFE)
    assert "The flow in its region." in alone(Budget())


def test_chained_flows_are_drawn_in_pairs() -> None:
    names = "uvxy"
    rates = {name: build.var(names[k - 1]) - build.var(name) for k, name in enumerate(names)}
    flow = samples.flow("ring", rates, dict.fromkeys(names, "-1 1"), dict.fromkeys(names, "0 0.001"))
    figure = plot_phase(Portrait(flow, asked=asked_sets_of(flow, samples.never(build.var("y") > build.var("u"), "1"))))
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes] == [("u", "v"), ("x", "y")]


def test_a_start_of_one_point_is_marked() -> None:
    jet = samples.jet()
    point = jet.starting(Init({"x": Span(Fraction(0), Fraction(0)), "y": Span(Fraction(0), Fraction(0))}))
    (axes,) = plot_phase(Portrait(point)).axes
    assert any(line.get_marker() == "o" for line in axes.lines)
