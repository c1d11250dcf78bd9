"""The one place where what an engine knows becomes a result.

A proof is believed only if its direction may prove what the claim says of all paths or of some; a counterexample only
if it is false on the concrete system. Everything that every verdict carries is added here: how far it reaches, whether
it is vacuous, which declared ranges may be left, at which step it is decided, its margin, and its evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from vernal.engines.covers import Covering, covering
from vernal.engines.weaker_claims import best_margin, in_words
from vernal.errors import Stopped
from vernal.evidence import confirm
from vernal.evidence.belief import believed, confirmed, left_open
from vernal.evidence.cover_lines import cover_lines
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.kinds import Tree
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, SeenStates
from vernal.evidence.reach import ForAllTime, Reach, UntilTime, UpToSample, UpToStep
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory_margin import trajectory_margin
from vernal.evidence.walk import NotAPath
from vernal.logic.claim import Claim
from vernal.logic.prefix import refuted_within
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.held_loop import loop_of
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.sets.declared_ranges import range_notes
from vernal.sets.region_vacuity import has_no_start, is_certain

ACTS_ONCE = "{} acts at time 0 only: its period is longer than the claim looks"
NOTE_SECONDS = 0.5  # seconds for notes of all answers after the time is up, and as many until they are interrupted
WEAKER_SECONDS = 1.0  # at most, for what is proven of a claim that stays open
WEAKER_SHARE = 0.25  # of the time it took so far, at most, for the same

UNCONFIRMED = "there is an answer, but it could not be confirmed in time"
NO_START = "vacuous: there is no initial state"
OUTSIDE = "vacuous: no state of the region can violate the claim; is the bad set outside it?"
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
    final = replace(budget.extended(NOTE_SECONDS), journal=None)
    known = confirmed(question, believed(question.claim, known), final.check)
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
    return _left_open(question, known, _weaker(question, known, final))


def _left_open(question: Question, known: Open, weaker: str | None = None) -> Result:
    return Result(
        str(question.formula),
        UNKNOWN,
        known.engine,
        question.name,
        reason=known.reason,
        proven_steps=known.proven_steps,
        proven_time=known.proven_time,
        notes=known.notes if weaker is None else (*known.notes, weaker),
        statistics=known.statistics,
        tried=known.tried,
        weaker=weaker,
    )


def _weaker(question: Question, known: Open, budget: Budget) -> str | None:
    """What is proven in the place of a claim of all paths that stays open."""
    if question.claim.mentions_some:
        return None
    moment = budget.part(1.0, min(WEAKER_SECONDS, WEAKER_SHARE * budget.elapsed))
    found = best_margin(question, moment) if question.time is Time.STEPS else -math.inf
    return in_words(question, max(found, -math.inf if known.margin is None else known.margin))


# Verdicts -------------------------------------------------------------------------------------------------------------


def _holds(question: Question, proof: Proof, budget: Budget) -> Result:
    claim = question.claim
    empty = proof.empty or has_no_start(question.model, budget)
    vacuous = [NO_START] if empty else _vacuous(question, budget)
    path = None if proof.evidence is None else proof.evidence.path
    ranges = [] if empty else _range_notes(question, path, budget, proof.seen)
    sets = covering(question, proof) if budget.keeps_sets else Covering()
    return Result(
        claim.text,
        HOLDS,
        proof.engine,
        question.name,
        reach=reach(claim, proof),
        assurance=proof.assurance,
        margin=None if empty else _at_least_zero(proof.margin),
        vacuous=bool(vacuous),
        notes=(*vacuous, *proof.notes, *ranges),
        statistics=proof.statistics,
        evidence=None if empty else proof.evidence,
        cover=sets.cover,
        uncertified=sets.refusal,
    )


def _vacuous(question: Question, budget: Budget) -> list[str]:
    """That a claim is true whatever the model does, or wherever in the region of a flow its states are."""
    if question.time is Time.SECONDS:
        return [OUTSIDE] if is_certain(question, budget) else []
    return [ALWAYS_TRUE] if question.claim.vacuous else []


def _range_notes(question: Question, path: Trace | None, budget: Budget, seen: SeenStates | None) -> Sequence[str]:
    """Which declared ranges may be left; those of a flow are its region, and how far a verdict reaches says it."""
    return _period_notes(question) if question.time is not Time.STEPS else range_notes(question, path, budget, seen)


def _period_notes(question: Question) -> list[str]:
    """Which agents of a loop that samples act once only, as far as a claim looks."""
    loop, claim = loop_of(question.model), question.claim
    if loop is None or loop.grid is None or (question.time is Time.SAMPLES and claim.horizon is None):
        return []
    last = claim.last_time if claim.horizon is None else claim.horizon * loop.grid
    return [ACTS_ONCE.format(one.name) for one in loop.agents if one.every is not None and one.every > last > 0]


def reach(claim: Claim, proof: Proof) -> Reach:
    """How far a proof of the claim reaches."""
    if claim.is_endless or (claim.time is Time.SAMPLES and claim.horizon is None):
        return ForAllTime(proof.stays_inside)
    if claim.time is Time.SECONDS:
        pipe = proof.evidence
        inside = min(Fraction(pipe.inside_until), claim.last_time) if isinstance(pipe, Flowpipe) else None
        return UntilTime(claim.last_time, inside)
    if claim.time is Time.SAMPLES and claim.horizon is not None:
        return UpToSample(claim.horizon, proof.stays_inside)
    return ForAllTime() if claim.horizon is None else UpToStep(claim.horizon)


def _at_least_zero(margin: float | None) -> float | None:
    """The margin of a claim that holds: rounding may have taken it below zero, and no finite number is none."""
    return None if margin is None or not math.isfinite(margin) else max(margin, 0.0) + 0.0


def _violated(question: Question, known: Counterexample, budget: Budget) -> Result:
    claim, trace, timed = question.claim, known.trace, question.time is not Time.STEPS
    return Result(
        claim.text,
        VIOLATED,
        known.engine,
        question.name,
        assurance=Assurance.RIGOROUS if timed else confirm.assurance(trace, claim.formula),
        margin=_timed_margin(question, trace, budget) if timed else margin_on(trace, claim),
        notes=(*known.notes, *_range_notes(question, trace, budget, known.seen)),
        statistics=known.statistics,
        evidence=trace,
        step=None if timed else len(trace) - 1,
        time=float(trace.times[-1]) if timed and trace.times is not None else None,
    )


def _timed_margin(question: Question, trace: Trace, budget: Budget) -> float | None:
    """By how much the claim is true on a trajectory, at most."""
    with suppress(NotAPath, Stopped):
        return trajectory_margin(trace, question, budget.check)
    return None


def margin_on(trace: Trace, claim: Claim) -> float | None:
    """By how much a path fails the claim, as a number that is not above 0; None where its positions do not tell."""
    found = confirm.margin(trace, claim.path if trace.complete else refuted_within(claim.path, len(trace)))
    return None if found is None or found > 0 else found + 0.0


def _fails(question: Question, known: FailingState, budget: Budget) -> Result:
    note, timed = f"no single path shows it: {known.excluded_by}", question.time is not Time.STEPS
    sets = None if known.cover is None else tuple(cover_lines(known.cover, question.model))
    return Result(
        question.claim.text,
        VIOLATED,
        known.engine,
        question.name,
        assurance=known.assurance,
        notes=(note, *known.notes, *_range_notes(question, known.trace, budget, known.seen)),
        statistics=known.statistics,
        evidence=Tree(known.trace, known.excluded_by, known.invariant, sets, known.recurrence),
        step=None if timed else 0,
        time=0.0 if timed else None,
    )
