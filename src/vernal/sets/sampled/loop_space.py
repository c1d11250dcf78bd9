"""Sets of states of a loop that samples, followed through time: resets at instants, validated steps between them.

Time between instants is counted in a unit of which all these times are multiples, so that no instant is missed by a
rounding. Sets with different discrete values are followed apart; all are told as segments of the box they began in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.flow.doubletons import Doubletons, boxes, joined
from vernal.interpret.flow.integration import BoxNumbers, Follower, Pace, Segments, horizon_on_grid
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.flow.taylor import unknown_operators
from vernal.interpret.numbers.rounding import Floats, Mask, all_along, float_above, float_below
from vernal.interpret.sampled.plant import Plant, domain_of, scaled
from vernal.interpret.sampled.resets import DiscreteValues, Resetter
from vernal.logic.direction import Direction
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.initial import Init, OneOf
from vernal.model.motion import Rates
from vernal.model.system import Variable
from vernal.model.tick import Tick, idle
from vernal.model.timetable import Instant
from vernal.sets.search import HeedsNothing, Search, Stage, nothing_before

MAX_SETS = 4096  # that may be under way from one batch of boxes
MANY_SETS = f"more than {MAX_SETS} sets of states, of different decisions, are under way"
OPEN_STARTS = "the discrete variables have too many initial values to follow each of them"
MAX_TIME_UNITS = 2.0**20  # units of time between instants, at most: beyond it times are not exact
LOST = "sets of states were followed up to time {:.4g} and no further"
UNEVEN = "periods and delays have no common unit of time that is long enough"

Stepping = Callable[[Flow, Floats], TaylorStepper]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Sets with the same discrete values, and the boxes they began in."""

    values: DiscreteValues
    origins: BoxNumbers
    sets: Doubletons

    def part(self, rows: Mask | BoxNumbers) -> Group:
        return Group(self.values, self.origins[rows], self.sets[rows])


class LoopFollower:
    """Follows the sets that start in boxes of a plant's variables."""

    def __init__(self, plant: Plant, directions: Floats, stepping: Stepping, tick: Tick = idle) -> None:
        """`directions` are over all variables, the axes first; `stepping` makes what carries sets along a flow."""
        self.plant, self.directions, self.stepping, self.tick = plant, directions, stepping, tick
        self.resetter = Resetter(plant, tick)
        order = plant.flow.vars
        self.columns = [order.index(var) for var in plant.continuous]
        self.others = [order.index(var) for var in plant.discrete]
        self.domains = [domain_of(plant.flow.state[index]) for index in self.others]
        self._steppers: dict[DiscreteValues, TaylorStepper] = {}

    def stepper(self, values: DiscreteValues) -> TaylorStepper:
        """What carries sets with these discrete values along the flow."""
        if values not in self._steppers:
            flow = self._flow(values)
            strange = unknown_operators(flow.vector_field)
            if strange:
                raise Stopped(f"the slopes of {', '.join(strange)} are not known")
            rest = self.directions[len(self.plant.flow.vars) :, self.columns]
            self._steppers[values] = self.stepping(flow, np.concatenate([np.eye(len(self.columns)), rest]))
        return self._steppers[values]

    def first_values(self) -> Iterator[DiscreteValues]:
        """The discrete values with which paths may begin."""
        starts = [self.plant.flow.initial.starts[var][0] for var in self.plant.discrete]
        return product(*(start.values if isinstance(start, OneOf) else () for start in starts))

    def _flow(self, values: DiscreteValues) -> Flow:
        """The flow of the continuous variables, in units of time."""
        plant = self.plant
        state: tuple[Variable, ...] = tuple(plant.flow.state[index] for index in self.columns)
        rates = scaled(plant, self.resetter.constants(values))
        starts = {variable.name: plant.flow.init.starts[variable.name] for variable in state}
        named = {variable.name: rate for variable, rate in zip(state, rates, strict=True)}
        return Flow(plant.model.name, state, Init(starts, ()), motion=Rates(named))

    @property
    def kept(self) -> Mask:
        """The sides of the region that are never left: those of what agents hold."""
        own = [not any(var is one.var for one in self.plant.model.state) for var in self.plant.continuous]
        return np.array([*own, *own])

    def follow(self, lower: Floats, upper: Floats, horizon: Fraction, pace: Callable[[float], Pace]) -> Segments:
        """From boxes (batch, variables) until a horizon; `pace` says how a stretch of so many units is gone."""
        space = LoopSpace(self, lower, upper, horizon, pace, asked=False)
        steps = len(space.positions)
        Search(nothing_before(steps), space, HeedsNothing(), total=False, tick=self.tick).levels(steps)
        return space.segments()


class LoopSpace:
    """Sets that start in some boxes, as a space to search: a position is an instant of the grid, after all resets.

    The tube of a position is what is followed until the next one, through instants that are none of the grid (delayed
    actions that come into force); `segments` tells all tubes. A set that cannot be followed any further is left, and
    `until` says when; a space that is asked a formula ends the search there.
    """

    direction = Direction.OVER

    def __init__(
        self,
        loop: LoopFollower,
        lower: Floats,
        upper: Floats,
        horizon: Fraction,
        pace: Callable[[float], Pace],
        *,
        asked: bool = True,
    ) -> None:
        """`asked`: whether a formula is asked of the sets, so that none may be left."""
        self.loop, self.horizon, self.pace, self.asked = loop, horizon, pace, asked
        self.starts = lower, upper
        self.instants = list(loop.plant.instants(horizon))
        self.positions = [number for number, instant in enumerate(self.instants) if instant.position]
        count, n = lower.shape
        self.inside, self.until, self.rough = np.full((3, count), np.inf)
        self.influence = np.zeros((count, n))
        self.records: list[tuple[BoxNumbers, Floats, Floats, Floats]] = []
        self._step, self._count = 0, 0  # sets of the position that is looked at

    def enter(self) -> Iterator[tuple[Hashable, Group]]:
        """The boxes after everything that happens at the first instant."""
        lower, upper = self.starts
        others, columns = self.loop.others, self.loop.columns
        if (lower[:, others] != upper[:, others]).any():
            raise Stopped(OPEN_STARTS)
        rows, kinds = np.unique(lower[:, others], axis=0, return_inverse=True)
        for number, row in enumerate(rows if len(lower) else ()):
            origins = np.flatnonzero(kinds.reshape(-1) == number)
            sets = boxes(lower[origins][:, columns], upper[origins][:, columns])
            for group in self._reset([Group(tuple(Fraction(x) for x in row), origins, sets)], self.instants[0]):
                yield group.values, group

    def gather(self, stage: Stage, arrived: Sequence[object]) -> LoopStates | None:
        """All sets with the same discrete values."""
        (group,) = _merged([group for group in arrived if isinstance(group, Group)])
        self._count = len(group.origins) + (self._count if stage.t == self._step else 0)
        self._step = stage.t
        if self._count > MAX_SETS:
            raise Stopped(MANY_SETS)
        return LoopStates(self, group, self.positions[stage.t])

    def segments(self) -> Segments:
        """What was followed so far."""
        d = len(self.loop.directions)
        none = (np.empty(0, dtype=int), np.empty((0, 2)), np.empty((0, d)), np.empty((0, d)))
        origins, times, lower, upper = (np.concatenate(column) for column in zip(none, *self.records, strict=True))
        inside = np.minimum(self.inside, self.until)
        return Segments(origins, times, lower, upper, inside, self.until, self.influence, self.rough)

    def onward(self, group: Group, number: int) -> list[Group]:
        """From an instant to the next position, or to the horizon, after which nothing is followed."""
        groups = [group]
        while groups:
            self.loop.tick()
            now, after = self.instants[number], self.instants[number + 1 : number + 2]
            if after or now.time < self.horizon:
                end = after[0].time if after else self.horizon
                groups = self._flow(groups, now.time, end, exact=bool(after))
            self._refuse_lost()
            if not after:
                return []
            groups, number = self._reset(groups, after[0]), number + 1
            if after[0].position:
                break
        return groups

    # Instants

    def _reset(self, groups: list[Group], now: Instant) -> list[Group]:
        """Everything that happens at an instant."""
        for reset in self.loop.plant.resets(now):
            after = [
                self._checked(Group(values, group.origins[rows], sets), now.time)
                for group in groups
                for rows, values, sets in self.loop.resetter.apply(reset, group.values, group.sets)
            ]
            kept = [self._in_range(group, now.time) for group in _merged(after)]
            groups = [group for group in kept if len(group.origins)]
        self._refuse_lost()
        for group in groups if now.time == self.horizon else ():
            self.record_at(group, now.time)
        return groups

    def _refuse_lost(self) -> None:
        if self.asked and np.isfinite(self.until).any():
            raise Stopped(LOST.format(float(self.until.min())))

    def _checked(self, group: Group, time: Fraction) -> Group:
        """The group without sets of which nothing is known any more."""
        sets = group.sets
        known = sets.finite & all_along(np.isfinite(sets.lower) & np.isfinite(sets.upper))
        np.minimum.at(self.until, group.origins[~known], float_below(time))
        return group.part(known)

    def _in_range(self, group: Group, time: Fraction) -> Group:
        """The group, or nothing of it where a discrete variable has left its range: there the paths end."""
        kept = all(low <= x <= high for x, (low, high) in zip(group.values, self.loop.domains, strict=True))
        if not kept:
            np.minimum.at(self.inside, group.origins, float_below(time))
        return group if kept else group.part(group.origins < 0)

    # Flow

    def _flow(self, groups: list[Group], start: Fraction, end: Fraction, *, exact: bool) -> list[Group]:
        """Carry everything from one time to the next."""
        length = (end - start) / self.loop.plant.unit
        if length > MAX_TIME_UNITS or (exact and length.denominator != 1):
            raise Stopped(UNEVEN)
        duration = float(length) if exact else horizon_on_grid(float_above(length))
        carried = [self._carried(group, start, duration) for group in groups]
        return [group for group in carried if len(group.origins)]

    def _carried(self, group: Group, start: Fraction, duration: float) -> Group:
        loop = self.loop
        pace = self.pace(duration)
        follower = Follower(loop.stepper(group.values), duration, pace, loop.tick, loop.kept)
        passed, arrived, ends = follower.carry(group.sets)
        times = self._absolute(passed.times, start)
        self._record(group.values, group.origins[passed.origins], times, passed.lower, passed.upper)
        for known, target in ((passed.inside, self.inside), (passed.until, self.until)):
            short = known < duration
            np.minimum.at(target, group.origins[short], self._absolute(known[short], start, -1))
        rough = np.isfinite(passed.rough)
        np.minimum.at(self.rough, group.origins[rough], self._absolute(passed.rough[rough], start, -1))
        for row, origin in enumerate(group.origins):
            self.influence[origin, loop.columns] = np.maximum(
                self.influence[origin, loop.columns], passed.influence[row]
            )
        return Group(group.values, group.origins[arrived], ends)

    def _absolute(self, times: Floats, start: Fraction, side: int = 0) -> Floats:
        """Times since the start, in units, as times in seconds, rounded outward (or down): columns are two ends."""
        found, where = np.unique(times, return_inverse=True)
        seconds = [start + Fraction(float(time)) * self.loop.plant.unit for time in found]
        below = np.array([float_below(time) for time in seconds])[where].reshape(times.shape)
        if side < 0:
            return below
        above = np.array([float_above(time) for time in seconds])[where].reshape(times.shape)
        return np.stack([below[:, 0], above[:, 1]], 1)

    # Records

    def record_at(self, group: Group, time: Fraction) -> None:
        """The sets at an instant."""
        if not len(group.origins):
            return
        passed = Follower(self.loop.stepper(group.values), 1.0, self.pace(1.0), kept=self.loop.kept).here(group.sets)
        times = np.tile([float_below(time), float_above(time)], (len(passed.origins), 1))
        self._record(group.values, group.origins[passed.origins], times, passed.lower, passed.upper)
        left = passed.inside <= 0
        np.minimum.at(self.inside, group.origins[left], float_below(time))

    def _record(self, values: DiscreteValues, origins: BoxNumbers, times: Floats, lower: Floats, upper: Floats) -> None:
        """Bounds along all directions, from those of the continuous variables and the discrete values."""
        loop, count = self.loop, len(self.loop.columns)
        n, rows = len(loop.plant.flow.vars), len(loop.directions)
        low, high = np.empty((len(origins), rows)), np.empty((len(origins), rows))
        for own, bounds, end in ((low, lower, -np.inf), (high, upper, np.inf)):
            own[:, loop.columns] = bounds[:, :count]
            own[:, loop.others] = [float(x) for x in values]
            shift = loop.directions[n:, loop.others] @ np.array([float(x) for x in values])
            moved = bounds[:, count:] + shift
            own[:, n:] = np.where(shift == 0, bounds[:, count:], np.nextafter(np.nextafter(moved, end), end))
        self.records.append((origins, times, low, high))


@dataclass(frozen=True, eq=False)
class LoopStates:
    """Sets at an instant of the grid."""

    space: LoopSpace
    group: Group
    number: int  # of the instant
    after: Sequence[Group] = ()  # at the next position, once that is known

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterator[tuple[bool, LoopStates]]:
        """The sets in which a condition may be true, and those in which it may be false."""
        yield from self._divided(self.space.loop.plant.resolve(atom))

    def enabled(self) -> Iterator[tuple[bool, LoopStates]]:
        """The sets from which some path goes on, and those in which one ends, here or before the next position."""
        space, time = self.space, self.space.instants[self.number].time
        for goes_on, part in self._divided(space.loop.plant.enabled):
            origins = part.group.origins
            if goes_on:
                part = replace(part, after=space.onward(part.group, self.number))
                yield True, part
                ended = np.isfinite(space.inside[origins])  # of some path from the same box, at the latest by now
                if ended.any():
                    yield False, replace(part, group=part.group.part(ended))
            else:
                np.minimum.at(space.inside, origins, float_below(time))
                space.record_at(part.group, time)
                yield False, part

    def _divided(self, condition: Expr) -> Iterator[tuple[bool, LoopStates]]:
        group = self.group
        truth = self.space.loop.resetter.truth(condition, group.values, group.sets)
        for value, mask in ((True, truth.may), (False, ~np.asarray(truth.must))):
            rows = np.broadcast_to(np.asarray(mask), group.origins.shape)
            if rows.any():
                yield value, replace(self, group=group.part(rows))

    def moves(self) -> Iterator[tuple[Hashable, Group]]:
        """Where the sets are at the next instant of the grid, by their discrete values."""
        for group in self.after:
            yield group.values, group


def _merged(groups: list[Group]) -> list[Group]:
    """Groups with the same discrete values as one."""
    by_values: dict[DiscreteValues, list[Group]] = {}
    for group in groups:
        by_values.setdefault(group.values, []).append(group)
    return [
        Group(values, np.concatenate([one.origins for one in same]), joined([one.sets for one in same]))
        for values, same in by_values.items()
    ]
