"""Whether states may leave the region, or be blocked in a location: sides where the field does not point inward."""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import Floats, Mask, gamma
from vernal.model.hybrid import Crossing, Facets, HybridAutomaton, Location
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
        _points_outward(tube, location, _side(location.invariant, rows[side], ends[side]), rows[side], automaton.radius)
        for side in touched
        for location in locations
    )


def may_be_blocked(automaton: HybridAutomaton, tube: FlowTube, mode: int) -> bool:
    """Whether some state of the tube, in a location, may have to leave it and may not find another to move on in.

    Where the field may point out of a side, one crossing has to lead all of it into a location in which the field
    points away from every side that is near: so time goes on, and no state changes to and fro without moving.
    """
    location = automaton.locations[mode]
    crossings = [crossing for crossing in automaton.crossings if crossing.source == mode]
    facets = location.invariant
    touched = np.flatnonzero(~(tube.support(facets.normals) < facets.offsets))
    for row in touched:
        side = _side(facets, facets.normals[row], facets.offsets[row])
        if _points_outward(tube, location, side, facets.normals[row], automaton.radius) and not any(
            _passes(automaton, tube, side, crossing) for crossing in crossings
        ):
            return True
    return False


def _passes(automaton: HybridAutomaton, tube: FlowTube, side: Facets, crossing: Crossing) -> bool:
    """Whether a crossing leads every state of a side into a location in which it moves on."""
    target = automaton.locations[crossing.target]
    normals, offsets = target.invariant.normals, target.invariant.offsets
    if not (_within(tube, side, crossing.guard) and _within(tube, side, target.invariant)):
        return False
    reached = greatest(normals, tube, side)
    near = np.zeros(0, dtype=int) if reached is None else np.flatnonzero(~(reached < offsets))
    return not any(
        _points_outward(tube, target, _side(side, normals[row], offsets[row]), normals[row], automaton.radius)
        for row in near
    )


def _within(tube: FlowTube, part: Facets, facets: Facets) -> bool:
    """Whether the part of a tube within some facets is within others, too; rows that both have need no proof."""
    own = np.column_stack([part.normals, part.offsets])
    new = [row for row in np.column_stack([facets.normals, facets.offsets]) if not (own == row).all(axis=1).any()]
    if not new:
        return True
    rows = np.array(new)
    found = greatest(rows[:, :-1], tube, part)
    return found is None or bool(np.all(found <= rows[:, -1]))


def _side(facets: Facets, normal: Floats, end: float) -> Facets:
    """The part of a polyhedron at which a row is at least its end."""
    return Facets(np.concatenate([facets.normals, [-normal]]), np.concatenate([facets.offsets, [-end]]))


def _points_outward(tube: FlowTube, location: Location, side: Facets, normal: Floats, radius: Floats) -> bool:
    """Whether the field of a location may point out of it, or along its side, somewhere on a side."""
    found = greatest((normal @ location.matrix)[None], tube, side)
    if found is None:
        return False
    size = np.abs(normal) @ (np.abs(location.matrix) @ tube.size + np.abs(location.drift) + radius)
    fastest = found[0] + normal @ location.drift + np.abs(normal) @ radius + gamma(len(normal) + 8) * size
    return not bool(fastest < 0)
