"""The public question: what can these expressions be, at every step?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from vernal.engines.check import refuse_open
from vernal.engines.reach.pipe_walk import PipeWalk
from vernal.engines.reach.reach_walk import ReachAsked, ReachWalk, walked
from vernal.engines.reach.sets import NamedExpressions, ReachableSets
from vernal.engines.reach.step_walk import StepWalk
from vernal.errors import InputError
from vernal.interpret.numbers.device import find_device
from vernal.logic.elaboration import expression, system_scope
from vernal.logic.printing import text, written_name
from vernal.logic.syntax import Source
from vernal.logic.task import GivenTask, Task, as_task
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.motion import Modes, Motion, Rates, Sampled, Step
from vernal.run.budget import Budget, Progress, refuse_limits, silent

Named = tuple[str, Expr]
Walker = Callable[[Task, NamedExpressions, ReachAsked, Budget], ReachWalk]
WALKS: Mapping[type[Motion], Walker] = {Step: StepWalk, Rates: PipeWalk, Sampled: PipeWalk, Modes: PipeWalk}


def reach(
    subject: GivenTask,
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
    task = as_task(subject)
    refuse_limits({"timeout": timeout, "memory": memory, "sets": sets}, workers=1, seed=0)
    find_device(device)
    budget = Budget(timeout, memory, progress=progress or silent, device=device)
    return reached(task, named(task, of), ReachAsked(steps, time, spans, engine, sets), budget)


def reached(task: Task, asked: NamedExpressions, how: ReachAsked, budget: Budget) -> ReachableSets:
    """The reachable sets of expressions that are named, within a budget."""
    refuse_open(task.model)
    return walked(WALKS[type(task.model.motion)](task, asked, how, budget), budget)


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
