"""What the region of a flow decides alone: there is no initial state in it, or no state of it can violate the claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vernal.evidence.knowledge import Known, Proof
from vernal.evidence.result import Assurance
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.reduce.reduction import Subquestion, first_decided
from vernal.run.budget import Budget
from vernal.sets.region_vacuity import has_no_start, is_certain


@dataclass(frozen=True)
class RegionFirst:
    """The question itself, unless the region alone decides it."""

    name = "region first"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        if not has_no_start(question.model, budget) and not is_certain(question, budget):
            yield Subquestion(question, self.direction)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        if found:
            return first_decided(found)
        return Proof(engine="", direction=self.direction, assurance=Assurance.RIGOROUS)
