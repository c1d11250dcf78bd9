"""The one place where what an engine knows becomes a result.

A proof is believed only if its direction may prove what the claim says of all paths or of some; a counterexample only
if it is false on the concrete system. Everything that every verdict carries is added here: how far it reaches, whether
it is vacuous, which declared ranges may be left, at which step it is decided, its margin, and its evidence.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from vernal.engines.weaker_claims import best_margin, in_words
from vernal.errors import Stopped
from vernal.evidence import confirm
from vernal.evidence.belief import believed, confirmed, left_open
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.kinds import Tree
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof
from vernal.evidence.reach import ForAllTime, Reach, UntilTime, UpToStep
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory import trajectory_truth
from vernal.evidence.walk import NotAPath
from vernal.logic.claim import Claim
from vernal.logic.formula import Quantifier
from vernal.logic.prefix import refutable
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.sets.declared_ranges import range_notes
from vernal.sets.emptiness import is_empty
from vernal.sets.region_vacuity import has_no_start, is_certain

NOTE_SECONDS = 0.5  # seconds for notes of all answers after the time is up, and as many until they are interrupted
WEAKER_SECONDS = 1.0  # at most, for what is proven of a claim that stays open
WEAKER_SHARE = 0.25  # of the time it took so far, at most, for the same

UNCONFIRMED = "there is an answer, but it could not be confirmed in time"
NO_START = "vacuous: there is no initial state"
ALWAYS_TRUE = "vacuous: the claim is true whatever the system does; a conjunction where a disjunction was meant?"


def answered(question: Question, known: Known, budget: Budget) -> Result:
    """The result that follows, unless confirming it takes much longer than there is time: then it is unknown."""
    try:
        return in_time(lambda: answer(question, known, budget), budget.extended(NOTE_SECONDS), NOTE_SECONDS)
    except Stopped as stop:
        left = known if isinstance(known, Open) else left_open(known, f"{stop.reason}: {UNCONFIRMED}")
        return _with_failures(replace(_left_open(question, left), abstraction=known.abstraction), known)


def answer(question: Question, known: Known, budget: Budget) -> Result:
    """The result that follows from what an engine knows."""
    if question.time is Time.SECONDS:
        return _with_failures(_flow_answer(question, known, budget.extended(NOTE_SECONDS)), known)
    known = confirmed(question.claim, believed(question.claim, known))
    final = replace(budget.extended(NOTE_SECONDS), journal=None)
    return _with_failures(replace(_result(question, known, final), abstraction=known.abstraction), known)


def _with_failures(result: Result, known: Known) -> Result:
    """The result with a note of every engine that ended in an error of its own."""
    return replace(result, failed=known.failed, notes=(*result.notes, *map(str, known.failed)))


def _result(question: Question, known: Known, final: Budget) -> Result:
    match known:
        case Proof():
            return _holds(question, known, final)
        case Counterexample():
            return _violated(question, known, final)
        case FailingState():
            return _fails(question, known, final)
    return _left_open(question, known, *_weaker(question, known, final))


def _left_open(question: Question, known: Open, *notes: str) -> Result:
    return Result(
        str(question.formula),
        UNKNOWN,
        known.engine,
        question.name,
        reason=known.reason,
        proven_steps=known.proven_steps,
        proven_time=known.proven_time,
        notes=(*known.notes, *notes),
        statistics=known.statistics,
    )


def _weaker(question: Question, known: Open, budget: Budget) -> list[str]:
    """What is proven in the place of a claim of all paths that stays open."""
    if question.claim.mentions_some:
        return []
    found = best_margin(question, budget.part(1.0, min(WEAKER_SECONDS, WEAKER_SHARE * budget.elapsed)))
    said = in_words(question, max(found, -math.inf if known.margin is None else known.margin))
    return [] if said is None else [said]


# Verdicts -------------------------------------------------------------------------------------------------------------


def _holds(question: Question, proof: Proof, budget: Budget) -> Result:
    claim = question.claim
    empty = proof.empty or is_empty(question.system, budget) is True
    vacuous = [NO_START] if empty else [ALWAYS_TRUE] if claim.vacuous else []
    path = None if proof.evidence is None else proof.evidence.path
    ranges = [] if empty else range_notes(question, path, budget, proof.seen)
    return Result(
        claim.text,
        HOLDS,
        proof.engine,
        question.name,
        reach=reach(claim),
        assurance=proof.assurance,
        margin=None if empty else _at_least_zero(proof.margin),
        vacuous=bool(vacuous),
        notes=(*vacuous, *proof.notes, *ranges),
        statistics=proof.statistics,
        evidence=None if empty else proof.evidence,
    )


def reach(claim: Claim) -> Reach:
    """How far a verdict about the claim reaches."""
    return ForAllTime() if claim.horizon is None else UpToStep(claim.horizon)


def _at_least_zero(margin: float | None) -> float | None:
    """The margin of a claim that holds: rounding may have taken it below zero, and no finite number is none."""
    return None if margin is None or not math.isfinite(margin) else max(margin, 0.0) + 0.0


def _violated(question: Question, known: Counterexample, budget: Budget) -> Result:
    claim, trace = question.claim, known.trace
    return Result(
        claim.text,
        VIOLATED,
        known.engine,
        question.name,
        assurance=confirm.assurance(trace, claim.formula),
        margin=margin_on(trace, claim),
        notes=(*known.notes, *range_notes(question, trace, budget, known.seen)),
        statistics=known.statistics,
        evidence=trace,
        step=len(trace) - 1,
    )


def margin_on(trace: Trace, claim: Claim) -> float | None:
    """By how much the claim is true on a path; of a claim without a bound, what a prefix of this length can tell."""
    found = confirm.margin(trace, claim.path if trace.complete else refutable(claim.path))
    return None if found is None else found + 0.0


def _fails(question: Question, known: FailingState, budget: Budget) -> Result:
    note = f"no single path shows it: {known.excluded_by}"
    return Result(
        question.claim.text,
        VIOLATED,
        known.engine,
        question.name,
        assurance=known.assurance,
        notes=(note, *known.notes, *range_notes(question, known.trace, budget, known.seen)),
        statistics=known.statistics,
        evidence=Tree(known.trace, known.excluded_by, known.invariant),
        step=0,
    )


# Flows ----------------------------------------------------------------------------------------------------------------

OUTSIDE = "vacuous: no state of the region can violate the claim; is the bad set outside it?"
TOO_SHORT = "the flowpipe that was found ends at t = {until:g}, before the claim does"


def _flow_answer(question: Question, known: Known, budget: Budget) -> Result:
    match found := _flow_believed(question, known, budget):
        case Proof():
            made = _flow_holds(question, found, budget)
        case Counterexample():
            made = _flow_violated(question, found)
        case _:
            assert isinstance(found, Open)
            made = _left_open(question, found)
    return replace(made, abstraction=known.abstraction)


def _flow_believed(question: Question, known: Known, budget: Budget) -> Known:
    """What is known, if it may be said of all trajectories; a trajectory that is to refute that is enclosed again."""
    match known:
        case Proof(direction=direction) if not direction.may_prove(Quantifier.ALL):
            return left_open(known, f"a proof of direction {direction.value} says nothing of some of the trajectories")
        case Proof(evidence=Flowpipe(until=until)) if until < question.claim.last_time:
            return left_open(known, TOO_SHORT.format(until=until))
        case Counterexample(trace=trace) if not _is_refuted(question, trace, budget):
            return left_open(known, "a counterexample was found but did not replay")
        case FailingState():
            return left_open(known, "one trajectory is needed to refute a claim of all of them")
    return known


def _is_refuted(question: Question, trace: Trace, budget: Budget) -> bool:
    """Whether the claim is false of all solutions from the first state of a trajectory, enclosed once more."""
    try:
        truth = trajectory_truth(trace, question.formula, question.model, budget.check)
    except NotAPath:
        return False
    return trace.times is not None and truth is False


def _flow_holds(question: Question, proof: Proof, budget: Budget) -> Result:
    empty = proof.empty or has_no_start(question.model, budget)
    vacuous = [NO_START] if empty else [OUTSIDE] if is_certain(question, budget) else []
    return Result(
        str(question.formula),
        HOLDS,
        proof.engine,
        question.name,
        reach=UntilTime(question.claim.last_time, _inside_until(question, proof)),
        assurance=proof.assurance,
        margin=None if empty else _at_least_zero(proof.margin),
        vacuous=bool(vacuous),
        notes=(*vacuous, *proof.notes),
        statistics=proof.statistics,
        evidence=None if empty else proof.evidence,
    )


def _inside_until(question: Question, proof: Proof) -> Fraction | None:
    """Until when all trajectories are inside the region, where a flowpipe tells."""
    pipe = proof.evidence
    return min(Fraction(pipe.inside_until), question.claim.last_time) if isinstance(pipe, Flowpipe) else None


def _flow_violated(question: Question, known: Counterexample) -> Result:
    times = known.trace.times
    return Result(
        str(question.formula),
        VIOLATED,
        known.engine,
        question.name,
        assurance=Assurance.RIGOROUS,
        notes=known.notes,
        statistics=known.statistics,
        evidence=known.trace,
        time=None if times is None else float(times[-1]),
    )
