"""What a claim says of the state, as expressions that may not be negative: its half-spaces, where it is convex."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.terms import terms

MAX_SIDES = 64  # half-spaces that one comparison is written as: `abs(x) + abs(y) <= 1` has four


def margins(condition: Expr) -> list[Expr]:
    """Expressions that are not negative where a condition is true; a part of it that is no conjunction is left out."""
    found: list[Expr] = []
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        match node:
            case e.And(args=args):
                waiting.extend(args)
            case e.Compare(op="<" | "<=", args=(left, right)) if left.sort.is_number and not node.shape:
                found += _sides(left, right)
    return found


def _sides(left: Expr, right: Expr) -> list[Expr]:
    """`left <= right` as expressions of which none is negative, with an absolute value or a maximum taken apart."""
    waiting: list[Expr] = [build.sub(right, left)]
    found: list[Expr] = []
    while waiting:
        gap = waiting.pop()
        opened = _opened(gap)
        if not opened or len(waiting) + len(found) + len(opened) > MAX_SIDES:
            found.append(gap)
        else:
            waiting += opened
    return found


def _opened(gap: Expr) -> Sequence[Expr]:
    """The sum with its first concave term, -|a| or -max(a, b), replaced by each of the terms it is the least of."""
    parts, constant = terms((gap, Fraction(1)))
    for node, factor in parts.items():
        options = _pieces(node, factor)
        if options:
            rest = [build.mul(own, other) for other, own in parts.items() if other is not node]
            return [build.add(*rest, build.mul(factor, option), constant) for option in options]
    return ()


def _pieces(node: Expr, factor: Fraction) -> Sequence[Expr]:
    match node:
        case e.Abs(args=(arg,)) if factor < 0:
            return arg, build.neg(arg)
        case e.Max(args=args) if factor < 0:
            return args
        case e.Min(args=args) if factor > 0:
            return args
    return ()
