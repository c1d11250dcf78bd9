"""Whether all that begins in some boxes keeps a condition for a time, stays in the region, and ends in other boxes.

This is what shows a claim `G p` without an end (`evidence.recurrent_set`): to whoever looks for recurrent sets, and to
a replay. Boxes of which it is not seen are cut, and followed again, as for any claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np

from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.segment_truth import StateConditions
from vernal.interpret.flow.integration import Segments, horizon_on_grid
from vernal.interpret.geometry.box_cover import uncovered
from vernal.interpret.geometry.directions import with_axes
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.formula import Always, Formula
from vernal.model.clock import clock_of
from vernal.model.expr import Var
from vernal.model.initial import Init, OneOf, Span
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.model.timetable import repeat_period
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided
from vernal.sets.flow_starts import StartBoxes, cut, start_boxes
from vernal.sets.sampled.box_rounds import BoxRounds
from vernal.sets.sampled.sections import Section

Sees = Callable[[Segments, Mask], Mask]  # of the boxes of a batch, with those that keep everything: which will do

LIMITS = CuttingLimits(rounds=8, most=2048, patience=3)
OPEN_SETS = "{} of the sets that begin there may break the claim, leave the region, or come elsewhere, after {} seconds"


def lasting(model: Model) -> tuple[Var, ...]:
    """The variables of a flow that decide its future at an instant at which all agents are about to read.

    Without a delay, what an agent holds is decided anew there; what is waiting for its time always is.
    """
    plant = plant_of(model)
    waiting = {var for own in plant.pending.values() for var in own}
    anew = {var for name, own in plant.held.items() if name not in plant.pending for var in own}
    return tuple(var for var in plant.flow.vars if var not in waiting | anew)


def from_boxes(model: Model, ends: Floats) -> Model:
    """The same flow from all states of some boxes (k, 2, lasting), and nothing else: no constraint of the start."""
    starts = dict(model.init.starts)
    for k, var in enumerate(lasting(model)):
        low, high = Fraction(float(ends[:, 0, k].min())), Fraction(float(ends[:, 1, k].max()))
        values = sorted({Fraction(float(x)) for x in ends[:, 0, k]})
        starts[var.name] = Span(low, high) if var.sort == REAL else OneOf(tuple(values))
    return model.starting(Init(starts, ()))


@dataclass(frozen=True)
class FollowedTime:
    """A time that is followed, and from when on the condition has to be true."""

    duration: Fraction
    begins: Fraction = Fraction(0)


class Returns:
    """Follows boxes of a flow for a stretch of time."""

    def __init__(self, model: Model, kept: Formula, stretch: FollowedTime, tick: Tick = idle) -> None:
        self.model, self.kept, self.stretch, self.tick = model, kept, stretch, tick
        self.conditions = StateConditions(model, tick)
        directions = with_axes(len(model.state), self.conditions.normals(kept))
        self.rounds = BoxRounds(model, horizon_on_grid(float_above(stretch.duration)), directions, tick)
        lasts = lasting(model)
        self.columns = np.array([model.vars.index(var) for var in lasts], dtype=np.intp)
        plant = plant_of(model)
        self.remembers = np.array([var in plant.remembered for var in lasts])

    def boxes(self, ends: Floats) -> StartBoxes:
        """Boxes (k, 2, lasting) as boxes of all variables: what is decided anew has any value."""
        first = start_boxes(self.model)
        lower, upper = (np.repeat(side[:1], len(ends), axis=0) for side in (first.lower, first.upper))
        lower[:, self.columns], upper[:, self.columns] = ends[:, 0], ends[:, 1]
        return StartBoxes(lower, upper)

    def lasting_ends(self, boxes: StartBoxes) -> Floats:
        """The other way round."""
        return np.stack([boxes.lower[:, self.columns], boxes.upper[:, self.columns]], axis=1)

    def problem(self, boxes: StartBoxes, targets: Floats | Section, limits: CuttingLimits = LIMITS) -> str | None:
        """Why it is not shown that all that begins in some boxes ends in the targets (k, 2, lasting); None where it is.

        Of a section, that all pass it.
        """
        if not self.stretch.duration:
            ends = self.lasting_ends(boxes)
            inside = not isinstance(targets, Section) and all(self.covers(low, high, targets) for low, high in ends)
            return None if inside else self._said(len(boxes))
        if self.rounds.is_too_large:
            return "one set takes too much memory"
        sees: Sees = (
            partial(self._ending_in, targets) if not isinstance(targets, Section) else partial(self._passing, targets)
        )
        end = cut_until_decided(boxes, lambda own: self._open(own, sees, adapt=True), self._cut, limits, self.tick)
        return None if end.end is CuttingEnd.DECIDED else self._said(len(end.boxes))

    def _said(self, count: int) -> str:
        return OPEN_SETS.format(count, float(self.stretch.duration))

    def all_ends(self, boxes: StartBoxes, limits: CuttingLimits) -> Floats | None:
        """The boxes (k, 2, lasting) in which all is in the end; None where it is not seen that all keep everything."""
        ends: list[Floats] = [np.empty((0, 2, len(self.columns)))]
        self.rounds.curved = False  # many small sets

        def ending(found: Segments, keeps: Mask) -> Mask:
            own = self.ends(found)
            ended: Mask = keeps & np.array([len(one) > 0 for one in own])
            ends.extend(own[box] for box in np.flatnonzero(ended))
            return ended

        end = cut_until_decided(boxes, lambda own: self._open(own, ending), self._cut, limits, self.tick).end
        return np.concatenate(ends) if end is CuttingEnd.DECIDED else None

    def _open(self, boxes: StartBoxes, sees: Sees, *, adapt: bool = False) -> UnseenBoxes:
        """One round: the boxes of which not everything is seen, and what loses them."""
        seen, influence, left = [], [], []
        for found in self.rounds.follow(boxes):
            seen.append(sees(found, self._keeps(found)))
            influence.append(found.influence[~seen[-1]] + 1e-9)
            left.append(found.of(np.flatnonzero(~seen[-1])))
        if adapt:
            self.rounds.adapt(left, stagnates=False)
        return UnseenBoxes(boxes[~np.concatenate(seen)], np.concatenate(influence))

    def _ending_in(self, targets: Floats, found: Segments, keeps: Mask) -> Mask:
        """The boxes that keep everything and end in targets."""
        ends, good = self.ends(found), keeps.copy()
        for box in np.flatnonzero(keeps):
            good[box] = len(ends[box]) > 0 and all(self.covers(low, high, targets) for low, high in ends[box])
        return good

    def _passing(self, section: Section, found: Segments, keeps: Mask) -> Mask:
        """The boxes that keep everything and from which all pass a section."""
        good, n = keeps.copy(), len(self.model.state)
        for box in np.flatnonzero(keeps):
            own = found.sets.trail == box
            good[box] = section.is_crossed(found.times[own], found.sets.lower[own, :n], found.sets.upper[own, :n])
        return good

    def _cut(self, left: UnseenBoxes) -> StartBoxes:
        return cut(self.model, left.boxes, left.influence)

    def covers(self, low: Floats, high: Floats, targets: Floats) -> bool:
        """Whether a box is in the union of others, as far as it is found out."""
        try:
            return uncovered(low, high, targets, tick=self.tick) is None
        except Stopped:
            self.tick()  # its own limits end the search
            return False

    def _keeps(self, found: Segments) -> Mask:
        """The boxes that are followed to the end inside the region, on whose segments the condition is true."""
        last = float_above(self.stretch.duration)
        good: Mask = (found.until >= last) & (found.inside >= last)
        names = tuple(variable.name for variable in self.model.state)
        pipe = Flowpipe(names, found.sets, found.times, 0.0, 0.0)
        meets = (found.times[:, 0] <= last) & (found.times[:, 1] >= float_below(self.stretch.begins))
        meets &= good[found.sets.trail]
        true = self.conditions.over(self.kept, pipe.part(meets)).true
        good[found.sets.trail[meets][~true]] = False
        return good

    def ends(self, found: Segments) -> list[Floats]:
        """Of each box, the boxes in which it is at the end: after jumps, and before memories change."""
        times, n = found.times, len(self.model.state)
        after = (times[:, 0] >= float_below(self.stretch.duration)) & (
            times[:, 0] <= float_above(self.stretch.duration)
        )
        rows = np.flatnonzero(after)
        if self.remembers.any():  # what was remembered before the last reading is wanted, too
            rows = np.flatnonzero(
                (times[:, 1] >= float_below(self.stretch.duration)) & (times[:, 0] <= times[after, 0].max())
            )
        order = rows[np.argsort(found.sets.trail[rows], kind="stable")]
        sides = np.stack([found.sets.lower[:, :n], found.sets.upper[:, :n]], axis=1)[order][:, :, self.columns]
        places = np.searchsorted(found.sets.trail[order], np.arange(len(found.until) + 1))
        return [sides[first:last] for first, last in pairwise(places)]


@dataclass(frozen=True, eq=False)
class UnseenBoxes:
    """Boxes of which it is not seen, and what influences the sets that begin there."""

    boxes: StartBoxes
    influence: Floats

    def __len__(self) -> int:
        return len(self.boxes)


def recurrence_problem(model: Model, kept: Always, found: RecurrentSet, tick: Tick = idle) -> str | None:
    """Why recurrent sets do not show `G[a,] p` of a flow, with a in seconds; None where they do."""
    if (problem := form_problem(model, found)) is not None:
        return problem
    if not len(first := start_boxes(model)):
        return None
    begins = kept.bound.lower if kept.bound.lower <= found.arrival else Fraction(0)  # else from the beginning on
    targets = found.boxes if found.section is None else section_of(model, found)
    arriving = Returns(model, kept.arg, FollowedTime(found.arrival, begins), tick)
    if (problem := arriving.problem(first, targets)) is not None:
        return problem
    around = Returns(from_boxes(model, found.boxes), kept.arg, FollowedTime(found.period), tick)
    return around.problem(around.boxes(found.boxes), targets)


def section_of(model: Model, found: RecurrentSet) -> Section:
    """The section of a flow that recurrent sets are."""
    assert found.section is not None
    return Section(found.variables.index(found.section), found.boxes[0])


def form_problem(model: Model, found: RecurrentSet) -> str | None:
    """Why recurrent sets are none of a flow, whatever it does."""
    lasts, period = lasting(model), repeat_period(model)
    if found.variables != tuple(var.name for var in lasts):
        return "its variables are not those that decide the future of this flow"
    if clock_of(model) is not None:
        return "a clock never comes back"
    times = (found.arrival, found.period)
    if period is not None and any((time / period).denominator != 1 for time in times):
        return "its times are no multiples of the period of all agents together"
    if period is None and any(horizon_on_grid(float_above(time)) != time for time in times):
        return "its times are not on the grid of times of a flow"
    if found.section is not None and (period is not None or len(found.boxes) != 1 or not _is_flat(found)):
        return "a section is one box of a flow, in which one variable has one value"
    whole = [k for k, var in enumerate(lasts) if var.sort != REAL]
    if not len(found.boxes) or (found.boxes[:, 0, whole] != found.boxes[:, 1, whole]).any():
        return "a box has one value of each discrete variable"
    return None


def _is_flat(found: RecurrentSet) -> bool:
    """Whether the variable of a section has one value in the box."""
    ends = found.boxes[0, :, found.variables.index(found.section or "")]
    return bool(ends[0] == ends[1])
