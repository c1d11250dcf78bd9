"""Tree ensembles of ONNX-ML as expressions: what scikit-learn, XGBoost and LightGBM are exported to.

The values of a classifier are its scores; its label follows from them, and is not computed. A Softmax after the scores
keeps their order and is left out at the very end, as the operator of that name is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from vernal.formats.layers import check_finite, constant, rationals
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.formats.tree_ensembles import DecisionTree, TreeEnsemble, TreeLeaf, TreeSplit
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr, Function

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

ML_DOMAIN = "ai.onnx.ml"
CLASSIFIER = "TreeEnsembleClassifier"
PASSING = ("Identity", "ZipMap", "Mul")  # the last by one
LEAF = b"LEAF"
MODES: dict[bytes, tuple[str, bool]] = {  # by mode: the comparison, and whether its true branch is taken where it fails
    b"BRANCH_LEQ": ("<=", False),
    b"BRANCH_LT": ("<", False),
    b"BRANCH_GTE": ("<", True),
    b"BRANCH_GT": ("<=", True),
    b"BRANCH_EQ": ("==", False),
    b"BRANCH_NEQ": ("==", True),
}
LeafKey = tuple[int, int]  # tree and node
LeafWeights = Mapping[LeafKey, Mapping[int, Fraction]]


def _regressor(call: NodeCall) -> OnnxValue:
    """Sums, means, minima or maxima of what the trees give."""
    x = call.data()
    outputs = call.integer("n_targets", 1)
    ensemble = _ensemble(call, "target", outputs)
    ensemble.check(x.expr.size, call.allowance)
    aggregate = call.attributes.get("aggregate_function", b"SUM")
    if aggregate not in AGGREGATES:
        raise call.unsupported(f"aggregates its trees by {_word(aggregate)}; read are SUM, AVERAGE, MIN and MAX")
    made = _with_base(call, AGGREGATES[aggregate](ensemble, x.expr), ensemble)
    return Tensor(_transformed(call, made), (1, outputs))


def _classifier(call: NodeCall) -> tuple[OnnxValue, ...]:
    """The label, which is not read, and the scores: one for each class, also where the file has one for two."""
    x = call.data()
    labels = call.attributes.get("classlabels_int64s") or call.attributes.get("classlabels_strings") or []
    if not isinstance(labels, list) or len(labels) < 2:
        raise call.wrong("wants at least two class labels")
    ensemble = _ensemble(call, "class", len(labels))
    ensemble.check(x.expr.size, call.allowance)
    used = {target for tree in ensemble.trees for target in tree.targets}
    if len(labels) == 2 and len(used) == 1:
        scores = _of_two(call, ensemble, x.expr)
    else:
        scores = _transformed(call, _with_base(call, ensemble.total(x.expr), ensemble))
    made = Tensor(scores, (1, len(labels)))
    return made, made  # whoever wants the label compares the scores


def _of_two(call: NodeCall, ensemble: TreeEnsemble, x: Expr) -> Expr:
    """One score for two classes: a probability where no weight is negative and nothing is transformed.

    Else it is positive for the second class. So onnxruntime has it; the standard does not say.
    """
    target = next(iter(ensemble.trees[0].targets))
    score = build.component(ensemble.total(x), target)
    base = _numbers(call, "base_values")
    if base.size not in (0, 1):
        raise call.unsupported("has one score for two classes, and two base values")
    if base.size:
        score = build.add(score, rationals(base)[0])
    transform = call.attributes.get("post_transform", b"NONE")
    if transform not in (b"NONE", b"LOGISTIC"):
        raise call.unsupported(f"has one score for two classes, and ends with {_word(transform)}")
    leaves = (leaf for tree in ensemble.trees for leaf in tree.nodes if isinstance(leaf, TreeLeaf))
    if transform == b"NONE" and all(value >= 0 for leaf in leaves for value in leaf.values):
        return build.concat(build.sub(1, score), score)
    return _transformed(call, build.concat(build.neg(score), score))


def _with_base(call: NodeCall, made: Expr, ensemble: TreeEnsemble) -> Expr:
    """With base values; where no leaf adds to an output, runtimes leave them out, or do not."""
    base, outputs = _numbers(call, "base_values"), ensemble.outputs
    if not base.size:
        return made
    if base.size != outputs:
        raise call.wrong(f"has {base.size} base values for {outputs} outputs")
    used = {target for tree in ensemble.trees for target in tree.targets}
    unused = [target for target in range(outputs) if base[target] and target not in used]
    if unused:
        raise call.unsupported(f"has a base value for output {unused[0]}, to which no leaf adds: was it exported so?")
    return build.add(made, build.concat(constant(base)))


def _transformed(call: NodeCall, made: Expr) -> Expr:
    """The transformation at the end: none, a sigmoid, or a Softmax that is left out where nothing else follows."""
    transform = call.attributes.get("post_transform", b"NONE")
    if transform == b"NONE":
        return made
    if transform == b"LOGISTIC":
        return build.apply(Function.SIGMOID, made)
    if transform == b"SOFTMAX" and call.last:
        return made
    raise call.unsupported(f"ends with {_word(transform)}; read are NONE, LOGISTIC and, at the very end, SOFTMAX")


def is_softened(call: NodeCall) -> bool:
    """Whether a Softmax was left out after trees."""
    return call.op in TREES and call.attributes.get("post_transform") == b"SOFTMAX"


def scores_alone(graph: GraphProto) -> str | None:
    """The output to read of a classifier that gives its label beside the scores: the one that is no label."""
    labels = {node.output[0] for node in graph.node if node.op_type == CLASSIFIER and node.output}
    for node in graph.node:
        if node.op_type in ("Cast", "Identity", "Reshape", "ArrayFeatureExtractor") and labels & set(node.input):
            labels |= set(node.output)
    others = [item.name for item in graph.output if item.name not in labels]
    return others[0] if len(others) == 1 and len(graph.output) > 1 else None


def keep_scores(graph: GraphProto, output: str, ones: Collection[str]) -> None:
    """Leave out what computes labels alone, and what passes the scores on: they are at the very end then.

    `ones` are constants that are 1: LightGBM's exporter multiplies by one.
    """
    needed = {output}
    for node in reversed(list(graph.node)):
        if needed.isdisjoint(node.output):
            graph.node.remove(node)
        needed.update(() if needed.isdisjoint(node.output) else node.input)
    while (passed := _passed_on(graph, output, ones)) is not None:
        graph.node.remove(passed)
        for node in graph.node:
            node.output[:] = [output if name == passed.input[0] else name for name in node.output]


def _passed_on(graph: GraphProto, output: str, ones: Collection[str]) -> NodeProto | None:
    """The node that makes an output of another's, which nothing else reads, and leaves it as it is."""
    found = [node for node in graph.node if output in node.output]
    if len(found) != 1 or found[0].op_type not in PASSING:
        return None
    others = found[0].input[1:]
    if found[0].op_type == "Mul" and not (len(others) == 1 and others[0] in ones):
        return None
    scores = found[0].input[0]
    readers = [node for node in graph.node if scores in node.input]
    return found[0] if len(readers) == 1 and any(scores in node.output for node in graph.node) else None


def _word(value: object) -> str:
    return value.decode("utf-8", "replace")[:40] if isinstance(value, bytes) else repr(value)[:40]


def _sum(ensemble: TreeEnsemble, x: Expr) -> Expr:
    return ensemble.total(x)


def _average(ensemble: TreeEnsemble, x: Expr) -> Expr:
    return build.div(ensemble.total(x), len(ensemble.trees))


def _extreme(pick: Callable[..., Expr]) -> Callable[[TreeEnsemble, Expr], Expr]:
    """The least or the greatest of what the trees give to each output."""

    def made(ensemble: TreeEnsemble, x: Expr) -> Expr:
        roots = ensemble.roots(x)
        places: dict[int, list[int]] = {}
        for place, target in enumerate(target for tree in ensemble.trees for target in tree.targets):
            places.setdefault(target, []).append(place)
        parts = [
            pick(*(build.component(roots, place) for place in places[target])) if target in places else build.const(0)
            for target in range(ensemble.outputs)
        ]
        return build.concat(*parts)

    return made


AGGREGATES: dict[object, Callable[[TreeEnsemble, Expr], Expr]] = {
    b"SUM": _sum,
    b"AVERAGE": _average,
    b"MIN": _extreme(build.minimum),
    b"MAX": _extreme(build.maximum),
}


# Attributes -----------------------------------------------------------------------------------------------------------


def _ensemble(call: NodeCall, kind: str, outputs: int) -> TreeEnsemble:
    """The trees; `kind` is what the weights of leaves are called after, target or class."""
    if outputs < 1:
        raise call.wrong("has no output")
    trees, nodes, features, yes, no = (
        _whole(call, f"nodes_{name}") for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
    )
    modes, thresholds = call.attributes.get("nodes_modes"), _numbers(call, "nodes_values")
    if not isinstance(modes, list) or len({len(nodes), len(modes), *map(len, (trees, features, yes, no))}) > 1:
        raise call.wrong("has lists of nodes that are not equally long")
    if thresholds.size != len(nodes):
        raise call.wrong(f"has {thresholds.size} thresholds for {len(nodes)} nodes")
    weights = _weights(call, kind, outputs)
    rows: dict[int, list[int]] = {}
    for row, tree in enumerate(trees):
        rows.setdefault(tree, []).append(row)
    if not rows:
        raise call.wrong("has no tree")
    exact = rationals(thresholds)
    splits = {
        row: _split(call, modes[row], features[row], exact[row], (yes[row], no[row])) for row in range(len(nodes))
    }
    return TreeEnsemble(
        tuple(_tree(call, tree, {nodes[row]: splits[row] for row in own}, weights) for tree, own in rows.items()),
        outputs,
    )


def _split(call: NodeCall, mode: object, feature: int, threshold: Fraction, after: tuple[int, int]) -> TreeSplit | None:
    """A node as the file has it, with children by their own numbers; None for a leaf."""
    if mode == LEAF:
        return None
    if mode not in MODES:
        raise call.unsupported(
            f"has a node of the mode {_word(mode)}; read are {', '.join(map(_word, MODES))} and LEAF"
        )
    assert isinstance(mode, bytes)
    op, swapped = MODES[mode]
    yes, no = reversed(after) if swapped else after
    return TreeSplit(feature, op, threshold, yes, no)


def _tree(call: NodeCall, tree: int, nodes: Mapping[int, TreeSplit | None], weights: LeafWeights) -> DecisionTree:
    """One tree, its nodes numbered anew from the root on: the node that no other leads to."""
    children = {child for node in nodes.values() if node is not None for child in (node.yes, node.no)}
    roots = [number for number in nodes if number not in children]
    if len(roots) != 1 or not children <= nodes.keys():
        raise call.wrong(f"has a tree ({tree}) without a root, or with a node that is missing")
    order, place = [roots[0]], {roots[0]: 0}
    for number in order:  # grows on the way
        node = nodes[number]
        for child in () if node is None else (node.yes, node.no):
            if child in place:
                raise call.wrong(f"has a tree ({tree}) in which several nodes lead to one")
            place[child] = len(order)
            order.append(child)
    if len(order) < len(nodes):
        raise call.wrong(f"has a tree ({tree}) with nodes that are not reached from its root")
    leaves = [number for number in order if nodes[number] is None]
    targets = tuple(sorted({target for number in leaves for target in weights.get((tree, number), {})})) or (0,)
    made = [_numbered(nodes[number], place, weights.get((tree, number), {}), targets) for number in order]
    return DecisionTree(tuple(made), targets)


def _numbered(
    node: TreeSplit | None, place: Mapping[int, int], weights: Mapping[int, Fraction], targets: Sequence[int]
) -> TreeSplit | TreeLeaf:
    if node is None:
        return TreeLeaf(tuple(weights.get(target, Fraction(0)) for target in targets))
    return TreeSplit(node.feature, node.op, node.threshold, place[node.yes], place[node.no])


def _weights(call: NodeCall, kind: str, outputs: int) -> LeafWeights:
    """By tree and node, what a leaf adds to which output; entries for the same one add up."""
    trees, nodes, targets = (_whole(call, f"{kind}_{name}") for name in ("treeids", "nodeids", "ids"))
    values = _numbers(call, f"{kind}_weights")
    if len({len(trees), len(nodes), len(targets), values.size}) > 1:
        raise call.wrong("has lists of weights that are not equally long")
    found: dict[LeafKey, dict[int, Fraction]] = {}
    for tree, node, target, value in zip(trees, nodes, targets, rationals(values), strict=True):
        if not 0 <= target < outputs:
            raise call.wrong(f"has a weight for output {target}, and there are {outputs}")
        own = found.setdefault((tree, node), {})
        own[target] = own.get(target, Fraction(0)) + value
    return found


def _whole(call: NodeCall, name: str) -> list[int]:
    value = call.attributes.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
        raise call.wrong(f"wants integers as its attribute {name!r}")
    return value


def _numbers(call: NodeCall, name: str) -> Array:
    """Floats, or as a tensor doubles; both are rational numbers."""
    value = call.attributes.get(f"{name}_as_tensor", call.attributes.get(name, []))
    array = np.asarray(value, dtype=np.float64) if isinstance(value, list | np.ndarray) else None
    if array is None or array.ndim > 1:
        raise call.wrong(f"wants numbers as its attribute {name!r}")
    check_finite(array, f"{name!r} of {call}")
    return array


def _scaler(call: NodeCall) -> OnnxValue:
    """(x - offset) * scale, what a StandardScaler is exported to."""
    x = call.data()
    shifted = x.expr
    for name, combine in (("offset", build.sub), ("scale", build.mul)):
        numbers = _numbers(call, name)
        if numbers.size not in (0, 1, x.expr.size):
            raise call.wrong(f"has {numbers.size} numbers as its attribute {name!r} for {x.expr.size} inputs")
        if numbers.size:
            shifted = combine(shifted, rationals(numbers)[0] if numbers.size == 1 else build.concat(constant(numbers)))
    return Tensor(shifted, x.shape)


def _zip_map(call: NodeCall) -> OnnxValue:
    """Scores by label are the scores."""
    return call.data()


NODES = tuple(
    f"nodes_{name}"
    for name in (
        "treeids",
        "nodeids",
        "featureids",
        "modes",
        "truenodeids",
        "falsenodeids",
        "values",
        "values_as_tensor",
    )
)
UNREAD = ("nodes_hitrates", "nodes_hitrates_as_tensor", "nodes_missing_value_tracks_true")  # for trainers, and for NaN
COMMON = (*NODES, *UNREAD, "base_values", "base_values_as_tensor", "post_transform")


def _leaves(kind: str) -> tuple[str, ...]:
    return tuple(f"{kind}_{name}" for name in ("treeids", "nodeids", "ids", "weights", "weights_as_tensor"))


TREES: dict[str, tuple[Callable[[NodeCall], OnnxValue | tuple[OnnxValue, ...]], tuple[str, ...]]] = {
    "TreeEnsembleRegressor": (_regressor, (*COMMON, *_leaves("target"), "n_targets", "aggregate_function")),
    CLASSIFIER: (_classifier, (*COMMON, *_leaves("class"), "classlabels_int64s", "classlabels_strings")),
    "Scaler": (_scaler, ("offset", "scale")),
    "ZipMap": (_zip_map, ("classlabels_int64s", "classlabels_strings")),
}
