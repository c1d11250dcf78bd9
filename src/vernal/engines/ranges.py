"""Which declared ranges may be left within the horizon of a question, and when: the same for every engine.

Most ranges are kept because the step says so: `clip(x + v, -1, 1)` is never outside [-1, 1]. That is seen from exact
ends of the next values, by induction. What is not seen so is bounded through time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from vernal.engines.bounds.levels import Levels
from vernal.errors import Stopped
from vernal.evidence.replay import range_exits
from vernal.evidence.trace import Trace
from vernal.interpret.ends import Ends, exact_ends
from vernal.interpret.linear.plain import Plain
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.system import Step, System, Variable
from vernal.reduce.initial import initial_boxes
from vernal.run.budget import Budget

MAX_BOXES = 64  # of the initial set; more are taken as one hull
LOOK_AHEAD = 20  # steps looked at where the claim has no bound


def range_notes(question: Question, trace: Trace | None, budget: Budget) -> list[str]:
    """What is to be said of declared ranges: left on the trace for certain, or perhaps on some path."""
    left = {} if trace is None else range_exits(trace)
    notes = [f"{name} leaves its range at step {step} of the trace" for name, step in left.items()]
    steps = question.claim.horizon
    if steps is None:
        steps = LOOK_AHEAD if trace is None or not trace.complete else len(trace) - 1
    try:
        possible = possible_exits(question.system, steps, budget)
    except Stopped as stop:
        return [*notes, f"whether declared ranges are kept was not found out: {stop.reason}"]
    return notes + [f"{name} may leave its range from step {t} on" for name, t in possible.items() if name not in left]


def possible_exits(system: System, steps: int, budget: Budget) -> dict[str, int]:
    """For each variable whose range may be left within so many steps: the first step at which it may."""
    inside = tuple(variable for variable in ranged(system) if _starts_inside(system, variable))
    kept = system.step.once(_kept_by_step)(inside)
    open_variables = [variable for variable in ranged(system) if variable.name not in kept]
    if not open_variables:
        return {}
    levels = Levels(system, initial_boxes(system, MAX_BOXES).boxes, budget, steps, Plain)
    found = levels.range_exits(open_variables)
    levels.raise_if_stopped()
    return found


def _starts_inside(system: System, variable: Variable) -> bool:
    return _within(system.initial.hull.ends[variable.var][0], variable)


def ranged(system: System) -> tuple[Variable, ...]:
    """The variables that declare a range."""
    return tuple(v for v in system.state if v.lower is not None or v.upper is not None)


# Ranges that the step itself keeps ------------------------------------------------------------------------------------

Kept = Callable[[tuple[Variable, ...]], frozenset[str]]


def _kept_by_step(step: Step) -> Kept:
    known: dict[tuple[Variable, ...], frozenset[str]] = {}

    def kept(variables: tuple[Variable, ...]) -> frozenset[str]:
        if variables not in known:
            known[variables] = _inductive(step, variables)
        return known[variables]

    return kept


def _inductive(step: Step, variables: Iterable[Variable]) -> frozenset[str]:
    """The largest set of ranges such that a step from states inside all of them stays inside all of them.

    Their initial values are inside; so these ranges are never left.
    """
    following: Mapping[Expr, Expr] = dict(zip(step.state, step.next_state, strict=True))
    kept = {variable.var: variable for variable in variables}
    while kept:
        inside: dict[Expr, Ends] = {var: (variable.lower, variable.upper) for var, variable in kept.items()}
        ends = exact_ends([following[var] for var in kept], inside)
        failed = [var for (var, variable), made in zip(kept.items(), ends, strict=True) if not _within(made, variable)]
        if not failed:
            break
        for var in failed:
            del kept[var]
    return frozenset(variable.name for variable in kept.values())


def _within(ends: Ends, variable: Variable) -> bool:
    low, high = ends
    above = variable.lower is None or (low is not None and low >= variable.lower)
    below = variable.upper is None or (high is not None and high <= variable.upper)
    return above and below
