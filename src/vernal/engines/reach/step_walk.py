"""All paths at once, step by step: sets of states, and what expressions can be on them.

Two ways lead through time, and both contain every path (OVER). Sets of states are followed by the search of the engine
`paths`: cut where decisions are taken, so that what depends on a decision is bounded on each side of it. Where they
cannot be (a value has no bound, an integer starts anywhere in a range), the rest comes from the bounds of the engine
`bounds` over the whole unrolling, from the same initial boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from vernal.engines.placement import device_for
from vernal.engines.reach.measure import chosen_rows, measured, number_bounds
from vernal.engines.reach.reach_walk import ReachAsked
from vernal.engines.reach.sets import NamedExpressions, ReachableSets, ReachedStep
from vernal.engines.reach.space import BoundedSpace
from vernal.errors import InputError, Stopped
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.device import using
from vernal.interpret.numbers.rounding import Mask
from vernal.interpret.value_sets import Range, Value
from vernal.logic.normal import horizon
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order, variables
from vernal.model.initial import Box
from vernal.model.system import System
from vernal.model.traits import nonlinear_node
from vernal.run.budget import Budget
from vernal.sets.core.extrema import extent
from vernal.sets.cutting import CuttingLimits, cut_until_decided
from vernal.sets.halving import NO_WEIGHTS, Halving
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.positions import NotExplorable, Position, StepGraph
from vernal.sets.pieces.space import AffineSpace, Cutting
from vernal.sets.search import Search, Stage, nothing_before

DEFAULT_STEPS = 20  # where neither the question nor a property of the task says how far
DEFAULT_MAX_SETS = 1000  # of states at one stage, that are kept apart
LINEAR = e.Const, e.Var, e.Add, e.Neg, e.Mul, e.Affine, e.Gather, e.Concat  # where a product has one varying factor
INITIAL_BOXES = 64  # boxes that an initial set is cut into, where narrower ones are bounded better


class StepWalk:
    """The steps of all paths, kept as they are done."""

    def __init__(self, task: Task, asked: NamedExpressions, how: ReachAsked, budget: Budget) -> None:
        how.refuse("time", "spans", "engine", subject=f"{task.name} is a system that moves in steps", instead="steps")
        self.last = steps_of(task) if how.steps is None else how.steps
        if self.last < 0:
            raise InputError(f"{how.prefix}steps has to be 0 or more, not {self.last}")
        self.unknown = ReachableSets.unknown(task, asked, self.last)
        self.system, self.expressions, self.budget = task.system, self.unknown.expressions, budget
        self.question = Question(task.system, nothing_before(self.last + 1))  # so that every path is followed that far
        self.most = how.sets or DEFAULT_MAX_SETS
        self.steps: list[ReachedStep] = []
        self.ended: int | None = None
        self.coarse: int | None = None
        self.coarse_reason: str | None = None

    def found(self, reason: str | None) -> ReachableSets:
        """The steps that were done."""
        return replace(
            self.unknown,
            steps=tuple(self.steps),
            reason=reason,
            ended=self.ended,
            coarse=self.coarse,
            coarse_reason=self.coarse_reason,
        )

    def go(self) -> None:
        """Walk to the last step, or to a limit."""
        with using(device_for(self.budget.device, self.question)):
            self._walk()

    def _walk(self) -> None:
        start = Levels(self.system, starts(self.system), self.budget, 0)
        inhabited = [box for index, box in enumerate(start.boxes) if not start.is_empty(index)]
        start.raise_if_stopped()
        if not inhabited:
            self.ended = 0
            return
        try:
            self._follow(inhabited)
        except NotExplorable as why:
            self.coarse, self.coarse_reason = len(self.steps), str(why)
            self._bound(inhabited)

    # By sets of states

    def _follow(self, boxes: Sequence[Box]) -> None:
        graph = StepGraph(self.system.step, [], self.budget.check)
        affine = AffineSpace(self.question, graph, boxes, Cutting.CUT, scatter=self.most)
        handler = Measuring(self, Levels(self.system, boxes, self.budget, 0))
        space, asked = BoundedSpace(affine, self.most), self.question.formula
        Search(asked, space, handler, total=False, tick=self.budget.check).levels(self.last)
        if len(self.steps) <= self.last:
            self.ended = len(self.steps)

    # By bounds over the unrolling

    def _bound(self, boxes: Sequence[Box]) -> None:
        if self.last > MAX_UNROLLED_STEPS:
            raise Stopped(f"{self.last:,} steps are too many; at most {MAX_UNROLLED_STEPS:,} are bounded")
        levels = Levels(self.system, boxes, self.budget, self.last)
        alive = np.ones(len(boxes), dtype=bool)
        for t in range(self.last + 1):
            if t >= len(self.steps):
                self.add(measured(self.expressions, partial(_over, levels, t, alive)))
            alive &= [levels.enabled(t, index) is not False for index in range(len(boxes))]
            levels.raise_if_stopped()
            if not alive.any() and t < self.last:
                self.ended = t + 1
                return

    def add(self, step: ReachedStep) -> None:
        """One step more."""
        self.steps.append(step)
        self.budget.progress(f"step {len(self.steps) - 1} of {self.last}", len(self.steps) / (self.last + 1))


def _over(levels: Levels, t: int, alive: Mask, expression: Expr) -> Iterator[Value]:
    yield chosen_rows(levels.value(expression, t), alive)


class Measuring:
    """Handles the sets of a walk: what the expressions can be on those of one step, once all of them are known."""

    done = False

    def __init__(self, walk: StepWalk, start: Levels) -> None:
        """`start`: bounds at the initial states, which have no rounding of a step in them."""
        self.walk, self.start = walk, start
        self._every = np.ones(len(start.boxes), dtype=bool)
        self._here: list[tuple[Linear, Callable[[Expr], Expr]]] = []  # bounds over sets, and expressions as seen there

    def reached(self, stage: Stage, states: Position[Pieces]) -> None:
        seen = partial(_seen, states)
        self._here.append((states.layout.linear(states.batch), seen))

    def kept(self, stage: Stage, states: Position[Pieces]) -> None:
        """Paths that end here have no further positions."""

    def failed(self, stage: Stage, states: Position[Pieces]) -> None:
        """Paths that end here have no further positions."""

    def passed(self, t: int) -> None:
        if not self._here:
            return
        ask = self._values if t else self._at_start
        self.walk.add(measured(self.walk.expressions, ask))
        self._here = []

    def _at_start(self, expression: Expr) -> Iterator[Value]:
        """What an expression can be where paths begin: as the core says, where boxes have not its ends already."""
        values, system = list(_over(self.start, 0, self._every, expression)), self.walk.system
        if not expression.sort.is_number or is_affine(expression, system):
            yield from values
            return
        known = number_bounds(expression.sort, values)
        ends = extent(expression, system, known.lower, known.upper, self.walk.budget)
        yield Range(*(np.array([end]) for end in ends))

    def _values(self, expression: Expr) -> Iterator[Value]:
        for linear, seen in self._here:
            self.walk.budget.check()
            node = seen(expression)
            yield linear.range(node) if node.sort.is_number else linear.value(node)


def is_affine(expression: Expr, system: System) -> bool:
    """Whether boxes have the ends of an expression: it is linear, and no constraint cuts the initial set."""
    if system.init.where or not set(variables([expression])) <= set(system.step.state):
        return False
    return nonlinear_node([expression]) is None and all(isinstance(node, LINEAR) for node in order([expression]))


def _seen(states: Position[Pieces], expression: Expr) -> Expr:
    return states.graph.value(expression, states.discrete)


def steps_of(task: Task) -> int:
    """As far as the task's bounded properties look."""
    known = [steps for steps in map(horizon, task.properties.values()) if steps is not None]
    return max(known, default=DEFAULT_STEPS) or DEFAULT_STEPS


def starts(system: System) -> list[Box]:
    """The initial set in boxes: in many where steps are nonlinear or constraints cut it, since narrow ones are bounded
    better; else as few as there are.
    """
    boxes, step = list(initial_boxes(system).boxes), system.step
    if not system.init.where and nonlinear_node([*step.next_state, *step.next_memory]) is None:
        return boxes
    halving = Halving(boxes)

    def halves(whole: list[Box]) -> list[Box] | None:
        parts = halving.parts(whole, [NO_WEIGHTS] * len(whole))
        return parts if len(parts) > len(whole) else None

    return cut_until_decided(boxes, list, halves, CuttingLimits(most=INITIAL_BOXES)).boxes
