"""The pictures of an answer about a flow: a phase portrait, and where a network stands for the flow, its error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.result import Result
from vernal.evidence.trace import Trace, TraceNumber, TraceValue
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import Model
from vernal.report.abstraction_error import error_svg, plot_error
from vernal.report.drawing import Picture
from vernal.report.markup import escape
from vernal.report.phase import phase_svg, plot_phase
from vernal.report.phase_parts import DrawnTrajectory, Portrait
from vernal.report.phase_sets import asked_sets_of
from vernal.report.subject import formula_of
from vernal.report.values import as_float
from vernal.simulate.starts import NoInitialState
from vernal.simulate.trajectories import simulate_flow

DRAWN_TRAJECTORIES = 20

ERROR_CAPTION = "How far the network is from the flow, at points of the region; the certified bound is above each map."


def flow_pictures(task: Task, result: Result, formula: Formula) -> list[Picture]:
    """Pictures with their captions, as HTML: what an answer about a flow shows."""
    network = _network(result)
    pictures: list[Picture] = [lambda _: _portrait(portrait_of(task, result, formula))]
    if network is not None:
        caption = f"<figcaption>{escape(ERROR_CAPTION)}</figcaption>"
        pictures.append(lambda _: error_svg(task.model, network) + caption)
    return pictures


def _portrait(drawn: Portrait) -> str:
    return f"{phase_svg(drawn)}<figcaption>{escape(_caption(drawn))}</figcaption>"


def portrait_of(task: Task, result: Result, formula: Formula) -> Portrait:
    """What is drawn for an answer about a flow."""
    flow, network = task.model, _network(result)
    return Portrait(
        flow,
        flow.motion.automaton if network is None else network.automaton,
        result.flowpipe,
        simulated_trajectories(flow, float(Question(flow, formula).claim.last_time)),
        asked_sets_of(flow, formula),
        None if result.trace is None else drawn_trace(flow, result.trace),
    )


def simulated_trajectories(flow: Model, until: float, runs: int = DRAWN_TRAJECTORIES) -> list[DrawnTrajectory]:
    """Some trajectories of a flow, the corners of its initial set among them; none where it has no initial state."""
    if not runs or flow.motion.automaton is not None:  # automata are not simulated
        return []
    try:
        made = simulate_flow(flow, runs, until, np.random.default_rng(0), corners=True)
    except NoInitialState:
        return []
    assert made.times is not None
    states = np.stack([made.state[one.name] for one in flow.state], axis=-1)
    return [DrawnTrajectory(made.times[:end], run[:end]) for run, end in zip(states, made.lengths, strict=True)]


def drawn_trace(flow: Model, trace: Trace) -> DrawnTrajectory:
    """A trajectory that is evidence, by the middles of its enclosures."""
    assert trace.times is not None
    states = [[as_float(_number(step.state[one.name])) for one in flow.state] for step in trace.steps]
    return DrawnTrajectory(np.array([float(time) for time in trace.times]), np.array(states))


def _number(value: TraceValue) -> TraceNumber:
    assert not isinstance(value, tuple), "the variables of a flow are numbers"
    return value


def _network(result: Result) -> NeuralAbstraction | None:
    """The network that a result rests on, if it does on one."""
    found: object = result.abstraction
    return found if isinstance(found, NeuralAbstraction) else None


def _caption(drawn: Portrait) -> str:
    said = ["The flow in its region"]
    if drawn.pipe is not None:
        said = [f"All trajectories up to time {drawn.pipe.until:g}, as a flowpipe"]
    if drawn.violating is not None:
        said = [f"A trajectory that violates the claim, up to time {drawn.violating.times[-1]:g}"]
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
