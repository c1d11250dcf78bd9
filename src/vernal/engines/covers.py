"""Which sets of states a proof rests on, for a certificate: those it kept, its invariant, or the initial sets.

A claim with a last step is shown by following all paths from the initial sets that far, whichever engine proved it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vernal.engines.base import Engine, guarded
from vernal.evidence.cover import ProofCover, of_boxes, of_invariant
from vernal.evidence.invariant import Invariant
from vernal.evidence.knowledge import Known, Proof
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.build import TRUE
from vernal.model.clock import clock_of
from vernal.model.expr import Var
from vernal.model.graph import draws, variables
from vernal.model.held_loop import loop_of
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.positions import nonlinear_step
from vernal.sets.wider_region import IN_RANGE

CERTIFYING_SHARE = 0.4  # of the time left, for each engine that is asked for sets alone
CERTIFYING_SECONDS = 60.0  # for sets of a claim that is decided already, also where there is no limit
OVER_SAMPLES = "certificates of claims over samples are not written yet"
JUMPS = "vernal-check reads loops that sample only where nothing jumps, and no agent has a delay or a memory"
ACTIONS = "vernal-check does not read claims about what agents hold"
AUTOMATA = "certificates of hybrid automata are not written yet"
ENDLESS = "certificates of claims for all time in seconds are not written yet"
CLOCK = "vernal-check knows no clock yet"
WIDER = "vernal-check follows trajectories inside the region only, and this claim is about leaving it"
OTHER_MODEL = "{} proved it of a model that was made of this one, and its sets are not those of this model"
DIRECTIONS = "the invariant says nothing of an integer variable"
NO_SETS = "{} does not keep the sets that its proof rests on yet"
HULLS = "the initial states are too many to be written as boxes"


@dataclass(frozen=True)
class Covering:
    """The sets that a certificate is made of, or why there are none."""

    cover: ProofCover | None = None
    refusal: str | None = None


def covering(question: Question, proof: Proof) -> Covering:
    """What a certificate of the proof is made of."""
    model = question.model
    if question.time is not Time.STEPS:
        return in_continuous_time(question)
    if proof.cover is not None:
        return _found(proof.cover if proof.cover.model is model else None, OTHER_MODEL.format(proof.engine))
    if isinstance(proof.evidence, Invariant):
        return _found(of_invariant(model, proof.evidence), DIRECTIONS)
    if question.claim.horizon is None:
        return Covering(refusal=NO_SETS.format(proof.engine))
    return _found(followed(model), HULLS)


def in_continuous_time(question: Question) -> Covering:
    """The initial sets, from which all trajectories are followed, whichever engine proved the claim."""
    model = question.model
    loop = loop_of(model)
    refused = {
        OVER_SAMPLES: question.time is Time.SAMPLES,
        AUTOMATA: model.motion.automaton is not None,
        ENDLESS: question.claim.is_endless,
        CLOCK: clock_of(model) is not None,
        WIDER: question.name == IN_RANGE,
        JUMPS: loop is not None and does_more(loop),
        ACTIONS: loop is not None and not named(question) <= set(loop.vars),
    }
    for refusal, is_true in refused.items():
        if is_true:
            return Covering(refusal=refusal)
    return _found(followed(loop or model), HULLS)


def does_more(loop: Model) -> bool:
    """Whether more happens at the instants of a loop than that agents read and act at once."""
    jumps = loop.motion.next or loop.motion.enabled != TRUE or draws([*loop.lets.values()])
    agents = any(agent.delay or agent.slots for agent in loop.agents)
    return bool(jumps) or agents or any(var.sort != REAL for var in loop.vars)


def named(question: Question) -> set[Var]:
    """The variables of a claim, held actions among them."""
    return set(variables([question.model.resolve(atom) for atom in atoms(question.formula)]))


def with_sets(question: Question, known: Known, engines: Sequence[Engine], budget: Budget) -> Known:
    """A proof with sets for a certificate, from one of these engines where it has none of its own."""
    if not isinstance(known, Proof) or covering(question, known).cover is not None:
        return known
    if question.time is not Time.STEPS:
        return known
    budget = budget.part(1.0, CERTIFYING_SECONDS)
    for engine in engines:
        if engine.takes(question) is None:
            other = guarded(engine, question, budget.part(CERTIFYING_SHARE))
            found = covering(question, other).cover if isinstance(other, Proof) else None
            if found is not None:
                return replace(known, cover=found)
    return known


def with_own_sets(question: Question, known: Proof) -> Proof:
    """A proof with the sets of its invariant; they show every weaker claim about the model, too."""
    if known.cover is not None or not isinstance(known.evidence, Invariant):
        return known
    return replace(known, cover=of_invariant(question.model, known.evidence))


def with_followed(question: Question, known: Known, budget: Budget) -> Known:
    """What is known by following all paths; a proof of a claim of all of them keeps the sets from which it did."""
    if not budget.keeps_sets or not isinstance(known, Proof) or question.claim.linear is None:
        return known
    if nonlinear_step(question.model.step) is not None:  # forms of curves become loose: boxes of a grid are better
        return known
    return replace(known, cover=known.cover or followed(question.model))


def followed(model: Model) -> ProofCover | None:
    """The initial sets, from which all paths are followed; None where they are hulls of many discrete states."""
    return of_boxes(model, initial_boxes(model).boxes)


def _found(cover: ProofCover | None, otherwise: str) -> Covering:
    return Covering(refusal=otherwise) if cover is None else Covering(cover)
