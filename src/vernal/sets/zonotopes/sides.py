"""Whether states may leave the region: they touch one of its sides where the field does not point inward."""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import Mask, gamma
from vernal.model.hybrid import Facets, HybridAutomaton, Location
from vernal.sets.zonotopes.duals import greatest
from vernal.sets.zonotopes.modes import ModeSet
from vernal.sets.zonotopes.tubes import FlowTube


def may_leave(automaton: HybridAutomaton, tube: FlowTube, modes: ModeSet, kept: Mask) -> bool:
    """Whether some state of the tube, in one of the locations, may be about to leave the region.

    `kept` sides, the upper ones of all variables and then the lower ones, are known not to be left.
    """
    n = len(automaton.lower)
    rows = np.concatenate([np.eye(n), -np.eye(n)])
    ends = np.concatenate([automaton.upper, -automaton.lower])
    touched = np.flatnonzero(~(tube.support(rows) < ends) & ~kept)
    locations = [automaton.locations[mode] for mode in modes]
    return any(
        _points_outward(tube, location, rows[side], ends[side], automaton.radius)
        for side in touched
        for location in locations
    )


def _points_outward(tube: FlowTube, location: Location, normal: np.ndarray, end: float, radius: np.ndarray) -> bool:
    """Whether the field of a location may point out of the region, or along its side, somewhere on a side."""
    facets = location.invariant
    side = Facets(np.concatenate([facets.normals, [-normal]]), np.concatenate([facets.offsets, [-end]]))
    found = greatest((normal @ location.matrix)[None], tube, side)
    if found is None:
        return False
    size = np.abs(normal) @ (np.abs(location.matrix) @ tube.size + np.abs(location.drift) + radius)
    fastest = found[0] + normal @ location.drift + np.abs(normal) @ radius + gamma(len(normal) + 8) * size
    return not bool(fastest < 0)
