"""What tests of the planning family share: its simulators, and single states."""

from __future__ import annotations

from benchmarks.ppa.jani import Instance
from benchmarks.ppa.simulate import Ints, Simulator


def simulator(instance: Instance) -> Simulator:
    return Simulator(instance.model.declaration)


def row(sim: Simulator, **values: int) -> Ints:
    """The initial state with some values changed, as a batch of one."""
    state = sim.initial.copy()
    for name, value in values.items():
        state[sim.columns[name]] = value
    return state[None]
