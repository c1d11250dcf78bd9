"""Results as plain data and back, for the journal of a sweep.

A path is not believed on its way back: it is recomputed exactly on the system, and judged by the formula again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from vernal.errors import FormatError
from vernal.evidence import record_fields
from vernal.evidence.belief import is_refuted
from vernal.evidence.codec import PAYLOADS, encoded, restored
from vernal.evidence.kinds import Evidence
from vernal.evidence.reach import ForAllTime, Reach, UntilTime, UpToSample, UpToStep
from vernal.evidence.result import HOLDS, VIOLATED, Assurance, EngineFailure, Result, Verdict
from vernal.evidence.trace import Trace
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import Model


def result_data(result: Result, system: Model) -> dict[str, Any]:
    """A result as plain data; what the question says again is left out."""
    margin = result.margin
    return {
        "verdict": result.verdict.value,
        "engine": result.engine,
        "steps": result.reach.last if isinstance(result.reach, UpToStep | UpToSample) else None,
        **_times(result),
        "reason": result.reason,
        "proven_steps": result.proven_steps,
        "assurance": None if result.assurance is None else result.assurance.name,
        "margin": margin if margin is not None and math.isfinite(margin) else None,
        "vacuous": result.vacuous,
        "notes": list(result.notes),
        "failed": [[one.engine, one.exception] for one in result.failed],
        "seconds": result.seconds,
        "statistics": dict(result.statistics),
        **({} if result.evidence is None else encoded(result.evidence, system)),
        "step": result.step,
        "proviso": result.proviso,
    }


def result_of(data: Any, question: Question, *, recompute: bool = True) -> Result:
    """The result that was recorded, its path replayed; a path that says the opposite is an error.

    Without `recompute` the record is believed: it comes from a process of ours, which has replayed the path.
    """
    verdict = Verdict(data["verdict"])
    evidence = _evidence(data, question, verdict, recompute=recompute)
    reach = _reach(data, question) if verdict is HOLDS else None
    return _result(data, question.claim.text, question.name, reach, evidence)


def result_without_question(data: Any, text: str, name: str | None) -> Result:
    """The result that was recorded of a question about steps, where it has no evidence."""
    verdict, steps = Verdict(data["verdict"]), record_fields.whole(data["steps"])
    reach: Reach | None = ForAllTime() if steps is None else UpToStep(steps)
    return _result(data, text, name, reach if verdict is HOLDS else None, None)


def _result(data: Any, text: str, name: str | None, reach: Reach | None, evidence: Evidence | None) -> Result:
    return Result(
        text,
        Verdict(data["verdict"]),
        record_fields.text(data["engine"]),
        name,
        reach=reach,
        reason=record_fields.text_or_none(data["reason"]),
        proven_steps=record_fields.whole(data["proven_steps"]),
        assurance=None if data["assurance"] is None else Assurance[data["assurance"]],
        margin=record_fields.number(data["margin"]),
        vacuous=data["vacuous"] is True,
        notes=record_fields.texts(data["notes"]),
        failed=tuple(EngineFailure(*one) for one in record_fields.pairs(data.get("failed", []))),
        seconds=record_fields.number(data["seconds"]) or 0.0,
        statistics=record_fields.counts(data["statistics"]),
        evidence=evidence,
        step=record_fields.whole(data["step"]),
        time=record_fields.number(data.get("time")),
        proviso=record_fields.text_or_none(data.get("proviso")),
    )


def _times(result: Result) -> dict[str, Any]:
    """What a result in continuous time has besides: when it is decided, and until when all are in the region."""
    inside = result.reach.inside if isinstance(result.reach, UntilTime | UpToSample) else None
    if isinstance(result.reach, ForAllTime) and not result.reach.inside:
        inside = False
    times = {"time": result.time, "inside": None if inside is None else str(inside)}
    return {key: value for key, value in times.items() if value is not None}


def _reach(data: Any, question: Question) -> Reach:
    if question.time is Time.SECONDS and not question.claim.is_endless:
        inside = record_fields.text_or_none(data.get("inside"))
        return UntilTime(question.claim.last_time, None if inside is None else Fraction(inside))
    steps = record_fields.whole(data["steps"])
    if question.time is Time.SAMPLES and steps is not None:
        return UpToSample(steps, data.get("inside") == str(True))
    return ForAllTime(data.get("inside") != str(False)) if steps is None else UpToStep(steps)


def _evidence(data: Any, question: Question, verdict: Verdict, *, recompute: bool) -> Evidence | None:
    if all(data.get(key) is None for key in PAYLOADS):
        return None
    found = restored(data, question.model, recompute=recompute)
    if not recompute:
        return found
    refuted = isinstance(found, Trace) and is_refuted(question, found)
    if isinstance(found, Trace) and verdict is VIOLATED and not refuted:
        raise FormatError("its trace does not refute the claim")
    if verdict is HOLDS and refuted:
        raise FormatError("its trace refutes the claim")
    return found
