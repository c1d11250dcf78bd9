"""What the region alone decides of a question: a bad set that no state of it is in, or no initial state at all."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from vernal.errors import Stopped
from vernal.logic.claim import position_expression
from vernal.logic.formula import Always, Eventually, Formula, Not
from vernal.logic.normal import FALSITY, TRUTH, fold, rebuild
from vernal.logic.question import Question
from vernal.logic.times import is_timed
from vernal.logic.vacuity import is_vacuous
from vernal.model.initial import Init, OneOf, Span, Start
from vernal.model.sorts import REAL
from vernal.model.system import Model, Variable
from vernal.run.budget import Budget
from vernal.sets.emptiness import is_empty

MAX_VALUES = 1000  # of a discrete variable that are looked at one by one


def has_no_start(flow: Model, budget: Budget) -> bool:
    """Whether it is known that no state satisfies what is said of initial states."""
    with suppress(Stopped):
        return is_empty(flow, budget) is True
    return False


def is_certain(question: Question, budget: Budget) -> bool:
    """Whether the formula is known to be true wherever in the region trajectories are."""
    flow = question.model

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if not isinstance(node, Always | Eventually) or is_timed(node.arg):
            return rebuild(node, args)
        (condition,) = args
        if _excluded(flow, Not(condition), budget):
            return rebuild(node, (TRUTH,))
        return rebuild(node, (FALSITY if _excluded(flow, condition, budget) else condition,))

    with suppress(Stopped):
        return is_vacuous(fold(question.claim.normal, rule))
    return False


def _excluded(flow: Model, condition: Formula, budget: Budget) -> bool:
    """Whether no state of the region satisfies a condition."""
    where = flow.resolve(position_expression(condition))
    region = {v.name: _anywhere(v, *ends) for v, ends in zip(flow.state, flow.region, strict=True)}
    return is_empty(flow.starting(Init(region, (where,))), budget) is True


def _anywhere(variable: Variable, lower: Fraction, upper: Fraction) -> Start:
    """All values of a variable in its range."""
    if variable.sort == REAL:
        return Span(lower, upper)
    if upper - lower > MAX_VALUES:
        raise Stopped(f"{variable.name!r} has more than {MAX_VALUES} values")
    return OneOf(tuple(lower + k for k in range(int(upper - lower) + 1)))
