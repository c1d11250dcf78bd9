"""Reachable sets of flows: the best flowpipe that engines find, measured over spans of time.

An engine makes one flowpipe after the other, with more effort for each (`PipeWalk`). How much wider than simulated
trajectories a flowpipe is, decides whether another one is worth it: floats judge effort here, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, pairwise
from math import inf

import numpy as np

from vernal.engines.check import refuse_device
from vernal.engines.composition import pipe_engines
from vernal.engines.pipe_maker import FollowedFlow, FoundPipe, PipeEngine
from vernal.engines.reach.reach_walk import ReachAsked
from vernal.engines.reach.segments import SegmentValues, template_of
from vernal.engines.reach.sets import NamedExpressions, ReachableSets, ReachedStep, TimedReach
from vernal.engines.refusals import MISFIT
from vernal.engines.timed_questions import refuse_flow, refuse_undefined
from vernal.errors import InputError, Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats, float_above
from vernal.interpret.sampled.held_questions import flow_of, held_expressions, timed_properties
from vernal.logic.formula import Always, Bound
from vernal.logic.normal import TRUTH
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import last_time
from vernal.model.declare import exact
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.flow_starts import start_boxes
from vernal.simulate.starts import NoInitialState
from vernal.simulate.trajectories import column, simulate_flow

SPANS, MAX_SPANS = 20, 10_000  # of time, where nobody says how many, and at most
MAX_INITIAL_PARTS = 1024  # of the initial set
FIRST_ENGINE_SHARE = 0.5  # of the time, for the first of two engines
COMPARED_TIME_CELLS = 50  # spans of time in which flowpipes are compared with trajectories
COMPARED_TRAJECTORIES = 200
TIGHT = 0.02  # of the extent of a flowpipe: where it is wider than trajectories by less, it is good enough
LOOSE = 0.1  # where it is wider by more, another engine is asked
MAX_PIPES = 4  # of one engine
MAX_EXCESS_RATIO = 0.8  # an excess that is not below this share of the one before ends the sequence


def engines_asked(flow: Model, horizon: float, name: str) -> list[PipeEngine]:
    """The engines that are asked, in order: the direct road first, whose flowpipes are tighter where it gets on."""
    asked = Question(flow, Always(TRUTH, Bound(Fraction(0), Fraction(horizon))))
    refused = {engine.name: engine.takes(asked) or "" for engine in pipe_engines()}
    fitting = [engine for engine in pipe_engines() if not refused[engine.name].startswith(MISFIT)]
    if name not in ("auto", *refused):
        there = ", ".join(["auto", *(engine.name for engine in fitting)])
        raise InputError(f"no engine {name!r} bounds {flow.motion.noun}; there are {there}")
    found = [engine for engine in fitting if name in ("auto", engine.name)]
    if not found:
        raise InputError(f"the engine {name!r} {refused[name]}")
    return found


@dataclass(frozen=True, slots=True)
class MeasuredPipe:
    """A flowpipe measured over spans of time; none to begin with."""

    timed: TimedReach
    steps: tuple[ReachedStep, ...] = ()
    excess: float = inf


class PipeWalk:
    """Asks engines for flowpipes until one is tight, and keeps the best."""

    def __init__(self, task: Task, asked: NamedExpressions, how: ReachAsked, budget: Budget) -> None:
        refuse_device(task.model, budget.device)
        self.horizon, self.spans = extent(task, how)
        self.flow, self.budget = flow_of(task.model), budget
        refuse_flow(self.flow)
        refuse_undefined(self.flow, list(self.flow.vector_field))
        task = replace(task, model=self.flow)
        self.engines = engines_asked(self.flow, self.horizon, how.engine or "auto")
        self.unknown = ReachableSets.unknown(task, held_expressions(self.flow, asked), self.spans - 1)
        directions = template_of(self.flow, self.unknown.expressions)
        parts = how.sets or MAX_INITIAL_PARTS
        self.asked = FollowedFlow(self.flow, self.horizon, directions, task.settings, parts)
        self.empty = not len(start_boxes(self.flow))
        self.best = MeasuredPipe(TimedReach(self.horizon, 0.0, 0.0))
        self.reason = "sets grow too large, or steps too short, to follow them further"

    def go(self) -> None:
        """Ask one engine after the other, each with a share of the time."""
        runs = None if self.empty else simulated_extents(self.flow, self.horizon)
        for engine in self.engines if not self.empty else ():
            part = self.budget if engine is self.engines[-1] else self.budget.part(FIRST_ENGINE_SHARE)
            try:
                self._ask(engine, runs, part)
            except Stopped as stop:
                self.reason = stop.reason
            if self.is_complete and self.best.excess <= LOOSE:
                return
            self.budget.check()

    def found(self, reason: str | None) -> ReachableSets:
        """The best flowpipe; why not all of the time is bounded, if it is not."""
        reason = None if self.is_complete or self.empty else reason or self.reason
        ended, best = 0 if self.empty else None, self.best
        return replace(self.unknown, steps=best.steps, reason=reason, ended=ended, timed=best.timed)

    def _ask(self, engine: PipeEngine, runs: Floats | None, budget: Budget) -> None:
        """Flowpipes of one engine, as long as they get better."""
        before = inf
        for number, found in enumerate(islice(engine.flowpipes(self.asked, budget), MAX_PIPES), 1):
            self.budget.progress(f"flowpipe {number} of the engine {engine.name}", None)
            excess = excess_of(found.pipe, runs, self.horizon)
            if self._is_better(found.pipe, excess):
                self.best = self._measured(found, engine.name, excess)
            done = found.pipe.until >= self.horizon
            if done and (excess <= TIGHT or excess > MAX_EXCESS_RATIO * before):
                return
            before = excess if done else inf

    def _is_better(self, pipe: Flowpipe, excess: float) -> bool:
        """Whether a flowpipe is better than the best: further in time, or as far and tighter."""
        until, best = min(pipe.until, self.horizon), self.best
        return until > best.timed.until or (until == best.timed.until and excess < best.excess)

    def _measured(self, found: FoundPipe, engine: str, excess: float) -> MeasuredPipe:
        """What the expressions can be over the spans of time."""
        pipe, horizon = found.pipe, self.horizon
        until, last = min(pipe.until, horizon), float(pipe.times[:, 1].max(initial=0.0))
        left = last if last < until else None
        edges = self._edges(until if left is None else left)
        steps = SegmentValues(self.flow, pipe, self.budget.check).steps(self.unknown.expressions, edges)
        inside = min(pipe.inside_until, until)
        timed = TimedReach(horizon, until, inside, left, engine, pipe, found.abstraction)
        return MeasuredPipe(timed, tuple(steps), excess)

    @property
    def is_complete(self) -> bool:
        return self.best.timed.until >= self.horizon

    def _edges(self, until: float) -> Floats:
        """Where spans end, up to the time that is known."""
        even = self.horizon * np.arange(1, self.spans + 1) / self.spans
        return np.array([0.0, *even[even < until], *([until] if until > 0 else [])])


def extent(task: Task, how: ReachAsked) -> tuple[float, int]:
    """Up to which time, and in how many spans of it: of a loop that samples, one for each period if steps are asked."""
    prefix, grid = how.prefix, task.model.grid
    if grid is None:
        how.refuse("steps", subject=f"{task.name} is a flow, in continuous time", instead="time")
    if grid is not None and how.steps is not None:
        if how.time is not None:
            raise InputError(f"say how far with {prefix}time, or how many samples with {prefix}steps, not both")
        if how.steps < 1:
            raise InputError(f"{prefix}steps counts periods: it has to be 1 or more, not {how.steps}")
        return float_above(how.steps * grid), how.steps
    longest = how.time if how.time is not None else last_time(timed_properties(task).values()) or 1
    if not 0 < longest < inf:
        raise InputError(f"{prefix}time has to be a number above 0, not {longest}")
    if how.spans is not None and not 1 <= how.spans <= MAX_SPANS:
        raise InputError(f"{prefix}spans has to be from 1 to {MAX_SPANS:,}, not {how.spans:,}")
    return float_above(exact(longest)), how.spans or SPANS


# How tight a flowpipe is ----------------------------------------------------------------------------------------------


def simulated_extents(flow: Model, horizon: float) -> Floats | None:
    """The least and the largest value of every variable in every cell of time, on some trajectories; (2, cells, n)."""
    try:
        if flow.motion.automaton is not None:
            return None
        runs = simulate_flow(flow, COMPARED_TRAJECTORIES, horizon, np.random.default_rng(0), corners=True)
    except NoInitialState:
        return None
    assert runs.times is not None
    states = np.stack([column(runs, variable.name) for variable in flow.state], axis=-1)
    cells = np.minimum((runs.times * COMPARED_TIME_CELLS / horizon).astype(int), COMPARED_TIME_CELLS - 1)
    extents = np.stack([np.full((COMPARED_TIME_CELLS, len(flow.state)), end) for end in (inf, -inf)])
    for k, cell in enumerate(cells):
        here = states[~np.isnan(states[:, k]).any(axis=1), k]
        extents[0, cell] = np.minimum(extents[0, cell], here.min(axis=0, initial=inf))
        extents[1, cell] = np.maximum(extents[1, cell], here.max(axis=0, initial=-inf))
    return extents


def excess_of(pipe: Flowpipe, runs: Floats | None, horizon: float) -> float:
    """By how much a flowpipe is wider than trajectories, on average, compared with its extent over all times."""
    n = len(pipe.variables)
    edges = np.linspace(0.0, min(horizon, pipe.until), COMPARED_TIME_CELLS + 1)
    extent = pipe.upper[:, :n].max(axis=0, initial=-inf) - pipe.lower[:, :n].min(axis=0, initial=inf)
    shares = []
    for cell, (start, end) in enumerate(pairwise(edges)):
        there = (pipe.times[:, 0] < end) & (pipe.times[:, 1] > start)
        if there.any():
            width = pipe.upper[there, :n].max(axis=0) - pipe.lower[there, :n].min(axis=0)
            own = 0.0 if runs is None else np.maximum(runs[1, cell] - runs[0, cell], 0.0)
            shares.append((width - own) / np.maximum(extent, 1e-300))
    return float(np.mean(shares)) if shares else 0.0
