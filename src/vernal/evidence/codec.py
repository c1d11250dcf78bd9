"""The kinds of evidence in one table: how each is written, read, checked again, and called.

A new kind is one entry here and one in `report.evidence_pictures`, which says how it is drawn. What is read is not
believed: `decode` compares it with the names and sorts of the model, `check` says whether it forces the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from vernal.errors import FormatError
from vernal.evidence import trace_file
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.flowpipe_file import flowpipe_json, flowpipe_of
from vernal.evidence.invariant import Invariant
from vernal.evidence.invariant_file import invariant_json, invariant_of
from vernal.evidence.judgement import Assertion, Judgement, Recheck, Rejected
from vernal.evidence.kinds import Evidence, EvidenceKind, Tree
from vernal.evidence.recheck_paths import path_words, recheck_trace, recheck_tree, verified
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.recurrent_set_file import recurrence_json, recurrence_of, recurrence_words
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.evidence.trace import Trace
from vernal.interpret.sampled.held_questions import about, flow_of
from vernal.logic.claim import Claim, always
from vernal.logic.times import Time
from vernal.logic.times import is_timed as is_temporal
from vernal.model.hooks import hook
from vernal.model.system import Model, System

E = TypeVar("E", bound=Evidence)
EvidenceFields = Mapping[str, Any]  # of a file or a record, by their names
PAYLOADS = ("trace", "invariant", "flowpipe", "recurrence")  # the fields that hold what is shown
OF_FLOWS = "the evidence about a flow is a trajectory that breaks the formula, or a flowpipe"
OF_STEPS = "a flowpipe is evidence about a flow"


@dataclass(frozen=True)
class Codec(Generic[E]):
    """One kind of evidence."""

    noun: str  # what its file is called
    verdicts: tuple[Verdict, ...]  # that it may be evidence for
    keys: tuple[str, ...]  # of the fields it is written in
    encode: Callable[[E, Model], dict[str, Any]]
    decode: Callable[[EvidenceFields, Model], E]
    check: Callable[[E, Assertion], Recheck]
    words: Callable[[E], str]
    more: tuple[str, ...] = ()  # fields that may be missing


# Paths ----------------------------------------------------------------------------------------------------------------


def _trace_fields(trace: Trace, model: Model) -> dict[str, Any]:
    return {"excluded_by": None, "trace": trace_file.to_json(trace, model)}


def _trace(fields: EvidenceFields, model: Model) -> Trace:
    if fields["excluded_by"] is not None:
        raise FormatError("trace file: only a tree says what excludes other paths")
    if model.motion.time is Time.SECONDS:
        return trace_file.timed_trace(fields["trace"], model)
    return trace_file.from_json(fields["trace"], _steps(model))


def _tree_fields(tree: Tree, model: Model) -> dict[str, Any]:
    shown = {"excluded_by": tree.excluded_by, "trace": trace_file.to_json(tree.path, model)}
    shown = shown if tree.sets is None else {**shown, "sets": list(tree.sets)}
    shown = shown if tree.recurrence is None else {**shown, **_recurrence_fields(tree.recurrence, model)}
    return shown if tree.invariant is None else {**shown, **_invariant_fields(tree.invariant, model)}


def _tree(fields: EvidenceFields, model: Model) -> Tree:
    if not isinstance(fields["excluded_by"], str):
        raise FormatError("trace file: a tree says what excludes other paths")
    invariant = None if fields.get("invariant") is None else _invariant(fields, model)
    sets = fields.get("sets")
    if not isinstance(sets, list | None):
        raise FormatError("trace file: the sets of a tree are no list")
    recurrence = None if fields.get("recurrence") is None else _recurrence(fields, model)
    if model.motion.time is Time.SECONDS:
        return Tree(trace_file.timed_trace(fields["trace"], model), fields["excluded_by"], recurrence=recurrence)
    path = trace_file.from_json(fields["trace"], _steps(model))
    return Tree(path, fields["excluded_by"], invariant, None if sets is None else tuple(sets))


def _steps(model: Model) -> System:
    if not isinstance(model, System) or model.motion.time is Time.SECONDS:
        raise Rejected(OF_FLOWS)
    return model


# Sets -----------------------------------------------------------------------------------------------------------------


def _invariant_fields(invariant: Invariant, model: Model) -> dict[str, Any]:
    return {"invariant": invariant_json(invariant)}


def _invariant(fields: EvidenceFields, model: Model) -> Invariant:
    return invariant_of(fields["invariant"], _steps(model))


def _recheck_invariant(invariant: Invariant, said: Assertion) -> Recheck:
    from vernal.evidence.recheck import recheck  # most questions write nothing, and nobody checks them again

    checked = recheck(said.task.system, Claim(said.formula), invariant)
    accepted = checked.judgement is Judgement.ACCEPTED
    return replace(checked, reason=f"an invariant of {checked.reason}", evidence=invariant) if accepted else checked


def _flowpipe_fields(pipe: Flowpipe, model: Model) -> dict[str, Any]:
    return {"flowpipe": flowpipe_json(pipe)}


def _flowpipe(fields: EvidenceFields, model: Model) -> Flowpipe:
    if model.motion.time is not Time.SECONDS:
        raise Rejected(OF_STEPS)
    return flowpipe_of(fields["flowpipe"], flow_of(model))


def _recheck_flowpipe(pipe: Flowpipe, said: Assertion) -> Recheck:
    from vernal.evidence.recheck_flowpipe import recheck_flowpipe

    return recheck_flowpipe(about(flow_of(said.task.model), said.formula), pipe)


def _pipe_words(pipe: Flowpipe) -> str:
    from vernal.evidence.recheck_flowpipe import pipe_words

    return pipe_words(pipe)


def _recurrence_fields(found: RecurrentSet, model: Model) -> dict[str, Any]:
    return {"recurrence": recurrence_json(found)}


def _recurrence(fields: EvidenceFields, model: Model) -> RecurrentSet:
    if model.motion.time is not Time.SECONDS:
        raise Rejected("a recurrent set is evidence about a flow")
    return recurrence_of(fields["recurrence"])


def _recheck_recurrence(found: RecurrentSet, said: Assertion) -> Recheck:
    question = replace(about(flow_of(said.task.model), said.formula), counts=said.time)
    kept = always(question.claim.linear)
    at_all_times = kept is not None and not is_temporal(kept.arg)
    if not at_all_times and said.time is not Time.SAMPLES:
        raise Rejected("a recurrent set shows what is true for all time")
    problem = hook("recurrence_problem")(question.model, kept, found) if at_all_times else ""
    if problem is not None and said.time is Time.SAMPLES:  # it may be true at samples alone, or no `G p`
        problem = hook("samples_problem")(question, found)
    if problem is not None:
        return Recheck(Judgement.UNDECIDED, f"{recurrence_words(found)}: {problem}", found)
    told = (
        "all paths were followed there, and from there until they are back, by the steps that the engine takes, "
        "and the formula is true on what was found"
    )
    return Recheck(Judgement.ACCEPTED, f"{recurrence_words(found)}; {told}", found)


# The table ------------------------------------------------------------------------------------------------------------

_BOTH = (HOLDS, VIOLATED)
_PATH = Codec("trace", _BOTH, ("excluded_by", "trace"), _trace_fields, _trace, recheck_trace, path_words)
_TREE = Codec(
    "trace",
    _BOTH,
    ("excluded_by", "trace"),
    _tree_fields,
    _tree,
    recheck_tree,
    lambda tree: f"{path_words(tree.path)}, at whose end the claim fails: {tree.excluded_by}",
    more=("invariant", "sets", "recurrence"),
)
_INVARIANT = Codec(
    "invariant",
    (HOLDS,),
    ("invariant",),
    _invariant_fields,
    _invariant,
    _recheck_invariant,
    lambda invariant: f"an invariant of {len(invariant.sets):,} sets",
)
_FLOWPIPE = Codec("flowpipe", (HOLDS,), ("flowpipe",), _flowpipe_fields, _flowpipe, _recheck_flowpipe, _pipe_words)

_RECURRENCE = Codec(
    "recurrence", (HOLDS,), ("recurrence",), _recurrence_fields, _recurrence, _recheck_recurrence, recurrence_words
)

CODECS: Mapping[EvidenceKind, Codec[Any]] = {
    "trace": _PATH,
    "lasso": _PATH,
    "tree": _TREE,
    "invariant": _INVARIANT,
    "flowpipe": _FLOWPIPE,
    "recurrence": _RECURRENCE,
}


def codec_of(kind: object) -> Codec[Any]:
    """The entry of a kind that a file or a record names."""
    if not isinstance(kind, str) or kind not in CODECS:
        raise FormatError(f"trace file: evidence is one of {', '.join(CODECS)}")
    return CODECS[cast("EvidenceKind", kind)]


def encoded(evidence: Evidence, model: Model) -> dict[str, Any]:
    """Evidence as fields of plain data, its kind among them."""
    return {"evidence": evidence.kind, **CODECS[evidence.kind].encode(evidence, model)}


def restored(fields: EvidenceFields, model: Model, *, recompute: bool = True) -> Evidence:
    """Evidence from a record of our own; its path is recomputed, and an error where it is none of the system.

    Without `recompute` only its form is checked: of records that a process of ours has made of a path it recomputed.
    """
    fields = _with_kind(fields)
    try:
        found: Evidence = codec_of(fields["evidence"]).decode(fields, model)
        if not recompute:
            return found
        if isinstance(found, Tree) and found.path.times is None:
            return replace(found, path=verified(found.path, _steps(model)))
        return verified(found, _steps(model)) if isinstance(found, Trace) and found.times is None else found
    except Rejected as why:
        raise FormatError(f"its trace does not replay: {why}") from None


def _with_kind(fields: EvidenceFields) -> EvidenceFields:
    """A record with its kind; those of the version before have a path or an invariant without it."""
    if "evidence" in fields:
        return fields
    whole = {"trace": fields} if "steps" in fields else dict(fields)
    kind = "tree" if whole.get("excluded_by") else "trace" if whole.get("trace") else "invariant"
    return {"evidence": kind, "excluded_by": None, **whole}
