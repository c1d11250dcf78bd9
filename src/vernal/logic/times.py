"""Kinds of time, and what is asked in continuous time.

In seconds a formula is a Boolean combination of `G[a,b] p`, `F[a,b] p` and `p U[a,b] q` over conditions on the state (a
condition alone is about time 0) or over such formulas again; or it is `G p`, for all time, of a condition on the state.
Along a trajectory, which is followed while it is in the region, G[a,b] p is true at t if p is at every time of
[t + a, t + b] that it reaches, F[a,b] p if it reaches a time of [t + a, t + b] at which p is true, and p U[a,b] q if it
reaches such a time for q, until which p is true throughout.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, And, Eventually, Formula, Release, Temporal, Until
from vernal.logic.normal import fold, order
from vernal.model.motion import Time as Time

TIMED = Always | Eventually | Until | Release  # operators of continuous time
LETTERS = {Always: "G", Eventually: "F", Until: "U", Release: "R"}
EXAMPLES = {Always: "G[0, 1.5] p", Eventually: "F[0, 1.5] p", Until: "p U[0, 1.5] q", Release: "p R[0, 1.5] q"}
STEPS_ONLY, SECONDS_ONLY = "is for systems that move in steps", "is for flows, in continuous time"  # who refuses others


def last_time(formulas: Iterable[Formula]) -> Fraction:
    """The last time that some formulas speak of, windows within windows included; 0 where they speak of none."""
    return max((fold(formula, _last_time) for formula in formulas), default=Fraction(0))


def _last_time(node: Formula, args: tuple[Fraction, ...]) -> Fraction:
    own = node.bound.upper if isinstance(node, TIMED) else None
    return max(args, default=Fraction(0)) + (own or 0)


def is_timed(formula: Formula) -> bool:
    """Whether a formula has a temporal operator, and is no condition on a state."""
    return any(isinstance(node, Temporal) for node in order(formula))


def is_endless(formula: Formula) -> bool:
    """Whether it is `G p` without a last time, with p about the state, or several of these."""
    if isinstance(formula, And):
        return all(map(is_endless, formula.args))
    return (
        isinstance(formula, Always)
        and not formula.quantifier
        and formula.bound.upper is None
        and not is_timed(formula.arg)
    )


def is_plain(formula: Formula) -> bool:
    """Whether it is a Boolean combination of G and F over conditions, with nothing nested."""
    temporal = [node for node in order(formula) if isinstance(node, Temporal)]
    return all(isinstance(node, Always | Eventually) and not is_timed(node.arg) for node in temporal)


# What is asked in continuous time -------------------------------------------------------------------------------------

FORM = "in continuous time a property is a Boolean combination of G[a,b] p, F[a,b] p and p U[a,b] q, about all paths"
NO_END = "in continuous time {} needs a last time, as in {}; for all time is only G p, with p a condition on the state"
NO_TIME = "the horizon is zero: the property asks about the initial states only; bound it by a time, as in G[0, 1.5] p"


def refuse_untimed(formula: Formula) -> None:
    """An error for a formula that continuous time does not take."""
    problem = untimed(formula)
    if problem is not None:
        raise UnsupportedFormula(problem)


def untimed(formula: Formula) -> str | None:
    """Why a formula is none of continuous time, if it is none."""
    operators = [node for node in order(formula) if isinstance(node, Temporal)]
    if is_endless(formula):
        return None
    found = next((problem for problem in map(_without_end, operators) if problem), None)
    no_time = all(isinstance(node, TIMED) and not node.bound.upper for node in operators)
    return found or (NO_TIME if no_time else None)


def untimed_operator(node: Temporal) -> str | None:
    """Why a temporal operator is none of continuous time, if it is none; `G p` may be all of a formula."""
    return None if is_endless(node) else _without_end(node)


def _without_end(node: Temporal) -> str | None:
    if node.quantifier or not isinstance(node, TIMED):
        return FORM
    if node.bound.upper is None:
        return NO_END.format(LETTERS[type(node)], EXAMPLES[type(node)])
    return None
