"""The pictures of an answer about a flow: a phase portrait, and where a network stands for the flow, its error."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from vernal.engines.timed_questions import timed_question
from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.result import Result
from vernal.evidence.trace import Trace, TraceNumber, TraceValue
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.held_loop import loop_of
from vernal.model.system import Model
from vernal.report.abstraction_error import error_svg, plot_error
from vernal.report.drawing import Picture
from vernal.report.loop_tube import tube_svg
from vernal.report.markup import escape
from vernal.report.phase import phase_svg, plot_phase
from vernal.report.phase_parts import DrawnTrajectory, Portrait
from vernal.report.phase_sets import asked_sets_of, moving
from vernal.report.subject import formula_of
from vernal.report.values import as_float
from vernal.simulate.starts import NoInitialState
from vernal.simulate.trajectories import column, simulate_flow

DRAWN_TRAJECTORIES = 20

ERROR_CAPTION = "How far the network is from the flow, at points of the region; the certified bound is above each map."


def flow_pictures(task: Task, result: Result, formula: Formula) -> list[Picture]:
    """Pictures with their captions, as HTML: what an answer about a flow, or a loop that samples it, shows."""
    network = _network(result)
    pictures: list[Picture] = [lambda _: _portrait(portrait_of(task, result, formula))]
    if task.model.grid is not None:
        tube = [] if result.trace is not None else [lambda _: _tube(portrait_of(task, result, formula), formula)]
        return tube + (pictures if len(moving(portrait_flow(task, result, formula))) > 1 else [])
    if network is not None:
        caption = f"<figcaption>{escape(ERROR_CAPTION)}</figcaption>"
        pictures.append(lambda _: error_svg(task.model, network) + caption)
    return pictures


def _tube(drawn: Portrait, formula: Formula) -> str:
    return f"{tube_svg(drawn, formula)}<figcaption>{escape(_tube_caption(drawn))}</figcaption>"


def _tube_caption(drawn: Portrait) -> str:
    """What a picture over time shows."""
    said = "Simulated trajectories" if drawn.pipe is None else "Where all trajectories are"
    return (
        f"{said} over time, and below what is held from sample to sample; hatched is what the claim forbids or wants."
    )


def _portrait(drawn: Portrait) -> str:
    return f"{phase_svg(drawn)}<figcaption>{escape(_caption(drawn))}</figcaption>"


def portrait_of(task: Task, result: Result, formula: Formula) -> Portrait:
    """What is drawn for an answer about a flow."""
    flow, network = portrait_flow(task, result, formula), _network(result)
    return Portrait(
        flow,
        flow.motion.automaton if network is None else network.automaton,
        result.flowpipe,
        simulated_trajectories(flow, float(Question(flow, formula).claim.last_time)),
        asked_sets_of(flow, formula),
        None if result.trace is None else drawn_trace(flow, result.trace),
    )


def portrait_flow(task: Task, result: Result, formula: Formula) -> Model:
    """The flow that is drawn; of a loop that samples, with what is held as variables."""
    if task.model.grid is None:
        return task.model
    return timed_question(task, formula, result.property, task.time_of(result.property)).model


def simulated_trajectories(flow: Model, until: float, runs: int = DRAWN_TRAJECTORIES) -> list[DrawnTrajectory]:
    """Some trajectories of a flow, the corners of its initial set among them; none where it has no initial state."""
    if not runs or flow.motion.automaton is not None:  # automata are not simulated
        return []
    corners = 2 ** len(moving(flow)) < runs  # of more variables there are too many, all alike
    try:
        made = simulate_flow(flow, runs, until, np.random.default_rng(0), corners=corners)
    except NoInitialState:
        return []
    assert made.times is not None
    states = np.stack([column(made, one.name) for one in flow.state], axis=-1)
    return [DrawnTrajectory(made.times[:end], run[:end]) for run, end in zip(states, made.lengths, strict=True)]


def drawn_trace(flow: Model, trace: Trace) -> DrawnTrajectory:
    """A trajectory that is evidence, by the middles of its enclosures."""
    assert trace.times is not None
    names = [one.name for one in flow.state]
    states = [[as_float(_number(step.state.get(name, nan))) for name in names] for step in trace.steps]
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
    if drawn.pipe is None and loop_of(drawn.flow) is not None:
        said = ["Simulated trajectories, in the plane"]
    if drawn.violating is not None:
        said = [f"A trajectory that violates the claim, up to time {drawn.violating.times[-1]:g}"]
    if drawn.pipe is not None and len(moving(drawn.flow)) > 2:
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
