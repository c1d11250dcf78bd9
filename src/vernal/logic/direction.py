"""Reductions: a problem turned into another, with a direction and a way back.

A reduction says how the set of behaviours changes. What may be claimed follows from the direction alone: of all paths
only through EXACT or OVER, of some path only through EXACT or UNDER. Everything else needs evidence that is checked on
the concrete system.
"""

from __future__ import annotations

from enum import Enum

from vernal.logic.formula import Quantifier


class Direction(Enum):
    """How the behaviours of the reduced problem relate to those of the original."""

    EXACT = "exact"  # the same
    OVER = "over"  # at least as many
    UNDER = "under"  # at most as many
    TWO_SIDED = "two-sided"  # states are sorted into true, false and open; what is sorted is so whatever the quantifier

    def may_prove(self, quantifier: Quantifier) -> bool:
        """Whether a claim of all (or some) paths carries over from the reduced problem to the original."""
        wanted = Direction.OVER if quantifier is Quantifier.ALL else Direction.UNDER
        return self in (Direction.EXACT, Direction.TWO_SIDED, wanted)

    def may_refute(self, quantifier: Quantifier) -> bool:
        """Whether the failure of a claim carries over: the negation is a claim of the other quantifier."""
        return self.may_prove(quantifier.dual)
