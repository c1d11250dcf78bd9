"""What an invariant excludes: where something is never true in it, the claim that it comes at last fails on every path.

An invariant speaks of more states than are reached (OVER), so it proves the negation of the claim, of all paths. Where
no value on the way is undefined there is a path from every initial state; so the claim is false at each of them, and
any one will do to show it.
"""

from __future__ import annotations

from vernal.engines.some_paths import NO_STATE, fails_by
from vernal.evidence.candidates import failing_state
from vernal.evidence.defined import is_defined
from vernal.evidence.invariant import Invariant
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.run.budget import Budget

BROKEN = "a simulated run breaks the claim, so there is no invariant to look for; falsify will show a path"
REACHED = "simulated runs come to what is waited for, so that no invariant excludes it"
MAY_BE_UNDEFINED = "no path keeps the claim, but a value may be undefined, so that there may be no path at all"


def excluded(question: Question, never: Formula, known: Proof | Open, budget: Budget) -> Known:
    """What follows of a claim of all paths from what is known of its negation."""
    if isinstance(known, Open):
        taken = REACHED if known.reason == BROKEN else f"that all paths keep {never} would refute it: {known.reason}"
        return _open(known, known.reason if known.reason.startswith("not supported") else taken)
    invariant = known.evidence
    assert isinstance(invariant, Invariant)
    if not is_defined(question.system, invariant):
        return _open(known, MAY_BE_UNDEFINED)
    shown = None if known.empty else failing_state(question, question.system.initial.hull, budget.check)
    if shown is None:
        return _open(known, NO_STATE)
    return fails_by(known, shown, never, Direction.TWO_SIDED)


def _open(known: Proof | Open, reason: str) -> Open:
    return Open(engine=known.engine, reason=reason, statistics=known.statistics)
