"""Simulation of loops that sample: what happens at instants in turn with the flow, thousands of paths at once.

A plan has a column for each instant of the grid: what is drawn there, and what disturbs the flow until the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vernal.errors import BeyondFloats, InputError
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.program import Program
from vernal.interpret.sampled.plant import plant_of
from vernal.model.expr import Decision, Expr, Var
from vernal.model.numbers import nearest
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.model.timetable import Instant
from vernal.simulate.flows import POSITIONS, Integrator
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.starts import typed

MAX_POSITIONS = 200_000
TOO_MANY = f"more than {MAX_POSITIONS:,} positions are too many to simulate; ask about a shorter time"

InstantKind = tuple[bool, tuple[str, ...], tuple[str, ...]]
LoopColumns = dict[Var, Floats]


@dataclass(slots=True)
class LoopRecord:
    """What was seen so far, position by position, and which paths are still in the region and go on."""

    seen: LoopColumns
    lengths: NDArray[np.intp]
    alive: NDArray[np.bool_]
    slot: int = 0

    def see(self, now: LoopColumns, inside: NDArray[np.bool_]) -> None:
        self.alive = self.alive & inside
        for var, values in now.items():
            self.seen[var][self.alive, self.slot] = values[self.alive]
        self.lengths[self.alive] = self.slot + 1
        self.slot += 1


class LoopSimulator:
    """A loop that samples, given by its flow with held actions, walked as often as needed."""

    def __init__(self, flow: Model, time: Fraction | float, more: Iterable[Fraction] = ()) -> None:
        """`more` are times at which paths are looked at besides."""
        self.flow, self.plant, self.time = flow, plant_of(flow), Fraction(time)
        self.model, self._memory = self.plant.model, self.plant.memory_places()
        assert flow.grid is not None
        if self.time / flow.grid > MAX_POSITIONS:
            raise InputError(TOO_MANY)
        self.instants = {one.time: one for one in self.plant.instants(self.time)}
        self.changes = [one.time for one in self.instants.values() if one.position]  # a column of a plan each
        stops = self._stops(flow.grid, more)
        self.heads = {stops[0], *self.instants}  # at which something happens, as far as anything does
        self.stretches = list(self._stretches(stops))
        self.slots = [(time, side) for time in stops for side in self._sides(time)]
        self.times = np.array([nearest(time) for time, _ in self.slots])
        self.columns, self.steps = len(self.changes) - 1, len(self.slots) - 1
        if not np.isfinite(self.times).all():
            raise BeyondFloats("the time is beyond all floats; try other units")
        self.integrator = Integrator(flow)
        self._programs: dict[InstantKind, list[tuple[Sequence[Var], Program]]] = {}
        self._enabled = concrete.compile([self.plant.enabled])
        ends = [(v.var, nearest(low), nearest(high)) for v, (low, high) in zip(flow.state, flow.region, strict=True)]
        self._region = ends[: len(self.model.state)]

    def _stops(self, grid: Fraction, more: Iterable[Fraction]) -> list[Fraction]:
        parts = max(1, -(-POSITIONS // len(self.changes)))
        between = {start + grid * k / parts for start in self.changes for k in range(1, parts)}
        asked = {Fraction(time) for time in more if time >= 0}
        return sorted(time for time in {*self.instants, *between, *asked, self.time} if time <= self.time)

    def _stretches(self, stops: Sequence[Fraction]) -> Iterator[tuple[Fraction, Sequence[Fraction]]]:
        """Times at which something happens, and the stops after each, up to the next of them."""
        places = [place for place, time in enumerate(stops) if time in self.heads]
        for place, following in pairwise([*places, len(stops)]):
            yield stops[place], stops[place + 1 : following + 1]

    def _sides(self, time: Fraction) -> tuple[bool, ...]:
        """At a jump both values are seen, first the left one."""
        return (False, True) if time in self.instants and self.instants[time].jumps else (True,)

    # Running

    def run(self, plan: Plan, tick: Tick = idle) -> Runs:
        """The paths a plan makes."""
        count = plan.runs
        seen = {var: np.full((count, len(self.slots)), np.nan) for var in self.flow.vars}
        record = LoopRecord(seen, np.zeros(count, np.intp), np.ones(count, bool))
        now = {var: self._start(var, plan, count) for var in self.flow.vars}
        with np.errstate(all="ignore"):
            for time, stops in self.stretches:
                tick()
                given = self._given(plan, time)
                goes_on = record.alive
                for right in self._sides(time):
                    goes_on = record.alive & self._happens(time, now, given) if right else record.alive
                    record.see(now, self._inside(now))
                record.alive &= goes_on
                for after, moved in zip(stops, self._flow(now, given, record.alive, time, stops, tick), strict=True):
                    now.update(moved)
                    if after not in self.heads:
                        self._tell(after, now)
                        record.see(now, self._inside(now))
        return self._runs(plan, record.seen, record.lengths)

    def _start(self, var: Var, plan: Plan, count: int) -> Floats:
        if var in plan.first:
            return np.array(plan.first[var], dtype=np.float64)
        if var in self._memory:
            vector, k = self._memory[var]
            return np.array(plan.first[vector].reshape(count, vector.size)[:, k], dtype=np.float64)
        return np.full(count, float(self.flow.initial.starts[var][0].ends[0]))

    def _column(self, time: Fraction) -> int:
        return max(bisect_right(self.changes, time) - 1, 0)

    def _given(self, plan: Plan, time: Fraction) -> dict[Decision, Floats]:
        return {node: array[:, self._column(time)] for node, array in plan.decisions.items()}

    def _happens(self, time: Fraction, now: LoopColumns, given: Mapping[Decision, Floats]) -> NDArray[np.bool_]:
        """What an instant makes of the values, and which paths go on from there."""
        instant = self.instants.get(time)
        self._tell(time, now)
        for targets, program in self._resets(instant) if instant else ():
            found = program(self._inputs(now, given), len(now[targets[0]]))
            for var, values in zip(targets, found, strict=True):
                now[var] = np.broadcast_to(np.asarray(values, dtype=np.float64), now[var].shape).copy()
        if instant is None or not instant.position:
            return np.ones(len(next(iter(now.values()))), bool)
        (enabled,) = self._enabled(self._inputs(now, given), len(next(iter(now.values()))))
        return np.broadcast_to(np.asarray(enabled, dtype=bool), len(next(iter(now.values()))))

    def _tell(self, time: Fraction, now: LoopColumns) -> None:
        """The clock, which runs from 0, up to rounding."""
        if self.plant.clock is not None:
            now[self.plant.clock] = np.full_like(now[self.plant.clock], float(time))

    def _resets(self, instant: Instant) -> list[tuple[Sequence[Var], Program]]:
        kind = instant.jumps, instant.arriving, instant.acting
        if kind not in self._programs:
            resets = self.plant.resets(instant)
            self._programs[kind] = [(list(reset), concrete.compile(list(reset.values()))) for reset in resets]
        return self._programs[kind]

    def _inputs(self, now: LoopColumns, given: Mapping[Decision, Floats]) -> dict[Expr, NDArray[np.generic]]:
        inputs: dict[Expr, NDArray[np.generic]] = {var: typed(var, values) for var, values in now.items()}
        inputs.update(given.items())
        return inputs

    def _flow(
        self,
        now: LoopColumns,
        given: Mapping[Decision, Floats],
        alive: NDArray[np.bool_],
        time: Fraction,
        stops: Sequence[Fraction],
        tick: Tick,
    ) -> Iterator[LoopColumns]:
        """What the flow makes of the values, at each of the stops."""
        rows = np.flatnonzero(alive)
        states = np.stack([now[var][rows] for var in self.flow.vars], axis=1)
        disturbing: dict[Decision, Floats] = {node: given[node][rows] for node in self.flow.disturbances}
        times = [float(stop - time) for stop in stops]
        before = dict(now)
        for reached in self.integrator.along(states, disturbing, times, tick) if times else ():
            moved = {var: before[var].copy() for var in self.flow.vars}
            for i, var in enumerate(self.flow.vars):
                moved[var][rows] = reached[:, i]
            yield moved

    def _inside(self, now: LoopColumns) -> NDArray[np.bool_]:
        inside = [(now[var] >= low) & (now[var] <= high) for var, low, high in self._region]
        return np.asarray(np.logical_and.reduce(inside))

    def _runs(self, plan: Plan, seen: Mapping[Var, Floats], lengths: NDArray[np.intp]) -> Runs:
        """What happened, with the draws at every position."""
        columns = [self._column(time) for time, _ in self.slots]
        spread = Plan(plan.first, {node: array[:, columns] for node, array in plan.decisions.items()})
        state = {variable.name: seen[variable.var] for variable in self.model.state}
        actions: dict[str, Floats] = {}
        for agent in self.model.agents:
            for name, own in ((agent.name, self.plant.held), (f"{agent.name}'", self.plant.pending)):
                parts = [seen[var] for var in own.get(agent.name, ())]
                if parts:
                    actions[name] = np.stack(parts, axis=-1) if agent.action.shape else parts[0]
        return Runs(self.model, spread, state, actions, self._remembered(seen), lengths, self.steps, self.times)

    def _remembered(self, seen: Mapping[Var, Floats]) -> dict[Var, Floats]:
        """What agents remember, vector by vector, at all positions."""
        parts: dict[Var, list[Floats]] = {}
        for var, (vector, _) in self._memory.items():
            parts.setdefault(vector, []).append(seen[var])
        return {v: np.stack(own, axis=-1) if v.shape else own[0] for v, own in parts.items()}
