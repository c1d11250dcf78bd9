"""Expressions as sums: coefficients times whatever is not itself a sum or a constant multiple."""

from __future__ import annotations

from fractions import Fraction

from vernal.model import expr as e
from vernal.model.expr import Expr


def terms(*scaled: tuple[Expr, Fraction]) -> tuple[dict[Expr, Fraction], Fraction]:
    """The sum of scaled scalar expressions: coefficients that are not zero, and the constant."""
    found: dict[Expr, Fraction] = {}
    constant = Fraction(0)
    waiting = list(scaled)
    while waiting:
        node, factor = waiting.pop()
        match node:
            case e.Const(values=(value,)):
                constant += factor * value
            case e.Add(args=args):
                waiting.extend((arg, factor) for arg in args)
            case e.Neg(args=(arg,)):
                waiting.append((arg, -factor))
            case e.Mul(args=(e.Const(values=(value,)), arg)) | e.Mul(args=(arg, e.Const(values=(value,)))):
                waiting.append((arg, factor * value))
            case e.Div(args=(arg, e.Const(values=(value,)))):
                waiting.append((arg, factor / value))
            case _:
                found[node] = found.get(node, Fraction(0)) + factor
    return {node: coefficient for node, coefficient in found.items() if coefficient}, constant
