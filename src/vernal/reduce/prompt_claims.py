"""What has to come at last comes within so many steps: `G F[0,k] p` implies `G F p`, and `G[k,] p` implies `F G p`.

What is left only a bad prefix can break (`logic.shortening.prompt`). How many steps are enough is a guess of whoever
asks; a wrong number costs time only. Nothing is refuted: a path that takes longer breaks no claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vernal.evidence.belief import left_open
from vernal.evidence.knowledge import Known, Open
from vernal.logic.direction import Direction
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.logic.shortening import prompt
from vernal.reduce.reduction import Entailment, Subquestion, first_decided
from vernal.run.budget import Budget

NOTHING_AWAITED = "the claim waits for nothing without a time limit"


@dataclass(frozen=True)
class PromptClaims:
    """A claim of all paths with delays instead of what comes at last, one delay after the other."""

    delays: tuple[int, ...]

    name = "prompt claims"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        claim = question.claim
        endless = claim.horizon is None and not claim.mentions_some
        return None if endless and claim.linear is not None and waits(claim.linear) else NOTHING_AWAITED

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        path = question.claim.linear
        assert path is not None
        for number, delay in enumerate(self.delays):
            budget.progress(f"liveness: within {delay} steps", None)
            asked = replace(question, formula=prompt(path, delay, total=question.is_total), name=None)
            share = 1 / (len(self.delays) - number)
            yield Subquestion(asked, self.direction, Entailment.IMPLIES, share=share, statistics={"delay": delay})

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        known, last = first_decided(found), found[-1]
        if not isinstance(known, Open) or not isinstance(last, Open):
            return known
        delay = self.delays[len(found) - 1]
        what = f"it is not proven that what the claim waits for comes within {delay} steps"
        return left_open(last, f"{what}: {last.reason}")
