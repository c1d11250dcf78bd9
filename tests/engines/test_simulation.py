"""Simulation agrees with loops written by hand, respects the initial set, and ends where paths end."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.systems import ADVISORIES, accumulator, chooser, countdown, counter, make, vcas, wanderer
from vernal.engines.simulation import NoInitialState, Simulator, initial_points, random_plan, simulate
from vernal.formats.networks import read_network
from vernal.model import build
from vernal.model.expr import Argmax, Choose
from vernal.model.sorts import BOOL, INT


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_a_run_without_uncertainty() -> None:
    runs = simulate(counter(), 3, 10, rng())
    assert runs.state["x"].shape == (3, 11)
    np.testing.assert_allclose(runs.state["x"][1], np.arange(11) / 10)
    assert runs.lengths.tolist() == [11, 11, 11]


@pytest.mark.parametrize("kind", ["choose", "between"])
def test_moves_are_what_the_plan_says(kind: str) -> None:
    runs = simulate(wanderer(kind), 500, 8, rng())
    (drawn,) = runs.plan.decisions.values()
    moves = np.array([-1, 0, 2])[drawn.astype(int)] if kind == "choose" else drawn * 3 - 1
    np.testing.assert_allclose(np.diff(runs.state["x"]), moves[:, :-1], atol=1e-12)
    assert ((runs.state["x"][:, 0] >= 0) & (runs.state["x"][:, 0] <= 1)).all()
    assert len(np.unique(runs.state["x"][:, 0])) == 500


def test_the_same_seed_gives_the_same_runs() -> None:
    first, second = (simulate(wanderer(), 20, 5, rng()).state["x"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_ties_are_taken_both_ways() -> None:
    system = chooser()
    plan = random_plan(system, 200, 1, rng())
    (x,) = plan.first
    plan.first[x][:] = 0.0
    actions = Simulator(system, 1).run(plan).actions["pilot"][:, 0]
    assert set(actions.tolist()) == {0.0, 1.0}
    assert any(isinstance(node, Argmax) for node in plan.decisions)


def test_memory_is_carried() -> None:
    runs = simulate(accumulator(), 50, 4, rng())
    (slot,) = runs.memory
    total, x = runs.memory[slot][:, :, 0], runs.state["x"]
    np.testing.assert_allclose(total[:, 1:], total[:, :-1] + x[:, :-1])
    np.testing.assert_allclose(runs.actions["adder"], 0.5 * (total + x) + 0.25)
    assert len(np.unique(total[:, 0])) == 50


def test_paths_end_where_the_system_is_not_enabled() -> None:
    runs = simulate(countdown(), 40, 5, rng())
    starts = runs.state["n"][:, 0]
    assert set(starts.tolist()) == {2.0, 3.0}
    np.testing.assert_array_equal(runs.lengths, starts + 1)
    for row, length in zip(runs.state["n"], runs.lengths, strict=True):
        assert row[length - 1] == 0
        assert np.isnan(row[length:]).all()


def test_constraints_are_met() -> None:
    x, y = build.var("x"), build.var("y")
    system = make({"x": (0, 1), "y": (0, 1)}, {}, where=[x + y <= Fraction(1, 2)])
    points = initial_points(system, 3000, rng())
    assert len(points[x]) == 3000
    assert (points[x] + points[y] <= 0.5).all()


def test_constraints_nobody_meets_are_named() -> None:
    x = build.var("x")
    with pytest.raises(NoInitialState, match=r"init\.where"):
        initial_points(make({"x": (0, 1)}, {}, where=[x > 2]), 100, rng())


def test_centre_and_corners_come_first() -> None:
    x, n, flag = build.var("x"), build.var("n", INT), build.var("p", BOOL)
    system = make({"x": (-1, 3), "n": (0, 4), "p": {0, 1}}, {}, sorts={"n": INT, "p": BOOL})
    points = initial_points(system, 300, rng(), corners=True)
    rows = list(zip(points[x].tolist(), points[n].tolist(), points[flag].tolist(), strict=True))
    assert rows[0] == (1, 2, 1)
    assert {(-1, 0, 0), (3, 4, 1), (-1, 4, 0), (3, 0, 1)} <= set(rows[:20])
    assert set(points[n].tolist()) == {0, 1, 2, 3, 4}


def test_choices_are_uniform() -> None:
    plan = random_plan(wanderer(), 3000, 1, rng())
    (node,) = plan.decisions
    assert isinstance(node, Choose)
    counts = np.bincount(plan.decisions[node].astype(int).ravel(), minlength=3)
    assert (abs(counts - 2000) < 200).all()


# The published networks, against a loop that knows nothing of Vernal --------------------------------------------------


def weights(file: Path) -> list[tuple[np.ndarray, np.ndarray]]:  # type: ignore[type-arg]
    """Weight and bias of every layer, straight from the file."""
    import onnx
    from onnx import numpy_helper

    arrays = {item.name: numpy_helper.to_array(item).astype(float) for item in onnx.load(file).graph.initializer}
    return [(arrays[f"W{i}"], arrays[f"b{i}"]) for i in range(len(arrays) // 2)]


def scores(layers: list[tuple[np.ndarray, np.ndarray]], x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if number < len(layers) - 1:
            x = np.maximum(x, 0)
    return x


@pytest.mark.data
@pytest.mark.parametrize("range_v", [5000, 200])
def test_published_vcas_agrees_with_an_independent_loop(data: Path, range_v: int) -> None:
    files = [data / "vcas" / f"vcas_{number}.onnx" for number in range(1, 10)]
    runs = simulate(vcas([read_network(file) for file in files], range_v=range_v), 10_000, 25, rng())
    pulls = {node: array for node, array in runs.plan.decisions.items() if isinstance(node, Choose)}
    by_advisory = dict(zip((0, 1, 2, 3, 4), (array for _, array in sorted_by_option(pulls)), strict=True))
    loop(runs.state, runs.actions["advisor"], by_advisory, [weights(file) for file in files], range_v)


def sorted_by_option(pulls: dict[Choose, np.ndarray]) -> list[tuple[Choose, np.ndarray]]:  # type: ignore[type-arg]
    """The five choices in the order of their advisories, which is the order they were written in."""
    return sorted(pulls.items(), key=lambda item: item[0].occurrence.serial)


def loop(state, action, pulls, layers, range_v: int) -> None:  # type: ignore[no-untyped-def]
    """State by state: what the papers' closed loop does under the same pilot choices."""
    g = 32.2
    down, up = np.array([-g / 3, -7 * g / 24, -g / 4]), np.array([g / 4, 7 * g / 24, g / 3])
    options = {0: np.array([-g / 8, 0, g / 8]), 1: down, 2: up, 3: down, 4: up}
    h, v, tau = (state[name][:, 0].copy() for name in ("h", "v", "tau"))
    adv = np.zeros(len(h), int)
    for t in range(25):
        inputs = np.stack([h / 16000, v / range_v, (tau - 20) / 40], axis=1)
        new = np.empty(len(h), int)
        for old in range(9):
            rows = adv == old
            new[rows] = scores(layers[old], inputs[rows]).argmax(axis=1)
        np.testing.assert_array_equal(action[:, t], new)
        accel = np.where(np.isin(new, [5, 7]), -g / 3, g / 3)
        for advisory, pull in options.items():
            rows = new == advisory
            accel[rows] = pull[pulls[advisory][rows, t].astype(int)]
        limit = {
            1: v <= 0,
            2: v >= 0,
            3: v <= -1500,
            4: v >= 1500,
            5: v <= -1500,
            6: v >= 1500,
            7: v <= -2500,
            8: v >= 2500,
        }
        for advisory, complies in limit.items():
            accel[(new == advisory) & (adv == advisory) & complies] = 0
        h, v, tau, adv = h - v - accel / 2, v + accel, tau - 1, new
        for name, values in (("h", h), ("v", v), ("tau", tau), ("adv", adv)):
            np.testing.assert_allclose(state[name][:, t + 1], values, rtol=1e-12, atol=1e-9)
    assert len(ADVISORIES) == 9
