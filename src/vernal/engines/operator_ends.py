"""The engine `ends`: what exact ends of values settle, and another engine for the rest of the claim."""

from __future__ import annotations

from vernal.engines.base import Engine
from vernal.engines.chain import Chain
from vernal.evidence.knowledge import Known, Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.logic.normal import TRUTH
from vernal.logic.question import Question
from vernal.reduce.constant_atoms import ConstantAtoms
from vernal.run.budget import Budget


class LeftOfClaim:
    """What is left of a claim: nothing, or something for another engine."""

    name = "ends"

    def __init__(self, rest: Engine | None) -> None:
        self.rest = rest

    def takes(self, question: Question) -> str | None:
        """Nothing, or what the other engine takes."""
        return None if self.rest is None else self.rest.takes(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof where nothing is left; else what the other engine knows."""
        if question.formula == TRUTH:
            direction, subject = ConstantAtoms.direction, Subject.STATES
            return Proof(engine=self.name, direction=direction, subject=subject, assurance=Assurance.EXACT)
        if self.rest is None:
            reason = f"a part of the claim follows from least and greatest values; {question.claim.text} is left"
            return Open(engine=self.name, reason=reason)
        return self.rest.attempt(question, budget)


def operator_ends(rest: Engine | None = None) -> Chain:
    """Atoms that are the same in all states are replaced; what is left of the claim is asked of another engine."""
    return Chain((ConstantAtoms(),), LeftOfClaim(rest))
