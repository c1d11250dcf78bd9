"""Decision trees and sums of them as expressions: all trees at once, level by level.

A tree is a nest of `if`s over thresholds. Written out node by node, a hundred trees are tens of thousands of nodes that
every pass walks through; here all splits of one depth, over all trees, are one componentwise `if` on vectors, so the
graph is as long as the deepest tree. Each of its components is the value of the subtree below one split: bounds unite
what both branches may give only where the split is open. Equal splits are one comparison.

Thresholds and leaves are the floats of the file, taken exactly, and inputs are real numbers. A program that evaluates
trees rounds its inputs to float32 before it compares: it may take the other branch where an input is within that
rounding of a threshold. What is missing (NaN) does not exist here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.errors import FormatError
from vernal.formats.layers import check_width
from vernal.formats.limits import Allowance
from vernal.model import build
from vernal.model.expr import Expr, Matrix

MAX_NODES = 2**20  # of all trees together


@dataclass(frozen=True, slots=True)
class TreeSplit:
    """A node that compares: `input feature OP threshold` leads to the node `yes`, else to `no`."""

    feature: int
    op: str  # <=, < or ==
    threshold: Fraction
    yes: int
    no: int


@dataclass(frozen=True, slots=True)
class TreeLeaf:
    """A node with a value for each of the tree's targets."""

    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """Nodes by number, the first of them the root, and the outputs that a leaf adds to."""

    nodes: tuple[TreeSplit | TreeLeaf, ...]
    targets: tuple[int, ...]

    def check(self, features: int, outputs: int) -> None:
        """Refuse what is no tree: every node but the root is the child of exactly one other."""
        children = [child for node in self.nodes if isinstance(node, TreeSplit) for child in (node.yes, node.no)]
        if sorted(children) != list(range(1, len(self.nodes))):
            raise FormatError("a decision tree has a node that is missing, or that several lead to")
        for node in self.nodes:
            if isinstance(node, TreeSplit) and not 0 <= node.feature < features:
                raise FormatError(f"a decision tree reads input {node.feature}, and there are {features}")
            if isinstance(node, TreeLeaf) and len(node.values) != len(self.targets):
                raise FormatError("a leaf of a decision tree has not as many values as others")
        if not all(0 <= target < outputs for target in self.targets):
            raise FormatError(f"a decision tree adds to an output beyond the {outputs} there are")


@dataclass(frozen=True)
class TreeEnsemble:
    """Trees over one vector of inputs, each of which adds to some of the outputs."""

    trees: tuple[DecisionTree, ...]
    outputs: int

    def check(self, features: int, allowance: Allowance) -> None:
        """Refuse what is no ensemble, or too large, before anything is made of it."""
        count = sum(len(tree.nodes) for tree in self.trees)
        if count > MAX_NODES:
            raise FormatError(f"its trees have {count:,} nodes; at most {MAX_NODES:,} are read")
        allowance.take(sum(len(tree.nodes) * max(1, len(tree.targets)) for tree in self.trees))
        for tree in self.trees:
            tree.check(features, self.outputs)

    def roots(self, x: Expr) -> Expr:
        """What every tree adds to each of its targets, tree after tree, as one vector."""
        below: Expr | None = None
        for level in reversed(list(self._levels())):
            below = _level(level, x, self._splits(x), below)
        assert below is not None
        return below

    def total(self, x: Expr, weight: float = 1.0) -> Expr:
        """The sum of what all trees give, output by output, each times the weight."""
        targets = [target for tree in self.trees for target in tree.targets]
        check_width((self.outputs, len(targets)))
        matrix = np.zeros((self.outputs, len(targets)))
        matrix[targets, range(len(targets))] = weight
        return build.affine(self.roots(x), Matrix(matrix), Matrix(np.zeros(self.outputs)))

    def _levels(self) -> Iterator[list[_TreeNode]]:
        """The nodes by depth; the children of a level's splits stand in the next one, side by side."""
        level = [_TreeNode(tree, 0) for tree in self.trees]
        while level:
            yield level
            splits = [(place.tree, place.node) for place in level]
            level = [
                _TreeNode(tree, child)
                for tree, node in splits
                if isinstance(node, TreeSplit)
                for child in (node.yes, node.no)
            ]

    def _splits(self, x: Expr) -> dict[tuple[str, int, Fraction], tuple[Expr, int]]:
        """Every comparison there is, once, as a component of one vector for each operator."""
        found = dict.fromkeys(
            (node.op, node.feature, node.threshold)
            for tree in self.trees
            for node in tree.nodes
            if isinstance(node, TreeSplit)
        )
        made: dict[tuple[str, int, Fraction], tuple[Expr, int]] = {}
        for op in dict.fromkeys(op for op, _, _ in found):
            own = [key for key in found if key[0] == op]
            sides = build.gather(x, [feature for _, feature, _ in own]), build.vector([key[2] for key in own])
            truths = build.compare(op, *sides)
            made |= {key: (truths, place) for place, key in enumerate(own)}
        return made


@dataclass(frozen=True, slots=True)
class _TreeNode:
    """A node of a tree."""

    tree: DecisionTree
    number: int

    @property
    def node(self) -> TreeSplit | TreeLeaf:
        return self.tree.nodes[self.number]

    @property
    def width(self) -> int:
        return len(self.tree.targets)


def _level(
    level: Sequence[_TreeNode], x: Expr, splits: dict[tuple[str, int, Fraction], tuple[Expr, int]], below: Expr | None
) -> Expr:
    """The values of the subtrees at all nodes of one depth, from those one deeper."""
    starts = np.cumsum([0, *(place.width for place in level)])
    parts: list[Expr] = []
    order: list[int] = []  # components of the level that the parts have
    by_op: dict[Expr, list[int]] = {}
    children = _children(level)
    for number, place in enumerate(level):
        if isinstance(place.node, TreeSplit):
            truths, _ = splits[place.node.op, place.node.feature, place.node.threshold]
            by_op.setdefault(truths, []).append(number)
    for truths, numbers in by_op.items():
        assert below is not None
        parts.append(_branched(level, numbers, children, truths, splits, below))
        order += [component for number in numbers for component in range(starts[number], starts[number + 1])]
    leaves = [number for number, place in enumerate(level) if isinstance(place.node, TreeLeaf)]
    if leaves:
        parts.append(build.vector([value for number in leaves for value in _values(level[number].node)]))
        order += [component for number in leaves for component in range(starts[number], starts[number + 1])]
    whole = build.concat(*parts)
    back = np.argsort(order, kind="stable")
    return whole if np.array_equal(back, np.arange(len(order))) else build.gather(whole, back.tolist())


def _values(node: TreeSplit | TreeLeaf) -> tuple[Fraction, ...]:
    assert isinstance(node, TreeLeaf)
    return node.values


def _children(level: Sequence[_TreeNode]) -> dict[int, int]:
    """Where in the next level the first component of the first child of each split stands."""
    found: dict[int, int] = {}
    start = 0
    for number, place in enumerate(level):
        if isinstance(place.node, TreeSplit):
            found[number] = start
            start += 2 * place.width
    return found


def _branched(
    level: Sequence[_TreeNode],
    numbers: Sequence[int],
    children: dict[int, int],
    truths: Expr,
    splits: dict[tuple[str, int, Fraction], tuple[Expr, int]],
    below: Expr,
) -> Expr:
    """One `if` for many splits, with a component for each of a tree's targets."""
    conditions: list[int] = []
    yes: list[int] = []
    no: list[int] = []
    for number in numbers:
        place = level[number]
        assert isinstance(place.node, TreeSplit)
        _, component = splits[place.node.op, place.node.feature, place.node.threshold]
        first = children[number]
        conditions += [component] * place.width
        yes += range(first, first + place.width)
        no += range(first + place.width, first + 2 * place.width)
    return build.if_(build.gather(truths, conditions), build.gather(below, yes), build.gather(below, no))
