"""Which sets of states a proof rests on, for a certificate: those it kept, its invariant, or the initial sets.

A claim with a last step is shown by following all paths from the initial sets that far, whichever engine proved it.
"""

from __future__ import annotations

from dataclasses import dataclass

from vernal.evidence.cover import ProofCover, of_boxes, of_invariant
from vernal.evidence.invariant import Invariant
from vernal.evidence.knowledge import Proof
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import Model
from vernal.sets.initial_boxes import initial_boxes

CONTINUOUS = "certificates of models in continuous time are not written yet"
MEMORIES = "certificates of agents with a memory are not written yet"
OTHER_MODEL = "{} proved it of a model that was made of this one, and its sets are not those of this model"
DIRECTIONS = "the invariant is not a union of boxes over all variables, and certificates of others are not written yet"
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
    if any(agent.slots for agent in model.agents):
        return Covering(refusal=MEMORIES)
    if proof.cover is not None:
        return _found(proof.cover if proof.cover.model is model else None, OTHER_MODEL.format(proof.engine))
    if isinstance(proof.evidence, Invariant):
        return _found(of_invariant(model, proof.evidence), DIRECTIONS)
    if question.claim.horizon is None:
        return Covering(refusal=NO_SETS.format(proof.engine))
    if question.claim.mentions_some or question.claim.linear is None:
        return Covering(refusal=BRANCHING.format(proof.engine))
    return _found(followed(model), HULLS)


def followed(model: Model) -> ProofCover | None:
    """The initial sets, from which all paths are followed; None where they are hulls of many discrete states."""
    return of_boxes(model, initial_boxes(model).boxes)


def _found(cover: ProofCover | None, otherwise: str) -> Covering:
    return Covering(refusal=otherwise) if cover is None else Covering(cover)
