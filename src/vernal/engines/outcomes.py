"""What an engine knows as plain data, for the way back from a worker and for the journal; and parts put together.

A path is not believed on its way back: it is recomputed exactly on the system, and judged by the claim again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar, get_args

from vernal.errors import FormatError, InputError
from vernal.evidence import confirm, record_fields
from vernal.evidence.belief import is_refuted
from vernal.evidence.codec import encoded, restored
from vernal.evidence.cover import ProofCover
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.invariant import Invariant
from vernal.evidence.kinds import Evidence, Tree
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import Assurance, EngineAttempt, EngineFailure
from vernal.evidence.trace import Trace
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.model.system import Model
from vernal.run.executor import Finished
from vernal.run.journal import Record

N = TypeVar("N", int, float)


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Within it, data that is not what it should be is an error with a name."""
    try:
        yield
    except (FormatError, KeyError, TypeError, ValueError) as error:
        said = error.message if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"the outcome of the sub-problem {key!r} is broken ({said}); start a new journal") from None


# Knowledge as data ----------------------------------------------------------------------------------------------------


KINDS: Mapping[str, type[Known]] = {kind.__name__: kind for kind in (Proof, Counterexample, FailingState, Open)}
READERS: Mapping[str, Callable[[Any], Any]] = {
    "engine": record_fields.text,
    "statistics": record_fields.counts,
    "notes": record_fields.texts,
    "failed": lambda value: tuple(EngineFailure(*one) for one in record_fields.pairs(value)),
    "tried": lambda value: tuple(EngineAttempt(*one) for one in record_fields.attempts(value)),
    "direction": Direction.__getitem__,
    "subject": Subject.__getitem__,
    "assurance": Assurance.__getitem__,
    "reason": record_fields.text,
    "excluded_by": record_fields.text,
    "margin": record_fields.number,
    "empty": record_fields.truth,
    "stays_inside": record_fields.truth,
    "proven_steps": record_fields.whole,
    "proven_time": record_fields.number,
    "abstraction": record_fields.nothing,
    "cover": record_fields.nothing,  # sets of a part are not those of the whole
    "seen": record_fields.nothing,  # states are enumerated at once, and not in parts
    "evidence": record_fields.nothing,
    "invariant": record_fields.nothing,
    "recurrence": record_fields.nothing,
}  # from plain data to the value of a field
SHOWN: Mapping[str, tuple[type, ...]] = {
    "evidence": get_args(Evidence),
    "trace": (Trace,),
    "invariant": (Invariant,),
    "recurrence": (RecurrentSet,),
}  # fields of evidence, and which it may be


def to_data(known: Known, system: Model) -> dict[str, Any]:
    """What is known as plain data, field by field; what the question says again is left out."""
    entries = {entry.name: _plain(getattr(known, entry.name), system) for entry in fields(known)}
    return {"kind": type(known).__name__, **entries}


def _plain(value: object, system: Model) -> object:
    match value:
        case Trace() | Tree() | Invariant() | Flowpipe() | RecurrentSet():
            return encoded(value, system)
        case ProofCover():
            return None
        case Enum():
            return value.name
        case EngineFailure():
            return [value.engine, value.exception]
        case EngineAttempt():
            return [value.engine, value.seconds, value.outcome]
        case tuple():
            return [_plain(each, system) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value


def known_of(done: Finished, question: Question, engine: str) -> Known:
    """What a sub-problem came back with, its path replayed; of a lost one nothing is known."""
    if done.outcome is None:
        reason = f"a part of the work was lost: {done.lost}; try fewer workers or more memory"
        return Open(engine=engine, reason=reason)
    with reading(done.key):
        known = _read(done.outcome, question.model)
        _refuse_contradiction(known, question)
        return known


def is_decided(outcome: Record) -> bool:
    """Whether a sub-problem is settled for good; what is open may be so because of a limit."""
    return bool(outcome["kind"] != Open.__name__)


def _read(data: Record, system: Model) -> Known:
    kind = KINDS[data["kind"]]
    missing: dict[str, Any] = {"failed": [], "tried": [], "seen": None, "cover": None, "stays_inside": False}
    missing["recurrence"] = None
    whole = {**missing, **data}  # older records do not have all of them
    return kind(**{entry.name: _value(entry.name, whole[entry.name], system) for entry in fields(kind)})


def _value(name: str, value: Any, system: Model) -> Any:
    if name not in SHOWN or value is None:
        return READERS[name](value)
    found = restored(value, system)
    if not isinstance(found, SHOWN[name]):
        raise FormatError(f"its {name} is of the kind {found.kind}")
    return found


def _refuse_contradiction(known: Known, question: Question) -> None:
    """A recorded counterexample has to refute the claim, and a witness must not."""
    if isinstance(known, Counterexample) and not is_refuted(question, known.trace):
        raise FormatError("its trace does not refute the claim")
    witness = known.evidence if isinstance(known, Proof) else None
    path = None if witness is None else witness.path
    if path is not None and confirm.truth(path, question.claim.path) is False:
        raise FormatError("its trace refutes the claim")
