"""Outcomes of sub-problems as plain data, for the way back from a worker and for the journal.

A counterexample is not believed on its way back: its trace is recomputed exactly on the system, and has to refute the
claim again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from vernal.engines.base import Question, unknown
from vernal.errors import FormatError, InputError
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Evidence, Result, Verdict
from vernal.evidence.trace import Trace
from vernal.evidence.trace_file import from_json, to_json
from vernal.model.system import System
from vernal.run.executor import Finished
from vernal.run.journal import Outcome


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Within it, data that is not what it should be is an error with a name."""
    try:
        yield
    except (FormatError, KeyError, TypeError, ValueError) as error:
        said = error.message if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"the outcome of the sub-problem {key!r} is broken ({said}); start a new journal") from None


def replayed(document: Any, system: System) -> Trace:
    """A trace from plain data, recomputed in exact numbers; one that is no path of the system is an error."""
    replay = verify(system, from_json(document, system))
    if not replay.accepted or replay.trace is None:
        raise FormatError(f"its trace does not replay: {replay.problem}")
    return replay.trace


# Results --------------------------------------------------------------------------------------------------------------


def result_data(result: Result, system: System) -> dict[str, Any]:
    """A result as plain data; what the question says again is left out."""
    margin = result.margin
    return {
        "verdict": result.verdict.value,
        "scope": result.scope,
        "reason": result.reason,
        "proven_steps": result.proven_steps,
        "assurance": None if result.assurance is None else result.assurance.name,
        "margin": margin if margin is not None and math.isfinite(margin) else None,
        "vacuous": result.vacuous,
        "notes": list(result.notes),
        "statistics": dict(result.statistics),
        "trace": None if result.trace is None else to_json(result.trace, system),
        "step": result.step,
    }


def result_of(done: Finished, question: Question, engine: str) -> Result:
    """The result a sub-problem came back with, its trace replayed; of a lost one nothing is known."""
    if done.outcome is None:
        return unknown(question, engine, f"a part of the work was lost: {done.lost}; try fewer workers or more memory")
    with reading(done.key):
        result = _read(done.outcome, question, engine)
        if result.trace is not None:
            _confirm(result, question)
        return result


def _read(data: Outcome, question: Question, engine: str) -> Result:
    trace = None if data["trace"] is None else replayed(data["trace"], question.system)
    return Result(
        str(question.formula),
        Verdict(data["verdict"]),
        engine,
        question.name,
        scope=data["scope"],
        reason=data["reason"],
        proven_steps=data["proven_steps"],
        assurance=None if data["assurance"] is None else Assurance[data["assurance"]],
        margin=data["margin"],
        vacuous=data["vacuous"] is True,
        notes=tuple(map(str, data["notes"])),
        statistics=dict(data["statistics"]),
        evidence=None if trace is None else Evidence.TRACE,
        trace=trace,
        step=data["step"],
    )


def _confirm(result: Result, question: Question) -> None:
    """A path must not say the opposite; where one path is enough to refute the claim, it has to do so.

    A claim that no single path refutes comes with its initial state alone, and a note that says so.
    """
    assert result.trace is not None
    truth = confirm.truth(result.trace, question.formula)
    if result.verdict is VIOLATED and truth is not False and (truth is True or not result.notes):
        raise FormatError("its trace does not refute the claim")
    if result.verdict is HOLDS and truth is False:
        raise FormatError("its trace refutes the claim")


# All parts together ---------------------------------------------------------------------------------------------------


def combined(question: Question, engine: str, parts: Sequence[Result]) -> Result:
    """A claim about every initial state, from those about parts of them: the weakest part has the last word."""
    statistics = summed(parts)
    for verdict in (VIOLATED, UNKNOWN):
        decisive = next((part for part in parts if part.verdict is verdict), None)
        if decisive is not None:
            return replace(decisive, statistics=statistics, proven_steps=_proven(verdict, parts))
    margins = [part.margin for part in parts if not part.vacuous]
    known = [margin for margin in margins if margin is not None]
    real = [part for part in parts if not part.vacuous] or list(parts)
    witness = next((part.trace for part in real if part.trace is not None), None)
    return Result(
        str(question.formula),
        HOLDS,
        engine,
        question.name,
        scope=parts[0].scope,
        assurance=min((part.assurance for part in real if part.assurance is not None), default=None),
        margin=min(known) if known and len(known) == len(margins) else None,
        vacuous=all(part.vacuous for part in parts),
        notes=tuple(dict.fromkeys(note for part in real for note in part.notes)),
        statistics=statistics,
        evidence=None if witness is None else Evidence.TRACE,
        trace=witness,
    )


def summed(parts: Sequence[Result]) -> dict[str, int | float | str]:
    """The numbers of all parts added up."""
    total: dict[str, int | float | str] = {}
    for part in parts:
        for name, value in part.statistics.items():
            before = total.get(name, 0)
            if isinstance(value, int | float) and isinstance(before, int | float):
                total[name] = before + value
            else:
                total[name] = value
    return total


def _proven(verdict: Verdict, parts: Sequence[Result]) -> int | None:
    """How far every part is proven; parts that hold are proven all the way."""
    if verdict is VIOLATED:
        return None
    steps = [part.proven_steps for part in parts if part.verdict is not HOLDS]
    known = [step for step in steps if step is not None]
    return min(known) if len(known) == len(steps) else None
