"""That no finite maximal path breaks a claim: a claim about every position of the product with an automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from vernal.engines.base import Engine
from vernal.engines.liveness.method import first_proof, open_for
from vernal.evidence.knowledge import Open, Proof
from vernal.logic.automaton import Automaton
from vernal.logic.formula import Always, Bound
from vernal.logic.question import Question
from vernal.model.system import System
from vernal.reduce.product import product
from vernal.run.budget import Budget


def ends_well(engines: Sequence[Engine], question: Question, wrong: Automaton, budget: Budget) -> Proof | Open | None:
    """That no finite maximal path is accepted; None where there is nothing to prove."""
    if question.is_total or not any(edge.may_end for edge in wrong.edges):
        return None
    edges = tuple(replace(edge, marks=frozenset[int]()) for edge in wrong.edges)  # nothing is counted
    made = product(question.system, replace(wrong, edges=edges), 0, tick=budget.check)
    known = first_proof(engines, asked_of_product(made.system, made.ends_well, question), budget)
    if isinstance(known, Proof):
        return known
    return open_for(f"that no finite path breaks the claim is not proven: {known.reason}")


def asked_of_product(system: System, always: Always, question: Question) -> Question:
    """What is asked of the product; of a claim with a horizon only as far as a run can be undecided.

    When a run has read all positions up to the horizon nothing is left to be read: the run has ended, or every edge is
    marked from there on and may end. So one that is accepted shows two steps later.
    """
    reach = question.claim.horizon
    upper = None if reach is None else Fraction(reach + 2)
    return Question(system, replace(always, bound=Bound(Fraction(0), upper)))
