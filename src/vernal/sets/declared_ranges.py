"""Which declared ranges may be left within the horizon of a question, and when: the same for every engine.

Most ranges are kept because the step says so: `clip(x + v, -1, 1)` is never outside [-1, 1]. That is seen from exact
ends of the next values, by induction; others are kept for a while, which exact ends show step by step. Where these do
not tell, a small loop is bounded through time.
"""

from __future__ import annotations

from collections.abc import Sequence

from vernal.errors import Stopped
from vernal.evidence.knowledge import SeenStates
from vernal.evidence.replay import range_exits
from vernal.evidence.trace import Trace
from vernal.interpret.ends import EndsProgram, PartialEnds, inside, meet, shortened
from vernal.interpret.linear.interval_bounds import Plain
from vernal.logic.question import Question
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.system import System, Variable
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import Levels

MAX_BOXES = 64  # of the initial set; more are taken as one hull
MAX_UNROLLED = 2_000  # nodes of the loop, unrolled, that are bounded where ends alone do not tell
LOOK_AHEAD = 20  # steps looked at where the claim has no bound


def range_notes(question: Question, trace: Trace | None, budget: Budget, seen: SeenStates | None = None) -> list[str]:
    """What is to be said of declared ranges: left on the trace or at a state that was seen, or perhaps on some path.

    Where all states of the question were seen, there is nothing left to be said of others.
    """
    on_trace = {} if trace is None else range_exits(trace)
    at_states = {} if seen is None else {name: t for name, t in seen.exits.items() if name not in on_trace}
    notes = [f"{name} leaves its range at step {t} of the trace" for name, t in on_trace.items()]
    notes += [f"{name} leaves its range at step {t}" for name, t in at_states.items()]
    steps = question.claim.horizon
    if seen is not None and (seen.depth is None or (steps is not None and steps <= seen.depth)):
        return notes
    if steps is None:
        steps = LOOK_AHEAD if trace is None or not trace.complete else len(trace) - 1
    try:
        possible = possible_exits(question.system, steps, budget)
    except Stopped as stop:
        return [*notes, f"whether declared ranges are kept was not found out: {stop.reason}"]
    known = -1 if seen is None or seen.depth is None else seen.depth
    later = {name: max(t, known + 1) for name, t in possible.items() if name not in {**on_trace, **at_states}}
    return notes + [f"{name} may leave its range from step {t} on" for name, t in later.items() if t <= steps]


def ranged_variables(system: System) -> list[Variable]:
    """The variables whose declared range can be left: of the others it is a part of what a step does."""
    declared = [variable for variable in system.state if variable.lower is not None or variable.upper is not None]
    return [variable for variable in declared if not variable.enforced]


def possible_exits(system: System, steps: int, budget: Budget) -> dict[str, int]:
    """For each variable whose range may be left within so many steps: the first step at which it may."""
    ranged = ranged_variables(system)
    if not ranged:
        return {}
    exits = _exits_by_ends(system, ranged, steps, budget)
    if exits and len(order(system.step.roots)) * steps <= MAX_UNROLLED:
        open_variables = [variable for variable in ranged if variable.name in exits]
        levels = Levels(system, initial_boxes(system, MAX_BOXES).boxes, budget, steps, Plain)
        exits = levels.range_exits(open_variables)
        levels.raise_if_stopped()
    return exits


def _exits_by_ends(system: System, ranged: Sequence[Variable], steps: int, budget: Budget) -> dict[str, int]:
    """The same from exact ends alone, step by step; ends that are inside a range for good stay as they are."""
    program, hull = system.step.once(_program), system.initial.hull
    ends: dict[Expr, PartialEnds] = {var: hull.ends[var][0] for var in system.step.state}
    exits = {v.name: 0 for v in ranged if not _within(ends[v.var], v)}
    kept = _inductive(system.step, [v for v in ranged if v.name not in exits])
    left = [variable for variable in ranged if variable not in kept]
    for t in range(1, steps + 1):
        if all(variable.name in exits for variable in left):
            break
        budget.check()
        before, ends = ends, dict(zip(system.step.state, map(shortened, program(ends)), strict=True))
        ends |= {v.var: meet(ends[v.var], (v.lower, v.upper)) for v in kept}
        exits |= {v.name: t for v in left if v.name not in exits and not _within(ends[v.var], v)}
        if all(inside(made, before[var]) for var, made in ends.items()):
            break  # and so after every further step
    return exits


def _program(step: ClosedStep) -> EndsProgram:
    return EndsProgram(step.next_state)


def _inductive(step: ClosedStep, variables: Sequence[Variable]) -> list[Variable]:
    """The largest set of ranges such that a step from states inside all of them stays inside all of them.

    Their initial values are inside; so these ranges are never left.
    """
    program, kept = step.once(_program), list(variables)
    while kept:
        after = program({variable.var: (variable.lower, variable.upper) for variable in kept})
        made = dict(zip(step.state, after, strict=True))
        still = [variable for variable in kept if _within(made[variable.var], variable)]
        if len(still) == len(kept):
            break
        kept = still
    return kept


def _within(ends: PartialEnds, variable: Variable) -> bool:
    return inside(ends, (variable.lower, variable.upper))
