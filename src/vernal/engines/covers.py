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
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.positions import nonlinear_step

CERTIFYING_SHARE = 0.4  # of the time left, for each engine that is asked for sets alone
CONTINUOUS = "certificates of models in continuous time are not written yet"
OTHER_MODEL = "{} proved it of a model that was made of this one, and its sets are not those of this model"
DIRECTIONS = "the invariant says nothing of an integer variable"
NO_SETS = "{} does not keep the sets that its proof rests on yet"
HULLS = "the initial states are too many to be written as boxes"
BRANCHING = "following paths shows nothing of a formula with path quantifiers, and {} keeps no sets yet"


@dataclass(frozen=True)
class Covering:
    """The sets that a certificate is made of, or why there are none."""

    cover: ProofCover | None = None
    refusal: str | None = None


def covering(question: Question, proof: Proof) -> Covering:
    """What a certificate of the proof is made of."""
    model = question.model
    if question.time is not Time.STEPS:
        return Covering(refusal=CONTINUOUS)
    if proof.cover is not None:
        return _found(proof.cover if proof.cover.model is model else None, OTHER_MODEL.format(proof.engine))
    if isinstance(proof.evidence, Invariant):
        return _found(of_invariant(model, proof.evidence), DIRECTIONS)
    if question.claim.horizon is None:
        return Covering(refusal=NO_SETS.format(proof.engine))
    if question.claim.mentions_some or question.claim.linear is None:
        return Covering(refusal=BRANCHING.format(proof.engine))
    return _found(followed(model), HULLS)


def with_sets(question: Question, known: Known, engines: Sequence[Engine], budget: Budget) -> Known:
    """A proof with sets for a certificate, from one of these engines where it has none of its own."""
    if not isinstance(known, Proof) or (own := covering(question, known)).cover is not None:
        return known
    if own.refusal == CONTINUOUS:
        return known
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
