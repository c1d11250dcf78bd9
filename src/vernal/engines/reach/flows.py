"""Reachable sets of flows: the best flowpipe that engines find, measured over spans of time.

An engine makes one flowpipe after the other, with more effort for each (`FlowWalk`). How much wider than simulated
trajectories a flowpipe is, decides whether another one is worth it: floats judge effort here, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from math import inf

import numpy as np

from vernal.engines.base import infinite_bounds
from vernal.engines.composition import pipe_engines
from vernal.engines.pipe_maker import FollowedFlow, FoundPipe, PipeEngine
from vernal.engines.reach.segments import SegmentValues, template_of
from vernal.engines.reach.sets import ReachableSets, ReachedStep, TimedReach
from vernal.engines.timed_questions import refuse_flow, refuse_undefined
from vernal.errors import InputError, Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.memory_room import limited
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.task import MAX_ABSTRACTED, Task
from vernal.model.expr import Expr
from vernal.model.held_loop import loop_of
from vernal.model.system import Model
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread
from vernal.sets.flow_starts import start_boxes
from vernal.simulate.starts import NoInitialState
from vernal.simulate.trajectories import column, simulate_flow

SPANS, MAX_SPANS = 20, 10_000  # of time, where nobody says how many, and at most
MAX_INITIAL_PARTS = 64  # of the initial set
ENGINES = ("auto", "flowpipe", "abstraction")
FIRST_ENGINE_SHARE = 0.5  # of the time, for the first of two engines
COMPARED_TIME_CELLS = 50  # spans of time in which flowpipes are compared with trajectories
COMPARED_TRAJECTORIES = 200
TIGHT = 0.02  # of the extent of a flowpipe: where it is wider than trajectories by less, it is good enough
LOOSE = 0.1  # where it is wider by more, another engine is asked
MAX_PIPES = 4  # of one engine
MAX_EXCESS_RATIO = 0.8  # an excess that is not below this share of the one before ends the sequence


@dataclass(frozen=True, slots=True)
class FlowAsked:
    """How a flow is to be followed: for how long, by which engine, and in how many spans it is told."""

    horizon: float
    engine: str = "auto"
    spans: int = SPANS
    parts: int = MAX_INITIAL_PARTS


def followed_flow(task: Task, asked: Sequence[tuple[str, Expr]], how: FlowAsked, budget: Budget) -> ReachableSets:
    """The reachable sets of expressions that are named, within a budget."""
    started, flow = time.monotonic(), task.flow
    expressions = [node for _, node in asked]
    refuse_flow(flow)
    refuse_undefined(flow, list(flow.vector_field))
    engines = _asked(task, how.engine)
    walk = FlowWalk(task, expressions, how, budget)
    try:
        with one_blas_thread(), infinite_bounds(), limited(budget.memory):
            in_time(partial(walk.run, engines), budget)
    except Stopped as stop:
        walk.reason = stop.reason
    except OverflowError:
        walk.reason = "numbers beyond the range of floating point; try other units"
    return ReachableSets(
        tuple(name for name, _ in asked),
        tuple(node.sort for node in expressions),
        walk.best.steps,
        how.spans - 1,
        walk.unfinished,
        0 if walk.empty else None,
        seconds=time.monotonic() - started,
        expressions=tuple(expressions),
        task=task,
        timed=walk.best.timed,
    )


def _asked(task: Task, name: str) -> list[PipeEngine]:
    """The engines that are asked, in order: the direct road first, whose flowpipes are tighter where it gets on."""
    if name not in ENGINES:
        raise InputError(f"no engine {name!r} bounds a flow; there are {', '.join(ENGINES)}")
    count = len(task.flow.state)
    if name == "abstraction" and count > MAX_ABSTRACTED:
        raise InputError(
            f"the engine 'abstraction' takes at most {MAX_ABSTRACTED} variables, which is what is practical, and this "
            f"flow has {count}; try --engine flowpipe"
        )
    abstracted = count <= MAX_ABSTRACTED and loop_of(task.flow) is None
    both = [engine for engine in pipe_engines() if abstracted or engine.name != "abstraction"]
    if name != "auto":
        return [engine for engine in both if engine.name == name]
    return both


@dataclass(frozen=True, slots=True)
class MeasuredPipe:
    """A flowpipe measured over spans of time; none to begin with."""

    timed: TimedReach
    steps: tuple[ReachedStep, ...] = ()
    excess: float = inf


class FlowWalk:
    """Asks engines for flowpipes until one is tight, and keeps the best."""

    def __init__(self, task: Task, expressions: Sequence[Expr], how: FlowAsked, budget: Budget) -> None:
        self.flow, self.expressions, self.how, self.budget = task.flow, expressions, how, budget
        directions = template_of(self.flow, expressions)
        self.asked = FollowedFlow(self.flow, how.horizon, directions, task.settings, how.parts)
        self.empty = not len(start_boxes(self.flow))
        self.best = MeasuredPipe(TimedReach(how.horizon, 0.0, 0.0))
        self.reason: str | None = None

    def run(self, engines: Sequence[PipeEngine]) -> None:
        """Ask one engine after the other, each with a share of the time."""
        runs = None if self.empty else simulated_extents(self.flow, self.how.horizon)
        for engine in engines if not self.empty else ():
            part = self.budget if engine is engines[-1] else self.budget.part(FIRST_ENGINE_SHARE)
            try:
                self._ask(engine, runs, part)
            except Stopped as stop:
                self.reason = stop.reason
            if self.is_complete and self.best.excess <= LOOSE:
                return
            self.budget.check()

    def _ask(self, engine: PipeEngine, runs: Floats | None, budget: Budget) -> None:
        """Flowpipes of one engine, as long as they get better."""
        before = inf
        for number, found in enumerate(islice(engine.flowpipes(self.asked, budget), MAX_PIPES), 1):
            self.budget.progress(f"flowpipe {number} of the engine {engine.name}", None)
            excess = excess_of(found.pipe, runs, self.how.horizon)
            if self._is_better(found.pipe, excess):
                self.best = self._measured(found, engine.name, excess)
            done = found.pipe.until >= self.how.horizon
            if done and (excess <= TIGHT or excess > MAX_EXCESS_RATIO * before):
                return
            before = excess if done else inf

    def _is_better(self, pipe: Flowpipe, excess: float) -> bool:
        """Whether a flowpipe is better than the best: further in time, or as far and tighter."""
        until, best = min(pipe.until, self.how.horizon), self.best
        return until > best.timed.until or (until == best.timed.until and excess < best.excess)

    def _measured(self, found: FoundPipe, engine: str, excess: float) -> MeasuredPipe:
        """What the expressions can be over the spans of time."""
        pipe, horizon = found.pipe, self.how.horizon
        until, last = min(pipe.until, horizon), float(pipe.times[:, 1].max(initial=0.0))
        left = last if last < until else None
        edges = _edges(self.how, until if left is None else left)
        steps = SegmentValues(self.flow, pipe, self.budget.check).steps(self.expressions, edges)
        inside = min(pipe.inside_until, until)
        timed = TimedReach(horizon, until, inside, left, engine, pipe, found.abstraction)
        return MeasuredPipe(timed, tuple(steps), excess)

    @property
    def is_complete(self) -> bool:
        return self.best.timed.until >= self.how.horizon

    @property
    def unfinished(self) -> str | None:
        """Why not all of the time is bounded, if it is not."""
        if self.is_complete or self.empty:
            return None
        return self.reason or "sets grow too large, or steps too short, to follow them further"


def _edges(how: FlowAsked, until: float) -> Floats:
    """Where spans end, up to the time that is known."""
    even = how.horizon * np.arange(1, how.spans + 1) / how.spans
    return np.array([0.0, *even[even < until], *([until] if until > 0 else [])])


# How tight a flowpipe is ----------------------------------------------------------------------------------------------


def simulated_extents(flow: Model, horizon: float) -> Floats | None:
    """The least and the largest value of every variable in every cell of time, on some trajectories; (2, cells, n)."""
    try:
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
