"""The public question: what can these expressions be, at every step?"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from vernal.engines.check import refuse_open
from vernal.engines.placing import device_for
from vernal.engines.reach.sets import ReachableSets
from vernal.engines.reach.walk import ReachWalk, following
from vernal.errors import InputError, Stopped
from vernal.interpret.numbers.device import find_device, using
from vernal.logic.elaborate import expression, system_scope
from vernal.logic.normal import horizon
from vernal.logic.printing import text, written_name
from vernal.logic.syntax import Source
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.run.alarm import in_time
from vernal.run.budget import Budget, Progress, refuse_limits, silent
from vernal.run.threads import one_blas_thread

STEPS = 20  # where neither the question nor a property of the task says how far
SETS = 1000  # of states at one stage, that are kept apart

Named = tuple[str, Expr]


def reach(
    subject: Task | System,
    of: str | Expr | Sequence[str | Expr] | None = None,
    steps: int | None = None,
    *,
    sets: int = SETS,
    timeout: float | None = None,
    memory: float | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> ReachableSets:
    """What expressions can be at every step, over all paths: certified bounds, or sets of labels.

    `of`: one expression or several over the task's names, every state variable if none is named; of two numbers there
    are polygons, too. `steps`: how far; without it as far as the task's bounded properties look, else 20. `sets`: so
    many sets of states are kept apart at a step; more are tighter, and slower. `timeout` is in seconds, `memory` in
    GiB: beyond either, the result has the steps that were done. `device` as for `vn.check`.
    """
    task = subject if isinstance(subject, Task) else Task(subject)
    refuse_open(task.system)
    refuse_limits({"timeout": timeout, "memory": memory, "sets": sets}, workers=1, seed=0)
    find_device(device)
    asked = named(task, of)
    last = reach_of(task) if steps is None else steps
    if last < 0:
        raise InputError(f"steps has to be 0 or more, not {last}")
    return followed(task, asked, last, Budget(timeout, memory, progress=progress or silent, device=device), sets)


def followed(task: Task, asked: Sequence[Named], last: int, budget: Budget, sets: int = SETS) -> ReachableSets:
    """The reachable sets of expressions that are named, within a budget."""
    started = time.monotonic()
    walk = ReachWalk(task.system, [node for _, node in asked], last, sets, budget)
    device = device_for(budget.device, following(task.system, last))
    try:
        with one_blas_thread(), np.errstate(all="ignore"), using(device):
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
    """As far as the task's bounded properties look; a flow has no steps."""
    task.system  # noqa: B018 - refuses a flow
    known = [steps for steps in map(horizon, task.properties.values()) if steps is not None]
    return max(known, default=STEPS) or STEPS


def named(task: Task, of: str | Expr | Sequence[str | Expr] | None) -> list[Named]:
    """The expressions with their names, vectors component by component; every state variable if none is given."""
    given = [variable.name for variable in task.recorded.state] if of is None else of
    listed = [given] if isinstance(given, str | Expr) else list(given)
    if not listed:
        raise InputError("name at least one expression, for example --of x")
    scope = system_scope(task.recorded, task.constants, task.functions)
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
