"""Linear bounds contain what happens, lie where the relaxation's optimum says, and see correlations."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from types import ModuleType
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.interpret.sets import abstract, boxes, contains, exact_value, inside, items, samples
from tests.strategies import expressions
from vernal.errors import Stopped
from vernal.interpret import exact, interval
from vernal.interpret.linear import bounds as linear_bounds
from vernal.interpret.linear import rows as linear_rows
from vernal.interpret.linear.bounds import Linear, Mode, bounds
from vernal.interpret.linear.forms import MAX_INPUTS
from vernal.interpret.linear.rows import Rows
from vernal.interpret.numbers.rounding import torch_tensor
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import order
from vernal.model.network import network_input
from vernal.model.sorts import enum

X, Y = build.var("x"), build.var("y")
Floats = NDArray[np.float64]
MODES: list[Mode] = ["backward", "interval"]
MEAN_GAP = 0.12  # of backward bounds over the optimum of the triangle relaxation, relative; 0.083 was measured


def box(**ranges: tuple[float, float]) -> dict[Expr, Value]:
    return {build.var(name): Range(np.array([low]), np.array([high])) for name, (low, high) in ranges.items()}


def random_network(rng: np.random.Generator, sizes: list[int], scale: float = 1.0) -> Expr:
    node: Expr = network_input(sizes[0])
    for index, (n, m) in enumerate(pairwise(sizes)):
        node = build.affine(node, e.Matrix(rng.normal(size=(m, n)) * scale), e.Matrix(rng.normal(size=m) * scale))
        node = build.relu(node) if index < len(sizes) - 2 else node
    return node


def run_network(node: Expr, x: Floats) -> Floats:
    """The network on rows of points, in floats."""
    layers = []
    while node.args:
        layers.append(node)
        node = node.args[0]
    for layer in reversed(layers):
        x = x @ layer.weight.array.T + layer.bias.array if isinstance(layer, e.Affine) else np.maximum(x, 0)
    return x


# Soundness ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_linear_contains_exact_samples(mode: Mode, data: st.DataObject) -> None:
    """Values, ranges and forms of every node, over random graphs, boxes, points and draws."""
    roots = data.draw(expressions())
    batch = [data.draw(boxes()) for _ in range(2)]
    linear = Linear(abstract(batch), mode=mode)
    values = [linear.value(root) for root in roots]
    forms = {i: linear.form(root) for i, root in enumerate(roots) if root.sort.is_number}
    ranges = {i: linear.range(roots[i]) for i in forms}
    for at, ends in enumerate(batch):
        for _ in range(3):
            results, inputs = data.draw(samples(ends, roots))
            for i, result in enumerate(results):
                assert contains(values[i], at, result), (roots[i], values[i], result)
                if i in forms:
                    assert contains(ranges[i], at, result), (roots[i], ranges[i], result)
                    check_form(forms[i], at, result, inputs)


def check_form(form: Any, at: int, result: exact.ExactValue, inputs: dict[Expr, Any]) -> None:
    """Both forms, evaluated exactly at the sample's inputs, are on their side of the value."""
    for row, x in enumerate(items(result)):
        if not isinstance(x, Fraction):
            continue
        if np.isfinite(form.lower_constants[at, row]):
            low = exact_value(form.lower_coefficients[at, row], form.lower_constants[at, row], form.inputs, inputs)
            assert low is None or low <= x
        if np.isfinite(form.upper_constants[at, row]):
            high = exact_value(form.upper_coefficients[at, row], form.upper_constants[at, row], form.inputs, inputs)
            assert high is None or x <= high


@pytest.mark.parametrize("mode", MODES)
def test_weights_of_very_different_sizes(mode: Mode) -> None:
    """1e6 and 1e-6 in one network: exact samples stay inside, points keep only rounding."""
    rng = np.random.default_rng(5)
    sizes, node = [3, 6, 6, 2], network_input(3)
    tree: Expr = node
    for n, m in pairwise(sizes):
        W = rng.normal(size=(m, n)) * 10.0 ** rng.choice([-6, 0, 6], (m, n))
        tree = build.affine(tree, e.Matrix(W), e.Matrix(rng.normal(size=m) * 1e6))
        tree = build.relu(tree) if m != sizes[-1] else tree
    lower = rng.normal(size=(5, 3))
    width = np.array([0.0, 1e-9, 1e-3, 1.0, 10.0])[:, None]
    (form,) = bounds([tree], {node: Range(lower, lower + width)}, mode=mode)
    for at in range(5):
        for _ in range(10):
            x = lower[at] + (width[at] * rng.random(3))
            x = np.minimum(x, (lower + width)[at])
            (result,) = exact.evaluate([tree], {node: [Fraction(v) for v in x]})
            check_form(form, at, result, {node: tuple(Fraction(v) for v in x)})
            assert contains(Range(form.lower, form.upper), at, result)
    assert (form.upper - form.lower)[0].max() < 1e-11 * abs(form.upper[0]).max()


def test_unbounded_inputs_hurt_only_those_who_use_them() -> None:
    linear = Linear(box(x=(-1, 1), y=(-np.inf, np.inf)))
    assert linear.range(build.relu(X) - X).upper[0] <= 1 + 1e-9
    assert linear.truth(2 + build.absolute(X) >= X).must[0]
    assert linear.truth(build.compare("<=", X + Y - Y, 1)).may[0]
    for node in (Y, X + Y, build.relu(Y), Y * Y, X * Y, build.if_(X < 0, Y, X), build.div(1, Y)):
        form = linear.form(node)
        for bound in (form.lower, form.upper, form.lower_constants, form.upper_coefficients):
            assert not np.isnan(bound).any()
        assert form.upper[0, 0] == np.inf
    huge = Linear(box(x=(-1e300, 1e300), y=(0, 1)))
    assert huge.range(X * X).upper[0] == np.inf
    assert huge.range(Y - build.relu(Y)).upper[0] <= 1e-9


@pytest.mark.parametrize("function", list(Function))
@pytest.mark.parametrize(("low", "high"), [(0.25, 0.5), (0.5, 1.5), (0.1, 6.0), (-2.0, 1.0), (-0.5, 0.0), (3.0, 3.0)])
def test_curves_lie_between_their_lines(function: Function, low: float, high: float) -> None:
    node = build.apply(function, X)
    (form,) = bounds([node], box(x=(low, high)))
    (rough,) = interval.evaluate([node], box(x=(low, high)))
    assert isinstance(rough, Range)
    assert rough.lower[0] <= form.lower[0, 0]
    assert form.upper[0, 0] <= rough.upper[0]
    if not np.isfinite(rough.lower[0]):
        return
    gap = 0.0
    for x in np.linspace(low, high, 41).tolist():
        (value,) = exact.evaluate([node], {X: Fraction(x)})
        lower = Fraction(form.lower_coefficients[0, 0, 0]) * Fraction(x) + Fraction(form.lower_constants[0, 0])
        upper = Fraction(form.upper_coefficients[0, 0, 0]) * Fraction(x) + Fraction(form.upper_constants[0, 0])
        assert inside(float("-inf"), np.nextafter(float(upper), np.inf), value)
        assert inside(np.nextafter(float(lower), -np.inf), float("inf"), value)
        gap = max(gap, float(upper - lower))
    assert gap <= 1.0001 * float(rough.upper[0] - rough.lower[0]) + 1e-12 or function in (Function.EXP, Function.LOG)


# Tightness ------------------------------------------------------------------------------------------------------------


def relaxation_optimum(layers: list[e.Affine], pre: list[Range], box_: Range, row: Floats) -> float:
    """The least row . output over the triangle relaxation with these pre-activation ranges, by linear programming."""
    from scipy.optimize import linprog

    sizes = [layers[0].weight.array.shape[1], *(layer.weight.array.shape[0] for layer in layers[:-1])]
    starts = np.cumsum([0, *sizes])
    rows: list[Floats] = []
    right: list[float] = []
    limits: list[tuple[float, float | None]] = list(zip(box_.lower[0], box_.upper[0], strict=True))
    for depth, layer in enumerate(layers[:-1]):
        x = slice(starts[depth], starts[depth + 1])
        for j in range(sizes[depth + 1]):
            w, b = layer.weight.array[j], float(layer.bias.array[j])
            low, high = float(pre[depth].lower[0, j]), float(pre[depth].upper[0, j])
            y = starts[depth + 1] + j
            limits.append((0.0, max(high, 0.0)))
            above = np.zeros(starts[-1])
            above[x], above[y] = w, -1.0
            if high > 0:
                rows.append(above)  # y >= w x + b
                right.append(-b)
                slope, shift = (1.0, 0.0) if low >= 0 else (high / (high - low), low)
                below = np.zeros(starts[-1])
                below[x], below[y] = -slope * w, 1.0
                rows.append(below)  # y <= slope (w x + b - shift)
                right.append(slope * (b - shift))
    cost = np.zeros(starts[-1])
    cost[starts[-2] :] = row @ layers[-1].weight.array
    solved = linprog(cost, np.array(rows) if rows else None, right or None, bounds=limits, method="highs")
    assert solved.status == 0
    return float(solved.fun or 0.0) + float(row @ layers[-1].bias.array)


def gap_to_optimum(seed: int) -> tuple[float, float]:
    """How far linear bounds are below the relaxation's optimum, relative to its width: backward and interval."""
    rng = np.random.default_rng(seed)
    node = random_network(rng, [2, int(rng.integers(3, 7)), int(rng.integers(3, 7)), 2])
    x = network_input(2)
    centre, width = rng.normal(size=2), rng.uniform(0.05, 1.0)
    start = Range((centre - width)[None], (centre + width)[None])
    linear = Linear({x: start})
    form = linear.form(node)
    layers = [part for part in linear.graph.position if isinstance(part, e.Affine)]
    pre = [linear.number(layer) for layer in layers[:-1]]
    low = np.array([relaxation_optimum(layers, pre, start, row) for row in np.eye(2)])
    high = -np.array([relaxation_optimum(layers, pre, start, -row) for row in np.eye(2)])
    inside_box = centre + width * rng.uniform(-1, 1, (200, 2))
    sampled = run_network(node, inside_box)
    slack = 1e-6 * (1 + abs(low).max() + abs(high).max())  # the solver's tolerance, not ours
    assert (form.lower[0] <= sampled.min(0)).all()
    assert (form.upper[0] >= sampled.max(0)).all()
    assert (form.lower[0] <= low + slack).all()
    assert (form.upper[0] >= high - slack).all()
    rough = bounds([node], {x: start}, mode="interval")[0]
    best = (high - low).sum()
    return ((form.upper - form.lower).sum() - best) / best, ((rough.upper - rough.lower).sum() - best) / best


def test_gap_to_the_relaxations_optimum(record_property: Any) -> None:
    """100 random networks against linear programming: sound on each, and close on average."""
    gaps = np.array([gap_to_optimum(seed) for seed in range(100)])
    mean = gaps.mean(0)
    record_property("mean gap to the LP optimum, backward and interval", mean.tolist())
    print(f"mean relative gap to the triangle LP: backward {mean[0]:.4f}, interval intermediates {mean[1]:.4f}")
    assert mean[0] < MEAN_GAP
    assert mean[0] <= mean[1]


def test_correlations_are_seen() -> None:
    linear = Linear(box(x=(-1, 1), y=(0, 1)))
    net = build.relu(X) - build.relu(X)
    assert linear.truth(X - X <= 0).may[0]
    assert abs(linear.range(X + Y - X).upper[0] - 1) < 1e-12
    assert abs(linear.range(net).upper[0]) < 1e-12
    accel = build.choose(-1, 0, 1)
    h, v = X - accel / 2, Y + accel
    assert abs(linear.range(h + v / 2).upper[0] - 1.5) < 1e-12
    assert abs(float(linear.margin(X <= X + Y + 1).lower[0]) - 1) < 1e-12


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (build.maximum(X, Y), (0.0, 1.0)),
        (build.clip(X * 2, -1, 1), (-1.0, 1.0)),
        (X * Y, (-1.0, 1.0)),
        (X * X - X, (-1.0, 2.0)),
        (build.absolute(X) + X, (0.0, 2.0)),
        (build.floor(X + Y / 2), (-1.0, 1.0)),
        (build.div(X, Y + 1), (-1.0, 1.0)),
        (build.if_(X < 0, X, X + 1), (-1.0, 2.0)),
        (build.if_(X < 0, X, X + 1) - X, (0.0, 1.0)),
        (build.choose(X, X + 1) - X, (0.0, 1.0)),
        (build.between(X, X + 1) - X, (0.0, 1.0)),
    ],
)
def test_known_ranges(node: Expr, expected: tuple[float, float]) -> None:
    found = Linear(box(x=(-1, 1), y=(0, 1))).range(node)
    assert float(found.lower[0]) == pytest.approx(expected[0], abs=1e-12)
    assert float(found.upper[0]) == pytest.approx(expected[1], abs=1e-12)


def test_boxes_decide_differently_in_one_batch() -> None:
    node = build.if_(X < 0, X * 2, X + 10) - X
    found = Linear({X: Range(np.array([-2.0, 1, -1]), np.array([-1.0, 2, 1]))}).range(node)
    assert found.lower.tolist() == pytest.approx([-2, 10, -1], abs=1e-9)
    assert found.upper.tolist() == pytest.approx([-1, 10, 10], abs=1e-9)


def test_a_scalar_branch_of_a_vector_goes_with_every_component() -> None:
    """A decided branch, or a scaled scalar, leaves a scalar's form where a vector's is wanted."""
    v = build.var("v", shape=(3,), role=e.Role.INPUT)
    boxes_: dict[Expr, Value] = {**box(x=(1, 2)), v: Range(np.zeros((1, 3)), np.ones((1, 3)))}
    linear = Linear(boxes_)
    for node in (build.if_(X > 0, X, v), build.if_(X > 0, v, X) * 0 + X, build.concat(X, X, X) * 1 + 0 * v):
        form = linear.form(node)
        assert form.lower_coefficients.shape == (1, 3, 4)
        assert form.lower[0].tolist() == pytest.approx([1, 1, 1], abs=1e-9)
        assert form.upper[0].tolist() == pytest.approx([2, 2, 2], abs=1e-9)


def test_batches_do_not_mix() -> None:
    """Every box of a large batch, cut into blocks, has the bounds it has alone.

    With interval intermediates a box alone may do better: a layer stable in all boxes of a batch is exactly affine.
    """
    rng = np.random.default_rng(3)
    node, x = random_network(rng, [3, 12, 12, 4]), network_input(3)
    lower = rng.normal(size=(700, 3))
    upper = lower + rng.uniform(0, 0.5, (700, 1))
    for mode in MODES:
        (whole,) = bounds([node], {x: Range(lower, upper)}, mode=mode)
        for at in (0, 17, 350, 699):
            (alone,) = bounds([node], {x: Range(lower[at : at + 1], upper[at : at + 1])}, mode=mode)
            assert (alone.lower[0] >= whole.lower[at] - 1e-12).all()
            assert (alone.upper[0] <= whole.upper[at] + 1e-12).all()
            if mode == "backward":
                assert np.allclose(alone.lower[0], whole.lower[at], rtol=1e-12, atol=1e-12)
                assert np.allclose(alone.upper[0], whole.upper[at], rtol=1e-12, atol=1e-12)


# Decisions ------------------------------------------------------------------------------------------------------------


def test_argmax_by_differences() -> None:
    """Ranges overlap, differences do not: scores x and x + 1."""
    scores = build.concat(X, X + 1, Y - 5)
    best = Linear(box(x=(-10, 10), y=(-5, 0))).value(build.argmax(scores))
    assert isinstance(best, Finite)
    assert best.mask.tolist() == [[False, True, True]]


@pytest.mark.parametrize("mode", MODES)
def test_an_index_between_two_possible_ones_is_not_possible(mode: Mode) -> None:
    """Comparisons look at the set of possible winners, not at its hull."""
    x = build.var("x")
    winner = build.argmax(build.concat(x, build.const(-2), build.neg(x)), None, "a")
    linear = Linear({x: Range(np.array([-1.0]), np.array([1.0]))}, mode=mode)
    for node, must, may in (
        (build.eq(winner, 1), False, False),
        (build.eq(winner, 2), False, True),
        (build.compare("!=", build.const(1), winner), True, True),
        (build.compare("<", winner, build.const(1)), False, True),
        (build.compare("<", winner, build.const(3)), True, True),
    ):
        truth = linear.truth(node)
        assert (bool(truth.must[0]), bool(truth.may[0])) == (must, may), node


@pytest.mark.parametrize("mode", MODES)
def test_argmax_never_loses_a_winner(mode: Mode) -> None:
    rng = np.random.default_rng(11)
    node, x = random_network(rng, [2, 8, 8, 5]), network_input(2)
    lower = rng.normal(size=(60, 2))
    upper = lower + rng.choice([0.0, 0.01, 0.2, 1.0], (60, 1))
    found = Linear({x: Range(lower, upper)}, mode=mode).value(build.argmax(node))
    assert isinstance(found, Finite)
    for _ in range(50):
        winner = run_network(node, lower + (upper - lower) * rng.random((60, 2))).argmax(1)
        assert found.mask[np.arange(60), winner].all()
    assert found.mask[upper[:, 0] == lower[:, 0]].sum(1).max() == 1
    rough = interval.evaluate([build.argmax(node)], {x: Range(lower, upper)})[0]
    assert isinstance(rough, Finite)
    assert found.mask.sum() < rough.mask.sum()


def test_argmax_looks_into_the_networks_in_use() -> None:
    """Either network has a clear winner; the hull of their scores has none."""
    mode = build.var("mode", enum("A", "B"))
    left, right = build.concat(X, X + 1, X + 0), build.concat(X, X, X + 1)
    node = build.argmax(build.switch(mode, [Fraction(0), Fraction(1)], [left, right]))
    given_mode = Finite(np.array([[True, True], [True, False]]), (Fraction(0), Fraction(1)))
    found = Linear({mode: given_mode, X: Range(np.array([-9.0, -9]), np.array([9.0, 9]))}).value(node)
    assert isinstance(found, Finite)
    assert found.mask.tolist() == [[False, True, True], [False, True, False]]


# Closed loops ---------------------------------------------------------------------------------------------------------


def closed_loop(net: Expr, steps: int) -> list[tuple[Expr, Expr]]:
    """A point mass pushed by a network and by noise: positions and velocities, unrolled."""
    from vernal.model.graph import substitute

    x: Expr = X
    v: Expr = Y
    states = [(x, v)]
    for _ in range(steps):
        (push,) = substitute([net], {network_input(2): build.concat(x, v)})
        force = build.clip(push[0], -1, 1) + build.between(Fraction(-1, 100), Fraction(1, 100))
        x, v = x + v / 10, v + force / 10
        states.append((x, v))
    return states


@pytest.mark.parametrize("mode", MODES)
def test_ten_steps_of_a_closed_loop(mode: Mode) -> None:
    """Linear bounds contain simulated runs at each of ten steps, and beat intervals by far at the last."""
    rng = np.random.default_rng(2)
    net = random_network(rng, [2, 8, 8, 1], 0.5)
    states = closed_loop(net, 10)
    start = box(x=(0.4, 0.5), y=(-0.1, 0.1))
    linear = Linear(start, mode=mode)
    forms = [linear.form(x + v) for x, v in states]
    x, v = rng.uniform(0.4, 0.5, 500), rng.uniform(-0.1, 0.1, 500)
    for form in forms:
        assert form.lower[0, 0] <= (x + v).min() + 1e-12
        assert form.upper[0, 0] >= (x + v).max() - 1e-12
        force = np.clip(run_network(net, np.stack([x, v], 1))[:, 0], -1, 1) + rng.uniform(-0.01, 0.01, 500)
        x, v = x + v / 10, v + force / 10
    assert len(forms[-1].inputs) == 12  # two variables and ten draws
    (rough,) = interval.evaluate([build.add(*states[-1])], start)
    assert isinstance(rough, Range)
    width = float(forms[-1].upper[0, 0] - forms[-1].lower[0, 0])
    assert width < 0.7 * float(rough.upper[0] - rough.lower[0])


def test_roots_may_come_later() -> None:
    """An engine extends the unrolling and asks again; answers are those of a fresh start."""
    rng = np.random.default_rng(4)
    states = closed_loop(random_network(rng, [2, 6, 1], 0.5), 4)
    grown = Linear(box(x=(0.4, 0.5), y=(-0.1, 0.1)))
    for x, v in states:
        fresh = Linear(box(x=(0.4, 0.5), y=(-0.1, 0.1)))
        a, b = grown.range(x + v), fresh.range(x + v)
        assert np.allclose([a.lower, a.upper], [b.lower, b.upper], rtol=1e-9)
    assert grown.truth(states[-1][0] > 0).must[0]


LIMITS: dict[str, tuple[ModuleType, object]] = {
    "MAX_ROWS": (linear_bounds, 0),
    "MAX_FORM": (linear_bounds, 0),
    "MAX_WORK": (linear_bounds, 0),
    "MAX_STACK": (linear_bounds, 0),
    "MAX_JOINED": (linear_rows, 1),
    "numbers_at_once": (linear_bounds, lambda most: 1),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_wide_layers_are_bounded_in_blocks(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows one by one, and no forms of layers: the ranges hold what is computed, and are hardly wider."""
    rng = np.random.default_rng(3)
    net = random_network(rng, [3, 12, 12, 2])
    x = next(node for node in order([net]) if not node.args)
    low, high = np.sort(rng.normal(size=(2, 5, 3)), axis=0)
    ranges: dict[Expr, Value] = {x: Range(low, high)}
    before = Linear(ranges).range(net)
    module, value = LIMITS[limit]
    monkeypatch.setattr(module, limit, value)
    after = Linear(ranges).range(net)
    assert (after.upper - after.lower <= 1.1 * (before.upper - before.lower) + 1e-9).all()
    for box in range(5):
        values = run_network(net, rng.uniform(low[box], high[box], (1000, 3)))
        assert (values >= after.lower[box] - 1e-9).all()
        assert (values <= after.upper[box] + 1e-9).all()


@pytest.mark.parametrize("count", [1, 5, 40])
def test_rows_on_their_way_are_few_however_many_there_are(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of rows are gone before the next ones are made: only their bounds are kept."""
    net = random_network(np.random.default_rng(3), [3, 12, 12, 2])
    x = next(node for node in order([net]) if not node.args)
    monkeypatch.setattr(linear_bounds, "CHUNK", 1)
    alive: WeakSet[Rows] = WeakSet()
    most: list[int] = []

    class Counted(Rows):
        def run(self) -> None:
            alive.add(self)
            most.append(len(alive))
            super().run()

    monkeypatch.setattr(linear_bounds, "Rows", Counted)
    Linear({x: Range(-np.ones((count, 3)), np.ones((count, 3)))}).range(net)
    assert len(most) >= count
    assert max(most) <= 2


@pytest.mark.parametrize("sizes", [[], [5], [3, 4, 2], [1] * 20, [30, 1, 1, 30], [11, 10]])
def test_forms_are_put_together_up_to_a_size(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_rows, "MAX_JOINED", 10)
    parts = [np.full((1, size, 1), size) for size in sizes]
    groups = list(linear_rows._grouped(parts))
    assert [part.size for group in groups for part in group] == sizes
    assert all(len(group) == 1 or sum(part.size for part in group) <= 10 for group in groups)
    assert len(groups) <= max(1, len(sizes))


def test_too_many_inputs_are_said() -> None:
    x = build.var("x", shape=(MAX_INPUTS + 1,))
    ends = np.zeros((1, x.size))
    with pytest.raises(Stopped, match="too many for linear bounds"):
        Linear({x: Range(ends, ends + 1)})


@pytest.mark.parametrize("mode", MODES)
def test_what_is_known_of_conditions_decides_branches(mode: Mode) -> None:
    """The truth of a comparison, and who may win, are taken as given, box by box."""
    x, y = build.var("x"), build.var("y")
    less, winner = build.compare("<", x, y), build.argmax(build.concat(x, y))
    unit: dict[Expr, Value] = {node: Range(np.zeros(3), np.ones(3)) for node in (x, y)}
    sides = np.array([[1], [-1], [0]])
    known: dict[Expr, Value] = {
        less: Truth(sides > 0, sides >= 0),
        winner: Finite(np.concatenate([sides <= 0, sides >= 0], axis=1)[:, None, :], (Fraction(0), Fraction(1))),
    }
    linear = Linear(unit, mode=mode, known=known)
    for node in (build.if_(less, 5, 7), build.switch(winner, [Fraction(1), None], [build.const(5), build.const(7)])):
        found = linear.range(node)
        assert found.lower.ravel().tolist() == [5, 7, 5]
        assert found.upper.ravel().tolist() == [5, 7, 7]


@pytest.mark.torch
def test_torch_agrees_with_numpy() -> None:
    import torch

    rng = np.random.default_rng(6)
    node, x = random_network(rng, [3, 16, 16, 4]), network_input(3)
    best = build.argmax(node)
    lower = rng.normal(size=(64, 3))
    upper = lower + rng.uniform(0, 0.4, (64, 1))
    extra = [build.absolute(node), build.clip(node, -1, 1), build.apply(Function.TANH, node), node * node]
    for mode in MODES:
        here = Linear({x: Range(lower, upper)}, mode=mode)
        there = Linear({x: Range(torch.asarray(lower), torch.asarray(upper))}, mode=mode)
        for root in (node, *extra):
            a, b = here.form(root), there.form(root)
            assert np.allclose(a.lower, torch_tensor(b.lower).numpy(), rtol=1e-9, atol=1e-9)
            assert np.allclose(a.upper, torch_tensor(b.upper).numpy(), rtol=1e-9, atol=1e-9)
        winners = here.value(best), there.value(best)
        assert isinstance(winners[0], Finite)
        assert isinstance(winners[1], Finite)
        assert (winners[0].mask == torch_tensor(winners[1].mask).numpy()).all()
