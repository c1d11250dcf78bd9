"""A system in which every argmax may take any of its values, whatever the scores are.

The paths of the system are among its paths (OVER), and nothing of a network is left in it but where its outputs are
used otherwise: what no policy breaks is proven without looking at the one there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vernal.evidence.knowledge import Known
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.reduce.reduction import Subquestion, first_decided
from vernal.reduce.restriction import rewritten
from vernal.run.budget import Budget
from vernal.sets.pieces.free_winners import freed, has_winners

NO_WINNERS = "not supported: no argmax takes part in a step"


@dataclass(frozen=True)
class AnyWinner:
    """The same claim of the system in which every argmax is a choice."""

    name = "any winner"
    direction = Direction.OVER
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None if has_winners(question.system.step) else NO_WINNERS

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        yield Subquestion(replace(question, model=rewritten(question.system, freed)), self.direction)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        return first_decided(found)
