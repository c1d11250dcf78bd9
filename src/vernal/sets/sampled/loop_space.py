"""Sets of states followed through continuous time: validated steps between instants, and resets at them.

A plain flow is a loop that samples in which nothing is reset: one position, whose tube is all of the horizon.
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
from vernal.interpret.flow.integration import BoxNumbers, Follower, Pace, Segments, horizon_on_grid
from vernal.interpret.flow.polynomials import CONSTANT
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.flow.taylor import unknown_operators
from vernal.interpret.flow.zonotope_batches import Zonotopes, boxes, joined, ring_of
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, no_sets, trailed
from vernal.interpret.geometry.template_sets import joined as joined_sets
from vernal.interpret.numbers.rounding import Floats, Mask, all_along, float_above, float_below
from vernal.interpret.sampled.plant import Plant, domain_of, scaled
from vernal.interpret.sampled.resets import DiscreteValues, Resetter
from vernal.logic.direction import Direction
from vernal.logic.progress import TRUE
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.initial import Init, OneOf
from vernal.model.motion import Rates
from vernal.model.system import Variable
from vernal.model.tick import Tick, idle
from vernal.model.timetable import Instant
from vernal.sets.monotone import kept_sides
from vernal.sets.pieces.samples import Assumptions
from vernal.sets.search import Handler, HeedsNothing, Search, Stage, nothing_before
from vernal.sets.set_graph import SILENT, Recorder

MAX_SETS = 4096  # that may be under way from one batch of boxes
MANY_SETS = f"more than {MAX_SETS} sets of states, of different decisions, are under way"
OPEN_STARTS = "the discrete variables have too many initial values to follow each of them"
MAX_TIME_UNITS = 2.0**20  # units of time between instants, at most: beyond it times are not exact
LEAST_UNIT = Fraction(1, 2**900)
LOST = "sets of states were followed up to time {:.4g} and no further"
UNEVEN = "periods and delays have no common unit of time that is long enough"

SIDES = ((0, float_above), (1, float_below))  # of a range, rounded inward

Stepping = Callable[[Flow, Floats], TaylorStepper]
Spoiling = Callable[[TemplateSets, Floats], Mask]  # which sets, each with a span of time, leave their boxes open


def spoils_nothing(sets: TemplateSets, times: Floats) -> Mask:
    """All boxes are followed to the end."""
    return np.zeros(len(sets), dtype=bool)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Sets with the same discrete values, the boxes they began in, and the trails of the segments they left last."""

    values: DiscreteValues
    origins: BoxNumbers
    sets: Zonotopes
    trail: BoxNumbers  # -1: of no segment yet

    def part(self, rows: Mask | BoxNumbers) -> Group:
        return Group(self.values, self.origins[rows], self.sets[rows], self.trail[rows])


class LoopFollower:
    """Follows the sets that start in boxes of a plant's variables."""

    def __init__(
        self, plant: Plant, directions: Floats, stepping: Stepping, tick: Tick = idle, unit: Fraction | None = None
    ) -> None:
        """`directions` are over all variables, the axes first; `stepping` makes what carries sets along a flow.

        A plain flow has no unit of time of its own, and may be followed in another one: a power of two.
        """
        self.unit = unit or plant.unit
        self.plant, self.directions, self.stepping, self.tick = plant, directions, stepping, tick
        self.template = Template(directions)
        self.resetter = Resetter(plant, tick)
        order = plant.flow.vars
        self.columns = np.array([order.index(var) for var in plant.continuous], dtype=np.intp)
        self.others = [order.index(var) for var in plant.discrete]
        self.domains = [domain_of(plant.flow.state[index]) for index in self.others]
        self.kept = kept_sides(plant).reshape(2, -1)[:, self.columns].ravel()  # sides of the region
        places = [index for index, var in enumerate(plant.continuous) if var in plant.remembered]
        self.remembered = np.array(places, dtype=np.intp)
        ends = [plant.flow.region[order.index(plant.continuous[index])] for index in places]
        self.memory_ends = tuple(np.array([side(pair[k]) for pair in ends]) for k, side in SIDES)
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

    def begin(self) -> None:
        """What follows is from other sets."""
        for stepper in self._steppers.values():
            stepper.begin()

    def first_values(self) -> Iterator[DiscreteValues]:
        """The discrete values with which paths may begin."""
        starts = [self.plant.flow.initial.starts[var][0] for var in self.plant.discrete]
        return product(*(start.values if isinstance(start, OneOf) else () for start in starts))

    def _flow(self, values: DiscreteValues) -> Flow:
        """The flow of the continuous variables, in units of time."""
        plant = self.plant
        state: tuple[Variable, ...] = tuple(plant.flow.state[index] for index in self.columns)
        rates = scaled(plant, self.resetter.constants(values), self.unit)
        starts = {variable.name: plant.flow.init.starts[variable.name] for variable in state}
        named = {variable.name: rate for variable, rate in zip(state, rates, strict=True)}
        return Flow(plant.model.name, state, Init(starts, ()), motion=Rates(named))

    def follow(
        self,
        lower: Floats,
        upper: Floats,
        horizon: Fraction,
        pace: Callable[[float], Pace],
        record: Recorder = SILENT,
        *,
        curved: bool = False,
        spoils: Spoiling = spoils_nothing,
        handler: Handler[LoopStates] | None = None,
    ) -> Segments:
        """From boxes (batch, variables) until a horizon; `pace` says how a stretch of so many units is gone.

        `curved` sets are images of their boxes under polynomials, others zonotopes. A box is followed up to the first
        instant after a set that `spoils` it, and what is known of it ends with that set. A `handler` is told of the
        sets at the instants of the grid.
        """
        space = LoopSpace(self, lower, upper, horizon, pace, asked=False, record=record, curved=curved, spoils=spoils)
        steps = len(space.positions)
        heard = handler or HeedsNothing()
        Search(nothing_before(steps), space, heard, total=False, tick=self.tick).levels(steps)
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
        record: Recorder = SILENT,
        curved: bool = False,
        spoils: Spoiling = spoils_nothing,
    ) -> None:
        """`asked`: whether a formula is asked of the sets, so that none may be left."""
        self.spoils = spoils
        self.loop, self.horizon, self.pace, self.asked, self.record = loop, horizon, pace, asked, record
        self.starts, self.ring = (lower, upper), CONSTANT
        if curved:
            self.ring = ring_of(lower[:, loop.columns], upper[:, loop.columns])
        own = [column for column, var in enumerate(loop.plant.flow.vars) if var is loop.plant.clock]
        self.told = not (lower[:, own].any() or upper[:, own].any())  # all paths begin at time 0
        self.instants = list(loop.plant.instants(horizon))
        self.positions = [number for number, instant in enumerate(self.instants) if instant.position]
        count, n = lower.shape
        self.inside, self.until, self.rough = np.full((3, count), np.inf)
        self.influence, self.bent = np.zeros((count, n)), np.zeros(count)
        self.records: list[tuple[TemplateSets, Floats]] = []
        self._stage, self._count = Stage(0, None, TRUE), 0  # the position that is looked at, and its sets
        self._trails = 0

    def enter(self) -> Iterator[tuple[Hashable, Group]]:
        """The boxes after everything that happens at the first instant."""
        self.loop.begin()
        lower, upper = self.starts
        others, columns = self.loop.others, self.loop.columns
        if (lower[:, others] != upper[:, others]).any():
            raise Stopped(OPEN_STARTS)
        rows, kinds = np.unique(lower[:, others], axis=0, return_inverse=True)
        for number, row in enumerate(rows if len(lower) else ()):
            origins = np.flatnonzero(kinds.reshape(-1) == number)
            sets = boxes(lower[origins][:, columns], upper[origins][:, columns], self.ring)
            first = Group(tuple(Fraction(x) for x in row), origins, sets, np.full(len(origins), -1))
            for group in self._reset([first], self.instants[0]):
                yield group.values, group

    def gather(self, stage: Stage, arrived: Sequence[object]) -> LoopStates | None:
        """All sets with the same discrete values."""
        (group,) = _merged([group for group in arrived if isinstance(group, Group)])
        self._count = len(group.origins) + (self._count if stage.t == self._stage.t else 0)
        self._stage = stage
        if self._count > MAX_SETS:
            raise Stopped(MANY_SETS)
        number = self.positions[stage.t]
        if self.record is not SILENT:
            here, times = self._at(group, self.instants[number].time)
            group = self._noted(group, self._whole(group, here.sets), times)
        return LoopStates(self, group, number)

    def segments(self) -> Segments:
        """What was followed so far."""
        sets, times = zip((no_sets(self.loop.template), np.empty((0, 2))), *self.records, strict=True)
        until = np.minimum(self.until, float_below(self.horizon))
        inside = np.minimum(self.inside, until)
        own = (inside, until, self.influence, self.bent, self.rough)
        return Segments(joined_sets(sets), np.concatenate(times), *own)

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
            for group in groups if not after and self.loop.plant.model.grid is None else ():
                self.record_at(group, self.horizon)  # where a flow is in the end, by itself
            if not after:
                return []
            groups, number = self._reset(groups, after[0]), number + 1
            if after[0].position:
                break
        return groups

    # Instants

    def _reset(self, groups: list[Group], now: Instant) -> list[Group]:
        """Everything that happens at an instant."""
        for reset in self.loop.plant.resets(now, told=self.told):
            after = [
                self._checked(Group(values, group.origins[rows], sets, group.trail[rows]), now.time)
                for group in groups
                for rows, values, sets in self.loop.resetter.apply(reset, group.values, group.sets)
            ]
            kept = [self._in_range(group, now.time) for group in _merged(after)]
            groups = [group for group in kept if len(group.origins)]
        self._refuse_lost()
        for group in groups if now.jumps else ():
            self._note_outside(group, now.time)
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
        own, (low, high) = self.loop.remembered, self.loop.memory_ends
        known &= all_along((sets.lower[:, own] >= low) & (sets.upper[:, own] <= high))
        np.minimum.at(self.until, group.origins[~known], float_below(time))
        return group.part(known)

    def _in_range(self, group: Group, time: Fraction) -> Group:
        """The group, or nothing of it where a discrete variable has left its range: there the paths end."""
        kept = all(low <= x <= high for x, (low, high) in zip(group.values, self.loop.domains, strict=True))
        if not kept:
            np.minimum.at(self.inside, group.origins, float_below(time))
        return group if kept else group.part(group.origins < 0)

    def _note_outside(self, group: Group, time: Fraction) -> None:
        """That a jump may have taken paths out of the region, so that they end before there is a sample."""
        ends = [self.loop.plant.flow.region[column] for column in self.loop.columns]
        low, high = (np.array([end(pair[side]) for pair in ends]) for side, end in ((0, float_above), (1, float_below)))
        outside = (group.sets.lower < low) | (group.sets.upper > high)
        left = (outside & ~self.loop.kept[: len(ends)]).any(axis=1)
        np.minimum.at(self.inside, group.origins[left], float_below(time))

    # Flow

    def _flow(self, groups: list[Group], start: Fraction, end: Fraction, *, exact: bool) -> list[Group]:
        """Carry everything from one time to the next."""
        length = (end - start) / self.loop.unit
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
        times, whole = self._absolute(passed.times, start), self._whole(group, passed.sets)
        group = self._recorded(group, whole, times)
        for known, target in ((passed.inside, self.inside), (passed.until, self.until)):
            short = known < duration
            np.minimum.at(target, group.origins[short], self._absolute(known[short], start, -1))
        rough = np.isfinite(passed.rough)
        np.minimum.at(self.rough, group.origins[rough], self._absolute(passed.rough[rough], start, -1))
        np.maximum.at(self.influence, (group.origins[:, None], loop.columns), passed.influence)
        self.bent[group.origins] = passed.bent
        on = ~self._spoilt(group, whole, times)[arrived]
        return Group(group.values, group.origins[arrived], ends, group.trail[arrived]).part(on)

    def _spoilt(self, group: Group, sets: TemplateSets, times: Floats) -> Mask:
        """Rows of a group that are followed no further; of their boxes everything is known until then."""
        spoiling = self.spoils(sets, times)
        rows = np.zeros(len(group.origins), dtype=bool)
        rows[sets.trail[spoiling]] = True
        np.minimum.at(self.until, group.origins[sets.trail[spoiling]], times[spoiling, 0])
        return rows

    def _absolute(self, times: Floats, start: Fraction, side: int = 0) -> Floats:
        """Times since the start, in units, as times in seconds, rounded outward (or down): columns are two ends."""
        unit = self.loop.unit
        if not start and _is_short(unit):
            return times * float(unit)  # exactly
        found, where = np.unique(times, return_inverse=True)
        seconds = [start + Fraction(float(time)) * unit for time in found]
        below = np.array([float_below(time) for time in seconds])[where].reshape(times.shape)
        if side < 0:
            return below
        above = np.array([float_above(time) for time in seconds])[where].reshape(times.shape)
        return np.stack([below[:, 0], above[:, 1]], 1)

    # Records: sets along all directions, each with its row in a group

    def record_at(self, group: Group, time: Fraction) -> None:
        """The sets at an instant."""
        if len(group.origins):
            passed, times = self._at(group, time)
            self._recorded(group, self._whole(group, passed.sets), times)
            np.minimum.at(self.inside, group.origins[passed.inside <= 0], float_below(time))

    def _at(self, group: Group, time: Fraction) -> tuple[Segments, Floats]:
        """The sets at an instant, and that instant for each of them."""
        passed = Follower(self.loop.stepper(group.values), 1.0, self.pace(1.0), kept=self.loop.kept).here(group.sets)
        return passed, np.tile([float_below(time), float_above(time)], (len(passed.sets), 1))

    def _whole(self, group: Group, sets: TemplateSets) -> TemplateSets:
        """Bounds along all directions, from those of the continuous variables and the discrete values."""
        loop, count = self.loop, len(self.loop.columns)
        n, rows = len(loop.plant.flow.vars), len(loop.directions)
        low, high = np.empty((2, len(sets), rows))
        values = np.array([float(x) for x in group.values])
        for own, bounds, end in ((low, sets.lower, -np.inf), (high, sets.upper, np.inf)):
            own[:, loop.columns] = bounds[:, :count]
            own[:, loop.others] = values
            shift = loop.directions[n:, loop.others] @ values
            moved = bounds[:, count:] + shift
            own[:, n:] = np.where(shift == 0, bounds[:, count:], np.nextafter(np.nextafter(moved, end), end))
        return trailed(loop.template, low, high, sets.trail)

    def _recorded(self, group: Group, sets: TemplateSets, times: Floats) -> Group:
        """Keep segments by the boxes they began in; the group after them."""
        self.records.append((replace(sets, trail=group.origins[sets.trail]), times))
        return self._noted(group, sets, times)

    def _noted(self, group: Group, sets: TemplateSets, times: Floats) -> Group:
        """Tell who listens of sets, which are in the order of time for each row; the group with their trails."""
        if self.record is SILENT:
            return group
        trails, last, before = self._trails + np.arange(len(sets)), group.trail.copy(), np.empty(len(sets), dtype=int)
        for place, row in enumerate(sets.trail):
            before[place], last[row] = last[row], trails[place]
        self._trails += len(sets)
        known = dict(zip(self.loop.others, group.values, strict=True))
        discrete = tuple(known.get(index) for index in range(len(self.loop.plant.flow.vars)))
        self.record.followed(self._stage, discrete, replace(sets, trail=trails), times, before)
        return replace(group, trail=last)


@dataclass(frozen=True, eq=False)
class LoopStates:
    """Sets at an instant of the grid."""

    space: LoopSpace
    group: Group
    number: int  # of the instant
    after: Sequence[Group] = ()  # at the next position, once that is known
    asked: Assumptions = ()  # what was decided here, and how

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterator[tuple[bool, LoopStates]]:
        """The sets in which a condition may be true, and those in which it may be false."""
        for truth, part in self._divided(self.space.loop.plant.resolve(atom)):
            yield truth, replace(part, asked=(*self.asked, (atom, truth)))

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


def _is_short(unit: Fraction) -> bool:
    """Whether times in this unit, multiples of a grid, are floats in seconds as well: it is a power of two."""
    return unit.numerator == 1 and unit.denominator.bit_count() == 1 and unit >= LEAST_UNIT


def _merged(groups: list[Group]) -> list[Group]:
    """Groups with the same discrete values as one."""
    by_values: dict[DiscreteValues, list[Group]] = {}
    for group in groups:
        by_values.setdefault(group.values, []).append(group)
    return [
        Group(
            values,
            np.concatenate([one.origins for one in same]),
            joined([one.sets for one in same]),
            np.concatenate([one.trail for one in same]),
        )
        for values, same in by_values.items()
    ]
