"""How each kind of evidence is drawn, in a report and to a file: the pictures beside the table of `evidence.codec`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.invariant import Invariant
from vernal.evidence.kinds import Evidence, EvidenceKind
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import HOLDS, Result
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.report.drawing import Picture
from vernal.report.flow_pictures import plot_flowpipe
from vernal.report.invariants import invariant_svg, is_drawable, plot_invariant
from vernal.report.plots import plot_trace, trace_svg
from vernal.report.recurrent_sets import plot_recurrence, recurrence_svg
from vernal.report.subject import TraceSubject


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where a picture goes, and what is drawn: expressions that are named, against each other or over time."""

    file: Path
    of: Sequence[str] | None = None
    plane: bool = False


@dataclass(frozen=True, slots=True)
class EvidencePicture:
    """The pictures of one kind of evidence."""

    in_report: Callable[[Result, Formula], Sequence[Picture]]
    to_file: Callable[[Any, TraceSubject | Result, Canvas], Any]


def _of_trace(result: Result, formula: Formula) -> list[Picture]:
    return [lambda _: trace_svg(result.trace, formula)]


def _plot_trace(trace: Trace, subject: TraceSubject | Result, canvas: Canvas) -> Any:
    return plot_trace(replace(trace, about=subject), canvas.file, None, of=canvas.of, plane=canvas.plane)


def _of_invariant(result: Result, formula: Formula) -> list[Picture]:
    invariant = result.invariant
    return [lambda _: invariant_svg(invariant)] if is_drawable(invariant) else []


def _plot_invariant(invariant: Invariant, subject: TraceSubject | Result, canvas: Canvas) -> Any:
    return plot_invariant(invariant, canvas.file, _two(canvas.of))


def _plot_flowpipe(pipe: Flowpipe, subject: TraceSubject | Result, canvas: Canvas) -> Any:
    about = Result(str(subject.formula), HOLDS, "replay", evidence=pipe, task=subject.task)
    return plot_flowpipe(replace(pipe, about=about), canvas.file, of=_two(canvas.of))


def _of_recurrence(result: Result, formula: Formula) -> list[Picture]:
    found = result.evidence
    return [lambda _: recurrence_svg(found)] if isinstance(found, RecurrentSet) and len(found.variables) > 1 else []


def _plot_recurrence(found: RecurrentSet, subject: TraceSubject | Result, canvas: Canvas) -> Any:
    return plot_recurrence(found, canvas.file, of=_two(canvas.of))


def _two(names: Sequence[str] | None) -> tuple[str, str] | None:
    if names is None:
        return None
    if len(names) != 2:
        raise InputError("sets of states are drawn over two variables: name two, for example --of x --of y")
    return names[0], names[1]


_TRACE = EvidencePicture(_of_trace, _plot_trace)
PICTURES: Mapping[EvidenceKind, EvidencePicture] = {
    "trace": _TRACE,
    "lasso": _TRACE,
    "tree": EvidencePicture(
        _of_trace,
        lambda tree, subject, canvas: _plot_trace(tree.path, subject, canvas),
    ),
    "invariant": EvidencePicture(_of_invariant, _plot_invariant),
    "recurrence": EvidencePicture(_of_recurrence, _plot_recurrence),
    "flowpipe": EvidencePicture(lambda result, formula: [], _plot_flowpipe),  # it is in the portrait of its flow
}


def plot_evidence(evidence: Evidence, subject: TraceSubject | Result, canvas: Canvas) -> None:
    """Draw evidence, of a result (which knows where it fails) or checked again."""
    PICTURES[evidence.kind].to_file(evidence, subject, canvas)
