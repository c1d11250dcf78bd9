"""The engine `ends`: what exact ends of values settle, and another engine for the rest of the claim."""

from __future__ import annotations

from dataclasses import replace

from vernal.engines.base import Engine
from vernal.engines.refusals import in_steps
from vernal.evidence.knowledge import Known, Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.logic.direction import Direction
from vernal.logic.normal import TRUTH
from vernal.logic.question import Question
from vernal.reduce.constant_atoms import settled
from vernal.run.budget import Budget

OF_SOME = "not supported by this engine: a claim of some path"  # that paths exist is another question
NOTHING = "exact ends of values settle no atom of the claim"


class OperatorEnds:
    """Atoms that are the same in all states are replaced; what is left of the claim is asked of another engine."""

    name = "ends"

    def __init__(self, rest: Engine | None = None) -> None:
        self.rest = rest

    def takes(self, question: Question) -> str | None:
        """Claims of all paths."""
        return in_steps(question) or (OF_SOME if question.claim.mentions_some else None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof where nothing is left of the claim; else what the other engine knows of the rest."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        left, said = settled(question, budget.check)
        if not said:
            return Open(engine=self.name, reason=NOTHING)
        notes = (f"the operators of the model alone say: {', '.join(said)}",)
        if left.formula == TRUTH:
            return self._proof(notes)
        if self.rest is None:
            return Open(engine=self.name, reason=f"exact ends of values settle a part only; {left.claim.text} is left")
        known = self.rest.attempt(left, budget)
        return replace(known, notes=(*notes, *known.notes))

    def _proof(self, notes: tuple[str, ...]) -> Proof:
        direction, subject, assurance = Direction.EXACT, Subject.STATES, Assurance.EXACT
        return Proof(engine=self.name, direction=direction, subject=subject, assurance=assurance, notes=notes)
