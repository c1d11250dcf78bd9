"""Why engines do not take a question: reasons that several of them have in common.

A reason that begins with one of `MISFIT` goes on after the engine's name, and whoever named that engine is told so at
once; any other is the reason of an unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from vernal.evidence.knowledge import UNBOUNDED
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.times import SECONDS_ONLY, STEPS_ONLY, Time
from vernal.model.motion import Rates, Sampled
from vernal.sets.levels import MAX_UNROLLED_STEPS

KIND_OF_TIME = "is for "  # how reasons begin that an engine is for another kind of time
MISFIT = (KIND_OF_TIME, "takes at most ", "has no option ")
OF_SOME_PATH = "not supported by this engine: no claim of all paths proves this claim of some path, or refutes it"


def in_steps(question: Question) -> str | None:
    """Why an engine of steps does not take a question, if it does not."""
    return None if question.time is Time.STEPS else STEPS_ONLY


def in_seconds(question: Question) -> str | None:
    """Why an engine of continuous time does not take a question, if it does not."""
    flows = isinstance(question.model.motion, Rates | Sampled)
    return None if question.time is Time.SECONDS and flows else SECONDS_ONLY


def within_steps(question: Question) -> str | None:
    """Why an engine that unrolls steps does not take a question, if it does not."""
    if question.time is not Time.STEPS:
        return STEPS_ONLY
    reach = question.claim.horizon
    if reach is None:
        return UNBOUNDED
    if reach > MAX_UNROLLED_STEPS:
        return f"a horizon of {reach:,} steps is too long; at most {MAX_UNROLLED_STEPS:,} are"
    return None


def deciding(question: Question) -> list[Formula]:
    """The formulas of all paths that decide the claim: itself, or one that proves and one that refutes it."""
    claim = question.claim
    return [path for path in (claim.sufficient, claim.opposite if claim.mentions_some else None) if path is not None]


def by_paths(question: Question, proves: Callable[[Formula], bool], reason: str) -> str | None:
    """Why an engine that proves some claims of all paths does not take a question, if it does not."""
    if question.time is not Time.STEPS:
        return STEPS_ONLY
    if any(map(proves, deciding(question))):
        return None
    return OF_SOME_PATH if question.claim.mentions_some else reason
