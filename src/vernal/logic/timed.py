"""Questions in continuous time: do all trajectories of a flow keep the formula?

A formula is a Boolean combination of `G[a,b] p` and `F[a,b] p` over conditions p on the state (a condition alone is
about time 0). Along a trajectory, which is followed while it is in the region, G[a,b] p is true if p is true at every
time of [a, b] that it reaches, and F[a,b] p if it reaches a time of [a, b] at which p is true.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from vernal.logic.formula import Always, Eventually, Formula
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
        bounds = [node.bound for node in order(self.formula) if isinstance(node, Always | Eventually)]
        return max((bound.upper for bound in bounds if bound.upper is not None), default=Fraction(0))

    def starting(self, init: Init) -> FlowQuestion:
        """The same question about trajectories from elsewhere."""
        return replace(self, flow=self.flow.starting(init))
