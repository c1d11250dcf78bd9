"""What is proven of a claim that stays open: the best bound of its margin, and that in words.

A bound of the margin over all paths is valid however far it is below zero: `d >= 9.189` is proven where `d >= 10` was
asked. Engines say the bound they have; where none has, or time is left, boxes of the initial set are cut for a moment.
"""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial

from vernal.errors import Stopped
from vernal.logic.claim import position_expression
from vernal.logic.formula import Always, Atom, Formula, Next
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.initial import Box
from vernal.model.numbers import show
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingLimits, cut_until_decided
from vernal.sets.halving import Halving
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels, OpenRows

DIGITS = 6
MAX_BOXES, CHEAP_BOXES = 64, 8  # boxes that are bounded at once, and that cost hardly more than one
MAX_FIRST = 16  # boxes of the initial set; more are taken as one hull


def best_margin(question: Question, budget: Budget) -> float:
    """A lower bound of the margin over all paths, as good as the time allows; of claims about one number."""
    reach, asked = question.claim.horizon, _asked(question.claim.path)
    if reach is None or reach > MAX_UNROLLED_STEPS or asked is None or _weakened(asked, Fraction(0))[0] is None:
        return -math.inf
    search = MarginSearch(question, reach, budget)
    with suppress(Stopped, OverflowError):
        budget.check()  # first of all: where there is no time left, nothing is unrolled
        boxes = list(initial_boxes(question.system, MAX_FIRST).boxes)
        cut = partial(_halves, Halving(boxes))
        cut_until_decided(boxes, search.decide, cut, CuttingLimits(most=MAX_BOXES))
    return search.best


class MarginSearch:
    """The best bound so far of the margin over all boxes that are looked at."""

    def __init__(self, question: Question, reach: int, budget: Budget) -> None:
        self.question, self.reach, self.budget = question, reach, budget
        self.best, self.proven = -math.inf, math.inf  # of everything, and of boxes in which the claim holds

    def decide(self, boxes: list[Box]) -> OpenRows | None:
        """The boxes in which the margin may be below zero; None where one has no bound at all."""
        levels = Levels(self.question.system, boxes, self.budget, self.reach)
        margins = [levels.margin(self.question.claim.path, index) for index in range(len(boxes))]
        levels.raise_if_stopped()
        self.best = max(self.best, min([self.proven, *margins]))
        self.proven = min([self.proven, *(margin for margin in margins if margin >= 0)])
        left = OpenRows(levels, [index for index, margin in enumerate(margins) if margin < 0])
        return None if self.best == -math.inf else left


def _halves(halving: Halving, left: OpenRows) -> list[Box] | None:
    parts = halving.parts(left.boxes, left.weights(), CHEAP_BOXES)
    return parts if len(parts) > len(left) else None


def in_words(question: Question, margin: float) -> str | None:
    """What a bound of the margin below zero proves of the claim; None where it says nothing."""
    asked = _asked(question.claim.path)
    if not -math.inf < margin < 0:
        return None
    proven, asked = (None, None) if asked is None else _weakened(asked, Fraction(margin))
    if proven is None or asked is None:
        return f"the margin is at least {show(rounded(Fraction(margin), up=False))}"
    return f"{Atom(proven)} is proven, {Atom(asked)} was asked"


def _asked(path: Formula) -> Expr | None:
    """What is claimed of single positions, where that is all a claim says."""
    match path:
        case Always(arg=arg) | Next(arg=arg):
            path = arg
    return position_expression(path) if classify(path) is Logic.STATE else None


def _weakened(asked: Expr, margin: Fraction) -> tuple[Expr | None, Expr]:
    """A comparison with a number as far as it is proven, and as it was asked; None of other claims."""
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
