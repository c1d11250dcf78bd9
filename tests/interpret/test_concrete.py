"""The float64 meaning: batched, silent where undefined, and small in memory."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import decisions, expressions, points
from vernal.interpret import concrete, program
from vernal.model import build, graph
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.sorts import BOOL, enum

X, Y = build.var("x"), build.var("y")


def at(node: Expr, *values: float, **more: list[float]) -> list[float]:
    """The node's values where x runs through the given ones."""
    inputs: dict[Expr, concrete.Array] = {X: np.array(values)}
    inputs.update({build.var(name): np.array(points) for name, points in more.items()})
    (result,) = concrete.evaluate([node], inputs)
    return [float(value) for value in result]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (X + 1 - X * 2, [3.0, 1.0, -1.0]),
        (build.relu(X), [0, 0, 2]),
        (build.leaky_relu(X, [Fraction(1, 2)]), [-1, 0, 2]),
        (abs(X), [2, 0, 2]),
        (build.sign(X), [-1, 0, 1]),
        (build.floor(X / 4), [-1, 0, 0]),
        (build.clip(X, -1, 1), [-1, 0, 1]),
        (build.maximum(X, -X, 1), [2, 1, 2]),
        (X**3, [-8, 0, 8]),
        (build.hard_shrink(X, Fraction(2)), [0, 0, 0]),
        (build.soft_shrink(X, Fraction(1)), [-1, 0, 1]),
        (build.if_(X < 0, build.if_(X < -1, 7, 8), 9), [7, 9, 9]),
        (build.switch(build.floor(X), [Fraction(0), None], [5, 6]), [6, 5, 6]),
        (build.argmax(build.concat(X, -X, X)), [1, 0, 0]),
        (build.const(4), [4, 4, 4]),
    ],
)
def test_values(node: Expr, expected: list[float]) -> None:
    assert at(node, -2, 0, 2) == expected


@pytest.mark.parametrize(
    "node",
    [
        build.div(1, X),
        X ** Fraction(-1),
        build.apply(Function.LOG, X),
        build.apply(Function.SQRT, X - 1),
        (X - 1) ** Fraction(1, 2),
        build.argmax(build.concat(0, build.div(1, X))),
    ],
)
def test_undefined_is_nan_and_silent(node: Expr) -> None:
    with np.errstate(all="raise"):
        assert np.isnan(at(node, 0.0)).all()
        assert at(build.if_(X < 1, 5, node), 0.0) == [5]


def test_sigmoid_does_not_overflow() -> None:
    with np.errstate(all="raise"):
        assert at(build.apply(Function.SIGMOID, X), -1000, 0, 1000) == [0, 0.5, 1]


def test_truth_values_and_labels() -> None:
    colour, flag = build.var("c", enum("RED", "GREEN")), build.var("p", BOOL)
    red = build.eq(colour, build.label(colour.sort, "RED"))
    roots = [
        red & flag,
        red | flag,
        ~flag,
        build.compare("!=", flag, red),
        build.switch(flag, [Fraction(0), Fraction(1)], [3, 4]),
    ]
    inputs: dict[Expr, concrete.Array] = {colour: np.array([0.0, 1.0]), flag: np.array([True, True])}
    values = concrete.evaluate(roots, inputs)
    assert [value.tolist() for value in values] == [
        [True, False],
        [True, True],
        [False, False],
        [False, True],
        [4, 4],
    ]
    assert values[0].dtype == bool


def test_scalars_go_with_every_component() -> None:
    v = build.var("v", shape=(3,), role=e.Role.INPUT)
    weight, bias = e.Matrix(np.array([[1.0, 2.0, 3.0]])), e.Matrix(np.array([0.5]))
    roots = [
        v * X + 1,
        build.if_(v < X, v, X),
        build.affine(v, weight, bias),
        build.gather(v, [2, 0]),
        build.concat(X, v),
    ]
    inputs: dict[Expr, concrete.Array] = {v: np.array([[1.0, 2, 3], [4, 5, 6]]), X: np.array([2.0, 10.0])}
    values = [value.tolist() for value in concrete.evaluate(roots, inputs)]
    assert values[0] == [[3, 5, 7], [41, 51, 61]]
    assert values[1] == [[1, 2, 2], [4, 5, 6]]
    assert values[2] == [[14.5], [32.5]]
    assert values[3] == [[3, 1], [6, 4]]
    assert values[4] == [[2, 1, 2, 3], [10, 4, 5, 6]]


def test_draws_are_inputs() -> None:
    choice, noise = build.choose(X, 5, Y), build.between(Fraction(1, 10), Y)
    inputs = {
        X: np.array([1.0, 1.0, 1.0]),
        Y: np.array([0.7, 0.7, 0.7]),
        choice: np.array([0, 1, 2]),
        noise: np.array([0.0, 0.5, 1.0]),
    }
    chosen, drawn = concrete.evaluate([choice, noise], inputs)
    assert chosen.tolist() == [1, 5, 0.7]
    assert drawn[[0, 2]].tolist() == [0.1, 0.7]  # the ends are exact
    assert drawn[1] == pytest.approx(0.4)
    with pytest.raises(LookupError):
        concrete.evaluate([choice], {X: np.zeros(1), Y: np.zeros(1)})


def test_ends_that_depend_on_the_state_are_taken_in_either_order() -> None:
    noise = build.between(0, X)
    (value,) = concrete.evaluate([noise], {X: np.array([-1.0, 1.0]), noise: np.array([0.25, 0.25])})
    assert value.tolist() == [-0.75, 0.25]


def test_ties_are_broken_as_asked() -> None:
    best = build.argmax(build.concat(X, 3, 3, 3))
    breakers = np.array([0.0, 0.34, 0.99, 0.5])
    (value,) = concrete.evaluate([best], {X: np.array([0.0, 0.0, 0.0, 7.0]), best: breakers})
    assert value.tolist() == [1, 2, 3, 0]
    assert at(best, 0.0) == [1]


def test_dead_values_are_forgotten() -> None:
    """Two hundred steps of a chain need the memory of a few arrays, not of two hundred."""
    node: Expr = X
    for _ in range(200):
        node = build.maximum(node * 2 - 1, -5)
    program, points = concrete.compile([node]), np.ones(50_000)
    tracemalloc.start()
    program({X: points}, len(points))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * points.nbytes


def test_depth_does_not_matter() -> None:
    total = build.add(*(X for _ in range(10_000)))
    nested: Expr = X
    for _ in range(20_001):
        nested = e.Neg((nested,), nested.sort, nested.shape)
    assert at(total, 1.0) == [10_000]
    assert at(nested, 1.0) == [-1]


def test_a_program_is_used_again() -> None:
    program = concrete.compile([X + Y, build.const(1)])
    for size in (1, 3):
        values = program({X: np.ones(size), Y: np.ones(1)}, size)
        assert [value.tolist() for value in values] == [[2.0] * size, [1.0] * size]
    assert graph.variables([X + Y]) == [X, Y]


# Branches that run only where they are taken --------------------------------------------------------------------------


def selected(count: int = 3) -> tuple[Expr, Expr]:
    """One of several networks, by an enum; and the enum."""
    which = build.var("which", enum(*(f"N{i}" for i in range(count))))
    v = build.concat(X, Y)
    nets = [
        build.relu(build.affine(v, e.Matrix(np.full((2, 2), float(i + 1))), e.Matrix(np.array([0.0, float(i)]))))
        for i in range(count)
    ]
    return build.switch(which, [Fraction(i) for i in range(count)], nets), which


def test_a_network_runs_on_the_points_that_select_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    affine = concrete.MEANINGS[e.Affine]

    def count(node: e.Affine, args: list[concrete.Array], given: concrete.Array | None) -> concrete.Array:
        seen.append(len(args[0]))
        return affine(node, args, given)

    kind: type[Expr] = e.Affine
    monkeypatch.setitem(concrete.MEANINGS, kind, count)
    root, which = selected()
    inputs = {X: np.arange(6.0), Y: np.ones(6), which: np.array([0.0, 2, 2, 0, 2, 0])}
    (value,) = concrete.evaluate([root], inputs)
    assert sorted(seen) == [3, 3]
    np.testing.assert_allclose(value[:, 0], (np.arange(6) + 1) * np.array([1, 3, 3, 1, 3, 1]))
    seen.clear()
    concrete.evaluate([root], {X: np.arange(6.0), Y: np.ones(6), which: np.array([1.0])})
    assert seen == [6]


def test_many_points_of_a_branch_go_through_it_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "POINTS_PER_BLOCK", 4)
    root, which = selected()
    chosen = np.arange(30) % 3 % 2  # twenty points of one network, ten of another
    inputs = {X: np.arange(30.0), Y: np.ones(30), which: chosen.astype(float)}
    (value,) = concrete.evaluate([root], inputs)
    expected = (np.arange(30) + 1.0) * (chosen + 1)
    assert value.tolist() == np.stack([expected, expected + chosen], axis=1).tolist()


def test_what_others_need_is_computed_everywhere() -> None:
    root, which = selected(2)
    shared = root.args[1]
    inputs = {X: np.array([1.0, 2.0]), Y: np.zeros(2), which: np.array([1.0, 0.0])}
    both, first = concrete.evaluate([root, shared], inputs)
    assert first.tolist() == [[1, 1], [2, 2]]
    assert both.tolist() == [[2, 3], [2, 2]]


@given(st.data())
def test_a_batch_is_its_points(data: st.DataObject) -> None:
    """Evaluating many points at once is evaluating them one by one."""
    roots = data.draw(expressions())
    count = data.draw(st.integers(2, 4))
    drawn = [({**data.draw(points()), **data.draw(decisions(roots))}) for _ in range(count)]
    stacked = {node: np.array([as_float(point[node]) for point in drawn]) for node in drawn[0]}
    together = concrete.evaluate(roots, stacked)
    for number, point in enumerate(drawn):
        alone = concrete.evaluate(roots, {node: np.array([as_float(value)]) for node, value in point.items()})
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(many[number].astype(float), one[0].astype(float), rtol=1e-9)


def as_float(value: Fraction | tuple[Fraction, ...]) -> float | list[float]:
    return [float(item) for item in value] if isinstance(value, tuple) else float(value)


def test_wide_batches_of_small_layers_are_cut() -> None:
    """The product is the same however many rows are multiplied at a time."""
    rng = np.random.default_rng(0)
    v = build.var("v", shape=(30,), role=e.Role.INPUT)
    weight, bias, batch = rng.normal(size=(40, 30)), rng.normal(size=40), rng.normal(size=(1000, 30))
    (value,) = concrete.evaluate([build.affine(v, e.Matrix(weight), e.Matrix(bias))], {v: batch})
    np.testing.assert_allclose(value, batch @ weight.T + bias, rtol=1e-12, atol=1e-12)


def test_many_branches_compile_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning models have hundreds of branches over one choice, each with a large graph that others share."""
    layer = build.affine(build.concat(X, Y), e.Matrix(np.ones((1, 2))), e.Matrix(np.zeros(1)))
    network = build.component(layer, 0)
    below: Expr = Y
    for place in range(300):
        below = build.if_(below > place, below * 2 - X, below + Y)
    node = build.switch(X, [*map(Fraction, range(60)), None], [*(below + place for place in range(60)), network])
    looked_at = 0
    cone = program._cone

    def counted(*given: Any) -> list[Expr]:
        nonlocal looked_at
        looked_at += 1
        return cone(*given)

    monkeypatch.setattr(program, "_cone", counted)
    concrete.compile([node])
    assert looked_at == 1  # of the only branch with a network
