"""Which locations a set of states may be in, and which it may come to while it moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from vernal.engines.flow.affine.duals import SupportedSet
from vernal.model.hybrid import Crossing, Facets, HybridAutomaton

Modes = frozenset[int]  # indices of locations


def touches(shape: SupportedSet, facets: Facets) -> bool:
    """Whether no row of the facets excludes the whole shape."""
    return len(facets.offsets) == 0 or bool(np.all(shape.support(-facets.normals) >= -facets.offsets))


class ModeGraph:
    """The locations of an automaton and the crossings that leave each."""

    def __init__(self, automaton: HybridAutomaton) -> None:
        self.automaton = automaton
        self.leaving: dict[int, list[Crossing]] = defaultdict(list)
        for crossing in automaton.crossings:
            self.leaving[crossing.source].append(crossing)

    def within(self, shape: SupportedSet, modes: Iterable[int]) -> Modes:
        """Those of some locations that the shape touches."""
        return frozenset(mode for mode in modes if touches(shape, self.automaton.locations[mode].invariant))

    def reachable(self, shape: SupportedSet, modes: Modes) -> Modes:
        """The locations that states of the shape may come to, from some locations."""
        found = set(self.within(shape, modes))
        stack = list(found)
        while stack:
            for crossing in self.leaving[stack.pop()]:
                new = crossing.target not in found and touches(shape, crossing.guard)
                if new and touches(shape, self.automaton.locations[crossing.target].invariant):
                    found.add(crossing.target)
                    stack.append(crossing.target)
        return frozenset(found)
