"""Exact ends of values: rationals between which a number certainly lies, where the operators themselves say so.

`min(x, 0.6)` is never above 0.6, whatever x is; in floating point that would be 0.6 up to a rounding. An operator that
is not listed has no known ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor

from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import order

Ends = tuple[Fraction | None, Fraction | None]  # None: no end is known

UNKNOWN_ENDS: Ends = (None, None)
ZERO, ONE = Fraction(0), Fraction(1)
FUNCTIONS: Mapping[Function, Ends] = {
    Function.SIN: (-ONE, ONE),
    Function.COS: (-ONE, ONE),
    Function.TANH: (-ONE, ONE),
    Function.ATAN: (-Fraction(11, 7), Fraction(11, 7)),  # pi/2 is a little less
    Function.SIGMOID: (ZERO, ONE),
    Function.EXP: (ZERO, None),
    Function.SQRT: (ZERO, None),
}


def exact_ends(roots: Sequence[Expr], inside: Mapping[Expr, Ends]) -> list[Ends]:
    """The ends of the roots (scalars), given those of some variables."""
    known: dict[Expr, Ends] = {}
    for node in order(roots):
        known[node] = inside.get(node) or _ends(node, [known[arg] for arg in node.args])
    return [known[root] for root in roots]


def _ends(node: Expr, args: Sequence[Ends]) -> Ends:
    match node:
        case e.Const() if not node.shape:
            return node.value, node.value
        case e.Neg():
            return _negated(args[0])
        case e.Add():
            return _sum([low for low, _ in args]), _sum([high for _, high in args])
        case e.Mul(args=(e.Const() as factor, _)) if not factor.shape:
            return _scaled(factor.value, args[1])
        case e.Mul(args=(_, e.Const() as factor)) if not factor.shape:
            return _scaled(factor.value, args[0])
        case e.Min():
            return _least([low for low, _ in args], all_known=True), _least([high for _, high in args], all_known=False)
        case e.Max():
            return _negated(_ends(e.Min(node.args, node.sort, node.shape), [_negated(arg) for arg in args]))
        case e.Relu():
            return max(args[0][0] or ZERO, ZERO), None if args[0][1] is None else max(args[0][1], ZERO)
        case e.Abs():
            low, high = args[0]
            return ZERO, None if low is None or high is None else max(-low, high)
        case e.Floor():
            return tuple(None if end is None else Fraction(floor(end)) for end in args[0])  # type: ignore[return-value]
        case e.Sign():
            return -ONE, ONE
        case e.Argmax():
            return ZERO, Fraction(node.args[0].size - 1)
        case e.Nonlinear(function=function):
            return FUNCTIONS.get(function, UNKNOWN_ENDS)
        case e.If() | e.Switch():
            return _hull(args[1:])
        case e.Choose():
            return _hull(args[: len(node.options)])
        case e.Between():
            return _hull(args)
    return UNKNOWN_ENDS


def _negated(ends: Ends) -> Ends:
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def _scaled(factor: Fraction, ends: Ends) -> Ends:
    low, high = ends if factor >= 0 else (ends[1], ends[0])
    if factor == 0:
        return ZERO, ZERO
    return None if low is None else factor * low, None if high is None else factor * high


def _sum(parts: Sequence[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    return sum(known, ZERO) if len(known) == len(parts) else None


def _least(parts: Sequence[Fraction | None], *, all_known: bool) -> Fraction | None:
    """The least of the ends; where all have to be known, one that is not leaves it open."""
    known = [part for part in parts if part is not None]
    return min(known) if known and (len(known) == len(parts) or not all_known) else None


def _hull(parts: Sequence[Ends]) -> Ends:
    low = _least([low for low, _ in parts], all_known=True)
    high = _least([None if high is None else -high for _, high in parts], all_known=True)
    return low, None if high is None else -high
