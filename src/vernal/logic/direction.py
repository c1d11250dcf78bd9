"""Directions: how the paths of what is looked at relate to those of the system, and what may be claimed by that.

A reduction replaces the paths from each initial state, and so do sets of states that stand for single ones. What may be
claimed follows from the direction alone: of all paths only through EXACT or OVER, of some path only through EXACT or
UNDER. Everything else needs evidence that is checked on the concrete system.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import reduce

from vernal.logic.formula import Quantifier


class Direction(Enum):
    """How the behaviours of the reduced problem relate to those of the original."""

    EXACT = "exact"  # the same
    OVER = "over"  # at least as many
    UNDER = "under"  # at most as many
    TWO_SIDED = "two-sided"  # states are sorted into true, false and open; what is sorted is so whatever the quantifier
    NEITHER = "neither"  # some are missing and some are added: nothing follows but of a claim without paths

    def then(self, other: Direction) -> Direction:
        """The direction of one after the other, and the weakest of several that were met: what both allow.

        EXACT changes nothing; OVER and UNDER together are NEITHER.
        """
        if self is other or other is Direction.EXACT:
            return self
        if self is Direction.EXACT or self is Direction.TWO_SIDED:
            return other
        return self if other is Direction.TWO_SIDED else Direction.NEITHER

    def may_prove(self, quantifier: Quantifier) -> bool:
        """Whether a claim of all (or some) paths carries over from the reduced problem to the original."""
        wanted = Direction.OVER if quantifier is Quantifier.ALL else Direction.UNDER
        return self in (Direction.EXACT, Direction.TWO_SIDED, wanted)

    def may_refute(self, quantifier: Quantifier) -> bool:
        """Whether the failure of a claim carries over: the negation is a claim of the other quantifier."""
        return self.may_prove(quantifier.dual)


def weakest(directions: Iterable[Direction]) -> Direction:
    """What all of several directions allow; EXACT where there is none."""
    return reduce(Direction.then, directions, Direction.EXACT)
