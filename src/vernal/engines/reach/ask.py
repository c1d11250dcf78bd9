"""The public question: what can these expressions be, at every step?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.engines.check import refuse_device, refuse_open
from vernal.engines.placement import device_for
from vernal.engines.reach.flows import MAX_INITIAL_PARTS, MAX_SPANS, SPANS, FlowAsked, followed_flow
from vernal.engines.reach.sets import ReachableSets
from vernal.engines.reach.walk import ReachWalk, following
from vernal.errors import InputError, Stopped
from vernal.interpret.numbers.device import find_device, using
from vernal.interpret.numbers.memory_room import limited
from vernal.interpret.numbers.rounding import float_above
from vernal.interpret.sampled.held_questions import flow_of, held_expressions, timed_properties
from vernal.logic.elaboration import expression, system_scope
from vernal.logic.normal import horizon
from vernal.logic.printing import text, written_name
from vernal.logic.syntax import Source
from vernal.logic.task import Task
from vernal.logic.times import Time, last_time, time_of
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.system import Model
from vernal.run.alarm import in_time
from vernal.run.budget import Budget, Progress, refuse_limits, silent
from vernal.run.threads import one_blas_thread

DEFAULT_STEPS = 20  # where neither the question nor a property of the task says how far
DEFAULT_MAX_SETS = 1000  # of states at one stage, that are kept apart

Named = tuple[str, Expr]


def reach(
    subject: Task | Model,
    of: str | Expr | Sequence[str | Expr] | None = None,
    steps: int | None = None,
    *,
    time: float | Fraction | None = None,
    spans: int | None = None,
    engine: str | None = None,
    sets: int | None = None,
    timeout: float | None = None,
    memory: float | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> ReachableSets:
    """What expressions can be at every step, over all paths: certified bounds, or sets of labels.

    Of a flow: over each of some spans of time, over all trajectories.

    `of`: one expression or several over the task's names, every state variable if none is named; of two numbers there
    are polygons, too. `steps`: how far; without it as far as the task's bounded properties look, else 20. `sets`: so
    many sets of states are kept apart at a step (1,000); more are tighter, and slower. `timeout` is in seconds,
    `memory` in GiB: beyond either, the result has the steps that were done. `device` as for `vn.check`.

    Of a flow `time` says how far instead, `spans` in how many spans of time it is told (20), and `engine` who follows
    it: `flowpipe`, `abstraction` or `auto`; `sets` are parts of the initial set (64, at most).
    """
    task = subject if isinstance(subject, Task) else Task(subject)
    refuse_limits({"timeout": timeout, "memory": memory, "sets": sets}, workers=1, seed=0)
    find_device(device)
    chosen = ReachAsked(steps, time, spans, engine, sets)
    budget = Budget(timeout, memory, progress=progress or silent, device=device)
    return chosen.answered(task, named(task, of), budget)


@dataclass(frozen=True, slots=True)
class ReachAsked:
    """How far and how expressions are to be bounded; what is None has a default, and some are for one kind of time."""

    steps: int | None = None
    time: float | Fraction | None = None
    spans: int | None = None
    engine: str | None = None
    sets: int | None = None

    def answered(self, task: Task, asked: Sequence[Named], budget: Budget, prefix: str = "") -> ReachableSets:
        """The reachable sets of expressions that are named, of a system or of a flow."""
        if time_of(task.model.motion) is Time.SECONDS:
            how = self._of_flow(task, budget.device, prefix)
            flow = flow_of(task.model)
            return followed_flow(replace(task, model=flow), held_expressions(flow, asked), how, budget)
        self._refuse(task, ("time", "spans", "engine"), f"say how far with {prefix}steps", prefix)
        refuse_open(task.system)
        last = reach_of(task) if self.steps is None else self.steps
        if last < 0:
            raise InputError(f"{prefix}steps has to be 0 or more, not {last}")
        return followed(task, asked, last, budget, self.sets or DEFAULT_MAX_SETS)

    def _of_flow(self, task: Task, device: str, prefix: str) -> FlowAsked:
        grid = task.model.grid
        if grid is None or self.time is not None:
            self._refuse(task, ("steps",), f"say how far with {prefix}time", prefix)
        refuse_device(task.model, device)
        longest = self.time if self.time is not None else last_time(timed_properties(task).values()) or 1
        if grid is not None and self.steps is not None:
            if self.steps < 1:
                raise InputError(f"{prefix}steps counts periods: it has to be 1 or more, not {self.steps}")
            engine, parts = self.engine or "auto", self.sets or MAX_INITIAL_PARTS
            return FlowAsked(float_above(self.steps * grid), engine, self.steps, parts)
        if not 0 < longest < float("inf"):
            raise InputError(f"{prefix}time has to be a number above 0, not {longest}")
        if self.spans is not None and not 1 <= self.spans <= MAX_SPANS:
            raise InputError(f"{prefix}spans has to be from 1 to {MAX_SPANS:,}, not {self.spans:,}")
        horizon = float_above(Fraction(longest))
        return FlowAsked(horizon, self.engine or "auto", self.spans or SPANS, self.sets or MAX_INITIAL_PARTS)

    def _refuse(self, task: Task, names: Sequence[str], instead: str, prefix: str) -> None:
        """An error for what belongs to the other kind of time."""
        for name in names:
            if getattr(self, name) is not None:
                kind = (
                    "a flow, in continuous time"
                    if time_of(task.model.motion) is Time.SECONDS
                    else "a system that moves in steps"
                )
                raise InputError(f"{task.name} is {kind}, for which there is no {prefix}{name}; {instead}")


def followed(
    task: Task, asked: Sequence[Named], last: int, budget: Budget, sets: int = DEFAULT_MAX_SETS
) -> ReachableSets:
    """The reachable sets of expressions that are named, within a budget."""
    started = time.monotonic()
    walk = ReachWalk(task.system, [node for _, node in asked], last, sets, budget)
    device = device_for(budget.device, following(task.system, last))
    try:
        with one_blas_thread(), np.errstate(all="ignore"), using(device), limited(budget.memory):
            in_time(walk.go, budget)
    except Stopped as stop:  # interrupted, or a card whose memory is full: the steps that were done are whole
        walk.reason = stop.reason
    return ReachableSets(
        tuple(name for name, _ in asked),
        tuple(node.sort for _, node in asked),
        tuple(walk.steps),
        last,
        walk.reason,
        walk.ended,
        walk.coarse,
        walk.coarse_reason,
        time.monotonic() - started,
        task.system,
        tuple(walk.expressions),
        task,
    )


def reach_of(task: Task) -> int:
    """As far as the task's bounded properties look."""
    known = [steps for steps in map(horizon, task.properties.values()) if steps is not None]
    return max(known, default=DEFAULT_STEPS) or DEFAULT_STEPS


def named(task: Task, of: str | Expr | Sequence[str | Expr] | None) -> list[Named]:
    """The expressions with their names, vectors component by component; every state variable if none is given."""
    given = [variable.name for variable in task.model.state] if of is None else of
    listed = [given] if isinstance(given, str | Expr) else list(given)
    if not listed:
        raise InputError("name at least one expression, for example --of x")
    scope = system_scope(task.model, task.constants, task.functions)
    made: list[Named] = []
    for one in listed:
        node = one
        if isinstance(one, str):
            shown = written_name(one) if of is None else one
            node = expression(Source(shown, "--of"), scope)
        assert isinstance(node, Expr)
        made += _components(one if isinstance(one, str) else text(one), node)
    return made


def _components(name: str, node: Expr) -> list[Named]:
    if not node.shape:
        return [(name, node)]
    return [(f"{name}[{index}]", build.component(node, index)) for index in range(node.size)]
