"""Whether a counterexample is one of the networks as onnxruntime computes them: the path walked again with its outputs.

From the first state of the path, with the same draws, every agent does what follows from what onnxruntime computes for
its observation; the environment is exact. What comes of it is a note, no verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from vernal.evidence import confirm
from vernal.evidence.result import Result
from vernal.evidence.trace import Enclosure, Trace, TraceStep, components
from vernal.evidence.walk import NotAPath, run
from vernal.interpret import exact
from vernal.interpret.numbers import reals
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import with_outputs
from vernal.model.closed_graph import resolve_lets
from vernal.model.expr import Expr, Role
from vernal.model.graph import decisions, variables
from vernal.model.initial import Init, OneOf
from vernal.model.network import Network
from vernal.model.system import Agent, System

PRECISION = 200  # bits, of what an agent observes
NOT_ASKED = "onnxruntime was not asked whether it reproduces this: {}"
YES = "onnxruntime reproduces it in float32"
NO = "onnxruntime does not reproduce it in float32: {}"
Session = Callable[[Sequence[float]], list[float]]


class NotRun(Exception):
    """Why onnxruntime cannot be asked."""


def reproduction(task: Task, question: Question, result: Result) -> str:
    """What onnxruntime makes of a counterexample, in one line."""
    trace = result.evidence
    try:
        if not isinstance(trace, Trace) or trace.loop is not None or question.claim.horizon is None:
            raise NotRun("no single path with an end shows it")
        if any(var.role is not Role.STATE for var in variables(question.claim.atoms)):
            raise NotRun("the claim speaks of more than states")
        return _compared(question, trace, _walked(task, question.system, trace))
    except NotRun as problem:
        return NOT_ASKED.format(problem)
    except NotAPath as problem:
        return NO.format(problem)


def _compared(question: Question, trace: Trace, found: Trace) -> str:
    if confirm.truth(found, question.claim.path) is False:
        return YES
    for t, (one, other) in enumerate(zip(trace.steps, found.steps, strict=False)):
        for name, action in one.actions.items():
            if name in other.actions and action != other.actions[name]:
                return NO.format(f"{name} acts differently at step {t}")
    return NO.format("on its path the claim is not seen to fail")


def _walked(task: Task, system: System, trace: Trace) -> Trace:
    """The path with actions that follow from what onnxruntime computes."""
    sessions = {network: _session(network, task) for network in system.networks}
    if any(agent.slots for agent in system.agents):
        raise NotRun("an agent has a memory")
    steps: list[TraceStep] = []
    last = trace.steps[0]
    state = {name: _number(value) for name, value in trace.steps[0].state.items()}
    for recorded in trace.steps[:-1]:
        pinned = replace(system, agents=tuple(_pinned(system, agent, state, sessions) for agent in system.agents))
        drawn: dict[str, Any] = {name: choice.index for name, choice in recorded.choices.items()}
        drawn |= {name: _drawn(value) for name, value in recorded.disturbances.items()}
        here = _next(pinned, state, drawn)
        if len(here.steps) < 2:
            raise NotRun("its path ends before")
        steps.append(here.steps[0])
        last = here.steps[1]
        state = {name: _number(value) for name, value in last.state.items()}
    return Trace((*steps, last), system=system)


def _next(system: System, state: Mapping[str, Fraction], drawn: Mapping[str, Any]) -> Trace:
    """One step from a state that need not be an initial one."""
    moved = system.starting(Init({name: OneOf((value,)) for name, value in state.items()}))
    return run(moved, state, [drawn], 1, {})


def _pinned(system: System, agent: Agent, state: Mapping[str, Fraction], sessions: Mapping[Network, Session]) -> Agent:
    """The agent with the output that is computed at this state."""
    if not agent.networks:
        return agent
    seen = resolve_lets(list(agent.observe), system.lets)
    selected = [] if agent.select is None else resolve_lets([agent.select], system.lets)
    if decisions([*seen, *selected]):
        raise NotRun(f"{agent.name} observes something that is drawn")
    values = list(_values([*seen, *selected], system.unpack(state, {})))
    index = int(values.pop()) if selected else 0
    computed = sessions[agent.networks[index]](values)
    fixed = build.vector([Fraction(value) for value in computed])
    made = with_outputs(agent, lambda output, updates: (fixed, updates))
    if made is None:
        raise NotRun(f"the action of {agent.name} does not follow from its networks alone")
    return made


def _values(expressions: Sequence[Expr], given: Mapping[Expr, tuple[Fraction, ...]]) -> Iterator[float]:
    plain = {var: value if var.shape else value[0] for var, value in given.items()}
    for value in exact.evaluate(list(expressions), plain, {}, PRECISION):
        if value is None:
            raise NotRun("what an agent observes is not known exactly")
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Fraction | int):
                yield float(one)
            else:
                low, high = reals.ends(one)  # type: ignore[arg-type]
                yield float(low + high) / 2


def _session(network: Network, task: Task) -> Session:
    """The network's file, run by onnxruntime on one thread."""
    if find_spec("onnxruntime") is None:
        raise NotRun("it is not installed (the extra 'onnxruntime')")
    beside = Path(task.source.file).parent if task.source is not None else Path()
    data = None
    for file in (Path(network.file or ""), beside / (network.file or "")):
        with suppress(OSError):
            read = file.read_bytes()
            data = read if hashlib.sha256(read).hexdigest() == network.sha256 else data
    if data is None:
        raise NotRun(f"the file of the network {network.name} is not there any more")
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        (given,) = session.get_inputs()
    except Exception as problem:  # whatever the runtime raises
        raise NotRun(f"it does not load the network {network.name}") from problem

    def computed(values: Sequence[float]) -> list[float]:
        kind = np.float64 if "double" in given.type else np.float32
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in given.shape]
        made = session.run(None, {given.name: np.array(values, kind).reshape(shape)})[0]
        return [float(value) for value in np.ravel(made)]

    return computed


def _number(value: Any) -> Fraction:
    return value.middle if isinstance(value, Enclosure) else Fraction(value)


def _drawn(value: Any) -> Any:
    return tuple(map(_number, components(value))) if isinstance(value, tuple) else _number(value)
