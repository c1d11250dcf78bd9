"""The query core as a service: what is the largest value of this number where a system may start?

Thresholds between what the number can be at most and at least are asked in one search: they differ in one number only.
A state above a threshold shows that the largest value is, too; boxes that exclude it prove a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from math import isfinite

from vernal.interpret.linear.forms import MAX_INPUTS
from vernal.interpret.numbers.rounding import float_above
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.core.inquiry import refuted_by, search_for

THRESHOLDS = 7  # asked together
MAX_ROUNDS = 6  # each leaves an eighth of the doubt, or more where a threshold is the largest value itself
PRECISION = Fraction(1, 1000)  # of the doubt there was
MAX_BOXES = 64  # of a threshold


def extent(number: Expr, system: System, lower: float, upper: float, budget: Budget) -> tuple[float, float]:
    """The ends of a number over the initial states of a system, which is known to be between `lower` and `upper`."""
    above = largest(number, system, lower, upper, budget)
    below = -largest(build.neg(number), system, -above, -lower, budget)
    return below, above


def largest(number: Expr, system: System, lower: float, upper: float, budget: Budget) -> float:
    """A bound of a number over the initial states of a system, at most `upper` and hardly above its largest value.

    It has no value above `upper`, and some value is at least `lower`.
    """
    if not isfinite(lower + upper) or lower >= upper or len(system.state) > MAX_INPUTS:
        return upper
    low, high = Fraction(lower), Fraction(upper)
    for _ in range(MAX_ROUNDS):
        between = [low + (high - low) * k / (THRESHOLDS + 1) for k in range(1, THRESHOLDS + 1)]
        claims = [Question(system, Atom(build.compare("<=", number, end))) for end in between]
        truths = exceeded(claims, budget)
        beyond = [end for end, truth in zip(between, truths, strict=True) if truth]
        excluded = [end for end, truth in zip(between, truths, strict=True) if truth is False]
        low, high = max([low, *beyond]), min([high, *excluded])
        if not (beyond or excluded) or high - low <= PRECISION * (Fraction(upper) - Fraction(lower)):
            break
    return min(upper, float_above(high))


def exceeded(questions: Sequence[Question], budget: Budget) -> list[bool | None]:
    """Of claims about initial states: whether a state refutes them; None where that stays open."""
    made = [(place, refuted_by(question, budget)) for place, question in enumerate(questions)]
    asked = [(place, clauses) for place, clauses in made if clauses is not None]
    truths: list[bool | None] = [None] * len(questions)
    for _, family in groupby(asked, key=lambda one: one[1].pattern):
        places, clauses = zip(*family, strict=True)
        race = search_for([questions[place] for place in places], clauses, budget, MAX_BOXES)
        race.run()
        for number in race.answered():
            truths[places[number]] = number in race.traces
    return truths
