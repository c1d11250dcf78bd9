"""From which sets the segments of a flowpipe come, so that what is known of one set need not be computed again.

A root is a set with which steps begin: a part of the initial set, or what enters a location by a jump. Its segments are
kept by their offset, the number of steps since the root. Links lead from a root, at an offset, to another root that
stands for some of its states from there on: a new one, or an earlier one that contains them. The automaton does not
depend on time, so the segments of the earlier one hold again, later. What a flowpipe has at a step is found by walking
the links.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from vernal.interpret.geometry.zonotope import Zonotope
from vernal.interpret.numbers.rounding import Floats, gamma
from vernal.model.lazy import cached_property
from vernal.sets.zonotopes.modes import ModeSet

NEARLY_ONE = 1.0 - 1e-9


def both_ways(directions: Floats) -> Floats:
    """Directions and their opposites."""
    return np.concatenate([directions, -directions])


@dataclass(frozen=True)
class Travellers:
    """States at one time: a zonotope, the locations they may be in, and the root that they come from."""

    states: Zonotope
    modes: ModeSet
    root: int


@dataclass(frozen=True)
class Segment:
    """Bounds of states in one location during a step, in the directions of the template."""

    mode: int
    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class Root:
    """A set with which steps begin."""

    step: int  # in which it begins
    states: Zonotope
    modes: ModeSet

    @cached_property
    def inverse(self) -> Floats | None:
        """Nearly the inverse of the generators, such that rows of it times x - center tell whether x is inside.

        With |1 - R G| of norm w, coordinates b of x = center + G b are at most max |R (x - center)| / (1 - w).
        """
        generators = self.states.generators
        n, m = generators.shape
        if m != n or abs(np.linalg.det(generators / (np.abs(generators).max() or 1.0))) < 1e-12:
            return None
        found: Floats = np.asarray(np.linalg.inv(generators), dtype=np.float64)
        rest = np.abs(found @ generators - np.eye(n)) + gamma(n + 2) * (np.abs(found) @ np.abs(generators))
        return found if rest.sum(axis=1).max() < 1e-10 else None

    @cached_property
    def ends(self) -> Floats:
        """The largest and the negated least values of all coordinates."""
        return self.states.support(both_ways(np.eye(len(self.states.center))))

    def contains(self, travellers: Travellers) -> bool:
        """Whether all those states are provably among these, in locations that these may be in."""
        if self.inverse is None or not travellers.modes <= self.modes:
            return False
        rows = both_ways(self.inverse)
        found = travellers.states.support(rows) - rows @ self.states.center
        slack = gamma(len(rows) + 4) * (np.abs(rows) @ (self.states.size + travellers.states.size))
        return bool(np.all(found + slack <= NEARLY_ONE))


@dataclass
class Ancestry:
    """All roots with their segments and links."""

    roots: list[Root] = field(default_factory=list)
    segments: dict[tuple[int, int], list[Segment]] = field(default_factory=lambda: defaultdict(list))
    links: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def begin(self, root: Root, parents: frozenset[int]) -> Travellers:
        """A new root, with links from those that its states come from."""
        number = len(self.roots)
        self.roots.append(root)
        for parent in parents:
            self.link(parent, root.step, number)
        return Travellers(root.states, root.modes, number)

    def link(self, root: int, step: int, target: int) -> None:
        """From a step on, some states of a root are those of another from its beginning."""
        self.links[root].append((step - self.roots[root].step, target))

    def record(self, root: int, step: int, segments: list[Segment]) -> None:
        """Where states of a root are during a step."""
        self.segments[root, step - self.roots[root].step] += segments

    def container(self, travellers: Travellers, step: int) -> int | None:
        """An earlier root that contains all these states."""
        ends = travellers.states.support(both_ways(np.eye(len(travellers.states.center))))
        for number, root in enumerate(self.roots):
            if root.step < step and bool(np.all(ends <= root.ends)) and root.contains(travellers):
                return number
        return None

    def during(self, step: int) -> list[Segment]:
        """All segments of a step, each once."""
        places = [(number, step) for number, root in enumerate(self.roots) if root.step == 0]
        seen = set(places)
        while places:
            root, offset = places.pop()
            for at, target in self.links[root]:
                place = (target, offset - at)
                if at <= offset and place not in seen:
                    seen.add(place)
                    places.append(place)
        return [segment for place in sorted(seen) for segment in self.segments.get(place, [])]
