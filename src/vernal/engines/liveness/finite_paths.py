"""That no finite maximal path breaks a claim: a claim about every position of the product with an automaton."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.engines.base import Engine
from vernal.engines.liveness.method import FirstProof, open_for
from vernal.evidence.knowledge import Open, Proof
from vernal.logic.automaton import Automaton
from vernal.logic.question import Question
from vernal.reduce.counted_marks import of_finite_paths
from vernal.run.budget import Budget


def ends_well(engines: Sequence[Engine], question: Question, wrong: Automaton, budget: Budget) -> Proof | Open | None:
    """That no finite maximal path is accepted; None where there is nothing to prove."""
    asked = of_finite_paths(question, wrong, budget.check)
    if asked is None:
        return None
    known = FirstProof(tuple(engines)).attempt(asked.question, budget)
    if isinstance(known, Proof):
        return known
    reason = known.reason if isinstance(known, Open) else "it is broken"
    return open_for(f"that no finite path breaks the claim is not proven: {reason}")
