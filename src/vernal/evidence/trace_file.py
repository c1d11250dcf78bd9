"""Traces as JSON and back: one object for each position.

What is read is checked against the system's own names and sorts before anything is computed from it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from vernal.errors import FormatError, nearest
from vernal.evidence.trace import Choice, Trace, TraceStep, TraceValue, components
from vernal.evidence.trace_values import read_number, read_value, write_number, write_value
from vernal.interpret.numbers.number_size import MAX_BITS
from vernal.model.expr import Between, Expr
from vernal.model.sorts import REAL, Sort
from vernal.model.system import Model

STEP_KEYS = ("state", "actions", "choices", "disturbances", "memory")


def to_json(trace: Trace, system: Model) -> dict[str, Any]:
    """The trace as a JSON object; of a flow, against the system that computes its rates, with the time of each step."""
    steps = [step_json(step, system, t == 0) for t, step in enumerate(trace.steps)]
    if trace.times is not None:
        steps = [{"time": write_number(time, full=True), **s} for time, s in zip(trace.times, steps, strict=True)]
    return {"steps": steps, "loop": trace.loop}


def step_json(step: TraceStep, system: Model, first: bool = False) -> dict[str, Any]:
    """One position: labels for enums, true and false, decimals or "p/q"; the first one and all draws in full."""
    sorts = {variable.name: variable.sort for variable in system.state}
    actions = system.step.actions
    choices = choice_sorts(system)
    return {
        "state": {name: write_value(value, sorts[name], full=first) for name, value in step.state.items()},
        "actions": {name: write_value(value, actions[name].sort) for name, value in step.actions.items()},
        "choices": {
            name: {"index": choice.index, "value": write_value(choice.value, choices.get(name, REAL))}
            for name, choice in step.choices.items()
        },
        "disturbances": {name: write_value(value, REAL, full=True) for name, value in step.disturbances.items()},
        "memory": {name: write_value(value, REAL, full=first) for name, value in step.memory.items()},
    }


def choice_sorts(system: Model) -> dict[str, Sort]:
    """The sort of every named choice; where branches share a name, of the first of them."""
    sorts: dict[str, Sort] = {}
    for node, name in system.step.names.items():
        if not isinstance(node, Between):
            sorts.setdefault(name, node.sort)
    return sorts


def from_json(document: Any, system: Model) -> Trace:
    """A recorded trace, read against the system's names and sorts; nothing is believed of it but its form."""
    fields = exact_object(document, ("steps", "loop"), "trace")
    steps, loop = fields["steps"], fields["loop"]
    if not isinstance(steps, list) or not steps:
        raise FormatError("trace.steps: expected a list of at least one step")
    if loop is not None and (isinstance(loop, bool) or not isinstance(loop, int) or not 0 <= loop < len(steps)):
        raise FormatError(f"trace.loop: expected null or the number of a step, not {loop!r}")
    return Trace(tuple(_read_step(step, system, f"step {t}") for t, step in enumerate(steps)), loop, system=system)


def timed_trace(document: Any, flow: Model) -> Trace:
    """A recorded trajectory; its times begin with 0 and ascend."""
    fields = exact_object(document, ("steps", "loop"), "trace")
    steps = fields["steps"]
    if not isinstance(steps, list) or not all(isinstance(step, dict) and "time" in step for step in steps):
        raise FormatError("trace.steps: expected a list of steps, each with its time")
    times = tuple(read_number(step["time"], f"step {t}, time") for t, step in enumerate(steps))
    if fields["loop"] is not None or not times or times[0] != 0 or any(a >= b for a, b in pairwise(times)):
        raise FormatError("trace: the times of a trajectory begin with 0 and ascend, and it does not loop")
    untimed = [{key: item for key, item in step.items() if key != "time"} for step in steps]
    trace = from_json({"steps": untimed, "loop": None}, flow)
    for t, step in enumerate(trace.steps):
        _refuse_endless(step, f"step {t}")
    return replace(trace, times=times, system=flow)


def _refuse_endless(step: TraceStep, where: str) -> None:
    """An error for numbers of more bits than anything is computed with: enclosing a solution would take for ever."""
    for name, value in (*step.state.items(), *step.disturbances.items()):
        ends = [
            end
            for one in components(value)
            for end in ((one,) if isinstance(one, Fraction) else (one.lower, one.upper))
        ]
        if any(max(end.numerator.bit_length(), end.denominator.bit_length()) > MAX_BITS for end in ends):
            raise FormatError(f"{where}, {name}: a number of more than {MAX_BITS:,} bits")


def _read_step(document: Any, system: Model, where: str) -> TraceStep:
    fields = exact_object(document, STEP_KEYS, where)
    state = exact_object(fields["state"], tuple(variable.name for variable in system.state), f"{where}, state")
    actions = exact_object(fields["actions"], tuple(system.step.actions), f"{where}, actions")
    memory = exact_object(fields["memory"], tuple(a.name for a in system.agents if a.slots), f"{where}, memory")
    sizes = {agent.name: len(agent.starts) for agent in system.agents}
    return TraceStep(
        {v.name: read_value(state[v.name], v.sort, None, f"{where}, {v.name}") for v in system.state},
        {n: _read_like(actions[n], x, f"{where}, {n}") for n, x in system.step.actions.items()},
        _read_choices(fields["choices"], system, f"{where}, choices"),
        _read_disturbances(fields["disturbances"], system, f"{where}, disturbances"),
        {name: read_value(item, REAL, sizes[name], f"{where}, memory of {name}") for name, item in memory.items()},
    )


def _read_like(item: Any, node: Expr, where: str) -> TraceValue:
    return read_value(item, node.sort, node.size if node.shape else None, where)


def _read_choices(document: Any, system: Model, where: str) -> dict[str, Choice]:
    known: dict[str, Expr] = {}
    for node, name in system.step.names.items():
        if not isinstance(node, Between):
            known.setdefault(name, node)
    made: dict[str, Choice] = {}
    for name, item in _named(document, known, where).items():
        fields = exact_object(item, ("index", "value"), f"{where}, {name}")
        index = read_number(fields["index"], f"{where}, {name}, index")
        if index.denominator != 1 or index < 0:
            raise FormatError(f"{where}, {name}: expected the number of an option, not {fields['index']!r}")
        made[name] = Choice(int(index), _read_like(fields["value"], known[name], f"{where}, {name}, value"))
    return made


def _read_disturbances(document: Any, system: Model, where: str) -> dict[str, TraceValue]:
    known = {name: node for node, name in system.step.names.items() if isinstance(node, Between)}
    items = _named(document, known, where)
    return {name: _read_like(item, known[name], f"{where}, {name}") for name, item in items.items()}


def exact_object(document: Any, keys: tuple[str, ...], where: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON object with exactly these keys; some more it may have."""
    items = _named(document, (*keys, *more), where)
    for key in keys:
        if key not in items:
            raise FormatError(f"{where}: {key!r} is missing")
    return items


def _named(document: Any, known: Any, where: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise FormatError(f"{where}: expected an object, not {type(document).__name__}")
    for key in document:
        if key not in known:
            raise FormatError(f"{where}: {key!r} is not known here{nearest(key, known)}")
    return document
