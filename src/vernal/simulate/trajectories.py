"""Trajectories of whatever flows: one simulator for flows, and one for loops that sample them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Protocol

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.held_loop import loop_of
from vernal.model.system import Model
from vernal.simulate.flows import STRETCHES, FlowSimulator
from vernal.simulate.loops import LoopSimulator
from vernal.simulate.runs import Runs, Simulator, random_plan

MEMORY = ".memory"  # what follows an agent's name in those of what it remembers


class TrajectorySimulator(Simulator, Protocol):
    """Runs plans through continuous time; a plan has a column for each stretch of time between `changes`."""

    flow: Model  # over whose variables formulas are
    time: Fraction
    times: Floats
    changes: list[Fraction]


def simulator_of(flow: Model, time: Fraction | float, more: Iterable[Fraction] = ()) -> TrajectorySimulator:
    """The simulator of a flow, or of the loop whose flow it is; `more` are times at which it looks besides."""
    if loop_of(flow) is not None:
        return LoopSimulator(flow, time, more)
    return FlowSimulator(flow, time, STRETCHES if flow.disturbances else 1, more)


def simulate_flow(
    flow: Model,
    runs: int,
    time: Fraction | float,
    rng: np.random.Generator,
    *,
    corners: bool = False,
    more: Iterable[Fraction] = (),
) -> Runs:
    """Random trajectories: uniform initial states and draws; centre and corners of the initial set if asked."""
    simulator = simulator_of(flow, time, more)
    return simulator.run(random_plan(simulator.model, runs, simulator.columns, rng, corners=corners))


def column(runs: Runs, name: str) -> Floats:
    """A variable of the flow on all runs; what an agent holds is one, too. Not a number where it is not recorded."""
    if name in runs.state:
        return runs.state[name]
    agent, _, index = name.partition("[")
    if agent.endswith(MEMORY) and index:
        return _remembered(runs, agent.removesuffix(MEMORY), int(index[:-1]))
    if agent not in runs.actions:
        return np.full((len(runs.lengths), runs.steps + 1), np.nan)
    return runs.actions[agent][..., int(index[:-1])] if index else runs.actions[agent]


def _remembered(runs: Runs, name: str, place: int) -> Floats:
    """A component of what an agent remembers."""
    (slots,) = (agent.slots for agent in runs.system.agents if agent.name == name)
    vectors = [runs.memory[slot.var].reshape(len(runs.lengths), runs.steps + 1, -1) for slot in slots]
    return np.concatenate(vectors, axis=-1)[..., place]
