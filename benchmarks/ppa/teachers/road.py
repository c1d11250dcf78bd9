"""Transport by a rule: everything is gathered before the bridge on one way, then brought across piece by piece.

The truck turns back for what is behind it while it is empty. Before the bridge it drops all but one package; the hasty
rule keeps what is loaded.
"""

from __future__ import annotations

import numpy as np

from benchmarks.learning import Floats
from benchmarks.ppa.simulate import Bools, Ints
from benchmarks.ppa.transport import LABELS

FORWARD, BACKWARD, PICK, DROP = range(len(LABELS))


def rule(states: Ints, cautious: bool) -> Ints:
    """The number of the label that is chosen in each state; when all is done, the truck goes to and fro."""
    truck, load, waiting = states[:, 0], states[:, 1], states[:, 2:-1]
    bridge = waiting.shape[1] - 2
    here = waiting[np.arange(len(states)), truck]
    behind = np.where(np.arange(waiting.shape[1]) < truck[:, None], waiting, 0).sum(axis=1)
    searching = np.where(here > 0, PICK, np.where((load == 0) & (behind > 0), BACKWARD, FORWARD))
    empty = np.where(here > 0, PICK, np.where(behind > 0, BACKWARD, FORWARD))
    ready = np.where(load == 0, empty, np.where((load > 1) & cautious, DROP, FORWARD))
    across = np.where(load > 0, DROP, BACKWARD)
    return np.where(truck < bridge, searching, np.where(truck == bridge, ready, across))


def labels(states: Ints, cautious: bool) -> tuple[Bools, Floats]:
    """One good label; states at the bridge count more."""
    chosen = rule(states, cautious)
    good = np.zeros((len(states), len(LABELS)), dtype=bool)
    good[np.arange(len(states)), chosen] = True
    locations = states.shape[1] - 3
    return good, np.where(states[:, 0] >= locations - 2, 3.0, 1.0)
