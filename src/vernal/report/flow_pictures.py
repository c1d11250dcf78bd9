"""The pictures of an answer about a flow: a phase portrait, and where a network stands for the flow, its error."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.result import Result
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.report.abstraction_error import error_svg, plot_error
from vernal.report.asked import formula_of
from vernal.report.phase import phase_svg, plot_phase
from vernal.report.phase_parts import Portrait
from vernal.report.phase_sets import asked_sets_of

ERROR_CAPTION = "How far the network is from the flow, at points of the region; the certified bound is above each map."


def flow_pictures(task: Task, result: Result, formula: Formula) -> list[str]:
    """Pictures with their captions, as HTML: what an answer about a flow shows."""
    drawn, network = portrait_of(task, result, formula), _network(result)
    pictures = [f"{phase_svg(drawn)}<figcaption>{escape(_caption(drawn))}</figcaption>"]
    if network is not None:
        pictures.append(f"{error_svg(task.flow, network)}<figcaption>{escape(ERROR_CAPTION)}</figcaption>")
    return pictures


def portrait_of(task: Task, result: Result, formula: Formula) -> Portrait:
    """What is drawn for an answer about a flow."""
    network = _network(result)
    automaton = None if network is None else network.automaton
    return Portrait(task.flow, automaton, result.flowpipe, (), asked_sets_of(task.flow, formula))


def _network(result: Result) -> NeuralAbstraction | None:
    """The network that a result rests on, if it does on one."""
    found: object = result.abstraction
    return found if isinstance(found, NeuralAbstraction) else None


def _caption(drawn: Portrait) -> str:
    said = ["The flow in its region"]
    if drawn.pipe is not None:
        said = [f"All trajectories up to time {drawn.pipe.until:g}, as a flowpipe"]
    if drawn.pipe is not None and len(drawn.flow.state) > 2:
        said.append("sets cast their shadows on the planes, where they may overlap though they do not meet")
    return "; ".join(said) + "."


def plot_flowpipe(pipe: Flowpipe, file: str | Path | None = None, *, of: Sequence[str] | None = None) -> Any:
    """A flowpipe in the phase portrait of its flow."""
    if not isinstance(pipe.about, Result) or pipe.about.task is None:
        raise InputError("a flowpipe is drawn with its flow: take it from a result of vn.check, as result.flowpipe")
    return plot_phase(portrait_of(pipe.about.task, pipe.about, formula_of(pipe.about)), file, of=of)


def plot_abstraction_error(abstraction: NeuralAbstraction, file: str | Path | None = None) -> Any:
    """The error of an abstraction over its region."""
    if abstraction.flow is None:
        raise InputError("the error of an abstraction is drawn against its flow, which this one does not know")
    return plot_error(abstraction.flow, abstraction, file)
