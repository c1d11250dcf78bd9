"""Between which integers an index lies, as far as declared ranges and its operators tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, inf
from typing import TypeAlias

from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.sorts import INT

IndexRange: TypeAlias = "tuple[Fraction | float, Fraction | float]"
"""A lower and an upper end; infinite where nothing is known."""

UNKNOWN: IndexRange = (-inf, inf)


def index_range(index: Expr, declared: Mapping[str, IndexRange]) -> IndexRange:
    """Ends of an integer expression, if every variable, action and let is between its own."""
    known: dict[Expr, IndexRange] = {}
    for node in order([index]):
        known[node] = UNKNOWN if node.shape else _ends(node, known, declared)
    return known[index]


def _ends(node: Expr, known: Mapping[Expr, IndexRange], declared: Mapping[str, IndexRange]) -> IndexRange:
    args = [known[arg] for arg in node.args]
    lows, highs = [low for low, _ in args], [high for _, high in args]
    match node:
        case e.Const(value=value):
            return value, value
        case e.Var(name=name, role=e.Role.STATE | e.Role.ACTION | e.Role.LET):
            return declared.get(name, UNKNOWN)
        case e.Neg():
            return -highs[0], -lows[0]
        case e.Add():
            divisor = _divisor(node)
            return (_sum(lows), _sum(highs)) if divisor is None else _remainders(divisor)
        case e.Min():
            return min(lows), min(highs)
        case e.Max():
            return max(lows), max(highs)
        case e.If() | e.Switch() | e.Choose():
            return _hull(args[1:] if not isinstance(node, e.Choose) else [known[option] for option in node.options])
        case e.Mul(args=(e.Const(value=factor), _)):
            return _scaled(args[1], factor)
        case e.Mul(args=(_, e.Const(value=factor))):
            return _scaled(args[0], factor)
        case e.Div(args=(_, e.Const(value=divisor))) if divisor:
            return _scaled(args[0], 1 / divisor)
        case e.Floor():
            return _down(lows[0]), _down(highs[0])
    return UNKNOWN


def _divisor(node: Expr) -> Fraction | None:
    """b, where the sum is `a % b` written out."""
    match node.args[-1]:
        case e.Neg(args=(e.Mul(args=(e.Const(value=b) as by, e.Floor(args=(e.Div(args=(a, _)),)))),)):
            return b if a.sort == by.sort == INT and b and build.remainder(a, by) is node else None
    return None


def _remainders(divisor: Fraction) -> IndexRange:
    zero = Fraction(0)
    return min(divisor + 1, zero), max(divisor - 1, zero)


def _hull(ends: list[IndexRange]) -> IndexRange:
    return min(low for low, _ in ends), max(high for _, high in ends)


def _sum(ends: Sequence[Fraction | float]) -> Fraction | float:
    """Infinite where one of them is; a float and a rational are never added, which fails beyond all floats."""
    return next((end for end in ends if isinstance(end, float)), None) or sum(ends)


def _scaled(ends: IndexRange, factor: Fraction) -> IndexRange:
    if not factor:
        return Fraction(0), Fraction(0)
    sign = 1 if factor > 0 else -1
    low, high = (end * (factor if isinstance(end, Fraction) else sign) for end in ends)
    return (low, high) if factor > 0 else (high, low)


def _down(end: Fraction | float) -> Fraction | float:
    return Fraction(floor(end)) if isinstance(end, Fraction) else end
