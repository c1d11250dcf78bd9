"""Maps of every kind of model: flows, loops that sample, planning models, claims for all time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn
from tests.map_flow_judge import FlowMapJudge, flow_map_instance
from tests.portion import seeds
from tests.queries.maps.test_map_truth import FALLING, HALVING, agree, written
from vernal.evidence.belief import is_refuted
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_previews import margin_slopes
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_tree import CellKind, MapTree
from vernal.queries.maps.map_run import MapRun
from vernal.queries.maps.region_map import RegionMap
from vernal.run.budget import Budget

LIFT = Path(__file__).parents[3] / "examples" / "lift"

TURNING = """
vernal = 1
[state]
x = "real [-4, 4]"
y = "real [-4, 4]"
[init]
x = "[0, 0.1]"
y = 0
[flow]
x = "y"
y = "-x"
[properties]
low = "G[0,1] (y >= -1)"
"""

HELD = """
vernal = 1
[state]
x = "real [-4, 4]"
u = "real [-4, 4]"
[init]
x = "[0, 0.5]"
u = 0
[flow]
x = "u"
u = "0"
[environment]
every = 0.5
[environment.next]
u = "-x"
[properties]
low = "G[0.75,1] (x <= 0.75)"
"""

SLOWING = """
vernal = 1
[state]
x = "real"
[init]
x = "[0, 2]"
[environment.next]
x = "x / 2"
[properties]
low = "G (x <= 0.9)"
"""


def red_cells_have_paths(found: RegionMap) -> None:
    """Each path refutes the claim, and starts in its cell."""
    questions = CellQuestions(found.question, found.axes)
    shown = [cell for cell in found.cells if cell.trace is not None]
    assert shown
    for cell in shown:
        assert cell.trace is not None
        assert is_refuted(questions.of(tuple(cell.ends.values())), cell.trace)
        first = cell.trace.steps[0].state
        assert all(low <= first[name] <= high for name, (low, high) in cell.ends.items())
    assert all(cell.trace is not None for cell in found.cells if cell.kind is CellKind.UNSAFE)


def test_a_flow_in_batches(tmp_path: Path) -> None:
    """At time 1 the point has turned by one radian, clockwise: y(t) = y cos t - x sin t."""
    over = {"x": (0, 2), "y": (-0.5, 0.5)}
    found = vn.map(written(tmp_path, TURNING), property="low", over=over, until="open < 25%", cells=32)
    t = np.linspace(0, 1, 200)
    agree(found, lambda x, y: bool((y * np.cos(t) - x * np.sin(t)).min() >= -1), 100)
    assert found.shares[CellKind.SAFE] > Fraction(2, 5)
    assert found.shares[CellKind.WHOLLY_UNSAFE] > Fraction(1, 10)


def test_a_red_cell_of_a_flow_has_a_path(tmp_path: Path) -> None:
    file = tmp_path / "low.map.json"
    found = vn.map(written(tmp_path, FALLING), property="low", until="open < 0%", cells=6, output=file)
    assert found.shares[CellKind.UNSAFE] + found.shares[CellKind.WHOLLY_UNSAFE] > Fraction(1, 4)
    again = vn.map(written(tmp_path, FALLING), property="low", until="open < 0%", cells=6, output=file)
    assert again.shares == found.shares
    assert sum(cell.trace is not None for cell in again.cells) == sum(c.trace is not None for c in found.cells) > 0


def test_a_loop_that_samples_beyond_its_initial_set(tmp_path: Path) -> None:
    """x is held for half a second, then falls at the rate x: x(0.75) = 0.75 x, where the task itself starts below."""
    file = tmp_path / "low.map.json"
    found = vn.map(
        written(tmp_path, HELD), property="low", over={"x": (0.5, 1.5)}, until="open < 10%", cells=12, output=file
    )
    agree(found, lambda x: x <= 1, 100)
    assert found.shares[CellKind.SAFE] > Fraction(2, 5)
    red_cells_have_paths(found)
    again = vn.map(written(tmp_path, HELD), property="low", over={"x": (0.5, 1.5)}, cells=12, output=file)
    assert again.shares == found.shares
    found.page(tmp_path / "map.html")
    assert '"traces":{}' not in (tmp_path / "map.html").read_text()


def test_a_claim_for_all_time(tmp_path: Path) -> None:
    """Cells that the border runs through are cut before anybody is asked about them."""
    asked: list[Mapping[str, Any]] = []
    found = vn.map(written(tmp_path, SLOWING), property="low", until="open < 10%", cells=12, events=asked.append)
    agree(found, lambda x: x <= 0.9, 100)
    assert min(found.shares[CellKind.SAFE], found.shares[CellKind.WHOLLY_UNSAFE]) > Fraction(2, 5)
    assert asked[-1]["asked"] <= len(found)


def test_a_planning_model_over_whole_numbers(tmp_path: Path) -> None:
    """`turns` keeps the lift below floor 3 from floors 0 to 2; a truth value that may be either is no axis."""
    task = vn.load_jani(
        LIFT / "lift.jani",
        policy=LIFT / "climbs.jani2nnet",
        start="'the-floor' <= 4 & cabin == still",
        unsafe="'the-floor' == 3",
        constants={"top": 4},
    )
    found = vn.map(task, property="safe", over={"the-floor": (0, 4)}, cells=16, until="open < 0%")
    assert sum(found.shares.values()) == 1
    assert found.contains({"the-floor": 4}) is not CellKind.WHOLLY_UNSAFE or found.contains({"the-floor": 3})
    assert all(found.contains({"the-floor": floor}) is CellKind.WHOLLY_UNSAFE for floor in range(4))


def test_floors_without_a_start_are_no_start() -> None:
    """The property starts on the two lowest floors: a proof for the whole region counts for these alone."""
    task = vn.load_jani(
        LIFT / "lift.jani",
        policy=LIFT / "turns.jani2nnet",
        property=f"{LIFT / 'safe.jani'}#0",
        constants={"top": 6},
    )
    found = vn.map(task, property="safe", over={"the-floor": (0, 6)}, cells=16)
    assert found.shares[CellKind.SAFE] == Fraction(2, 7)
    assert found.shares[CellKind.NO_START] == Fraction(5, 7)


def test_axes_that_nobody_names_are_numbers() -> None:
    task = vn.load_jani(
        LIFT / "lift.jani",
        policy=LIFT / "turns.jani2nnet",
        property=f"{LIFT / 'safe.jani'}#0",
        constants={"top": 3},
    )
    found = vn.map(task, property="safe", cells=8)
    assert [axis.name for axis in found.axes] == ["the-floor"]
    assert found.shares[CellKind.SAFE] == 1


def test_what_is_open_when_the_rule_is_met_says_so(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, HALVING), property="low", cells=400, until="open < 20%")
    reasons = {cell.reason for cell in found.cells if cell.kind is CellKind.OPEN}
    assert reasons == {"not decided yet: the map ended when less than 20 % was open; a smaller --until goes on"}


@pytest.mark.parametrize(("slopes", "axis"), [(None, 0), ((1.0, 1.5), 0), ((1.0, 3.0), 1), ((0.0, 1.0), 1)])
def test_cuts_go_along_the_axis_on_which_the_margin_changes(slopes: tuple[float, ...] | None, axis: int) -> None:
    ends = Fraction(0), Fraction(1)
    tree = MapTree([MapAxis("x", *ends), MapAxis("y", *ends)])
    tree.set(0, CellKind.SAFE)  # nobody is asked
    run = MapRun(tree, [], Budget(None))
    assert run._cut_axis((ends, (Fraction(0), Fraction(1, 2))), slopes) == axis
    assert run._cut_axis((ends, (Fraction(0), Fraction(1, 8))), slopes) == 0  # cells become no needles


def test_slopes_are_those_of_the_margin() -> None:
    rng = np.random.default_rng(0)
    places = rng.random((2, 40, 3))
    margins = 5 * places[..., 0] - 0.5 * places[..., 2] + 1
    margins[1, :3] = np.inf  # of runs that nothing is known of
    found = margin_slopes(margins, places)
    assert (found.argmax(axis=1) == 0).all()
    assert np.abs(found[:, 0] - 5).max() < 1.5


def test_random_maps_of_flows_are_true() -> None:
    """`python -m benchmarks.never_wrong_maps --flows` asks many more."""
    for seed in seeds(3, 1):
        question = replace(flow_map_instance(seed), cells=8)
        assert list(FlowMapJudge(question).problems(question.answer(3))) == [], str(question)
