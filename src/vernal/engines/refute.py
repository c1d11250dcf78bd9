"""From a set of states that all fail to one of them, shown on the concrete system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from vernal.engines.base import Question
from vernal.evidence import confirm
from vernal.evidence.replay import NotAPath, run
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Trace
from vernal.logic.formula import Quantifier
from vernal.logic.normal import horizon, quantifiers
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.reduce.initial import Box

Point = dict[Expr, tuple[Fraction, ...]]


@dataclass(frozen=True)
class Refutation:
    """A trace that shows the failure, and what it rests on."""

    trace: Trace
    assurance: Assurance
    step: int
    margin: float | None = None
    notes: tuple[str, ...] = ()


def refuting_trace(question: Question, box: Box) -> Refutation | None:
    """A state of the box with a path that fails; for claims of some path, the state alone.

    The caller has proven that the formula fails at every state of the box. A universal claim is nevertheless shown to
    be false on one exact path; that *no* path keeps an existential one rests on the caller's bounds.
    """
    reach = horizon(question.formula)
    universal = Quantifier.SOME not in quantifiers(question.formula)
    for point in _points(box):
        trace = _walk(question.system, point, (reach or 0) if universal else 0)
        if trace is None:
            continue
        if not universal:
            note = "no path from this state keeps the claim: bounds on all of them exclude it"
            return Refutation(trace, Assurance.RIGOROUS, 0, notes=(note,))
        if confirm.truth(trace, question.formula) is False:
            grade = confirm.assurance(trace, question.formula)
            step = confirm.decided_at(trace, question.formula)
            return Refutation(trace, grade, step, confirm.margin(trace, question.formula))
    return None


def _points(box: Box) -> Iterator[Point]:
    """The centre and two corners: constraints may exclude one or the other."""
    yield box.middle()
    for side in (0, 1):
        yield {var: tuple(ends[side] for ends in entry) for var, entry in box.ends.items()}


def _walk(system: System, point: Point, steps: int) -> Trace | None:
    """A path from a point, every choice its first option; None if the point is no initial state."""
    first = {variable.name: point[variable.var][0] for variable in system.state}
    memory = {
        agent.name: [value for slot in agent.slots for value in point[slot.var]]
        for agent in system.agents
        if agent.slots
    }
    defaults = dict.fromkeys(system.step.names.values(), 0)
    try:
        return run(system, first, [defaults] * (steps + 1), steps, memory)
    except NotAPath:
        return None
