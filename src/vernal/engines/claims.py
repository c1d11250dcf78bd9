"""Claims about single positions, whose margin can be measured while positions are explored."""

from __future__ import annotations

from vernal.logic.formula import Always, And, Atom, Formula, Implies, Next, Not, Or
from vernal.logic.margin import atom_margin
from vernal.logic.normal import Logic, classify, fold
from vernal.model import build
from vernal.model.expr import Expr


def claim_of(path: Formula) -> tuple[Expr, int, int] | None:
    """A claim about single positions, as a margin and the first and last position it is made of; else None."""
    match path:
        case Always(arg=arg, bound=bound) if classify(arg) is Logic.STATE and bound.upper is not None:
            return atom_margin(fold(arg, _expression)), int(bound.lower), int(bound.upper)
        case Next(arg=arg, count=count) if classify(arg) is Logic.STATE:
            return atom_margin(fold(arg, _expression)), count, count
    return None


def _expression(node: Formula, args: tuple[Expr, ...]) -> Expr:
    """A Boolean formula as one expression."""
    match node:
        case Atom(expr):
            return expr
        case Not():
            return build.negate(args[0])
        case And():
            return build.conj(*args)
        case Or():
            return build.disj(*args)
        case Implies():
            return build.implies(*args)
    return build.compare("==", *args)
