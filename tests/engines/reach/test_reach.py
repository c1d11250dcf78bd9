"""Reachable sets contain every run, are tight where they can be, and stop where a limit says so."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.hard_loops import hard_loop
from tests.huge_loops import huge_loop
from tests.loops import closed_loop, disturbed_loop, nonlinear_loop
from tests.portion import seeds
from tests.systems import accumulator, chooser, countdown, counter, make, wanderer
from tests.wild_loops import curved_loop, memory_loop
from vernal.engines.reach.ask import reach
from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachableSets, ReachedStep
from vernal.engines.reach.step_walk import StepWalk
from vernal.errors import InputError
from vernal.logic.formula import Atom, Next
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.sorts import Kind
from vernal.model.system import System
from vernal.simulate.runs import simulate
from vernal.simulate.starts import NoInitialState

EXAMPLES = Path(__file__).parents[3] / "examples"
FAMILIES: dict[str, Callable[[random.Random], System]] = {
    "closed": closed_loop,
    "disturbed": disturbed_loop,
    "nonlinear": nonlinear_loop,
    "curved": curved_loop,
    "memory": memory_loop,
    "hard": lambda rng: hard_loop(rng, intervals=True),
    "huge": huge_loop,
}


def outside(sets: ReachableSets, runs: int, seed: int) -> list[str]:
    """The expressions and steps at which some simulated run is not in the sets; rounding of floats is forgiven."""
    assert sets.task is not None
    with np.errstate(all="ignore"):
        made = simulate(sets.task.system, runs, max(0, len(sets.steps) - 1), np.random.default_rng(seed), corners=True)
        values = made.values(sets.expressions)
    if sets.ended is not None:
        assert (made.lengths <= sets.ended).all()
    found = []
    for name, sort, column in zip(sets.of, sets.sorts, values, strict=True):
        for t, value in enumerate(sets.values(name)):
            here = column[:, t][np.isfinite(column[:, t])]
            if isinstance(value, NumberBounds):
                slack = 1e-9 * (1 + np.abs(here))
                good = (here >= value.lower - slack) & (here <= value.upper + slack)
            else:
                labels = ("false", "true") if sort.kind is Kind.BOOL else sort.labels
                good = np.isin(here, [labels.index(label) for label in value.labels])
            found += [f"{name} at {t}"] * (not good.all())
    return found + _outside_polygons(sets, values)


def _outside_polygons(sets: ReachableSets, values: list[np.ndarray]) -> list[str]:
    found = []
    for t, polygon in enumerate(sets.polygons):
        if polygon is not None and len(polygon) > 2:
            points = np.stack([column[:, t] for column in values], axis=1)
            points = points[np.isfinite(points).all(axis=1)]
            extent = np.ptp(np.array(polygon), axis=0) + 1e-9 * np.abs(np.array(polygon)).max(axis=0) + 1e-300
            corners, points = np.array(polygon) / extent, points / extent
            for (x, y), (u, v) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
                left = (u - x) * (points[:, 1] - y) - (v - y) * (points[:, 0] - x)
                if (left < -1e-6).any():
                    found.append(f"polygon at {t}")
    return found


# Known sets -----------------------------------------------------------------------------------------------------------


def test_a_counter_has_one_value_at_every_step() -> None:
    sets = reach(counter(), steps=10)
    assert [round(value.lower, 9) for value in sets.values("x") if isinstance(value, NumberBounds)] == [
        round(0.1 * t, 9) for t in range(11)
    ]
    for value in sets.values("x"):
        assert isinstance(value, NumberBounds)
        assert value.upper - value.lower < 1e-12


@pytest.mark.parametrize("kind", ["choose", "between"])
def test_draws_spread(kind: str) -> None:
    sets = reach(wanderer(kind), steps=6)
    for t, value in enumerate(sets.values("x")):
        assert isinstance(value, NumberBounds)
        assert value.lower == pytest.approx(-t, abs=1e-9)
        assert value.upper == pytest.approx(1 + 2 * t, abs=1e-9)


def test_decisions_are_followed_and_actions_are_labels() -> None:
    sets = reach(chooser(), of=["x", "pilot"], steps=8)
    assert sets.of == ("x", "pilot")
    for value in sets.values("x"):
        assert isinstance(value, NumberBounds)
        assert value.upper <= 2 + 1e-9
    assert sets.values("pilot")[0] == LabelSet(("LEFT", "RIGHT"))
    always_right = reach(make({"x": (-2, -1)}, {"x": build.var("x")}, agents=chooser().agents), of="pilot", steps=1)
    assert always_right.values("pilot") == [LabelSet(("RIGHT",))] * 2


def test_paths_end_and_integers_are_integers() -> None:
    sets = reach(countdown(), steps=10)
    assert sets.values("n") == [NumberBounds(2, 3), NumberBounds(1, 2), NumberBounds(0, 1), NumberBounds(0, 0)]
    assert sets.ended == 4
    assert sets.is_complete


def test_memory_is_followed() -> None:
    assert not outside(reach(accumulator(), of=["x", "adder"], steps=5), 500, 1)


def test_constraints_cut_the_start() -> None:
    x, y = build.var("x"), build.var("y")
    system = make({"x": (0, 1), "y": (0, 1)}, {"x": x, "y": y}, where=[build.compare("<=", x + y, Fraction(1, 2))])
    (first, second) = reach(system, of="x", steps=1).values("x")
    assert isinstance(first, NumberBounds)
    assert isinstance(second, NumberBounds)
    assert first.upper <= 0.7
    assert second.upper <= 0.7
    nothing = make({"x": (0, 1)}, {"x": x}, where=[build.compare(">", x, 2)])
    assert reach(nothing, steps=3).ended == 0


def test_what_has_no_bound_is_infinite_and_said() -> None:
    x = build.var("x")
    sets = reach(make({"x": (-1, 1), "y": (0, 1)}, {"x": build.div(1, x), "y": build.var("y")}), steps=3)
    assert sets.unbounded == {"x": 1}
    assert sets.coarse == 0  # the step that cannot be followed is the first
    assert sets.coarse_reason is not None
    assert "without a bound" in sets.coarse_reason
    third = sets.values("y")[3]
    assert isinstance(third, NumberBounds)
    assert (third.lower, third.upper) == (0, 1)


def test_two_numbers_have_a_polygon() -> None:
    x, y = build.var("x"), build.var("y")
    system = make({"x": (0, 1), "y": (0, 1)}, {"x": x, "y": build.add(x, build.mul(Fraction(1, 100), y))})
    sets = reach(system, steps=1)
    square, band = sets.polygons
    assert square is not None
    assert band is not None
    assert len(square) == 4
    corners = np.array(band)
    area = 0.5 * abs(np.sum(corners[:, 0] * np.roll(corners[:, 1], 1) - corners[:, 1] * np.roll(corners[:, 0], 1)))
    assert area < 0.05  # the box around it has an area of 1.01
    assert reach(system, of=["x", "y", "x + y"], steps=1).polygons == [None, None]


# Runs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", seeds(12))
def test_runs_of_random_loops_are_inside(family: str, seed: int) -> None:
    system = FAMILIES[family](random.Random(f"{family}{seed}"))
    sets = reach(system, steps=4, sets=20, timeout=10)
    assert sets.steps or sets.ended == 0 or sets.reason
    try:
        assert outside(sets, 400, seed) == []
    except NoInitialState:
        pytest.skip("no initial state was found by chance")


@pytest.mark.parametrize("name", ["vcas", "cartpole", "pendulum", "thermostat", "vacuum"])
def test_ten_thousand_runs_of_the_examples_are_inside(name: str) -> None:
    task = vn.load(EXAMPLES / name / f"{name}.toml")
    sets = reach(task, steps=8, sets=200)
    assert len(sets.steps) == 9
    assert outside(sets, 10_000, 3) == []
    agent = task.system.agents[0].name
    assert outside(reach(task, of=[task.system.state[0].name, agent], steps=5, sets=200), 10_000, 4) == []


def test_a_pendulum_stays_upright_in_its_tube() -> None:
    sets = reach(vn.load(EXAMPLES / "pendulum" / "pendulum.toml"))
    assert sets.last == 11  # as far as its properties look: F[0,8] G[0,3]
    for value in sets.values("theta")[:9]:
        assert isinstance(value, NumberBounds)
        assert max(-value.lower, value.upper) < 0.05
    assert None not in sets.polygons


# Limits and refusals --------------------------------------------------------------------------------------------------


def test_a_stopped_walk_has_the_steps_that_were_done() -> None:
    task = vn.load(EXAMPLES / "cartpole" / "cartpole.toml")
    sets = reach(task, steps=10_000, timeout=1.5)
    assert not sets.is_complete
    assert sets.reason == "timeout after 1.5 s"
    assert 1 < len(sets.steps) < 10_000
    assert reach(task, steps=3, memory=0.001).reason == "memory beyond 0.001 GiB"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"of": []}, "at least one expression"),
        ({"of": "z"}, "z"),
        ({"steps": -1}, "0 or more"),
        ({"timeout": 0}, "above 0"),
        ({"sets": 0}, "above 0"),
        ({"device": "tpu"}, "no device 'tpu'"),
    ],
)
def test_senseless_questions_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        reach(counter(), **given)  # type: ignore[arg-type]


def test_how_far_without_a_word() -> None:
    assert reach(counter()).last == 20
    task = Task(counter(), {"soon": Next(Atom(build.compare(">", build.var("x"), 0)), 3)})
    assert reach(task).last == 3


def test_expressions_may_be_given_as_such() -> None:
    x = build.var("x")
    sets = reach(counter(), of=[x, build.mul(2, x)], steps=1)
    assert sets.of == ("x", "2 * x")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.timeout(60, method="thread")  # the other method is an alarm itself
def test_a_walk_that_does_not_look_at_the_clock_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, ends_by_itself = StepWalk.add, []

    def forgetful(walk: StepWalk, step: ReachedStep) -> None:
        slow(walk, step)
        ends = time.monotonic() + 30
        while len(walk.steps) == 2 and time.monotonic() < ends:
            pass
        ends_by_itself.append(len(walk.steps))

    monkeypatch.setattr(StepWalk, "add", forgetful)
    sets = reach(counter(), steps=5, timeout=0.8)
    assert sets.reason == "timeout after 0.8 s"
    assert len(sets.steps) == 2
    assert ends_by_itself == [1]
