"""Which locations a set of states may be in, and which it may come to while it moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.hybrid import Crossing, Facets, HybridAutomaton
from vernal.model.tick import Tick, idle
from vernal.sets.zonotopes.duals import SupportedSet

ModeSet = frozenset[int]  # indices of locations


def touches(shape: SupportedSet, facets: Facets) -> bool:
    """Whether no row of the facets excludes the whole shape; a row whose support has overflowed excludes nothing."""
    return len(facets.offsets) == 0 or not bool(np.any(shape.support(-facets.normals) < -facets.offsets))


class ModeGraph:
    """The locations of an automaton and the crossings that leave each.

    Where two locations lie on either side of a facet, states near it are followed through both at once. Where
    invariants overlap, the location is more than a matter of place: states change it by a jump, and begin anew.
    """

    def __init__(self, automaton: HybridAutomaton, tick: Tick = idle) -> None:
        self.automaton = automaton
        self.to_neighbours: dict[int, list[Crossing]] = defaultdict(list)
        self.jumps: dict[int, list[Crossing]] = defaultdict(list)
        self.beside: dict[int, list[int]] = defaultdict(list)
        rows = [_scaled(location.invariant) for location in automaton.locations]
        for crossing in automaton.crossings:
            tick()
            at_facet = _is_facet(rows[crossing.source], rows[crossing.target], _scaled(crossing.guard))
            table = self.to_neighbours if at_facet else self.jumps
            table[crossing.source].append(crossing)
            if at_facet:
                self.beside[crossing.source].append(crossing.target)
                self.beside[crossing.target].append(crossing.source)

    def invariant(self, mode: int) -> Facets:
        """Where a location is."""
        return self.automaton.locations[mode].invariant

    def within(self, shape: SupportedSet, modes: Iterable[int]) -> ModeSet:
        """Those of some locations that the shape touches."""
        return frozenset(mode for mode in modes if touches(shape, self.invariant(mode)))

    def side_by_side(self, modes: ModeSet) -> list[ModeSet]:
        """Groups of locations that are connected through facets of theirs: the location is a matter of place there."""
        left, found = set(modes), []
        while left:
            group, stack = set(), [min(left)]
            while stack:
                mode = stack.pop()
                if mode in left:
                    left.remove(mode)
                    group.add(mode)
                    stack += self.beside[mode]
            found.append(frozenset(group))
        return found

    def reachable(self, shape: SupportedSet, modes: ModeSet) -> ModeSet:
        """The locations that states of the shape may come to through facets, from some locations."""
        found = set(self.within(shape, modes))
        stack = list(found)
        while stack:
            for crossing in self.to_neighbours[stack.pop()]:
                new = crossing.target not in found and touches(shape, crossing.guard)
                if new and touches(shape, self.invariant(crossing.target)):
                    found.add(crossing.target)
                    stack.append(crossing.target)
        return frozenset(found)


def _is_facet(here: Floats, there: Floats, guard: Floats) -> bool:
    """Whether some hyperplane of the guard has the source on one side and the target on the other."""
    return any(bool(_has(there, -row) and _has(guard, row)) for row in here)


def _has(rows: Floats, row: Floats) -> bool:
    """Whether a row is among others, but for rounding: nothing depends on it but precision."""
    return bool((np.abs(rows - row).max(axis=1, initial=0.0) < 1e-9).any())


def _scaled(facets: Facets) -> Floats:
    """Rows (normal, offset), with normals of length 1."""
    lengths = np.linalg.norm(facets.normals, axis=1, keepdims=True)
    rows = np.concatenate([facets.normals, facets.offsets[:, None]], axis=1)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))
