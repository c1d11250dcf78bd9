"""Kinds of time, and what is asked in continuous time.

In seconds a formula is a Boolean combination of `G[a,b] p` and `F[a,b] p` over conditions p on the state (a condition
alone is about time 0). Along a trajectory, which is followed while it is in the region, G[a,b] p is true if p is true
at every time of [a, b] that it reaches, and F[a,b] p if it reaches a time of [a, b] at which p is true.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, Eventually, Formula, Temporal, operands
from vernal.logic.normal import order
from vernal.model.motion import Time as Time

STEPS_ONLY, SECONDS_ONLY = "is for systems that move in steps", "is for flows, in continuous time"  # who refuses others


def last_time(formulas: Iterable[Formula]) -> Fraction:
    """The last time that some formulas speak of; 0 where they speak of none."""
    bounds = [node.bound for formula in formulas for node in order(formula) if isinstance(node, Always | Eventually)]
    return max((bound.upper for bound in bounds if bound.upper is not None), default=Fraction(0))


# What is asked in continuous time -------------------------------------------------------------------------------------

FORM = "in continuous time a property is a Boolean combination of G[a,b] and F[a,b] over state atoms"
NO_TIME = "the horizon is zero: the property asks about the initial states only; bound it by a time, as in G[0, 1.5] p"


def refuse_untimed(formula: Formula) -> None:
    """An error for a formula that continuous time does not take."""
    problem = untimed(formula)
    if problem is not None:
        raise UnsupportedFormula(problem)


def untimed(formula: Formula) -> str | None:
    """Why a formula is none of continuous time, if it is none."""
    operators = [node for node in order(formula) if isinstance(node, Temporal)]
    found = next((problem for problem in map(untimed_operator, operators) if problem), None)
    no_time = all(isinstance(node, Always | Eventually) and not node.bound.upper for node in operators)
    return found or (NO_TIME if no_time else None)


def untimed_operator(node: Temporal) -> str | None:
    """Why a temporal operator is none of continuous time, if it is none."""
    nested = any(isinstance(inner, Temporal) for arg in operands(node) for inner in order(arg))
    if nested or node.quantifier or not isinstance(node, Always | Eventually):
        return FORM
    if node.bound.upper is None:
        letter = "G" if isinstance(node, Always) else "F"
        return f"in continuous time {letter} needs a last time, as in {letter}[0, 1.5] p"
    return None
