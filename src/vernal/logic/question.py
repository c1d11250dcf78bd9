"""Questions: does the system keep the formula?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from vernal.logic.claim import Claim, claim_of
from vernal.logic.formula import Formula
from vernal.model.build import TRUE
from vernal.model.expr import Expr
from vernal.model.initial import Init
from vernal.model.portable import Portable
from vernal.model.system import System

OptionLabels = Mapping[str, tuple[str | None, ...]]  # what the options of a choice, by its name, are called


@dataclass(frozen=True)
class Question(Portable):
    """Does the system keep the formula?"""

    system: System
    formula: Formula
    name: str | None = None  # of the property, where it has one
    predicates: tuple[Expr, ...] = ()  # by which an abstraction tells states apart; no part of what is asked
    labels: OptionLabels = field(default_factory=dict, hash=False)  # for whoever shows transitions, likewise

    @cached_property
    def claim(self) -> Claim:
        """What the formula claims."""
        return claim_of(self.formula)

    @cached_property
    def atoms(self) -> Mapping[Expr, Expr]:
        """Every atom as written, and over state, memory and draws."""
        return {atom: self.system.step.resolve(atom) for atom in self.claim.atoms}

    def starting(self, init: Init) -> Question:
        """The same claim about the same system from elsewhere; the graph and what is known of the claim are shared."""
        moved = replace(self, system=self.system.starting(init))
        moved.__dict__["claim"] = self.claim  # where cached_property keeps it
        return moved

    @property
    def is_total(self) -> bool:
        """Whether no path of the system ends."""
        return self.system.step.enabled is TRUE
