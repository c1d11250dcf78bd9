"""Replay: recorded paths are walked again, and compared with what was recorded, value by value.

What a record says is not believed: a path comes from `walk`, a lasso of enclosures from `periodic`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vernal.evidence.periodic import enclosed_lasso, is_enclosed
from vernal.evidence.trace import Enclosure, Trace, TraceStep, TraceValue, components
from vernal.evidence.trace_file import step_json
from vernal.evidence.trace_values import read_number
from vernal.evidence.walk import PRECISIONS as PRECISIONS
from vernal.evidence.walk import NodeDecisions as NodeDecisions
from vernal.evidence.walk import NotAPath as NotAPath
from vernal.evidence.walk import Problem as Problem
from vernal.evidence.walk import Undecided as Undecided
from vernal.evidence.walk import run as run
from vernal.model.expr import Argmax
from vernal.model.system import System

# Checking a record ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replay:
    """Whether a recorded trace is a path of the system; if not, where it fails."""

    accepted: bool
    problem: Problem | None = None
    trace: Trace | None = None  # recomputed, in exact numbers


def verify(system: System, recorded: Trace) -> Replay:
    """Recompute a recorded trace and compare it value by value, after the rounding with which traces are written."""
    try:
        if is_enclosed(recorded):
            trace = enclosed_lasso(system, recorded)
            return _compared(system, recorded, trace, trace, None)
        return _recomputed(system, recorded)
    except NotAPath as error:
        return Replay(False, error.problem)


def _recomputed(system: System, recorded: Trace) -> Replay:
    """A path, or a lasso that closes in exact numbers."""
    steps = len(recorded.steps) - (recorded.loop is None)
    first = {name: _exact(value) for name, value in recorded.steps[0].state.items()}
    memory = {name: [_exact(v) for v in components(value)] for name, value in recorded.steps[0].memory.items()}
    made = [decisions_of(system, step) for step in recorded.steps]
    if recorded.loop is None:
        trace = run(system, first, made, steps, memory)
        return _compared(system, recorded, trace, trace, None)
    path = run(system, first, [*made, made[recorded.loop]], steps, memory)  # the loop's position once more closes it
    lasso = Trace(path.steps[: len(recorded.steps)], recorded.loop, system=system)
    return _compared(system, recorded, path, lasso, _open_loop(recorded.loop, len(recorded.steps), path))


def _compared(system: System, recorded: Trace, path: Trace, trace: Trace, loop: Problem | None) -> Replay:
    """What was recomputed, with the first difference to the record, or else why its loop is open."""
    problem = _first_difference(system, recorded, path) or loop
    return Replay(problem is None, problem, trace)


def decisions_of(system: System, step: TraceStep) -> dict[str, int | Fraction | Sequence[Fraction]]:
    """What was decided at a recorded position: options, disturbances, and the winners of argmax."""
    made: dict[str, int | Fraction | Sequence[Fraction]] = {n: choice.index for n, choice in step.choices.items()}
    for name, value in step.disturbances.items():
        made[name] = tuple(map(_exact, value)) if isinstance(value, tuple) else _exact(value)
    for name, action in system.step.actions.items():
        if isinstance(action, Argmax) and name in step.actions:
            made[system.step.names[action]] = int(_exact(step.actions[name]))
    return made


def _exact(value: TraceValue) -> Fraction:
    assert not isinstance(value, tuple)
    return value.middle if isinstance(value, Enclosure) else value


def _first_difference(system: System, recorded: Trace, trace: Trace) -> Problem | None:
    for t, old in enumerate(recorded.steps):
        if t >= len(trace.steps):
            return Problem(t, "the path ends before: the system is not enabled")
        said, found = (dict(_leaves(step_json(step, system, t == 0))) for step in (old, trace.steps[t]))
        for name in [*said, *(name for name in found if name not in said)]:
            if not _agree(said.get(name), found.get(name)):
                why = "the values differ" if name in said and name in found else "only one of them has a value"
                return Problem(t, why, name, _text(said.get(name)), _text(found.get(name)))
    return None


def _agree(said: Any, found: Any) -> bool:
    """Whether two written values are the same, or two boxes have numbers in common."""
    if isinstance(said, dict) and isinstance(found, dict):
        a, b = ([read_number(box[end], "box") for end in ("lower", "upper")] for box in (said, found))
        return a[0] <= b[1] and b[0] <= a[1]
    return bool(said == found)


def _text(value: object) -> str:
    return "nothing" if value is None else str(value)


def _leaves(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a step under names one would say: `h`, `advisor`, `choice accel`, `memory of advisor[3]`."""
    for group, items in document.items():
        for name, value in items.items():
            title = {"choices": f"choice {name}", "memory": f"memory of {name}"}.get(group, name)
            title = f"disturbance {name}" if group == "disturbances" else title
            if group == "choices":
                yield from ((title if key == "index" else f"{title} ({key})", part) for key, part in value.items())
            elif isinstance(value, list):
                yield from ((f"{title}[{i}]", part) for i, part in enumerate(value))
            else:
                yield title, value


def closed(path: Trace, loop: int) -> Trace | None:
    """The path as a lasso, if its last position has exactly the state and the memories of position `loop`."""
    length = len(path) - 1
    if length <= loop or _open_loop(loop, length, path) is not None:
        return None
    return Trace(path.steps[:length], loop, system=path.system)


def _open_loop(loop: int, length: int, trace: Trace) -> Problem | None:
    """A lasso has to close exactly: the state after its last position is that of position `loop`."""
    last = length - 1
    if len(trace.steps) == length:
        return Problem(last, "the path ends here and cannot loop: the system is not enabled")
    there, here = trace.steps[loop], trace.steps[-1]
    for name in (*here.state, *here.memory):
        old, new = ({**step.state, **step.memory}[name] for step in (there, here))
        if old != new or any(isinstance(item, Enclosure) for item in components(new)):
            return Problem(last, f"the loop to step {loop} does not close exactly", name, old, new)
    return None


def range_exits(trace: Trace) -> dict[str, int]:
    """The variables whose declared range is left for certain, with the first step at which it is."""
    found: dict[str, int] = {}
    for t, step in enumerate(trace.steps):
        for variable in trace.system.state:
            value = step.state[variable.name]
            assert not isinstance(value, tuple)
            lower, upper = (value, value) if isinstance(value, Fraction) else (value.lower, value.upper)
            below = variable.lower is not None and upper < variable.lower
            if below or (variable.upper is not None and lower > variable.upper):
                found.setdefault(variable.name, t)
    return found
