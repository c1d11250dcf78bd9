"""Is forged evidence accepted? Replay says what it makes of a file, and what is known of the task says whether it may.

A file is accepted *falsely* if its verdict is not the truth, and *without force* if its verdict is the truth but the
evidence does not show it: one path of many starts, say, for a claim of every start.
"""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import vernal as vn
from tests.forged_tasks import Subject
from vernal.engines.check import parse_formula
from vernal.errors import VernalError
from vernal.evidence.judgement import Judgement


class Outcome(StrEnum):
    """What became of a file; the last three are faults."""

    REJECTED = "rejected"
    UNCHECKED = "could not be checked"
    FORCED = "accepted, true and forced"
    UNJUDGED = "accepted, not judged"
    WITHOUT_FORCE = "accepted without force"
    FALSE = "accepted, false"
    CRASHED = "crashed"


FAULTS = (Outcome.WITHOUT_FORCE, Outcome.FALSE, Outcome.CRASHED)


@dataclass(frozen=True)
class Judged:
    """An outcome, and what replay said."""

    outcome: Outcome
    said: str


def replayed(content: Mapping[str, Any], file: Path) -> tuple[Judgement | None, str]:
    """What replay makes of a content in a file, and why; None where it fails, if only with a warning.

    What it refuses to read is rejected, too.
    """
    file.write_text(json.dumps(content), encoding="utf-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = vn.replay(file)
    except VernalError as error:
        return Judgement.REJECTED, str(error)
    except Exception:
        return None, traceback.format_exc()
    return found.judgement, found.reason


def judged(content: Mapping[str, Any], subject: Subject, file: Path) -> Judged:
    """What became of a file about a task, beside which it is written."""
    judgement, said = replayed(content, file)
    return Judged(judged_by(judgement, content, subject), said)


def judged_by(judgement: Judgement | None, content: Mapping[str, Any], subject: Subject) -> Outcome:
    """What a judgement is worth; None where replay failed."""
    match judgement:
        case None:
            return Outcome.CRASHED
        case Judgement.REJECTED:
            return Outcome.REJECTED
        case Judgement.UNDECIDED:
            return Outcome.UNCHECKED
    return _accepted(content, subject)


def _accepted(content: Mapping[str, Any], subject: Subject) -> Outcome:
    """Whether it may be accepted; not if it is so broken that nothing can be made of it."""
    try:
        parameters = {name: Fraction(str(value)) for name, value in content["task"]["parameters"].items()}
        changed = {name: value for name, value in parameters.items() if value != subject.task.parameters[name]}
        formula = parse_formula(subject.task, content["formula"])
        truth = subject.truth(formula, changed)
        if truth is (content["verdict"] != "holds"):
            return Outcome.FALSE
        forced = subject.is_forced(content, formula, changed)
    except (VernalError, LookupError, ValueError, TypeError, AttributeError):
        return Outcome.WITHOUT_FORCE
    if truth is None or forced is None:
        return Outcome.UNJUDGED
    return Outcome.FORCED if forced else Outcome.WITHOUT_FORCE
