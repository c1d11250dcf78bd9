"""Minima, maxima, absolute values and ReLUs written as comparisons, so that images follow each side by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order, rewrite

MAX_KINKS = 8  # of a step: each may double the cases of a set


def taken_apart(roots: Sequence[Expr]) -> list[Expr] | None:
    """The roots with `if` in the place of every kink of a single number; None where there are none, or too many."""
    kinks = sum(_opened(node) is not None for node in order(roots))
    return rewrite(roots, _opened) if 0 < kinks <= MAX_KINKS else None


def _opened(node: Expr) -> Expr | None:
    if node.shape:
        return None
    match node:
        case e.Min(args=args):
            return reduce(lambda a, b: build.if_(build.compare("<=", a, b), a, b), args)
        case e.Max(args=args):
            return reduce(lambda a, b: build.if_(build.compare("<=", a, b), b, a), args)
        case e.Abs(args=(arg,)):
            return build.if_(build.compare("<=", 0, arg), arg, build.neg(arg))
        case e.Relu(args=(arg,)):
            return build.if_(build.compare("<=", 0, arg), arg, 0)
    return None
