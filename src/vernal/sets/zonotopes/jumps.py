"""Changes of location that are no matter of place: what states enter other locations during a step, and where they go.

What enters a location by a jump is kept as a box; it moves on in its new location for at most the rest of the step, so
at the end it is somewhere in the tube of one step from that box. Jumps may follow each other within a step: boxes grow
until none grows any more, and after some rounds at once to all of their location.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.zonotope import Zonotope
from vernal.interpret.numbers.rounding import Floats
from vernal.model.hybrid import Facets
from vernal.sets.zonotopes.ancestry import Travellers
from vernal.sets.zonotopes.duals import FramedSet, greatest
from vernal.sets.zonotopes.modes import ModeGraph
from vernal.sets.zonotopes.step import HybridSteps, StepOutcome

GROWTH_ROUNDS = 6  # of growth, before a box becomes all of its location


@dataclass(frozen=True)
class Corners:
    """The points between two corners."""

    lower: Floats
    upper: Floats

    def joined(self, other: Corners) -> Corners:
        """The smallest box around both."""
        return Corners(np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper))

    def contains(self, other: Corners) -> bool:
        """Whether the other is a part of this."""
        return bool(np.all(self.lower <= other.lower) and np.all(other.upper <= self.upper))

    def clipped(self, other: Corners) -> Corners:
        """The part within another box."""
        return Corners(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))


@dataclass(frozen=True)
class JumpEntry:
    """What has entered a location during a step, from which roots, and what becomes of it until the end."""

    box: Corners
    roots: frozenset[int]
    outcome: StepOutcome


def corners(shape: FramedSet, facets: Facets, region: Corners) -> Corners | None:
    """The box around the part of a shape within facets; None where there is none."""
    n = len(region.lower)
    axes = np.eye(n)
    found = greatest(np.concatenate([axes, -axes]), shape, facets)
    if found is None:
        return None
    box = Corners(-found[n:], found[:n]).clipped(region)
    return box if bool(np.all(box.lower <= box.upper)) else None


class Jumps:
    """Jumps of one automaton, step by step."""

    def __init__(self, graph: ModeGraph, stepper: HybridSteps) -> None:
        self.graph, self.stepper = graph, stepper
        self.region = Corners(graph.automaton.lower, graph.automaton.upper)

    def entries(self, outcomes: list[tuple[int, StepOutcome]]) -> dict[int, JumpEntry]:
        """What enters locations while some roots move, and afterwards within the same step; by location."""
        found: dict[int, JumpEntry] = {}
        fresh = [(frozenset([root]), target, box) for root, outcome in outcomes for target, box in self._from(outcome)]
        rounds = 0
        while fresh:
            rounds += 1
            grown = self._grow(found, fresh, everything=rounds > GROWTH_ROUNDS)
            fresh = [
                (found[mode].roots, target, box) for mode in grown for target, box in self._from(found[mode].outcome)
            ]
        return found

    def _from(self, outcome: StepOutcome) -> list[tuple[int, Corners]]:
        found = []
        for crossing in [crossing for mode in sorted(outcome.modes) for crossing in self.graph.jumps[mode]]:
            parts = [crossing.guard, self.graph.invariant(crossing.source), self.graph.invariant(crossing.target)]
            rows = Facets(np.concatenate([p.normals for p in parts]), np.concatenate([p.offsets for p in parts]))
            box = corners(outcome.tube, rows, self.region)
            if box is not None:
                found.append((crossing.target, box))
        return found

    def _grow(
        self, found: dict[int, JumpEntry], fresh: list[tuple[frozenset[int], int, Corners]], *, everything: bool
    ) -> set[int]:
        """Add what is fresh; the locations whose entry has changed."""
        grown = set()
        for roots, mode, box in fresh:
            old = found.get(mode)
            if old is not None and old.box.contains(box) and roots <= old.roots:
                continue
            whole = box if old is None else box.joined(old.box)
            if everything:
                whole = self.region
            entry = self._entry(whole, mode, roots if old is None else roots | old.roots)
            if entry is not None:
                found[mode] = entry
                grown.add(mode)
        return grown

    def _entry(self, box: Corners, mode: int, roots: frozenset[int]) -> JumpEntry | None:
        outcome = self.stepper.step(Travellers(Zonotope.box(box.lower, box.upper), frozenset([mode]), -1))
        return None if outcome is None else JumpEntry(box, roots, outcome)
