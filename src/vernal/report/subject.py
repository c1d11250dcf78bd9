"""What a result or a trace is the answer to: its task, and the formula that was asked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vernal.engines.check import named_formula, parse_formula
from vernal.errors import InputError
from vernal.evidence.result import VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.model.system import Model


@dataclass(frozen=True, slots=True)
class TraceSubject:
    """What a trace from a file is about, where there is no result in this process."""

    task: Task
    formula: Formula


def task_of(result: Result) -> Task:
    """The task of a result; one that came from elsewhere has none."""
    if result.task is None:
        raise InputError("this result does not know its task: it was not made by vn.check in this process")
    return result.task


def formula_of(result: Result) -> Formula:
    """The formula that was asked."""
    task = task_of(result)
    return parse_formula(task, result.formula) if result.property is None else named_formula(task, result.property)


def trace_formula(trace: Trace) -> Formula | None:
    """The formula that a trace is evidence about; None where it is not known."""
    match trace.about:
        case TraceSubject(formula=formula):
            return formula
        case Result(task=Task()) as result:
            return formula_of(result)
    return None


@dataclass(frozen=True, slots=True)
class Failure:
    """The position at which a trace breaks its claim: how it is called, and its place on the axis of steps or time."""

    position: int
    place: float
    name: str  # `step 3`, `t = 0.25`


def failure_of(trace: Trace) -> Failure | None:
    """Where a trace breaks the claim that it is evidence about; None of a witness, of a lasso, and where not known."""
    match trace.about:
        case Result(verdict=verdict, step=int(step)) if (
            verdict is VIOLATED and trace.loop is None and trace.times is None
        ):
            return Failure(step, float(step), f"step {step}") if step < len(trace) else None
        case Result(verdict=verdict, time=time) if verdict is VIOLATED and time is not None and trace.times is not None:
            position = min(range(len(trace)), key=lambda one: abs(_time(trace, one) - Fraction(time)))
            return Failure(position, time, f"t = {time:.6g}")
    return None


def _time(trace: Trace, position: int) -> Fraction:
    assert trace.times is not None  # asked of trajectories alone
    return trace.times[position]


def trace_task(trace: Trace) -> Task:
    """The task of a trace, for the names in expressions about it."""
    match trace.about:
        case TraceSubject(task=task) | Result(task=Task() as task):
            return task
    if not isinstance(trace.system, Model):
        raise InputError("this trace does not know its system: only quantities that it records can be drawn")
    return Task(trace.system)
