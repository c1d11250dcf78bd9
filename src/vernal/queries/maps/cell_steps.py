"""How many steps a claim `G[a,b] p` is proven for of cells that are not safe: the largest k for which `G[a,k] p` holds.

What is counted is proven of every point of a cell (OVER); the claim may hold for longer. Cells are explored together,
or bounded together, as for the claim itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import InputError
from vernal.logic.formula import Always, Bound, Formula, Quantifier
from vernal.logic.normal import horizon
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.queries.maps.cell_sifting import CellSifting
from vernal.queries.maps.cell_tree import CellBox
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels


@dataclass(frozen=True)
class StepClaim:
    """A claim `G[first,last] p` about steps, with p a condition on the state."""

    condition: Formula
    quantifier: Quantifier | None
    first: int
    last: int

    def at(self, t: int) -> Formula:
        """What it says of one position."""
        return Always(self.condition, Bound(Fraction(t), Fraction(t)), self.quantifier)


def step_claim(question: Question) -> StepClaim:
    """The claim whose steps are counted; refused where it is no `G[a,b] p` over steps."""
    claim = question.formula
    if isinstance(claim, Always) and question.time is Time.STEPS and claim.quantifier is not Quantifier.SOME:
        upper = claim.bound.upper
        if upper is not None and upper <= MAX_UNROLLED_STEPS and horizon(claim.arg) == 0:
            return StepClaim(claim.arg, claim.quantifier, int(claim.bound.lower), int(upper))
    raise InputError(
        f"steps are counted of a claim G[a,b] p with a last step, where p is a condition on the state, not of {claim}"
    )


def kept_steps(sifting: CellSifting, boxes: Sequence[CellBox], cells: Sequence[Question], budget: Budget) -> list[int]:
    """For each cell the largest k for which `G[a,k] p` is proven; a - 1 where not even `G[a,a] p` is."""
    claim = step_claim(sifting.question)
    if sifting.applies:
        return [max(steps, claim.first - 1) for steps in sifting.steps(boxes, budget)]
    return _bounded(claim, cells, budget)


def _bounded(claim: StepClaim, cells: Sequence[Question], budget: Budget) -> list[int]:
    """By bounds of all cells at every step."""
    found = [initial_boxes(cell.system).boxes for cell in cells]
    if not any(found):
        return [claim.last] * len(cells)
    levels = Levels(cells[0].system, [box for own in found for box in own], budget, claim.last)
    row, steps = 0, list[int]()
    for own in found:
        steps.append(min((_last_true(levels, claim, row + place) for place in range(len(own))), default=claim.last))
        row += len(own)
    levels.raise_if_stopped()
    return steps


def _last_true(levels: Levels, claim: StepClaim, row: int) -> int:
    """The last position up to which bounds show the claim of one box."""
    for t in range(claim.first, claim.last + 1):
        if levels.evaluate(claim.at(t), row) is not True:
            return t - 1
    return claim.last
