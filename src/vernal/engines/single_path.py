"""Systems with one path: nothing to choose and one place to start, so one exact replay decides every claim."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx, fmpq

from vernal.engines.falsify.lift import BEYOND_INTERVALS
from vernal.engines.falsify.search import uncertain
from vernal.evidence import replay
from vernal.evidence.confirm import Facts
from vernal.evidence.replay import PRECISIONS, NodeDecisions, NotAPath
from vernal.evidence.trace import Trace
from vernal.interpret import exact
from vernal.interpret.exact import ExactValue
from vernal.interpret.numbers import reals
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.model.expr import Argmax, Between, Choose
from vernal.model.graph import decisions
from vernal.model.system import System
from vernal.model.tick import Tick, idle

OPEN_ACTION = (
    "not supported by this engine: the claim asks about actions that a tie or a draw leaves open at the start, "
    "and a witness is one for its own action only; try --engine paths"
)


def is_only_position(system: System, formula: Formula, trace: Trace) -> bool:
    """Whether a path from a single start begins at its only position, as far as the formula can tell.

    Actions that atoms or the guard ask about belong to a position; where a tie or a draw leaves one of them open, the
    start has several positions, and a witness is one for its own.
    """
    step = system.step
    asked = decisions([*(step.resolve(atom) for atom in atoms(formula)), step.enabled])
    if any(not isinstance(node, Argmax) for node in asked):
        return False
    return not asked or _no_ties(system, trace, 0, _forced(system))


def only_path(system: System, steps: int, tick: Tick = idle, *, last_action: bool = True) -> Trace | None:
    """The one path of a system, in exact numbers, if it provably has only one that far.

    Where the action at the last position does not matter, it may be one of several.
    """
    if not system.initial.is_point or any(isinstance(node, Choose | Between) for node in uncertain(system)):
        return None
    first, memory = system.pack(system.initial.first)
    taken = _forced(system)
    try:
        trace = replay.run(system, first, [taken] * (steps + 1), steps, memory, tick=tick)
    except NotAPath:
        return None
    acting = len(trace) if last_action else len(trace) - 1
    return trace if all(_no_ties(system, trace, t, taken, tick) for t in range(acting)) else None


def _forced(system: System) -> NodeDecisions:
    """The decisions that can only go one way: a choice of one option, an interval of one point."""
    return {
        node: 0 if isinstance(node, Choose) else BEYOND_INTERVALS
        for node in system.step.names
        if not isinstance(node, Argmax)
    }


def _no_ties(system: System, trace: Trace, t: int, taken: NodeDecisions, tick: Tick = idle) -> bool:
    """Whether every argmax has one winner at this position, for certain."""
    scores = [node.args[0] for node in system.step.names if isinstance(node, Argmax)]
    if not scores:
        return True
    with ctx.workprec(PRECISIONS[-1]):
        given = Facts(trace, system).inputs(t)
        outcome = exact.run(scores, given, taken, PRECISIONS[-1], lenient=True, tick=tick)
        return all(_has_one_winner(value) for value in outcome.values)


def _has_one_winner(scores: ExactValue) -> bool:
    """Whether one score exceeds all others; undefined and overlapping scores do not say so."""
    assert isinstance(scores, tuple)
    numbers = [reals.rational(score) if isinstance(score, Fraction) else score for score in scores]
    known = [number for number in numbers if isinstance(number, fmpq | arb)]
    beaten = [all(reals.less(other, best) for j, other in enumerate(known) if j != i) for i, best in enumerate(known)]
    return len(known) == len(scores) and any(beaten)
