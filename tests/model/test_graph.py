"""Walks: no depth is too deep, and the same model gives the same table."""

from __future__ import annotations

import gc

from vernal.model import build as b
from vernal.model.expr import Choose, Expr, _Interned
from vernal.model.graph import draws, exclusive, fresh, order, substitute, variables

x, y = b.var("x"), b.var("y")


def deep(depth: int) -> Expr:
    node: Expr = x
    for _ in range(depth):
        node = -node
    return node


def test_arguments_come_before_users() -> None:
    root = (x + y) * (x + y) - b.relu(x)
    nodes = order([root])
    assert len(set(nodes)) == len(nodes)
    assert all(nodes.index(arg) < nodes.index(node) for node in nodes for arg in node.args)


def test_depth_does_not_matter() -> None:
    root = deep(20_000)
    assert len(order([root])) == 20_001
    assert len(order(substitute([root], {x: y}))) == 20_001
    assert variables([root]) == [x]


def test_a_long_sum_is_one_node() -> None:
    total = b.add(*(b.mul(k + 2, x) for k in range(10_000)))
    assert len(total.args) == 10_000


def test_substitution_shares_what_it_can() -> None:
    shared = x + y
    first, second = substitute([shared * shared, shared], {x: y})
    assert first.args[0] is first.args[1] is second


def test_every_step_draws_anew() -> None:
    coin = b.choose(0, 1)
    (now,), (later,) = fresh([coin + x], 0), fresh([coin + x], 1)
    assert now is not later
    assert draws([now]) != draws([later])
    assert fresh([coin + x], 1) == [later]


def test_exclusive_draws_lie_in_different_branches() -> None:
    left, right, always = b.choose(1, 2), b.choose(3, 4), b.choose(5, 6)
    root = b.if_(x > 0, left, b.if_(y > 0, right, left)) + always
    never_both = exclusive([root])
    assert not never_both(left, always)
    assert not never_both(left, left)
    assert never_both(left, right)


def test_a_dropped_graph_is_freed() -> None:
    gc.collect()
    before = len(_Interned.table)
    root = deep(5_000) + b.choose(0, 1)
    assert len(_Interned.table) > before + 4_000
    del root
    gc.collect()
    assert len(_Interned.table) < before + 100
    assert isinstance(b.choose(0, 1), Choose)
