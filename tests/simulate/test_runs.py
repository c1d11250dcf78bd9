"""Simulation agrees with loops written by hand, respects the initial set, and ends where paths end."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.systems import accumulator, chooser, countdown, counter, make, vcas, wanderer
from vernal.formats.networks import read_network
from vernal.model import build
from vernal.model.expr import Argmax, Choose
from vernal.model.sorts import BOOL, INT
from vernal.simulate.runs import StepSimulator, random_plan, simulate
from vernal.simulate.starts import NoInitialState, initial_points


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
    actions = StepSimulator(system, 1).run(plan).actions["pilot"][:, 0]
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


def test_equations_are_solved_for_a_variable() -> None:
    x, y, z = (build.var(name) for name in "xyz")
    equations = [build.eq(x, y / 3) & build.eq(y, z + Fraction(1, 2)), x + z <= 1]
    system = make({"x": (0, 1), "y": (0, 1), "z": (0, 1)}, {}, where=equations)
    points = initial_points(system, 500, rng())
    np.testing.assert_allclose(points[x], points[y] / 3)
    np.testing.assert_allclose(points[y], points[z] + 0.5)
    assert ((points[z] >= 0) & (points[y] <= 1)).all()
    assert len(np.unique(points[y])) > 100


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


def test_options_that_exist_are_uniform() -> None:
    """Of four options the second and the fourth exist where x > 0, else the third alone."""
    x = build.var("x")
    move = build.choose(build.when(1, x > 9), build.when(2, x > 0), build.when(3, x <= 0), build.when(4, x > 0))
    runs = simulate(make({"x": {-1, 1}}, {"x": move}), 6000, 1, rng())
    first, after = runs.state["x"].T
    assert set(after[first == -1]) == {3}
    drawn = after[first == 1]
    assert set(drawn) == {2, 4}
    assert abs((drawn == 2).mean() - 0.5) < 0.05


# The published networks, against a loop that knows nothing of Vernal --------------------------------------------------

Numbers = NDArray[np.float64]
Layers = list[tuple[Numbers, Numbers]]
GRAVITY = 32.2
DOWN, UP = np.array([-8, -7, -6]) * GRAVITY / 24, np.array([6, 7, 8]) * GRAVITY / 24
PULLS = {0: np.array([-3, 0, 3]) * GRAVITY / 24, 1: DOWN, 2: UP, 3: DOWN, 4: UP}


def weights(file: Path) -> Layers:
    """Weight and bias of every layer, straight from the file."""
    import onnx
    from onnx import numpy_helper

    arrays = {item.name: numpy_helper.to_array(item).astype(float) for item in onnx.load(file).graph.initializer}
    return [(arrays[f"W{i}"], arrays[f"b{i}"]) for i in range(len(arrays) // 2)]


def scores(layers: Layers, x: Numbers) -> Numbers:
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight + bias, 0)
    result: Numbers = x @ layers[-1][0] + layers[-1][1]
    return result


def advise(networks: list[Layers], previous: NDArray[np.intp], inputs: Numbers) -> NDArray[np.intp]:
    advisory = np.empty(len(previous), np.intp)
    for old, layers in enumerate(networks):
        rows = previous == old
        advisory[rows] = scores(layers, inputs[rows]).argmax(axis=1)
    return advisory


def accelerate(advisory: NDArray[np.intp], previous: NDArray[np.intp], v: Numbers, drawn: list[Numbers]) -> Numbers:
    accel = np.where(np.isin(advisory, [5, 7]), -GRAVITY / 3, GRAVITY / 3)
    for number, options in PULLS.items():
        rows = advisory == number
        accel[rows] = options[drawn[number][rows].astype(int)]
    limits = {1: v <= 0, 2: v >= 0, 3: v <= -1500, 4: v >= 1500, 5: v <= -1500, 6: v >= 1500}
    limits |= {7: v <= -2500, 8: v >= 2500}
    for number, complies in limits.items():
        accel[(advisory == number) & (previous == number) & complies] = 0
    return accel


@pytest.mark.data
@pytest.mark.parametrize("range_v", [5000, 200])
def test_published_vcas_agrees_with_an_independent_loop(data: Path, range_v: int) -> None:
    files = [data / "vcas" / f"vcas_{number}.onnx" for number in range(1, 10)]
    runs = simulate(vcas([read_network(file) for file in files], range_v=range_v), 10_000, 25, rng())
    networks = [weights(file) for file in files]
    # The five choices, in the order of their advisories, which is the order they were written in.
    choices = sorted((n for n in runs.plan.decisions if isinstance(n, Choose)), key=lambda n: n.occurrence.serial)
    h, v, tau = (runs.state[name][:, 0] for name in ("h", "v", "tau"))
    previous = np.zeros(len(h), np.intp)
    for t in range(25):
        advisory = advise(networks, previous, np.stack([h / 16000, v / range_v, (tau - 20) / 40], axis=1))
        np.testing.assert_array_equal(runs.actions["advisor"][:, t], advisory)
        accel = accelerate(advisory, previous, v, [runs.plan.decisions[node][:, t] for node in choices])
        h, v, tau, previous = h - v - accel / 2, v + accel, tau - 1, advisory
        for name, values in (("h", h), ("v", v), ("tau", tau), ("adv", previous)):
            np.testing.assert_allclose(runs.state[name][:, t + 1], values, rtol=1e-12, atol=1e-9)
