"""What may be believed of what is known: a direction has to allow it, and a path has to refute the claim."""

from __future__ import annotations

from vernal.evidence import confirm
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory import trajectory_truth
from vernal.evidence.walk import NotAPath
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.tick import Tick, idle

TOO_SHORT = "the flowpipe that was found ends at t = {until:g}, before the claim does"
NOT_ALL = "the sets of states that {} leave out some behaviour, or add some, and {} no such claim (direction {})"
OF_STATES = (
    "not supported by this engine: every path keeps it, but this formula (CTL) asks more: at a state one of its "
    "alternatives has to hold for all paths from there"
)


def believed(claim: Claim, known: Known) -> Known:
    """What is known, if its direction allows to say so of this claim; else that it is open, and why."""
    match known:
        case Proof(direction=direction, subject=subject):
            if subject is Subject.PATHS and claim.linear is None and not claim.mentions_some:
                return left_open(known, OF_STATES)
            if not all(map(direction.may_prove, claim.quantifiers)):
                return left_open(known, NOT_ALL.format("it was proven on", "prove", direction.value))
        case Counterexample(direction=direction) if not all(map(direction.may_refute, claim.quantifiers)):
            return left_open(known, "one path does not refute a claim of some path")
        case FailingState(direction=direction) if not all(map(direction.may_refute, claim.quantifiers)):
            return left_open(known, NOT_ALL.format("it fails on", "refute", direction.value))
    return known


def confirmed(question: Question, known: Known, tick: Tick = idle) -> Known:
    """What is known, if what refutes the claim does so when it is computed again, and a proof goes far enough."""
    match known:
        case Counterexample(trace=trace) if not is_refuted(question, trace, tick):
            return left_open(known, "a counterexample was found but did not replay")
        case Proof(evidence=Flowpipe(until=until)) if (
            question.time is Time.SECONDS and until < question.claim.last_time
        ):
            return left_open(known, TOO_SHORT.format(until=until))
        case FailingState() if question.time is Time.SECONDS:
            return left_open(known, "one trajectory is needed to refute a claim of all of them")
    return known


def is_refuted(question: Question, trace: Trace, tick: Tick = idle) -> bool:
    """Whether the claim is false on a path; of a trajectory, of all solutions from its first state, enclosed again."""
    if question.time is Time.STEPS:
        return confirm.truth(trace, question.claim.path) is False
    try:
        found = trace.times and trajectory_truth(trace, question.formula, question.model, tick, question.time)
        return found is False
    except NotAPath:
        return False


def is_kept_on(question: Question, trace: Trace) -> bool:
    """Whether the claim, read along a path, is true on it; of a trajectory, on all solutions from its first state."""
    path = question.claim.path
    if question.time is Time.STEPS:
        return confirm.truth(trace, path) is True
    try:
        return trajectory_truth(trace, path, question.model, time=question.time) is True
    except NotAPath:
        return False


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
