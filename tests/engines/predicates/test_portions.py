"""Abstract states that several processes expand: the abstraction is the one that a single process makes."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing import active_children

import numpy as np
import pytest

import vernal as vn
from tests.planning_answers import alike, built, drawn
from tests.planning_loops import transfer_case
from vernal.engines.options import PredicateOptions
from vernal.engines.predicates import portions
from vernal.engines.predicates.box_draws import BoxDraws, box_keys
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.errors import Stopped
from vernal.logic.task import Task
from vernal.model import build
from vernal.run.budget import Budget
from vernal.run.executor import start_method

forks = pytest.mark.skipif(start_method() != "fork", reason="workers inherit what they know")


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch of two cells is spread."""
    monkeypatch.setattr(portions, "MIN_SHARED", 0.0)
    monkeypatch.setattr(portions, "MIN_PORTION", 1e-9)


@forks
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [PredicateOptions(), PredicateOptions(abstraction=True)], ids=["plain", "labels"])
def test_the_graph_is_the_same(seed: int, options: PredicateOptions, small_portions: None) -> None:
    for case in (drawn(seed), drawn(seed, transfer_case)):
        alone, together = (built(case, case.finest, options, workers=count) for count in (1, 2))
        assert alike(alone, together)
        assert alone.graph.labels == together.graph.labels
        assert not active_children()


@forks
def test_what_a_worker_refuses_is_refused(small_portions: None) -> None:
    """A variable leaves its range in a state that a worker looks at."""
    places, count = vn.integer(0, 9), vn.integer(0, 3)
    rising = vn.System(
        state={"n": places, "m": count},
        init={"n": vn.interval(0, 9), "m": 0},
        step=lambda s: {"n": s.n, "m": s.m + vn.choose(0, 1, name="by")},
    )
    predicates = tuple(build.compare("<=", rising.step.state[0], most) for most in range(9))
    task = Task(rising, predicates=predicates)
    told = [vn.check(task, "G (m <= 2)", engine="predicates", workers=workers).reason for workers in (1, 2)]
    assert told[0] == told[1]
    assert "may leave its declared range" in (told[0] or "")


@forks
def test_limits_are_those_of_the_whole(small_portions: None) -> None:
    case = drawn(1)
    made = built(case, (), PredicateOptions(), workers=1)
    late = replace(Budget(60), timeout=0.0, workers=2)
    made.portions.budget = late
    with pytest.raises(Stopped, match="timeout after"):
        list(made.portions.expanded(np.zeros((4, len(made.predicates)), bool)))
    made.dismiss()
    assert not active_children()


def test_draws_depend_on_their_box_alone() -> None:
    lower, upper = np.zeros((50, 4)), np.tile(np.arange(1.0, 5.0), (50, 1)) + np.arange(50.0)[:, None]
    boxes, all_of_it = IntegerBoxes(lower, upper), np.ones((50, 4), bool)
    points, owner = BoxDraws(3, 4).points(boxes, 16, box_keys(boxes, all_of_it))
    assert ((boxes.lower[owner] <= points) & (points <= boxes.upper[owner])).all()
    assert (points == np.floor(points)).all()
    some = boxes.take(slice(7, 9))
    alone, _ = BoxDraws(3, 4).points(some, 16, box_keys(some, all_of_it[:2]))
    assert (alone == points[7 * 16 : 9 * 16]).all()


def test_draws_reach_everything_evenly() -> None:
    """Of a thousand boxes with the same ends but for one column, each value of another is drawn about as often."""
    lower, upper = np.zeros((1000, 2)), np.stack([np.arange(1000.0), np.full(1000, 3.0)], axis=1)
    boxes = IntegerBoxes(lower, upper)
    points, _ = BoxDraws(0, 2).points(boxes, 16, box_keys(boxes, np.ones((1000, 2), bool)))
    counts = np.bincount(points[:, 1].astype(int), minlength=4)
    assert counts.min() > 3500
    assert counts.max() < 4500
