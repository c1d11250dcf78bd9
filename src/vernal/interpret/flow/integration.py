"""Sets of states followed through time: smooth steps where the field allows them, first-order steps elsewhere.

Every box has its own clock and step. Sets are not cut by the region while they are smooth (what leaves it is followed
in vain, which is sound); what is recorded of them is, and a set that does not meet the region any more is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
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
PER_BOX = ("inside", "until", "influence", "bent", "rough")  # fields of segments
NEXT = 1.3  # times a step that was cut short, the next one is tried
KINK_SHARES = (1.0, 0.25, 0.0625)  # of a step of first order, as which linear steps over kinks are tried
STRIDE, GROWTH = 4.0, 1.3  # of linear steps in stiff flows: how much longer than a smooth one, and than the last one,
STIFF_SHARE, LOSS = 0.02, 3e4  # if one loses little of the set's radius, and of its size, in tolerances over all time;
BULGE, SMALL_BULGE = 0.25, 2.0**-10  # and what is passed is by no more wider, of it and of the set's size,
MIN_STRIDE, PAUSE = 0.5, 16  # else shorter ones are tried, down to this share of smooth ones, then so many of these


@dataclass(frozen=True, slots=True)
class Pace:
    """How long steps may be, smooth ones and first-order ones, how much one may truncate, and when to give up."""

    longest: float
    first_order: float
    tolerance: float
    shortest: float = GRID  # what can only be followed by shorter steps is stuck
    most: int = 2000  # steps
    stiff: int = 1000  # smooth steps that would be left: then a flow is stiff


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
        own = (getattr(self, name)[boxes] for name in PER_BOX)
        return Segments(replace(sets, trail=number[sets.trail]), self.times[kept], *own)

    def before(self, horizon: float) -> Segments:
        """What is known up to an earlier horizon."""
        kept, rough = self.times[:, 0] <= horizon, np.where(self.rough <= horizon, self.rough, np.inf)
        inside, until = (np.minimum(times, horizon) for times in (self.inside, self.until))
        times = np.minimum(self.times[kept], horizon)
        return Segments(self.sets.rows(kept), times, inside, until, self.influence, self.bent, rough)


def joined_segments(parts: Sequence[Segments]) -> Segments:
    """Segments of several batches of boxes, which are numbered through."""
    firsts = np.cumsum([0, *(len(part.until) for part in parts)])
    sets = [replace(part.sets, trail=part.sets.trail + first) for part, first in zip(parts, firsts, strict=False)]
    own = (np.concatenate([getattr(part, name) for part in parts]) for name in PER_BOX)
    return Segments(joined_sets(sets), np.concatenate([part.times for part in parts]), *own)


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
        self.stride = np.zeros(count)  # of linear steps, where a flow is stiff,
        self.pause = np.zeros(count, dtype=int)  # and how many smooth ones come before the next of them
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
        linear, others = np.flatnonzero(self.stride > 0), np.flatnonzero(self.stride == 0)
        parts = [self._linearly(linear)] if len(linear) else []
        if len(others):
            parts += self._by_series(others)
        self._keep(np.concatenate([order for order, _ in parts]), joined([sets for _, sets in parts]))

    def _by_series(self, which: BoxNumbers) -> list[tuple[BoxNumbers, Zonotopes]]:
        """Smooth steps; where there is none a linear one, or one of first order."""
        left = self.follower.horizon - self.clock[which]
        steps, least = np.minimum(self.wanted[which], left), self.pace.first_order / 4
        moves = self.stepper.step(self.sets[which], steps, self.pace.tolerance, least)
        shorter = ~moves.found & moves.smooth & (self.wanted[which] > 8 * self.pace.shortest)
        kinked, rough = (which[~moves.found & ~shorter & own] for own in (moves.sloped, ~moves.sloped))
        stiff = moves.found & (moves.steps * self.pace.stiff < left)
        self.wanted[which[shorter]] /= 4
        found = np.flatnonzero(moves.found)
        parts = [(which[shorter], self.sets[which[shorter]]), (which[found], self._recorded(moves, which, found))]
        self.pause[which[stiff]] -= 1
        self.stride[which] = np.where(stiff & (self.pause[which] < 0), STRIDE * moves.steps, 0.0)
        parts += self._over_kinks(kinked) if len(kinked) else []
        return [*parts, self._first_order(rough)] if len(rough) else parts

    def _over_kinks(self, which: BoxNumbers) -> list[tuple[BoxNumbers, Zonotopes]]:
        """Linear steps, and steps of first order where even short ones of these are not found."""
        parts = []
        for share in KINK_SHARES:
            left = self.follower.horizon - self.clock[which]
            moves, _ = self.stepper.linear_step(
                self.sets[which], on_grid(np.minimum(share * self.pace.first_order, left))
            )
            found = np.flatnonzero(moves.found)
            parts.append((which[found], self._recorded(moves, which, found)))
            which = which[~moves.found]
            if not len(which):
                return parts
        return [*parts, self._first_order(which)]

    def _linearly(self, which: BoxNumbers) -> tuple[BoxNumbers, Zonotopes]:
        """Linear steps of stiff flows, if little is lost by them; then the next ones are longer, and else shorter."""
        sets, horizon = self.sets[which], self.follower.horizon
        steps = on_grid(np.minimum(self.stride[which], horizon - self.clock[which]))
        moves, lost = self.stepper.linear_step(sets, steps)
        size = np.maximum(np.abs(sets.lower), np.abs(sets.upper)).max(1, keepdims=True)
        allowed = LOSS * self.pace.tolerance * (steps / horizon)[:, None] * size
        good = moves.found & all_along(lost <= STIFF_SHARE * sets.radius + allowed) & _straight(moves, sets, size)
        self.stride[which] = np.where(
            good, GROWTH * steps, np.where(steps > MIN_STRIDE * self.wanted[which], steps / 2, 0.0)
        )
        found, others = np.flatnonzero(good), which[~good]
        wanted = self.wanted[which]
        order, after = which[found], self._recorded(moves, which, found)
        self.wanted[which] = wanted  # of smooth steps
        return np.concatenate([order, others]), joined([after, self.sets[others]])

    def _keep(self, order: BoxNumbers, sets: Zonotopes) -> None:
        """Go on with these, less those that are at the horizon or outside the region, too large or too slow."""
        self.active, self.clock, self.wanted = self.active[order], self.clock[order], self.wanted[order]
        self.stride, self.pause = self.stride[order], self.pause[order]
        region, ended = self.follower.region, self.clock >= self.follower.horizon
        meets = _meets(sets.lower, sets.upper, region)
        self.arrived.append(self.active[meets & ended])
        self.ends.append(sets[meets & ended])
        gone = ~meets | ended
        slow = (self.wanted < 2 * self.pace.shortest) & (self.stride == 0)
        lost = ~gone & (slow | any_along(sets.radius > region[1] - region[0]))
        self.until[self.active[lost]] = self.clock[lost]
        self.influence[self.active], self.bent[self.active] = sets.influence, sets.bent
        on = ~(gone | lost)
        self.active, self.clock, self.wanted, self.sets = self.active[on], self.clock[on], self.wanted[on], sets[on]
        self.stride, self.pause = self.stride[on], self.pause[on]

    def _recorded(self, moves: SetMoves, which: BoxNumbers, found: BoxNumbers) -> Zonotopes:
        """Record those steps of some boxes that were found; the sets after them."""
        parts, boxes = len(moves.lower), which[found]
        start = self.clock[boxes]
        for j in range(parts):
            times = np.stack([start + moves.marks[j, found], start + moves.marks[j + 1, found]], 1)
            self._record(self.active[boxes], times, moves.lower[j, found], moves.upper[j, found])
        self.clock[boxes] += moves.steps[found]
        steps, wanted = moves.steps[found], self.wanted[boxes]
        self.wanted[boxes] = np.minimum(np.where(steps < wanted, NEXT, 2.0) * steps, self.pace.longest)
        return moves.sets[found]

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


def _straight(moves: SetMoves, sets: Zonotopes, size: Floats) -> Mask:
    """Of which steps what is passed is hardly wider than what lies between the sets before and after them."""
    n = sets.lower.shape[1]
    between = np.maximum(sets.upper, moves.sets.upper) - np.minimum(sets.lower, moves.sets.lower)
    passed = moves.upper[:, :, :n].max(0) - moves.lower[:, :, :n].min(0)
    return all_along(passed <= (1 + BULGE) * between + SMALL_BULGE * size)


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
