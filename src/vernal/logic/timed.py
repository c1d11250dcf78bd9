"""Questions in continuous time: do all trajectories of a flow keep the formula?

A formula is a Boolean combination of `G[a,b] p` and `F[a,b] p` over conditions p on the state (a condition alone is
about time 0). Along a trajectory, which is followed while it is in the region, G[a,b] p is true if p is true at every
time of [a, b] that it reaches, and F[a,b] p if it reaches a time of [a, b] at which p is true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, Eventually, Formula, Temporal, operands
from vernal.logic.normal import nnf, order
from vernal.logic.task import UNSAID, AbstractionSettings
from vernal.model.flow import Flow
from vernal.model.initial import Init
from vernal.model.portable import Portable


@dataclass(frozen=True)
class FlowQuestion(Portable):
    """Do all trajectories of the flow keep the formula?"""

    flow: Flow
    formula: Formula
    name: str | None = None
    settings: AbstractionSettings = UNSAID

    @cached_property
    def normal(self) -> Formula:
        """The formula with negations at its atoms only."""
        return nnf(self.formula, total=True)

    @cached_property
    def horizon(self) -> Fraction:
        """The last time that the formula speaks of."""
        return last_time([self.formula])

    def starting(self, init: Init) -> FlowQuestion:
        """The same question about trajectories from elsewhere."""
        return replace(self, flow=self.flow.starting(init))


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
