"""Random decision trees as plain data, and the same in the formats in which trees are saved."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

ML = "ai.onnx.ml"
COMPARE = {
    "BRANCH_LEQ": np.less_equal,
    "BRANCH_LT": np.less,
    "BRANCH_GTE": np.greater_equal,
    "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal,
    "BRANCH_NEQ": np.not_equal,
}


@dataclass(frozen=True)
class SampleSplit:
    """A comparison with a threshold, and what follows where it is true, and where it is not."""

    feature: int
    mode: str
    threshold: float
    yes: SampleTree
    no: SampleTree


SampleTree = SampleSplit | tuple[float, ...]  # a leaf has a value for each output


def single(value: float) -> float:
    """The float32 nearest to a number."""
    return float(np.float32(value))


def random_tree(
    rng: random.Random, depth: int, features: int, outputs: int, modes: Sequence[str] = ("BRANCH_LEQ",), low: float = -1
) -> SampleTree:
    if depth == 0 or rng.random() < 0.15:
        return tuple(single(rng.uniform(low, 1)) for _ in range(outputs))
    after = [random_tree(rng, depth - 1, features, outputs, modes, low) for _ in range(2)]
    threshold = single(rng.choice([rng.uniform(-2, 2), rng.randint(-2, 2)]))
    return SampleSplit(rng.randrange(features), rng.choice(modes), threshold, *after)


def value(tree: SampleTree, x: Sequence[float]) -> tuple[float, ...]:
    """What a tree says of a point."""
    while isinstance(tree, SampleSplit):
        tree = tree.yes if COMPARE[tree.mode](x[tree.feature], tree.threshold) else tree.no
    return tree


def total(trees: Sequence[SampleTree], x: Sequence[float]) -> list[float]:
    """The sum of what all trees say."""
    return [sum(values) for values in zip(*(value(tree, x) for tree in trees), strict=True)]


def attributes(trees: Sequence[SampleTree], kind: str) -> dict[str, Any]:
    """The attributes of an ONNX-ML operator with these trees; leaves are of a `target` or a `class`."""
    columns: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    }
    weights: dict[str, list[Any]] = {f"{kind}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for number, tree in enumerate(trees):
        waiting = [tree]
        for place, node in enumerate(waiting):  # grows on the way
            row: tuple[Any, ...]
            if isinstance(node, SampleSplit):
                row = (number, place, node.feature, node.mode, node.threshold, len(waiting), len(waiting) + 1)
                waiting += [node.yes, node.no]
            else:
                row = (number, place, 0, "LEAF", 0.0, 0, 0)
                for target, weight in enumerate(node):
                    entries: tuple[Any, ...] = (number, place, target, weight)
                    for name, item in zip(weights, entries, strict=True):
                        weights[name].append(item)
            for name, entry in zip(columns, row, strict=True):
                columns[name].append(entry)
    return {**columns, **weights}


def regressor(trees: Sequence[SampleTree], features: int, outputs: int, **more: Any) -> onnx.ModelProto:
    """A model of one TreeEnsembleRegressor."""
    given = {**attributes(trees, "target"), "n_targets": outputs, **more}
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, **given)
    return ml_model([node], features, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, outputs])])


def classifier(trees: Sequence[SampleTree], features: int, classes: int, **more: Any) -> onnx.ModelProto:
    """A model of one TreeEnsembleClassifier, with its label and its scores."""
    given = {**attributes(trees, "class"), "classlabels_int64s": list(range(classes)), **more}
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML, **given)
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [None])
    return ml_model(
        [node], features, [label, helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, classes])]
    )


def ml_model(nodes: Sequence[onnx.NodeProto], features: int, outputs: Sequence[onnx.ValueInfoProto]) -> onnx.ModelProto:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, features])
    graph = helper.make_graph(list(nodes), "trees", [given], list(outputs))
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def saved_by_xgboost(
    trees: Sequence[SampleTree],
    features: int,
    classes: int = 0,
    objective: str = "reg:squarederror",
    base: str = "5E-1",
) -> dict[str, Any]:
    """The document that XGBoost's `save_model` writes, as far as trees need it; trees take turns at the classes."""
    model = {"trees": [_columns(tree) for tree in trees], "tree_info": [i % max(1, classes) for i in range(len(trees))]}
    parameters = {"base_score": base, "num_class": str(classes), "num_feature": str(features), "num_target": "1"}
    booster = {"name": "gbtree", "model": model}
    learner = {"learner_model_param": parameters, "gradient_booster": booster, "objective": {"name": objective}}
    return {"learner": learner, "version": [2, 1, 0]}


def _columns(tree: SampleTree) -> dict[str, Any]:
    made: dict[str, list[Any]] = {
        name: [] for name in ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
    }
    waiting = [tree]
    for node in waiting:  # grows on the way
        if isinstance(node, SampleSplit):
            row = (len(waiting), len(waiting) + 1, node.feature, node.threshold, 0)
            waiting += [node.yes, node.no]
        else:
            row = (-1, -1, 0, node[0], 0)
        for column, entry in zip(made.values(), row, strict=True):
            column.append(entry)
    return {**made, "categories": [], "split_type": [0] * len(waiting), "id": 0}


def dumped_by_xgboost(tree: SampleTree, number: int = 0) -> dict[str, Any]:
    """A tree as XGBoost's `dump_model` writes it."""
    if not isinstance(tree, SampleSplit):
        return {"nodeid": number, "leaf": tree[0]}
    yes, no = 2 * number + 1, 2 * number + 2
    children = [dumped_by_xgboost(tree.yes, yes), dumped_by_xgboost(tree.no, no)]
    head = {"nodeid": number, "split": f"f{tree.feature}", "split_condition": tree.threshold}
    return {**head, "yes": yes, "no": no, "missing": yes, "children": children}
