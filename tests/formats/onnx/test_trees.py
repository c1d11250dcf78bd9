"""Tree ensembles of ONNX-ML: what onnxruntime says, exactly at thresholds, in bounds, and broken in many ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import vernal as vn
from tests.formats.samples import Array, compute, save, session
from tests.tree_samples import (
    COMPARE,
    ML,
    SampleSplit,
    SampleTree,
    attributes,
    classifier,
    ml_model,
    random_tree,
    regressor,
    single,
    total,
)
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.interpret import exact, interval
from vernal.interpret.value_sets import Range
from vernal.model.graph import order

FEATURES = 3


def drawn(seed: int, count: int, outputs: int, **more: Any) -> list[SampleTree]:
    rng = random.Random(seed)
    return [random_tree(rng, rng.randint(0, 5), FEATURES, outputs, **more) for _ in range(count)]


def runtime_version() -> tuple[int, ...]:
    return tuple(map(int, metadata.version("onnxruntime").split(".")[:2]))


def grid(seed: int = 5) -> Array:
    """Points that float32 holds, many of them at thresholds."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-2.5, 2.5, (60, FEATURES)).astype(np.float32)
    return np.where(rng.random(points.shape) < 0.3, np.round(points), points)


def agrees(made: onnx.ModelProto, folder: Path, output: str, tolerance: float = 2e-5) -> None:
    path, xs = save(made, folder), grid()
    (expected,) = session(path).run([output], {"x": xs})
    network = read_network(path)
    np.testing.assert_allclose(compute(network, xs.astype(np.float64)), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_regressors_agree_with_onnxruntime(seed: int, tmp_path: Path) -> None:
    trees = drawn(seed, [1, 3, 12, 40][seed], 2, modes=list(COMPARE) if seed % 2 else ["BRANCH_LEQ"])
    agrees(regressor(trees, FEATURES, 2, base_values=[0.5, -0.25]), tmp_path, "y")


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_aggregates_agree_with_onnxruntime(aggregate: str, tmp_path: Path) -> None:
    agrees(regressor(drawn(7, 5, 1), FEATURES, 1, aggregate_function=aggregate), tmp_path, "y")


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("classes", [2, 4])
def test_classifiers_agree_with_onnxruntime(classes: int, transform: str, tmp_path: Path) -> None:
    agrees(classifier(drawn(3, 9, classes), FEATURES, classes, post_transform=transform), tmp_path, "scores")


@pytest.mark.parametrize("low", [-1.0, 0.0])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_one_score_for_two_classes_agrees_with_onnxruntime(low: float, transform: str, tmp_path: Path) -> None:
    if low == 0 and transform == "LOGISTIC" and runtime_version() < (1, 28):
        pytest.skip("onnxruntime before 1.28 leaves the logistic function out where no weight is negative")
    made = classifier(drawn(3, 4, 1, low=low), FEATURES, 2, post_transform=transform)
    agrees(made, tmp_path, "scores")


def test_a_softmax_is_left_out_and_the_best_class_stays(tmp_path: Path) -> None:
    path = save(classifier(drawn(4, 6, 3), FEATURES, 3, post_transform="SOFTMAX"), tmp_path)
    network, xs = read_network(path), grid()
    assert network.softmax_dropped
    (expected,) = session(path).run(["scores"], {"x": xs})
    best = np.argmax(compute(network, xs.astype(np.float64)), axis=1)
    assert (np.take_along_axis(expected, best[:, None], 1)[:, 0] >= expected.max(axis=1) - 1e-6).all()


def test_scores_by_label_are_the_scores(tmp_path: Path) -> None:
    """What skl2onnx writes: the label through a Cast, the scores through a ZipMap."""
    made = classifier(drawn(4, 6, 3), FEATURES, 3)
    extra = [
        helper.make_node("Cast", ["label"], ["output_label"], to=TensorProto.INT64),
        helper.make_node("ZipMap", ["scores"], ["output_probability"], domain=ML, classlabels_int64s=[0, 1, 2]),
    ]
    names = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None])
        for name in ("output_label", "output_probability")
    ]
    whole = ml_model([*made.graph.node, *extra], FEATURES, names)
    plain, mapped = (read_network(save(one, tmp_path, f"{name}.onnx")) for name, one in (("a", made), ("b", whole)))
    assert mapped.output is plain.output


@pytest.mark.parametrize("passing", ["Identity", "ZipMap", "Mul"])
def test_a_softmax_is_left_out_where_scores_are_only_passed_on(passing: str, tmp_path: Path) -> None:
    """What exporters of gradient-boosted trees write: an Identity, a ZipMap or a product with one behind the scores."""
    made = classifier(drawn(4, 6, 3), FEATURES, 3, post_transform="SOFTMAX")
    more: dict[str, Any] = {"domain": ML, "classlabels_int64s": [0, 1, 2]} if passing == "ZipMap" else {}
    inputs = ["scores", "one"] if passing == "Mul" else ["scores"]
    extra = [
        helper.make_node("Identity", ["label"], ["same"]),
        helper.make_node(passing, inputs, ["probabilities"], **more),
        helper.make_node("Cast", ["same"], ["told"], to=TensorProto.INT64),
    ]
    names = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in ("told", "probabilities")]
    whole = ml_model([*made.graph.node, *extra], FEATURES, names)
    whole.graph.initializer.append(helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]))
    plain, passed = (read_network(save(one, tmp_path, f"{name}.onnx")) for name, one in (("a", made), ("b", whole)))
    assert passed.output is plain.output
    assert passed.softmax_dropped
    whole.graph.initializer[0].float_data[:] = [2.0]
    if passing == "Mul":
        with pytest.raises(UnsupportedOperator, match="SOFTMAX"):
            read_network(save(whole, tmp_path))


def test_a_scaler_before_trees_agrees_with_onnxruntime(tmp_path: Path) -> None:
    made = regressor(drawn(5, 4, 1), FEATURES, 1)
    made.graph.node[0].input[0] = "scaled"
    scaler = helper.make_node("Scaler", ["x"], ["scaled"], domain=ML, offset=[0.5, -0.25, 0.0], scale=[2.0, 0.5, 1.0])
    made.graph.node.insert(0, scaler)
    agrees(made, tmp_path, "y")


def test_thresholds_are_met_exactly(tmp_path: Path) -> None:
    """At a threshold `<=` is true, and a hair beside it not, whatever floats make of it."""
    third = single(1 / 3)
    network = read_network(save(regressor([SampleSplit(0, "BRANCH_LEQ", third, (1.0,), (2.0,))], 1, 1), tmp_path))
    at = Fraction(third)
    for x, wanted in ((at, 1), (at + Fraction(1, 10**30), 2), (at - Fraction(1, 10**30), 1)):
        (made,) = exact.evaluate([network.output], {network.inputs: (x,)})
        assert made == (Fraction(wanted),)


def test_bounds_contain_what_trees_say_and_are_met_by_one_tree(tmp_path: Path) -> None:
    trees = drawn(11, 6, 1)
    network = read_network(save(regressor(trees, FEATURES, 1), tmp_path))
    rng = np.random.default_rng(3)
    lower = rng.uniform(-2, 2, (20, FEATURES))
    upper = lower + rng.uniform(0, 1, (20, FEATURES))
    (found,) = interval.evaluate([network.output], {network.inputs: Range(lower, upper)})
    assert isinstance(found, Range)
    for share in rng.random((30, 20, FEATURES)):
        said = compute(network, lower + share * (upper - lower))
        assert (found.lower <= said).all()
        assert (said <= found.upper).all()


def test_a_hundred_trees_are_a_short_graph(tmp_path: Path) -> None:
    rng = random.Random(0)
    trees = [random_tree(rng, 6, FEATURES, 1) for _ in range(100)]
    network = read_network(save(regressor(trees, FEATURES, 1), tmp_path))
    assert len(order([network.output])) < 100
    xs = grid().astype(np.float64)
    np.testing.assert_allclose(compute(network, xs), [total(trees, x) for x in xs], atol=1e-9)


def test_a_loop_with_a_forest_is_decided(tmp_path: Path) -> None:
    """The policy turns round outside [-1, 1]; engines agree."""
    turn = SampleSplit(0, "BRANCH_LEQ", -1.0, (0.0, 1.0), SampleSplit(0, "BRANCH_GT", 1.0, (1.0, 0.0), (0.25, 0.5)))
    save(classifier([turn, turn], 1, 2), tmp_path, "forest.onnx")
    network = vn.read_network(tmp_path / "forest.onnx")
    loop = vn.System(
        state={"x": vn.real()},
        init={"x": vn.interval(-1, 1)},
        agents={"a": vn.agent(network, lambda s: [s.x])},
        step=lambda s: {"x": s.x + vn.if_(vn.eq(s.a, 1), 0.5, -0.5)},
    )
    for engine in ("auto", "paths", "milp"):
        assert vn.check(loop, "G[0,6] (abs(x) <= 1.6)", engine=engine).verdict is vn.HOLDS
        assert vn.check(loop, "G[0,6] (x <= 1.25)", engine=engine).verdict is vn.VIOLATED


def _changed(**entries: Any) -> Callable[[dict[str, Any]], None]:
    return lambda given: given.update(entries)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (_changed(nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"]), UnsupportedOperator, "BRANCH_MEMBER"),
        (_changed(nodes_truenodeids=[0, 0, 0]), FormatError, "not reached"),
        (_changed(nodes_falsenodeids=[9, 0, 0]), FormatError, "missing"),
        (_changed(nodes_falsenodeids=[1, 0, 0]), FormatError, "without a root|lead to one"),
        (_changed(nodes_featureids=[7, 0, 0]), FormatError, "reads input 7"),
        (_changed(nodes_values=[float("nan"), 0.0, 0.0]), FormatError, "NaN"),
        (_changed(nodes_values=[0.0]), FormatError, "thresholds"),
        (_changed(target_ids=[0, 5]), FormatError, "output 5"),
        (_changed(n_targets=0), FormatError, "no output"),
        (_changed(post_transform="PROBIT"), UnsupportedOperator, "PROBIT"),
        (_changed(aggregate_function="MEDIAN"), UnsupportedOperator, "MEDIAN"),
        (_changed(base_values=[1.0, 2.0]), FormatError, "base values"),
        (_changed(base_values=[1.0, 2.0], n_targets=2), UnsupportedOperator, "no leaf"),  # onnxruntime says 0 there
    ],
)
def test_broken_trees_are_refused(
    change: Callable[[dict[str, Any]], None], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {
        **attributes([SampleSplit(0, "BRANCH_LEQ", 0.0, (1.0,), (2.0,))], "target"),
        "n_targets": 1,
    }
    change(given)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, **given)
    made = ml_model([node], 1, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])])
    with pytest.raises(kind, match=words):
        read_network(save(made, tmp_path))
