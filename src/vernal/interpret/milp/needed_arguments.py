"""Which arguments of a node a program needs, given what bounds decide: no known truth, no branch that is not taken."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.interpret.choice import possibilities
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.value_sets import Truth
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL


def live_branches(linear: Linear, node: e.If | e.Switch) -> tuple[Expr, ...]:
    """The branches of an `if` or `match` that bounds leave possible."""
    linear.need(node)
    masks = possibilities(node, linear.values[node.args[0]])
    return tuple(arg for arg, mask in zip(node.args[1:], masks, strict=True) if bool(mask.any()))


def demanded(linear: Linear, node: Expr) -> Sequence[Expr]:
    """The arguments a node depends on, given what bounds decide: no known truth, no branch not taken."""
    if node.sort == BOOL and not node.shape:
        truth = linear.truth(node)
        if bool(truth.must[0]) == bool(truth.may[0]):
            return ()
    if isinstance(node, e.If | e.Switch):
        branches = live_branches(linear, node)
        return branches if len(branches) == 1 else (node.args[0], *branches)
    if isinstance(node, e.Choose):
        return node.options
    if isinstance(node, e.And | e.Or):
        return node.args if node.shape else [arg for arg in node.args if not _is_settled(linear, arg)]
    return node.args


def _is_settled(linear: Linear, node: Expr) -> bool:
    value = linear.value(node)
    assert isinstance(value, Truth)
    return bool((value.must[0] == value.may[0]).all())
