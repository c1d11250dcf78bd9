"""Gradient-boosted trees of XGBoost, from the JSON that it saves: the raw scores, before any transformation.

    booster.save_model("policy.json")       the whole model: classes, base score, trees
    booster.dump_model("policy.json", dump_format="json")      trees alone, of one output and without a base score

A split takes its left branch where `x < condition`. Scores are sums of leaves, one for each class (what `output_margin`
gives); probabilities are a function of these that keeps their order. Missing values do not exist here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.json_text import parsed_json
from vernal.formats.limits import DEFAULT, Allowance, ReadLimits
from vernal.formats.tree_ensembles import DecisionTree, TreeEnsemble, TreeLeaf, TreeSplit
from vernal.model import build
from vernal.model.network import Network, network_input

LOGISTIC = ("binary:logistic", "reg:logistic", "binary:logitraw")
PLAIN = (
    "reg:squarederror",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "multi:softmax",
    "multi:softprob",
    "rank:pairwise",
)
FEATURE = re.compile(r"f(\d{1,6})")
MAX_FEATURES = 2**16
MAX_OUTPUTS = 2**12
MAX_ENTRIES = 2**22  # of the JSON text
LEAF = -1  # the child of a leaf


def parse_xgboost(data: bytes, name: str, limits: ReadLimits = DEFAULT) -> Network:
    """The network of a file's bytes: one output for each class, or one."""
    document = parsed_json(data.decode("utf-8"), "the trees", MAX_ENTRIES)
    if isinstance(document, list):
        ensemble, features, base = *_dumped(document), [Fraction(0)]
    elif isinstance(document, dict) and "learner" in document:
        ensemble, features, base = _saved(document)
    elif isinstance(document, dict) and "automaton" in document:
        raise FormatError(
            "a hybrid automaton, not a network; it is asked by vernal check, and written as .xml or .json"
        )
    else:
        raise FormatError("not a model of XGBoost: it has no trees and no learner; save_model writes one")
    ensemble.check(features, Allowance(limits.entries, limits.tick))
    inputs = network_input(features)
    made = ensemble.total(inputs)
    if len(base) not in (1, ensemble.outputs):
        raise FormatError(f"it has {len(base)} base scores for {ensemble.outputs} outputs")
    added = build.concat(*map(build.const, base)) if len(base) > 1 else base[0]
    return Network(name, inputs, build.add(made, added) if any(base) else made)


# Whole models ---------------------------------------------------------------------------------------------------------


def _saved(document: Mapping[str, Any]) -> tuple[TreeEnsemble, int, list[Fraction]]:
    learner = _table(document, "learner")
    parameters, booster = _table(learner, "learner_model_param"), _table(learner, "gradient_booster")
    if booster.get("name") != "gbtree":
        raise UnsupportedOperator(f"the booster {str(booster.get('name'))[:40]!r} is not read; gbtree is")
    features, classes = _count(parameters, "num_feature"), max(1, _count(parameters, "num_class"))
    outputs = max(classes, _count(parameters, "num_target", 1))  # a tree for each, in turn
    if not 0 < features <= MAX_FEATURES or not outputs <= MAX_OUTPUTS:
        raise UnsupportedOperator(f"a model of {features} features and {outputs} outputs is not read")
    model = _table(booster, "model")
    trees, info = _list(model, "trees"), _list(model, "tree_info")
    if not trees or len(info) != len(trees):
        raise FormatError("it has no trees, or not one class for each")
    made = tuple(_tree(tree, _whole(target, "tree_info")) for tree, target in zip(trees, info, strict=True))
    objective = str(_table(learner, "objective").get("name"))
    texts = str(parameters.get("base_score", "0")).strip("[]").split(",")
    return TreeEnsemble(made, outputs), features, [_base(text, objective) for text in texts[: MAX_OUTPUTS + 1]]


def _base(text: str, objective: str) -> Fraction:
    """What is added to a score: the base score, of a logistic objective its log-odds as a float32."""
    try:
        given = np.float32(float(text))
    except ValueError:
        raise FormatError(f"the base score {text[:40]!r} is no number") from None
    if not np.isfinite(given):
        raise FormatError("the base score is not finite")
    if objective in PLAIN:
        return Fraction(float(given))
    if objective not in LOGISTIC:
        raise UnsupportedOperator(
            f"the objective {objective[:40]!r} is not read; read are {', '.join((*PLAIN, *LOGISTIC))}"
        )
    if objective == "binary:logitraw":
        return Fraction(float(given))
    if not 0 < given < 1:
        raise FormatError(f"the base score {text[:40]} of a logistic objective is no probability")
    return Fraction(float(-np.log(np.float32(1) / given - np.float32(1))))


def _tree(tree: Any, target: int) -> DecisionTree:
    """One tree, its columns side by side; nodes that pruning left behind are not counted."""
    if not isinstance(tree, dict):
        raise FormatError("a tree is no object")
    if tree.get("categories") or any(tree.get("split_type") or []):
        raise UnsupportedOperator("a split by categories is not read; train with numbers only")
    left, right = (_integers(tree, key) for key in ("left_children", "right_children"))
    features, conditions = _integers(tree, "split_indices"), _floats(tree, "split_conditions")
    if not left or len({len(left), len(right), len(features), len(conditions)}) > 1:
        raise FormatError("a tree has columns that are not equally long")
    order, place = [0], {0: 0}
    for number in order:  # grows on the way
        for child in (left[number], right[number]):
            if child == LEAF:
                continue
            if not 0 < child < len(left) or child in place:
                raise FormatError("a tree has a node that is missing, or that several lead to")
            place[child] = len(order)
            order.append(child)
    made: list[TreeSplit | TreeLeaf] = []
    for number in order:
        if (left[number] == LEAF) != (right[number] == LEAF):
            raise FormatError("a tree has a node with one child")
        if left[number] == LEAF:
            made.append(TreeLeaf((conditions[number],)))
        else:
            after = place[left[number]], place[right[number]]
            made.append(TreeSplit(features[number], "<", conditions[number], *after))
    return DecisionTree(tuple(made), (target,))


# Dumped trees ---------------------------------------------------------------------------------------------------------


def _dumped(trees: Sequence[Any]) -> tuple[TreeEnsemble, int]:
    """Nested trees; they do not say how many classes there are, so there is one output."""
    if not trees:
        raise FormatError("it has no trees")
    made = tuple(_nested(tree) for tree in trees)
    used = [node.feature for tree in made for node in tree.nodes if isinstance(node, TreeSplit)]
    if max(used, default=0) >= MAX_FEATURES:
        raise FormatError(f"it reads more than {MAX_FEATURES:,} features")
    return TreeEnsemble(made, 1), max(used, default=0) + 1


def _nested(tree: Any) -> DecisionTree:
    waiting, made = [tree], list[TreeSplit | TreeLeaf]()
    for node in waiting:  # grows on the way
        if not isinstance(node, dict):
            raise FormatError("a tree is no object")
        if "leaf" in node:
            made.append(TreeLeaf((_float(node["leaf"], "leaf"),)))
            continue
        children = {child.get("nodeid"): child for child in _list(node, "children") if isinstance(child, dict)}
        yes, no = children.get(node.get("yes")), children.get(node.get("no"))
        if yes is None or no is None or yes is no:
            raise FormatError("a tree has a node without two children")
        condition = _float(node.get("split_condition"), "split_condition")
        made.append(TreeSplit(_feature(node.get("split")), "<", condition, len(waiting), len(waiting) + 1))
        waiting += [yes, no]
    return DecisionTree(tuple(made), (0,))


def _feature(name: Any) -> int:
    found = FEATURE.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise UnsupportedOperator(f"a feature is called {str(name)[:40]!r}; read are f0, f1, ...: train without names")
    return int(found[1])


# Entries --------------------------------------------------------------------------------------------------------------


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise FormatError(f"{key!r} is missing, or no object")
    return value


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise FormatError(f"{key!r} is missing, or no list")
    return value


def _count(document: Mapping[str, Any], key: str, default: int = 0) -> int:
    """A count, which XGBoost writes as text."""
    value = document.get(key, default)
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 9:
        raise FormatError(f"{key!r} is no count: {text[:40]!r}")
    return int(text)


def _integers(tree: Mapping[str, Any], key: str) -> list[int]:
    return [_whole(item, key) for item in _list(tree, key)]


def _whole(item: Any, key: str) -> int:
    if isinstance(item, bool) or not isinstance(item, int):
        raise FormatError(f"{key!r} has an entry that is no integer")
    return item


def _floats(tree: Mapping[str, Any], key: str) -> list[Fraction]:
    return [_float(item, key) for item in _list(tree, key)]


def _float(item: Any, key: str) -> Fraction:
    """The float32 that a number stands for: XGBoost writes as many digits as tell them apart."""
    if isinstance(item, bool) or not isinstance(item, int | float) or not isfinite(item):
        raise FormatError(f"{key!r} has an entry that is no finite number")
    with np.errstate(over="ignore"):
        value = np.float32(item)
    if not np.isfinite(value):
        raise FormatError(f"{key!r} has a number beyond float32")
    return Fraction(float(value))
