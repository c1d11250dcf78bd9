"""Whether a path is the only one: then what is true of it is true of all paths, and of some.

A path shows one way to go. Where nothing on it could have gone otherwise - no draw with a second option, no tie between
actions - there is no other way from its first state, and it decides every claim that it is long enough for.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx, fmpq

from vernal.evidence.confirm import Facts
from vernal.evidence.trace import Trace, TraceStep
from vernal.evidence.walk import PRECISIONS, NodeDecisions
from vernal.interpret import exact
from vernal.interpret.exact import ExactValue
from vernal.interpret.numbers import reals
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.model.expr import Argmax, Between, Choose, Const
from vernal.model.graph import decisions
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

BEYOND_INTERVALS = Fraction(10**400)  # beyond every interval: replay moves it to the exact end


def uncertain(system: Model) -> list[Choose | Between | Argmax]:
    """The decisions of a step that may go more than one way."""
    return [n for n in system.step.names if not (isinstance(n, Choose) and len(n.options) == 1) and not _is_fixed(n)]


def _is_fixed(node: Choose | Between | Argmax) -> bool:
    if isinstance(node, Between):
        low, high = node.args
        return isinstance(low, Const) and isinstance(high, Const) and low.values == high.values
    return isinstance(node, Argmax) and node.args[0].size == 1


def forced_decisions(system: Model) -> NodeDecisions:
    """The decisions that can only go one way: a choice of one option, an interval of one point."""
    return {
        node: 0 if isinstance(node, Choose) else BEYOND_INTERVALS
        for node in system.step.names
        if not isinstance(node, Argmax)
    }


def is_only_position(system: Model, formula: Formula, trace: Trace) -> bool:
    """Whether a path from a single start begins at its only position, as far as the formula can tell.

    Actions that atoms ask about belong to a position, and then those that the guard asks about, too; where a tie or a
    draw leaves one of them open, the start has several positions, and a witness is one for its own.
    """
    step = system.step
    asked = decisions(step.resolve(atom) for atom in atoms(formula))
    if asked:
        asked = decisions([*asked, step.enabled])
    if any(not isinstance(node, Argmax) for node in asked):
        return False
    return not asked or no_ties(system, trace, 0, forced_decisions(system))


def is_only_path(system: Model, trace: Trace) -> bool:
    """Whether nothing on a path that was recomputed could have gone otherwise: it is the only one from its start."""
    several = {system.step.names[node] for node in uncertain(system) if not isinstance(node, Argmax)}
    if any(several & set(_drawn(step)) for step in trace.steps):
        return False
    taken = forced_decisions(system)
    return all(no_ties(system, trace, t, taken) for t in range(len(trace)))


def _drawn(step: TraceStep) -> tuple[str, ...]:
    return (*step.choices, *step.disturbances)


def no_ties(system: Model, trace: Trace, t: int, taken: NodeDecisions, tick: Tick = idle) -> bool:
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
