"""Flowpipes of affine hybrid automata: where all trajectories are, up to a horizon, at every time.

All sets move in steps of the same length, so that what is reached at one time by different ways stays together. Sets
are zonotopes, which affine maps and disturbances turn into zonotopes: nothing is lost from step to step but what two
neighbouring locations make of the same point, and that vanishes at their common facet if their fields agree there
(`step`). Sets that an earlier one contains are not followed again (`ancestry`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import labelled
from vernal.interpret.geometry.zonotope import Zonotope
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.hybrid import Facets, HybridAutomaton
from vernal.model.tick import Tick, idle
from vernal.sets.zonotopes.ancestry import Ancestry, Root, Segment, Travellers, both_ways
from vernal.sets.zonotopes.duals import greatest
from vernal.sets.zonotopes.jumps import Corners, JumpEntry, Jumps, corners
from vernal.sets.zonotopes.modes import ModeGraph, ModeSet
from vernal.sets.zonotopes.sides import may_be_blocked, may_leave
from vernal.sets.zonotopes.step import HybridSteps, StepOutcome
from vernal.sets.zonotopes.tubes import FlowTube

FEWEST_STEPS = 128  # unless a step is given
MOST_STEPS = 1024
TURN = 0.125  # of a step times the norm of a matrix
MOST_GENERATORS = 600  # of a zonotope, before its smallest are put together
MOST_ENTERED = 8  # sets in the same locations that came by jumps, before they become one box


def pipe(
    automaton: HybridAutomaton,
    initial: Facets | tuple[Floats, Floats],
    horizon: Fraction | float,
    directions: Floats,
    tick: Tick = idle,
    *,
    step: float | None = None,
    parts: int = 1,
    kept: Mask | None = None,
    blocking: bool = False,
) -> Flowpipe:
    """A flowpipe that contains all trajectories from the initial states up to the horizon.

    The initial states are a box (its two corners) or a polyhedron, of which the box around it is taken; `parts` of it,
    of about the same size, are followed one by one. The axes are put before the directions where they are not the
    first. `step` is rounded down to a power of two. `kept` sides of the region (the upper ones of all variables, then
    the lower ones) are known never to be left by those trajectories that count. `blocking`: a trajectory ends also
    where it can neither stay in its location nor change to another.
    """
    n = len(automaton.lower)
    axes = np.eye(n)
    first = directions[:n]
    template = directions if np.array_equal(first, axes) else np.concatenate([axes, directions.reshape(-1, n)])
    h = _power_of_two(step if step is not None else _step(automaton, float(horizon)))
    count = max(1, math.ceil(Fraction(horizon) / Fraction(h)))
    search = Propagation(automaton, template, h, count, tick, kept, blocking)
    boxes = halves(_box(automaton, initial), parts)
    search.run(boxes)
    starts = np.array([[box.lower, box.upper] for box in boxes]).reshape(-1, 2, n)
    return replace(search.flowpipe(), starts=starts)


def _power_of_two(step: float) -> float:
    if not 0.0 < step < math.inf:
        raise ValueError("a step of a flowpipe is longer than 0")
    return math.ldexp(1.0, math.frexp(step)[1] - 1)


def _step(automaton: HybridAutomaton, horizon: float) -> float:
    """A step in which no field turns by much."""
    steepest = max((np.abs(location.matrix).sum(axis=1).max() for location in automaton.locations), default=0.0)
    wanted = min(horizon / FEWEST_STEPS, TURN / max(steepest, 1e-9))
    return max(wanted, horizon / MOST_STEPS) if horizon > 0 else 2.0**-20


def _box(automaton: HybridAutomaton, initial: Facets | tuple[Floats, Floats]) -> Corners | None:
    """The box around the initial states inside the region; None where there are none."""
    region = Corners(automaton.lower, automaton.upper)
    if isinstance(initial, Facets):
        whole = Zonotope.box(region.lower, region.upper)
        return corners(FlowTube(whole, whole, np.zeros(len(region.lower))), initial, region)
    box = Corners(*initial).clipped(region)
    return box if bool(np.all(box.lower <= box.upper)) else None


def halves(box: Corners | None, parts: int) -> list[Corners]:
    """At least so many boxes that cover a box, by halving the widest side again and again; none of none."""
    found = [] if box is None else [box]
    while found and len(found) < parts and bool(np.any(found[0].upper > found[0].lower)):
        axis = int(np.argmax(found[0].upper - found[0].lower))
        found = [half for whole in found for half in _cut(whole, axis)]
    return found


def _cut(box: Corners, axis: int) -> tuple[Corners, Corners]:
    middle = 0.5 * box.lower[axis] + 0.5 * box.upper[axis]
    upper, lower = box.upper.copy(), box.lower.copy()
    upper[axis] = lower[axis] = middle
    return Corners(box.lower, upper), Corners(lower, box.upper)


class Propagation:
    """Moves all sets from step to step, and keeps their segments."""

    def __init__(
        self,
        automaton: HybridAutomaton,
        directions: Floats,
        h: float,
        steps: int,
        tick: Tick,
        kept: Mask | None = None,
        blocking: bool = False,
    ) -> None:
        self.automaton, self.directions, self.tick = automaton, directions, tick
        self.h, self.steps = h, steps
        self.graph = ModeGraph(automaton, tick)
        self.stepper = HybridSteps(self.graph, h, tick)
        self.jumps = Jumps(self.graph, self.stepper)
        self.region = Corners(automaton.lower, automaton.upper)
        self.ancestry = Ancestry()
        self.kept = np.zeros(2 * len(automaton.lower), dtype=bool) if kept is None else kept
        self.inside = steps  # steps until a trajectory may leave the region
        self.blocking = blocking
        self.followed = 0  # sets that were moved by a step
        self.goals = both_ways(directions)

    def run(self, boxes: list[Corners]) -> None:
        """Follow all trajectories from some boxes, as long as steps can be enclosed."""
        current = [travellers for box in boxes for travellers in self._initial(box)]
        for step in range(self.steps):
            try:
                current = self._moved(current, step)
            except ArithmeticError:
                self.steps, self.inside = step, min(step, self.inside)
            if not current or step >= self.steps:
                break

    def _initial(self, box: Corners) -> list[Travellers]:
        """One set for all locations that lie side by side; another one for those that overlap with these."""
        states = Zonotope.box(box.lower, box.upper)
        modes = self.graph.within(states, range(len(self.automaton.locations)))
        groups = self.graph.side_by_side(modes)
        return [self.ancestry.begin(Root(0, states, group), frozenset()) for group in groups]

    def _moved(self, current: list[Travellers], step: int) -> list[Travellers]:
        """All sets at the end of a step."""
        outcomes: list[tuple[int, StepOutcome]] = []
        for travellers in current:
            self.tick()
            known = self.ancestry.container(travellers, step)
            if known is not None:
                self.ancestry.link(travellers.root, step, known)
                continue
            outcome = self.stepper.step(replace(travellers, states=travellers.states.reduced(MOST_GENERATORS)))
            self.followed += 1
            if outcome is not None:
                outcomes.append((travellers.root, outcome))
                self._note(frozenset([travellers.root]), step, outcome)
        after = [outcome.after for _, outcome in outcomes if outcome.after is not None]
        return self._merged(after + self._entered(outcomes, step), step + 1)

    def _entered(self, outcomes: list[tuple[int, StepOutcome]], step: int) -> list[Travellers]:
        """What came to other locations by jumps, at the end of a step."""
        found = []
        for entry in self.jumps.entries(outcomes).values():
            self.tick()
            self._note(entry.roots, step, entry.outcome)
            root = self._root(entry, step + 1)
            if root is not None:
                found.append(self.ancestry.begin(root, entry.roots))
        return found

    def _root(self, entry: JumpEntry, step: int) -> Root | None:
        """What has entered a location is anywhere in its tube."""
        outcome = entry.outcome
        boxes = {mode: corners(outcome.tube, self.graph.invariant(mode), self.region) for mode in outcome.modes}
        whole = [box for box in boxes.values() if box is not None]
        if not whole:
            return None
        modes = frozenset(mode for mode, box in boxes.items() if box is not None)
        return self._around(whole, modes, step)

    def _around(self, boxes: list[Corners], modes: ModeSet, step: int) -> Root:
        box = boxes[0]
        for other in boxes[1:]:
            box = box.joined(other)
        return Root(step, Zonotope.box(box.lower, box.upper), modes)

    def _merged(self, found: list[Travellers], step: int) -> list[Travellers]:
        """With one box in the place of many sets in the same locations that came by jumps."""
        kept: list[Travellers] = []
        groups: dict[ModeSet, list[Travellers]] = {}
        for travellers in found:
            entered = self.ancestry.roots[travellers.root].step > 0
            (groups.setdefault(travellers.modes, []) if entered else kept).append(travellers)
        for modes, group in groups.items():
            kept += group if len(group) <= MOST_ENTERED else [self._as_one(group, modes, step)]
        return kept

    def _as_one(self, group: list[Travellers], modes: ModeSet, step: int) -> Travellers:
        n = len(self.region.lower)
        ends = [travellers.states.support(both_ways(np.eye(n))) for travellers in group]
        boxes = [Corners(-found[n:], found[:n]) for found in ends]
        return self.ancestry.begin(self._around(boxes, modes, step), frozenset(t.root for t in group))

    def _note(self, roots: frozenset[int], step: int, outcome: StepOutcome) -> None:
        """Keep where states are during a step, and whether they may leave the region."""
        if self.inside > step and self._may_end(outcome):
            self.inside = step
        segments = [segment for mode in sorted(outcome.modes) for segment in self._segments(outcome.tube, mode)]
        for root in roots:
            self.ancestry.record(root, step, segments)

    def _may_end(self, outcome: StepOutcome) -> bool:
        """Whether a trajectory may leave the region during a step, or be blocked where that counts."""
        if self.blocking:
            return any(may_be_blocked(self.automaton, outcome.tube, mode) for mode in outcome.modes)
        return may_leave(self.automaton, outcome.tube, outcome.modes, self.kept)

    def _segments(self, tube: FlowTube, mode: int) -> list[Segment]:
        self.tick()
        found = greatest(self.goals, tube, self.graph.invariant(mode))
        if found is None:
            return []
        d, n = len(self.directions), len(self.region.lower)
        upper, lower = found[:d], -found[d:]
        upper[:n] = np.minimum(upper[:n], self.region.upper)
        lower[:n] = np.maximum(lower[:n], self.region.lower)
        return [Segment(mode, lower, upper)] if bool(np.all(lower <= upper)) else []

    def flowpipe(self) -> Flowpipe:
        """All segments, step by step."""
        rows = [(step, segment) for step in range(self.steps) for segment in self.ancestry.during(step)]
        d = len(self.directions)
        times = np.array([[step * self.h, (step + 1) * self.h] for step, _ in rows]).reshape(-1, 2)
        lower = np.array([segment.lower for _, segment in rows]).reshape(-1, d)
        upper = np.array([segment.upper for _, segment in rows]).reshape(-1, d)
        modes = np.array([[segment.mode] for _, segment in rows], dtype=np.int64).reshape(-1, 1)
        until = self.steps * self.h
        inside = self.inside * self.h
        sets = labelled(Template(self.directions), lower, upper, modes)
        return Flowpipe(self.automaton.variables, sets, times, inside, until)
