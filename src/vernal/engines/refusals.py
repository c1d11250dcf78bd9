"""Why engines do not take a question: reasons that several of them have in common.

A reason that begins with one of `MISFIT` goes on after the engine's name, and whoever named that engine is told so at
once; any other is the reason of an unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from vernal.evidence.knowledge import UNBOUNDED
from vernal.logic.claim import Claim, always
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.logic.times import SECONDS_ONLY, STEPS_ONLY, Time
from vernal.sets.levels import MAX_UNROLLED_STEPS

KIND_OF_MODEL = "is for "  # how reasons begin that an engine is for other models
MISFIT = (KIND_OF_MODEL, "takes at most ", "has no option ")
AUTOMATA_ONLY = "is for hybrid automata"
OF_SOME_SAMPLES = (
    "not supported by this engine: over samples, one trajectory proves a claim of some path from a single start"
)
OF_SOME_PATH = "not supported by this engine: no claim of all paths proves this claim of some path, or refutes it"


def in_steps(question: Question) -> str | None:
    """Why an engine of steps does not take a question, if it does not."""
    return None if question.time is Time.STEPS else STEPS_ONLY


def in_seconds(question: Question) -> str | None:
    """Why an engine of continuous time does not take a question, if it does not."""
    flows = question.model.motion.rates is not None
    return None if question.time is Time.SECONDS and flows else SECONDS_ONLY


def of_automata(question: Question) -> str | None:
    """Why an engine of hybrid automata does not take a question, if it does not."""
    return None if question.time is Time.SECONDS and question.model.motion.automaton is not None else AUTOMATA_ONLY


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


# Which claims of all paths an engine proves ---------------------------------------------------------------------------

ProvesPath = Callable[[Question, Formula], bool]  # about the question's model


def of_every_step(question: Question, path: Formula) -> bool:
    """That something is true at every step."""
    return always(path) is not None


def of_what_is_kept(question: Question, path: Formula) -> bool:
    """That something is kept, as long as something else does not come."""
    return safety_claim(Claim(path), total=question.is_total) is not None


def of_any_kind(question: Question, path: Formula) -> bool:
    """Any."""
    return True


def by_paths(question: Question, proves: ProvesPath, reason: str) -> str | None:
    """Why an engine that proves some claims of all paths does not take a question, if it does not."""
    if question.time is not Time.STEPS:
        return STEPS_ONLY
    if any(proves(question, path) for path in deciding(question)):
        return None
    return OF_SOME_PATH if question.claim.mentions_some else reason
