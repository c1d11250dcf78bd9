"""Reductions: a question answered by asking others, and what their answers say of it.

What carries over follows from two things that every question asked instead says of itself: its direction, which is how
its paths relate to those of the system, and how its claim relates to the one that was asked. It never says more than
what was found: a proof is one of the claim only as far as both allow, and a path has to be one of the system, on which
the claim is false, or true where one path is all that is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from vernal.evidence.belief import is_kept_on, is_refuted, left_open
from vernal.evidence.candidates import failing_state, witnessed
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.invariant import Invariant
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.replay import verify
from vernal.evidence.result import Assurance
from vernal.evidence.single_path import OPEN_ACTION, is_only_position
from vernal.evidence.trace import Trace
from vernal.interpret.sampled.held_questions import asks_open_actions
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula, Quantifier
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import System
from vernal.run.budget import Budget

NO_STATE = "no path keeps the claim, but no initial state was found to show it"
NO_PATH = "a path was found that does not refute the claim itself"
ONE_WAY = "what was proven of another claim says nothing of this one"
SEVERAL_STARTS = "a witness proves a claim of some path for one initial state only, and here are several"


class Entailment(Enum):
    """How the claim that is asked instead relates to the one that was asked."""

    SAME = "says the same"
    IMPLIES = "implies it"  # a proof carries over
    FOLLOWS = "follows from it"  # a refutation carries over
    NEGATES = "says that it is false at every initial state"  # a proof refutes
    UNRELATED = "says nothing of it"  # a path may decide it all the same


@dataclass(frozen=True)
class Subquestion:
    """A question asked in the place of another, and what it has to do with it."""

    question: Question
    direction: Direction  # how its paths relate to those of the question
    entails: Entailment = Entailment.SAME
    are_starts: bool = True  # whether its initial states are some of the question's
    share: float = 1.0  # of the time that is left
    notes: tuple[str, ...] = ()  # where it decides
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)  # likewise
    proven_steps: int | None = None  # of a claim about every step: how far a proof of this one proves it


class Reduction(Protocol):
    """A question turned into others, and their answers into one of the question."""

    name: str
    direction: Direction  # the weakest of all its applications
    is_joint: bool  # whether all of its questions have to be proven; else the first that decides is enough

    def takes(self, question: Question) -> str | None:
        """None for a question that it takes, else the reason why not."""

    def apply(self, question: Question, budget: Budget) -> Iterable[Subquestion]:
        """The questions to ask, one after the other; none where the question is decided without."""

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        """What follows from what is known of the questions, as far as they were asked; each as it carries over."""


def carried(question: Question, sub: Subquestion, known: Known, budget: Budget) -> Known:
    """What an answer to a question that was asked instead says of the question itself."""
    if sub.question is question:
        return known
    match known:
        case Proof():
            found = _of_proof(question, sub, known, budget)
        case Counterexample():
            found = _of_path(question, sub, known)
        case FailingState():
            found = _of_state(question, sub, known)
        case Open():
            same = sub.entails is Entailment.SAME and sub.direction is Direction.EXACT
            return known if same else replace(known, proven_steps=None, proven_time=None, margin=None)
    if isinstance(found, Open):
        return found
    return replace(found, notes=(*sub.notes, *found.notes), statistics={**found.statistics, **sub.statistics})


# Each kind of knowledge -----------------------------------------------------------------------------------------------


def _of_proof(question: Question, sub: Subquestion, known: Proof, budget: Budget) -> Known:
    if sub.entails is not Entailment.SAME and not all(map(sub.direction.may_prove, sub.question.claim.quantifiers)):
        return left_open(known, ONE_WAY)
    if sub.entails in (Entailment.FOLLOWS, Entailment.UNRELATED):
        return replace(left_open(known, ONE_WAY), proven_steps=sub.proven_steps)
    if sub.entails is Entailment.NEGATES:
        return _refuted(question, sub, known, budget)
    around_all = isinstance(known.evidence, Flowpipe) and sub.direction.may_prove(Quantifier.ALL)
    evidence = known.evidence if around_all or _same_graph(question, sub) else None
    if isinstance(evidence, Trace):
        evidence = replace(evidence, system=question.model)
    subject = known.subject if sub.entails is Entailment.SAME else Subject.STATES
    return replace(known, direction=_direction(sub, known.direction), subject=subject, evidence=evidence)


def _refuted(question: Question, sub: Subquestion, known: Proof, budget: Budget) -> Known:
    """That no path keeps the claim, shown by an initial state."""
    initial = sub.question.model.initial
    shown = None if known.empty else failing_state(sub.question, initial.hull, budget.check)
    shown = None if shown is None else _of_question(question, sub, shown)
    if shown is None:
        return left_open(known, NO_STATE)
    known = known if _same_graph(question, sub) else replace(known, evidence=None)
    return fails_by(known, shown, sub.question.formula, _direction(sub, known.direction))


def fails_by(known: Proof, shown: Trace, opposite: Formula, direction: Direction) -> FailingState:
    """A state at which a claim fails, since it is proven that all paths keep the opposite."""
    invariant = invariant_of(known)
    recurrence = known.evidence if isinstance(known.evidence, RecurrentSet) else None
    by = "an invariant" if invariant is not None else "a recurrent set" if recurrence is not None else known.engine
    return FailingState(
        engine=known.engine,
        trace=shown,
        direction=direction,
        assurance=known.assurance,
        excluded_by=f"every path from this state keeps {opposite}, by {by}",
        invariant=invariant,
        recurrence=recurrence,
        statistics=known.statistics,
    )


def invariant_of(known: Proof) -> Invariant | None:
    """The invariant that a proof rests on, where there is one."""
    return known.evidence if isinstance(known.evidence, Invariant) else None


def _of_path(question: Question, sub: Subquestion, known: Counterexample) -> Known:
    """A path refutes the claim if it is one of the system on which the claim is false, whatever was asked.

    A claim of some path is proven by one on which it is true.
    """
    trace = _of_question(question, sub, known.trace)
    if trace is not None and is_refuted(question, trace):
        same = sub.entails is Entailment.SAME and sub.direction is Direction.EXACT
        return replace(known, trace=trace, direction=known.direction if same else Counterexample.direction)
    if trace is None or question.claim.quantifiers != {Quantifier.SOME}:
        return left_open(known, NO_PATH)
    return _witnessed(question, known, trace)


def _witnessed(question: Question, known: Counterexample, trace: Trace) -> Known:
    """A proof by a path on which a claim of some path is true: of the state it begins in."""
    if not is_kept_on(question, trace):
        return left_open(known, NO_PATH)
    if not question.model.initial.is_point:
        return left_open(known, SEVERAL_STARTS)
    if question.time is Time.SAMPLES:
        if asks_open_actions(question.model, question.atoms.values()):
            return left_open(known, OPEN_ACTION)
        return Proof(
            engine=known.engine,
            direction=Direction.UNDER,
            subject=Subject.STATES,
            assurance=Assurance.RIGOROUS,
            evidence=trace,
            statistics=known.statistics,
        )
    if not is_only_position(question.system, question.formula, trace):
        return left_open(known, OPEN_ACTION)
    return witnessed(question, trace, known.engine, known.statistics)


def _of_state(question: Question, sub: Subquestion, known: FailingState) -> Known:
    if sub.entails not in (Entailment.SAME, Entailment.FOLLOWS):
        return left_open(known, ONE_WAY)
    if sub.entails is Entailment.FOLLOWS and not all(map(sub.direction.may_refute, sub.question.claim.quantifiers)):
        return left_open(known, ONE_WAY)
    trace = _of_question(question, sub, known.trace)
    if trace is None:
        return left_open(known, NO_STATE)
    invariant = known.invariant if _same_graph(question, sub) else None
    recurrence = known.recurrence if _same_graph(question, sub) else None
    direction = _direction(sub, known.direction)
    return replace(known, trace=trace, direction=direction, invariant=invariant, recurrence=recurrence)


def _direction(sub: Subquestion, direction: Direction) -> Direction:
    """Of what carries over: that of both one after the other.

    What was believed of another claim is true of it, whichever paths it speaks of: so it sorts the initial states.
    """
    return sub.direction.then(direction) if sub.entails is Entailment.SAME else Direction.TWO_SIDED


def _same_graph(question: Question, sub: Subquestion) -> bool:
    """Whether both are about the same steps, so that paths and invariants of one are those of the other."""
    one, other = question.model, sub.question.model
    return one is other or (one.motion is other.motion and one.step is other.step)


def _of_question(question: Question, sub: Subquestion, trace: Trace) -> Trace | None:
    """A path of the subquestion as one of the question's system; None where it is none."""
    if _same_graph(question, sub) and sub.are_starts:
        return replace(trace, system=question.model)
    return _replayed(question.system, trace) if question.time is Time.STEPS else None


def _replayed(system: System, trace: Trace) -> Trace | None:
    names = {variable.name for variable in system.state}
    if trace.steps[0].state.keys() != names:
        return None
    found = verify(system, trace)
    return found.trace if found.accepted else None


# Answers together -----------------------------------------------------------------------------------------------------


def first_decided(found: Sequence[Known], engine: str = "", nothing: str = "nothing was tried") -> Known:
    """The first that decides the question; else why none does."""
    for known in found:
        if not isinstance(known, Open):
            return known
    left = [known for known in found if isinstance(known, Open)]
    if len(left) == 1 and left[0].reason:
        return left[0]
    return Open(engine=engine, reason="; ".join(dict.fromkeys(one.reason for one in left if one.reason)) or nothing)
