"""Sets of states followed through time: smooth steps where the field allows them, first-order steps elsewhere.

Every box has its own clock and step. Sets are not cut by the region while they are smooth (what leaves it is followed
in vain, which is sound); what is recorded of them is, and a set that does not meet the region any more is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vernal.interpret.flow.picard import GRID, BoxEnds, enclose, on_grid, region_of
from vernal.interpret.flow.steps import SetMoves, TaylorStepper
from vernal.interpret.flow.zonotope_batches import Zonotopes, boxes, joined
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, trailed
from vernal.interpret.geometry.template_sets import joined as joined_sets
from vernal.interpret.numbers.rounding import Array, Floats, Mask, all_along, any_along, float_above, float_below
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

BoxNumbers = Array


@dataclass(frozen=True, slots=True)
class Pace:
    """How long steps may be, smooth ones and first-order ones, how much one may truncate, and when to give up."""

    longest: float
    first_order: float
    tolerance: float
    shortest: float = GRID  # what can only be followed by shorter steps is stuck
    most: int = 2000  # steps


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Sets of states during spans of time, whose trail is the box they started from."""

    sets: TemplateSets  # (segments,)
    times: Floats  # (segments, 2)
    inside: Floats  # (boxes,): until when everything from a box is inside the region
    until: Floats  # (boxes,): until when the segments tell everything; the horizon, unless it got stuck before
    influence: Floats  # (boxes, n): how much each component of the start has to do with what was lost
    bent: Floats  # (boxes,): which share of that steps lost, and not resets
    rough: Floats  # (boxes,): when the first step of first order was needed; infinite where none was

    def of(self, boxes: BoxNumbers) -> Segments:
        """What is known of some boxes, numbered anew."""
        number = np.full(len(self.until), -1)
        number[boxes] = np.arange(len(boxes))
        kept = number[self.sets.trail] >= 0
        sets = self.sets.rows(kept)
        own = [getattr(self, name)[boxes] for name in ("inside", "until", "influence", "bent", "rough")]
        return Segments(replace(sets, trail=number[sets.trail]), self.times[kept], *own)


class Follower:
    """Follows the sets that start in boxes until a horizon, or until they are outside the region, or get stuck."""

    def __init__(
        self, stepper: TaylorStepper, horizon: float, pace: Pace, tick: Tick = idle, kept: Mask | None = None
    ) -> None:
        """`kept` sides of the region (the upper ones of all variables, then the lower ones) are never left."""
        self.stepper, self.horizon, self.pace, self.tick = stepper, horizon, pace, tick
        self.template, self.region = Template(stepper.directions), region_of(stepper.flow)
        self.inner = _inner_region(stepper.flow)  # less sides that are never left
        if kept is not None:
            above, below = kept.reshape(2, -1)
            self.inner = np.where(below, -np.inf, self.inner[0]), np.where(above, np.inf, self.inner[1])

    def here(self, sets: Zonotopes) -> Segments:
        """What sets are at time 0 alone; where one is not inside the region, that is until time 0."""
        return _Run(self, sets).told()

    def carry(self, sets: Zonotopes) -> tuple[Segments, BoxNumbers, Zonotopes]:
        """From sets: what is passed, which of them are in the region at the horizon, and what they are there."""
        run = _Run(self, sets)
        return run.finish(), np.concatenate([run.active[:0], *run.arrived]), joined([sets[run.active[:0]], *run.ends])


class _Run:
    """The state of one batch: which boxes are under way, where they are, and what was recorded."""

    def __init__(self, follower: Follower, sets: Zonotopes) -> None:
        count = len(sets.lower)
        self.follower, self.stepper, self.pace = follower, follower.stepper, follower.pace
        self.sets = sets
        self.active = np.arange(count)
        self.clock = np.zeros(count)
        self.wanted = np.full(count, min(self.pace.longest, follower.horizon))
        self.inside = np.full(count, follower.horizon)
        self.until = np.full(count, follower.horizon)
        self.influence, self.bent = sets.influence, sets.bent
        self.rough = np.full(count, np.inf)
        self.records: list[tuple[TemplateSets, Floats]] = []
        self.arrived: list[BoxNumbers] = []  # at the horizon, and the sets there
        self.ends: list[Zonotopes] = []
        self._record(self.active, np.zeros((count, 2)), *self._along(sets))

    def finish(self) -> Segments:
        """Step until nothing is under way."""
        for _ in range(self.pace.most):
            if not len(self.active):
                break
            self.follower.tick()
            self._advance()
        self.until[self.active] = self.clock
        self.inside = np.minimum(self.inside, self.until)
        return self.told()

    def told(self) -> Segments:
        """What was recorded so far."""
        sets, times = zip(*self.records, strict=True)
        own = (self.inside, self.until, self.influence, self.bent, self.rough)
        return Segments(joined_sets(sets), np.concatenate(times), *own)

    def _advance(self) -> None:
        """One step of everything that is under way."""
        left = self.follower.horizon - self.clock
        steps, least = np.minimum(self.wanted, left), self.pace.first_order / 4
        moves = self.stepper.step(self.sets, steps, self.pace.tolerance, least)
        shorter = ~moves.found & moves.smooth & (self.wanted > self.pace.first_order)
        rough = np.flatnonzero(~moves.found & ~shorter)
        smooth = np.flatnonzero(moves.found)
        self.wanted[shorter] /= 4
        after = [self.sets[shorter], self._smoothly(moves, smooth)]
        order = [np.flatnonzero(shorter), smooth]
        if len(rough):
            kept, sets = self._first_order(rough)
            after.append(sets)
            order.append(kept)
        self._keep(np.concatenate(order), joined(after))

    def _keep(self, order: BoxNumbers, sets: Zonotopes) -> None:
        """Go on with these, less those that are at the horizon or outside the region, too large or too slow."""
        self.active, self.clock, self.wanted = self.active[order], self.clock[order], self.wanted[order]
        region, ended = self.follower.region, self.clock >= self.follower.horizon
        meets = _meets(sets.lower, sets.upper, region)
        self.arrived.append(self.active[meets & ended])
        self.ends.append(sets[meets & ended])
        gone = ~meets | ended
        slow = self.wanted < 2 * self.pace.shortest
        lost = ~gone & (slow | any_along(sets.radius > region[1] - region[0]))
        self.until[self.active[lost]] = self.clock[lost]
        self.influence[self.active], self.bent[self.active] = sets.influence, sets.bent
        on = ~(gone | lost)
        self.active, self.clock, self.wanted, self.sets = self.active[on], self.clock[on], self.wanted[on], sets[on]

    def _smoothly(self, moves: SetMoves, which: BoxNumbers) -> Zonotopes:
        """Record the steps that were found."""
        parts = len(moves.lower)
        start = self.clock[which]
        for j in range(parts):
            times = np.stack([start + moves.marks[j, which], start + moves.marks[j + 1, which]], 1)
            self._record(self.active[which], times, moves.lower[j, which], moves.upper[j, which])
        self.clock[which] += moves.steps[which]
        self.wanted[which] = np.minimum(2 * moves.steps[which], self.pace.longest)
        return moves.sets[which]

    def _first_order(self, which: BoxNumbers) -> tuple[BoxNumbers, Zonotopes]:
        """First-order steps inside the region; those that found one, and their boxes."""
        region, clock = self.follower.region, self.clock[which]
        self.rough[self.active[which]] = np.minimum(self.rough[self.active[which]], clock)
        low, high = (np.clip(end, *region) for end in (self.sets.lower[which], self.sets.upper[which]))
        h = np.minimum(self.pace.first_order, self.follower.horizon - clock)
        found = enclose(self.stepper.field, low, high, h, region, self.pace.shortest)
        stuck = which[~found.found]
        self.until[self.active[stuck]] = self.clock[stuck]
        which, good = which[found.found], found.found
        times = np.stack([self.clock[which], self.clock[which] + found.steps[good]], 1)
        self._record(self.active[which], times, *self._along(boxes(found.lower[good], found.upper[good])))
        self.clock[which] += found.steps[good]
        self.wanted[which] = 2 * self.pace.first_order
        low, high = found.end_lower[good], found.end_upper[good]
        still = _meets(low, high, region)
        return which[still], boxes(*_clipped(low[still], high[still], region), self.sets.ring)

    def _along(self, sets: Zonotopes) -> BoxEnds:
        """What the directions are over sets; along the axes what their boxes say, with no rounding."""
        below, above = sets.support(self.stepper.directions).ends
        n = sets.lower.shape[1]
        return np.concatenate([sets.lower, below[:, n:]], 1), np.concatenate([sets.upper, above[:, n:]], 1)

    def _record(self, origins: BoxNumbers, times: Floats, lower: Floats, upper: Floats) -> None:
        """Segments, cut by the region; those outside it are none."""
        n = len(self.stepper.flow.state)
        low, high = lower[:, :n], upper[:, :n]
        inner = self.follower.inner
        leaves = ~all_along((low >= inner[0]) & (high <= inner[1]))
        np.minimum.at(self.inside, origins[leaves], times[leaves, 0])
        meets = _meets(low, high, self.follower.region)
        cut = _clipped(low, high, self.follower.region)
        bounds = [np.concatenate([end, whole[:, n:]], 1) for end, whole in zip(cut, (lower, upper), strict=True)]
        sets = trailed(self.follower.template, bounds[0][meets], bounds[1][meets], origins[meets])
        self.records.append((sets, times[meets]))


def _inner_region(flow: Model) -> BoxEnds:
    """The region rounded inward."""
    lower = [float_above(low) for low, _ in flow.region]
    return np.array([lower]), np.array([[float_below(high) for _, high in flow.region]])


def _meets(lower: Floats, upper: Floats, region: BoxEnds) -> Mask:
    return all_along((lower <= region[1]) & (upper >= region[0]))


def _clipped(lower: Floats, upper: Floats, region: BoxEnds) -> BoxEnds:
    """What of boxes that meet the region is inside it."""
    return np.clip(lower, *region), np.clip(upper, *region)


def horizon_on_grid(horizon: float) -> float:
    """The first time of the grid that is not before."""
    return -float(on_grid(np.array(-horizon)))
