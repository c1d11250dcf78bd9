"""What may be believed of what is known: a direction has to allow it, and a path has to refute the claim."""

from __future__ import annotations

from vernal.evidence import confirm
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.logic.claim import Claim

OF_STATES = (
    "not supported by this engine: every path keeps it, but CTL asks states to: of some alternatives one has to hold "
    "for all paths"
)


def believed(claim: Claim, known: Known) -> Known:
    """What is known, if its direction allows to say so of this claim; else that it is open, and why."""
    match known:
        case Proof(direction=direction, subject=subject):
            if subject is Subject.PATHS and claim.linear is None and not claim.mentions_some:
                return left_open(known, OF_STATES)
            if not all(map(direction.may_prove, claim.quantifiers)):
                return left_open(known, f"a proof of direction {direction.value} says nothing of some of these paths")
        case Counterexample(direction=direction) if not all(map(direction.may_refute, claim.quantifiers)):
            return left_open(known, "one path does not refute a claim of some path")
        case FailingState(direction=direction) if not all(map(direction.may_refute, claim.quantifiers)):
            return left_open(known, f"a refutation of direction {direction.value} says nothing of some of these paths")
    return known


def confirmed(claim: Claim, known: Known) -> Known:
    """What is known, if the claim is false on the path of a counterexample; else that it is open."""
    if isinstance(known, Counterexample) and confirm.truth(known.trace, claim.path) is not False:
        return left_open(known, "a counterexample was found but did not replay")
    return known


def left_open(known: Known, reason: str) -> Open:
    """That nothing is decided by what is known, for this reason."""
    return Open(
        engine=known.engine,
        statistics=known.statistics,
        notes=known.notes,
        abstraction=known.abstraction,
        failed=known.failed,
        reason=reason,
    )
