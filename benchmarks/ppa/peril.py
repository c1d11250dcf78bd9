"""All states of Transport in which one label is unsafe at once: a policy that never takes it there is safe.

Unsafe is a truck beyond the bridge with more than one package. It gets there by driving over the bridge with that many,
or by picking up another one beyond it. Whether the states can be reached is not asked.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.ppa.runs import Chooser
from benchmarks.ppa.simulate import Bools, Ints, Simulator
from benchmarks.ppa.transport import FORWARD, LABELS, LIMIT, PICK

BATCH = 100_000


def spreads(packages: int, places: int) -> Ints:
    """All ways to spread packages over places."""
    marks = np.array(list(combinations(range(packages + places - 1), places - 1)), dtype=np.int16)
    ends: Ints = np.pad(marks.astype(np.int64), ((0, 0), (1, 1)), constant_values=-1)
    ends[:, -1] = packages + places - 1
    return ends[:, 1:] - ends[:, :-1] - 1


def perils(locations: int, packages: int) -> tuple[Ints, Ints]:
    """The states, and for each the number of the label that must not be taken."""
    spread = spreads(packages, locations + 1)  # the truck's load, then the locations
    heavy, full = spread[spread[:, 0] > LIMIT], spread[(spread[:, 0] == LIMIT) & (spread[:, -1] > 0)]
    states = np.concatenate([_at(locations - 2, heavy), _at(locations - 1, full)])
    label = [LABELS.index(FORWARD)] * len(heavy) + [LABELS.index(PICK)] * len(full)
    return states, np.array(label)


def _at(truck: int, spread: Ints) -> Ints:
    """Rows of the simulator: truck, load, locations, and the only location of the automaton."""
    state = np.zeros((len(spread), spread.shape[1] + 2), np.int64)
    state[:, 0], state[:, 1:-1] = truck, spread
    return state


def mistakes(simulator: Simulator, chooser: Chooser, states: Ints, forbidden: Ints) -> Bools:
    """Where the forbidden label is taken."""
    parts = np.array_split(np.arange(len(states)), max(1, len(states) // BATCH))
    chosen = [chooser.choose(simulator, states[rows]) for rows in parts]
    found: Bools = np.concatenate(chosen) == forbidden
    return found
