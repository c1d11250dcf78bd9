"""Systems with one path: nothing to choose and one place to start, so one exact replay decides every claim."""

from __future__ import annotations

from vernal.evidence import replay
from vernal.evidence.replay import NotAPath
from vernal.evidence.trace import Trace
from vernal.evidence.uniqueness import forced_decisions, no_ties, uncertain
from vernal.evidence.uniqueness import is_only_position as is_only_position
from vernal.logic.direction import Direction
from vernal.model.expr import Between, Choose
from vernal.model.graph import decisions
from vernal.model.system import System
from vernal.model.tick import Tick, idle

OF_ONLY_PATH = Direction.EXACT  # of what the one path of a system shows
OPEN_ACTION = (
    "not supported by this engine: the claim asks about actions that a tie or a draw leaves open at the start, "
    "and a witness is one for its own action only; try --engine paths"
)


def only_path(system: System, steps: int, tick: Tick = idle, *, last_action: bool = True) -> Trace | None:
    """The one path of a system, in exact numbers, if it provably has only one that far.

    Where the action at the last position does not matter, it may be one of several; it does where the guard asks about
    it, since the path may end there with one action and go on with another.
    """
    if not system.initial.is_point or any(isinstance(node, Choose | Between) for node in uncertain(system)):
        return None
    first, memory = system.pack(system.initial.first)
    taken = forced_decisions(system)
    try:
        trace = replay.run(system, first, [taken] * (steps + 1), steps, memory, tick=tick)
    except NotAPath:
        return None
    acting = len(trace) if last_action or decisions([system.step.enabled]) else len(trace) - 1
    return trace if all(no_ties(system, trace, t, taken, tick) for t in range(acting)) else None
