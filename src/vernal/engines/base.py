"""What every engine is: something that finds out about a question within a budget."""

from __future__ import annotations

from typing import Protocol

from vernal.engines.knowledge import Known
from vernal.logic.question import Question
from vernal.run.budget import Budget

UNBOUNDED = "the formula has no bound and this engine decides bounded formulas only; bound it, as in G[0,20] p"


class Engine(Protocol):
    """A decision procedure. What it knows may be nothing, and is never wrong; `Stopped` may escape from it."""

    name: str

    def attempt(self, question: Question, budget: Budget) -> Known: ...
