"""Claims of some path, decided by claims of all paths, which more engines can prove.

What all paths keep, some path keeps: `AG p` proves `EG p`, `AG AF p` proves `AG EF p`. Where draws can be decided once
and for all so that all paths that are left keep it, some path does, too. And where all paths keep the opposite, none
keeps the claim: `AG !p` refutes `EF p`, from all initial states or from one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vernal.errors import Stopped
from vernal.evidence.candidates import states_of
from vernal.evidence.defined import is_defined
from vernal.evidence.invariant import Invariant
from vernal.evidence.knowledge import FailingState, Known, Open, Proof, Subject
from vernal.evidence.trace import Trace
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula, Quantifier
from vernal.logic.question import Question
from vernal.model.graph import decisions
from vernal.model.initial import Box
from vernal.model.system import System
from vernal.reduce.restriction import restrictions
from vernal.run.budget import Budget

Prove = Callable[[Question, Budget], Known]  # of a claim of all paths

WHOLE, ONE_STATE, RESTRICTED = 0.6, 0.4, 0.5  # shares of the time that is left
MAX_RESTRICTIONS = 6
NOTHING_SAID = "not supported by this engine: no claim of all paths proves this claim of some path, or refutes it"
NO_STATE = "no path keeps the claim, but no initial state was found to show it"
MAY_BE_UNDEFINED = "every path keeps it, but a value may be undefined, so that there may be no path at all"


def by_all_paths(engine: str, question: Question, budget: Budget, prove: Prove) -> Known:
    """A claim that mentions some path, proven or refuted by what an engine proves of all paths."""
    return _in_turn((_kept_by_all, _refuted, _kept_by_restriction), engine, question, budget, prove)


def proven_by_all_paths(engine: str, question: Question, budget: Budget, prove: Prove) -> Known:
    """A claim that mentions some path, proven by what an engine proves of all paths."""
    return _in_turn((_kept_by_all, _kept_by_restriction), engine, question, budget, prove)


SomePathWay = Callable[[Question, Budget, Prove], Known]


def _in_turn(ways: Sequence[SomePathWay], engine: str, question: Question, budget: Budget, prove: Prove) -> Known:
    """The first way that decides the claim; else why none does."""
    own = replace(budget, journal=None)  # a journal knows parts of this question, and of no other
    reasons: list[str] = []
    for way in ways:
        known = way(question, own, prove)
        if not isinstance(known, Open):
            return replace(known, engine=engine)
        reasons += [known.reason] if known.reason else []
    return Open(engine=engine, reason="; ".join(dict.fromkeys(reasons)) or NOTHING_SAID)


def _asked(prove: Prove, question: Question, formula: Formula, budget: Budget, share: float) -> Known:
    """What is known of another formula within a share of the time."""
    try:
        return prove(replace(question, formula=formula), budget.part(share))
    except Stopped as stop:
        budget.check()
        return _open(stop.reason)


def _open(reason: str = "") -> Open:
    return Open(engine="", reason=reason)


# Proofs ---------------------------------------------------------------------------------------------------------------


def _kept_by_all(question: Question, budget: Budget, prove: Prove) -> Known:
    """A proof where all paths keep what is claimed of some."""
    formula = question.claim.sufficient
    if formula is None:
        return _open()
    known = _asked(prove, question, formula, budget, WHOLE)
    if not isinstance(known, Proof):
        return _left_open(formula, "would prove it", known)
    if not is_defined(question.system, _invariant(known)):
        return _open(MAY_BE_UNDEFINED)
    return replace(known, direction=Direction.TWO_SIDED, subject=Subject.STATES)


def _kept_by_restriction(question: Question, budget: Budget, prove: Prove) -> Known:
    """A proof where all paths keep it that decide every draw alike."""
    formula = question.claim.sufficient
    if formula is None or question.claim.quantifiers != {Quantifier.SOME} or not may_restrict(question):
        return _open()
    for restriction in restrictions(question.system, MAX_RESTRICTIONS):
        budget.check()
        known = _asked(prove, replace(question, model=restriction.system), formula, budget, RESTRICTED)
        if isinstance(known, Proof) and is_defined(restriction.system, _invariant(known)):
            return replace(
                known,
                direction=restriction.direction,
                subject=Subject.STATES,
                evidence=None,  # it is about the restricted system
                notes=(*known.notes, f"some path keeps it: one on which {restriction.decided}"),
            )
    return _open()


def may_restrict(question: Question) -> bool:
    """Whether no action is asked about that a draw leaves open: there the claim is one for every action."""
    step = question.system.step
    return not decisions([*question.atoms.values(), step.enabled])


def _invariant(known: Proof) -> Invariant | None:
    return known.evidence if isinstance(known.evidence, Invariant) else None


def _left_open(formula: Formula, effect: str, known: Known) -> Open:
    """That a claim of all paths is not proven; nothing where the engine does not take such claims."""
    reason = known.reason if isinstance(known, Open) else "one does not"
    taken = not reason.startswith("not supported by this engine")
    return _open(f"that all paths keep {formula} {effect}: {reason}" if taken else "")


# Refutations ----------------------------------------------------------------------------------------------------------


def _refuted(question: Question, budget: Budget, prove: Prove) -> Known:
    """An initial state from which all paths keep the opposite of what is claimed of some."""
    opposite = question.claim.opposite
    if opposite is None or question.claim.quantifiers != {Quantifier.SOME}:
        return _open()
    known = _asked(prove, question, opposite, budget, WHOLE)
    for trace in states_of(question, question.system.initial.hull, budget.check):
        if isinstance(known, Proof):
            return fails_by(known, trace, opposite, known.direction)
        start = question.system.cut(_at(trace, question.system))
        if start is None or question.system.initial.is_point:
            break
        alone = _asked(prove, replace(question, model=start), opposite, budget, ONE_STATE)
        if isinstance(alone, Proof):
            return fails_by(alone, trace, opposite, alone.direction)
    return _open(NO_STATE) if isinstance(known, Proof) else _left_open(opposite, "would refute it", known)


def _at(trace: Trace, system: System) -> Box:
    (step,) = trace.steps
    memory = {name: value if isinstance(value, tuple) else (value,) for name, value in step.memory.items()}
    values = system.unpack(step.state, memory)
    return Box({var: tuple((x, x) for x in items) for var, items in values.items()})  # type: ignore[misc] # rational


def fails_by(known: Proof, trace: Trace, opposite: Formula, direction: Direction) -> FailingState:
    """A state at which a claim fails, since it is proven that all paths keep the opposite."""
    invariant = _invariant(known)
    by = "an invariant" if invariant is not None else known.engine
    return FailingState(
        engine=known.engine,
        trace=trace,
        direction=direction,
        assurance=known.assurance,
        excluded_by=f"every path from this state keeps {opposite}, by {by}",
        invariant=invariant,
        statistics=known.statistics,
    )
