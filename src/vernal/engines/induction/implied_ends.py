"""Ends that a claim implies where it is true."""

from __future__ import annotations

from fractions import Fraction

from vernal.interpret.ends import UNKNOWN_ENDS, PartialEnds, meet
from vernal.logic.formula import And, Atom, Formula, Not
from vernal.logic.normal import nnf
from vernal.model import expr as e
from vernal.model.expr import Expr


def implied_ends(formula: Formula) -> dict[Expr, PartialEnds]:
    """Ends of variables wherever the formula is true: from comparisons with constants that it is a conjunction of."""
    found: dict[Expr, PartialEnds] = {}
    waiting = [nnf(formula)]
    while waiting:
        match waiting.pop():
            case And(args):
                waiting.extend(args)
            case Atom(e.Compare() as compared):
                _compared(found, compared.op, *compared.args)
            case Not(Atom(e.Compare() as compared)) if compared.op in ("<", "<="):
                _compared(found, "<=", *reversed(compared.args))
    return found


def _compared(found: dict[Expr, PartialEnds], op: str, left: Expr, right: Expr) -> None:
    if op not in ("<", "<=", "=="):
        return
    if isinstance(right, e.Const):
        _at_most(found, left, right.value)
    if isinstance(left, e.Const):
        _at_least(found, right, left.value)
    if op == "==":
        _compared(found, "<=", right, left)


def _at_most(found: dict[Expr, PartialEnds], node: Expr, end: Fraction) -> None:
    match node:
        case e.Var():
            found[node] = meet(found.get(node, UNKNOWN_ENDS), (None, end))
        case e.Neg(args=(arg,)):
            _at_least(found, arg, -end)
        case e.Abs(args=(arg,)):
            _at_most(found, arg, end)
            _at_least(found, arg, -end)


def _at_least(found: dict[Expr, PartialEnds], node: Expr, end: Fraction) -> None:
    match node:
        case e.Var():
            found[node] = meet(found.get(node, UNKNOWN_ENDS), (end, None))
        case e.Neg(args=(arg,)):
            _at_most(found, arg, -end)
