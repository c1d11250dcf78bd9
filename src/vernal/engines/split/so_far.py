"""What a search that was stopped has proven, in words: the best bound so far is valid of everything it looked at."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from vernal.engines.core.search import BoxSearch
from vernal.logic.claim import position_expression
from vernal.logic.formula import Atom
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.numbers import show

DIGITS = 6


def so_far(question: Question, search: BoxSearch) -> tuple[str, ...]:
    """A note of what is proven; none where the bound is no margin of the claim, or not finite.

    Constraints on the initial states count as rows of the search, so a bound below zero may be theirs.
    """
    clauses = search.clauses
    margin = min(search.best_bound(), float(search.tally.margin[0]))
    if not clauses.measured or clauses.outside or not math.isfinite(margin):
        return ()
    proven, asked = _weakened(question, Fraction(margin))
    if proven is None:
        return (f"the margin is at least {show(rounded(Fraction(margin), up=False))}",)
    return (f"{Atom(proven)} is proven, {Atom(asked)} was asked",)


def _weakened(question: Question, margin: Fraction) -> tuple[Expr | None, Expr]:
    """A comparison with a number as far as it is proven, and as it was asked; None of other claims."""
    path = question.claim.path
    asked = position_expression(path) if classify(path) is Logic.STATE else build.TRUE
    match asked:
        case e.Not(args=(e.Compare(args=(a, b), op="<" | "<=" as op),)):
            asked = build.compare("<=" if op == "<" else "<", b, a)
    match asked:
        case e.Compare(args=(a, e.Const() as b), op="<" | "<=") if not a.shape:
            return build.compare("<=", a, build.const(rounded(b.value - margin, up=True))), asked
        case e.Compare(args=(e.Const() as a, b), op="<" | "<=") if not b.shape:
            return build.compare("<=", build.const(rounded(a.value + margin, up=False)), b), asked
    return None, asked


def rounded(value: Fraction, *, up: bool) -> Fraction:
    """A number of a few digits that is not below, or not above, this one."""
    context = Context(prec=DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
