"""Gradient-boosted trees of XGBoost: both kinds of JSON against plain trees, and what is broken or not read."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import compute
from tests.tree_samples import SampleTree, dumped_by_xgboost, random_tree, saved_by_xgboost, total, value
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network

FEATURES = 3
POINTS = np.random.default_rng(2).uniform(-2.5, 2.5, (50, FEATURES)).round(1)


def drawn(count: int, seed: int = 0) -> list[SampleTree]:
    rng = random.Random(seed)
    return [random_tree(rng, 4, FEATURES, 1, modes=["BRANCH_LT"]) for _ in range(count)]


def written(document: Any, folder: Path) -> Path:
    file = folder / "trees.json"
    file.write_text(json.dumps(document))
    return file


def test_a_saved_model_is_the_sum_of_its_trees_and_the_base_score(tmp_path: Path) -> None:
    trees = drawn(8)
    network = read_network(written(saved_by_xgboost(trees, FEATURES), tmp_path))
    expected = [[total(trees, x)[0] + 0.5] for x in POINTS]
    np.testing.assert_allclose(compute(network, POINTS), expected, atol=1e-12)


def test_classes_take_turns(tmp_path: Path) -> None:
    trees = drawn(9, seed=1)
    network = read_network(written(saved_by_xgboost(trees, FEATURES, 3, "multi:softprob"), tmp_path))
    expected = [[sum(value(tree, x)[0] for tree in trees[k::3]) + 0.5 for k in range(3)] for x in POINTS]
    np.testing.assert_allclose(compute(network, POINTS), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["num_class", "num_target"])
def test_every_output_may_have_a_base_score(kind: str, tmp_path: Path) -> None:
    """As XGBoost 3 writes it, of classes and of regressions of several targets."""
    trees = drawn(6, seed=1)
    document = saved_by_xgboost(trees, FEATURES, 2, base="[5E-1,-2.5E-1]")
    document["learner"]["learner_model_param"] |= {"num_class": "0", "num_target": "1"} | {kind: "2"}
    expected = [[sum(value(tree, x)[0] for tree in trees[k::2]) + (0.5, -0.25)[k] for k in range(2)] for x in POINTS]
    np.testing.assert_allclose(compute(read_network(written(document, tmp_path)), POINTS), expected, atol=1e-12)


def test_the_base_score_of_a_logistic_objective_is_a_probability(tmp_path: Path) -> None:
    trees = drawn(2)
    network = read_network(written(saved_by_xgboost(trees, FEATURES, 0, "binary:logistic", "2.5E-1"), tmp_path))
    expected = [[total(trees, x)[0] + math.log(0.25 / 0.75)] for x in POINTS]
    np.testing.assert_allclose(compute(network, POINTS), expected, atol=1e-6)


def test_a_dump_has_the_trees_alone(tmp_path: Path) -> None:
    trees = drawn(5, seed=2)
    network = read_network(written([dumped_by_xgboost(tree) for tree in trees], tmp_path))
    np.testing.assert_allclose(compute(network, POINTS), [total(trees, x) for x in POINTS], atol=1e-12)


def _at(*path: Any, entry: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = entry

    return change


TREE = ("learner", "gradient_booster", "model", "trees", 0)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (_at("learner", entry=3), FormatError, "learner"),
        (_at("learner", "gradient_booster", "name", entry="dart"), UnsupportedOperator, "dart"),
        (_at("learner", "objective", "name", entry="survival:cox"), UnsupportedOperator, "survival:cox"),
        (_at("learner", "learner_model_param", "num_feature", entry="-3"), FormatError, "count"),
        (_at("learner", "learner_model_param", "num_feature", entry="1"), FormatError, "reads input"),
        (_at("learner", "learner_model_param", "base_score", entry="warm"), FormatError, "base score"),
        (_at("learner", "learner_model_param", "base_score", entry="nan"), FormatError, "finite"),
        (_at("learner", "learner_model_param", "base_score", entry="[1,2]"), FormatError, "2 base scores for 1"),
        (_at("learner", "gradient_booster", "model", "tree_info", entry=[]), FormatError, "one class for each"),
        (_at("learner", "gradient_booster", "model", "tree_info", entry=[0, 1, 0]), FormatError, "beyond the 1"),
        (_at(*TREE, "left_children", 0, entry=0), FormatError, "several lead to|missing"),
        (_at(*TREE, "right_children", 0, entry=-1), FormatError, "one child"),
        (_at(*TREE, "split_conditions", 0, entry=1e300), FormatError, "float32"),
        (_at(*TREE, "split_conditions", 0, entry="x"), FormatError, "finite number"),
        (_at(*TREE, "split_type", 0, entry=1), UnsupportedOperator, "categories"),
        (_at(*TREE, "split_indices", entry=[]), FormatError, "equally long"),
    ],
)
def test_broken_models_are_refused(
    change: Callable[[dict[str, Any]], None], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    document = saved_by_xgboost(drawn(3, seed=4), FEATURES)
    change(document)
    with pytest.raises(kind, match=words):
        read_network(written(document, tmp_path))


@pytest.mark.parametrize("document", [{}, [], [3], [{"leaf": True}], [{"nodeid": 0, "split": "age", "children": []}]])
def test_what_is_no_model_is_refused(document: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read_network(written(document, tmp_path))
