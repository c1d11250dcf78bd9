"""Counterexamples of agents with memory, doubted: walked again in the world, and scored by onnxruntime beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from examples.playing import Policy
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.trace import Enclosure, Trace, TraceStep, TraceValue
from vernal.interpret import concrete
from vernal.logic.formula import Formula
from vernal.logic.normal import strip_quantifiers
from vernal.model.expr import Argmax, Expr
from vernal.model.system import Agent, System

TOLERANCE = 1e-4  # of scores: a policy is run in 32-bit floats, a trace is exact

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Witnessed:
    """What became of a counterexample: whether it is one, and how far onnxruntime's scores are from ours."""

    replayed: bool
    difference: float = 0.0
    same_actions: bool = True

    @property
    def agrees(self) -> bool:
        return self.replayed and self.same_actions and self.difference <= TOLERANCE


def witness(system: System, formula: Formula, trace: Trace | None) -> Witnessed:
    """Walk the trace again, ask whether it refutes the formula, and compare every agent's scores."""
    if trace is None or not verify(system, trace).accepted:
        return Witnessed(False)
    if confirm.truth(trace, strip_quantifiers(formula)) is not False:
        return Witnessed(False)
    compared = [compare(system, agent, trace) for agent in system.agents]
    return Witnessed(True, max(far for far, _ in compared), all(same for _, same in compared))


def compare(system: System, agent: Agent, trace: Trace) -> tuple[float, bool]:
    """The largest difference of scores along the trace, and whether the actions taken are onnxruntime's too.

    Ours follow from the state and memory of each position; onnxruntime is given the first memory only and carries its
    own from there.
    """
    assert isinstance(agent.action, Argmax)
    (scored,) = agent.action.args
    seen, ours = _along(system, trace, [list(agent.observe), [scored]])
    (network,) = agent.networks
    policy = Policy(Path(network.file or ""))
    memory = [part.astype(np.float32) for part in _memories(agent, trace.steps[:1])]
    far, same = 0.0, True
    for t, step in enumerate(trace.steps):
        scores, after = policy(seen[t : t + 1], memory)
        memory = list(after)
        far = max(far, float(np.abs(scores[0] - ours[t]).max()))
        same &= bool(scores[0].max() - scores[0][int(_number(step.actions[agent.name]))] <= TOLERANCE)
    return far, same


def _along(system: System, trace: Trace, groups: Iterable[list[Expr]]) -> list[Floats]:
    """Groups of expressions at every position: a row for each."""
    given: dict[Expr, Floats] = {
        variable.var: np.array([_number(step.state[variable.name]) for step in trace.steps])
        for variable in system.state
    }
    for agent in system.agents:
        given.update(zip((slot.var for slot in agent.slots), _memories(agent, trace.steps), strict=True))
    rows = []
    for group in groups:
        values = concrete.evaluate([system.step.resolve(item) for item in group], given)
        wide = [np.broadcast_to(v.reshape(len(v), -1), (len(trace), v.reshape(len(v), -1).shape[1])) for v in values]
        rows.append(np.concatenate(wide, axis=1))
    return rows


def _memories(agent: Agent, steps: Sequence[TraceStep]) -> list[Floats]:
    """What is recorded of each slot, a row for each step; a memory is written as one list of all slots."""
    if not agent.slots:
        return []
    cuts = np.cumsum([slot.var.size for slot in agent.slots])[:-1]
    return np.split(np.array([_numbers(step.memory[agent.name]) for step in steps]), cuts, axis=1)


def _numbers(value: TraceValue) -> list[float]:
    assert isinstance(value, tuple)
    return [_number(item) for item in value]


def _number(value: TraceValue) -> float:
    assert not isinstance(value, tuple)
    return float(value.middle if isinstance(value, Enclosure) else value)


def summary(found: Iterable[Witnessed]) -> str:
    """One line about all of them."""
    every = list(found)
    if not every:
        return "no violated cell"
    replayed = sum(one.replayed for one in every)
    actions = sum(one.same_actions for one in every if one.replayed)
    said = "all replayed" if replayed == len(every) else f"ONLY {replayed} REPLAYED"
    same = "actions the same" if actions == replayed else f"ACTIONS DIFFER in {replayed - actions}"
    return (
        f"{len(every)} violated cells, {said}, largest difference of scores with onnxruntime "
        f"{max(one.difference for one in every):.1e}, {same}"
    )
