"""Comparisons with `abs`, `max` and `min` as comparisons of what these are taken of: |x| <= c is x <= c and -x <= c.

What is compared is then linear more often, and true, false and margin stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vernal.logic.formula import And, Atom, Formula, Or
from vernal.logic.normal import fold, rebuild
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr

DIVISION_ROUNDS = 4  # in which extremes within extremes come apart
MAX_PARTS = 32  # comparisons that one is divided into at once


def apart(formula: Formula) -> Formula:
    """The same formula, with every comparison divided that can be."""
    for _ in range(DIVISION_ROUNDS):
        found = fold(formula, _divided)
        if found == formula:
            break
        formula = found
    return formula


def _divided(node: Formula, args: tuple[Formula, ...]) -> Formula:
    return _parts(node.expr) or node if isinstance(node, Atom) else rebuild(node, args)


def _parts(atom: Expr) -> Formula | None:
    """A comparison as several ones, if there is an extreme on a side of it."""
    match atom:
        case e.Compare(op="<" | "<=" as op, args=(left, right)) if left.sort.is_number and not atom.shape:
            below = _extreme(left)
            if below is not None:
                largest, inner = below
                return _joined(largest, inner, lambda one: build.compare(op, one, right))
            beyond = _extreme(right)
            if beyond is not None:
                largest, inner = beyond
                return _joined(not largest, inner, lambda one: build.compare(op, left, one))
    return None


def _extreme(node: Expr) -> tuple[bool, Sequence[Expr]] | None:
    """Whether a number is the largest of others or their least, and these."""
    match node:
        case e.Abs(args=(x,)):
            return True, (x, build.neg(x))
        case e.Max(args=inner):
            return True, inner
        case e.Min(args=inner):
            return False, inner
        case e.Neg(args=(x,)) if (found := _extreme(x)) is not None:
            return not found[0], [build.neg(one) for one in found[1]]
    return None


def _joined(both: bool, inner: Sequence[Expr], compared: Callable[[Expr], Expr]) -> Formula | None:
    if len(inner) > MAX_PARTS:
        return None
    atoms = tuple(Atom(compared(one)) for one in inner)
    return (And if both else Or)(atoms) if len(atoms) > 1 else atoms[0]
