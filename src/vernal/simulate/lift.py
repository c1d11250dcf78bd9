"""From a float run to an exact path: the lift that turns a candidate into evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from vernal.evidence import confirm
from vernal.evidence.candidates import cut_at_decision, path_of
from vernal.evidence.knowledge import Candidate
from vernal.evidence.replay import NodeDecisions
from vernal.evidence.trace import Trace
from vernal.evidence.uniqueness import BEYOND_INTERVALS
from vernal.evidence.walk import BITS_PER_STEP, precisions
from vernal.interpret import concrete
from vernal.interpret.program import Program
from vernal.logic.formula import Formula
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Argmax, Between, Choose, Expr
from vernal.model.initial import Valuation
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.starts import tied_exactly

READABLE_DIGITS = 3  # digits of an interval's width that are kept of a start in a trace for people


def violation(
    runs: Runs, row: int, formula: Formula, tick: Tick = idle, *, short: bool = False, steps: int | None = None
) -> Trace | None:
    """The run as an exact path on which the formula is false, cut where that is decided; None if it is no such path.

    With `short`, starts and disturbances are rounded to a few digits: where the violation survives that, the trace is
    one that people can read. `steps`: how many of them show it, where that is known; a long path then begins with the
    precision it will need, since enclosures grow at every step.
    """
    system = runs.system
    one = runs.plan.rows(np.array([row]))
    first, memory = system.pack(first_values(system, one, short))
    taken = decisions_taken(runs, row, short, tick)
    known = precisions(steps or 0)
    enough = [bits for bits in known if bits >= BITS_PER_STEP * (steps or 0)] or [known[-1]]
    for precision in enough[:4] if steps is None else enough[:1]:
        for length in _lengths(int(runs.lengths[row]) - 1) if steps is None else [steps]:
            candidate = Candidate(first, memory, taken, length)
            trace = path_of(system, candidate, tick, precision=precision)
            truth = None if trace is None else confirm.truth(trace, formula)
            if trace is None or truth is True:
                return None
            if truth is False:
                return cut_at_decision(system, candidate, trace, formula, tick, precision=precision)
    return None


def _lengths(most: int) -> list[int]:
    """Longer and longer prefixes: exact numbers may grow with every step, and the first few may decide."""
    lengths = [most]
    while lengths[-1] > 4:
        lengths.append(lengths[-1] // 2)
    return lengths[::-1]


# Floats as exact values -----------------------------------------------------------------------------------------------


def first_values(system: Model, plan: Plan, short: bool = False) -> Valuation:
    """The first state and memory of a single run, exactly inside the initial set; `where` may exclude them."""
    floats: dict[Expr, list[float]] = {var: array[0].ravel().tolist() for var, array in plan.first.items()}
    return tied_exactly(system, system.initial.nearest(floats, digits=READABLE_DIGITS if short else None))


def decisions_taken(runs: Runs, row: int, short: bool = False, tick: Tick = idle) -> list[NodeDecisions]:
    """Every decision of one run, by node: options, disturbances as decimals, and the winners of argmax."""
    nodes = list(runs.plan.decisions)
    computed = _computed(runs.system.step)
    program = runs.system.step.once(_decisions)
    made: list[NodeDecisions] = []
    for t in range(int(runs.lengths[row])):
        tick()
        inputs = {node: array[row : row + 1] for node, array in runs.inputs(t).items()}
        values = dict(zip(computed, program(inputs, 1), strict=True))
        taken: NodeDecisions = {}
        for node in nodes:
            position = runs.plan.decisions[node][row, t]
            if isinstance(node, Choose):
                taken[node] = _option(node, position, values)
            elif isinstance(node, Between):
                taken[node] = _disturbance(position, values[node][0], short)
            elif not np.isnan(values[node][0]):
                taken[node] = int(values[node][0])
        made.append(taken)
    return made


def _computed(step: ClosedStep) -> list[Expr]:
    guards = [guard for node in step.names if isinstance(node, Choose) for guard in node.guards]
    return [*(node for node in step.names if isinstance(node, Between | Argmax)), *guards]


def _decisions(step: ClosedStep) -> Program:
    return concrete.compile(_computed(step))


def _option(node: Choose, position: float, values: Mapping[Expr, concrete.Array]) -> int:
    """The option of a run; in floats, where one that just exists may seem not to."""
    if not node.guarded:
        return int(position)
    return int(concrete.existing([values[guard] for guard in node.guards], np.array([position]))[0])


def _disturbance(position: concrete.Array, value: concrete.Array, short: bool) -> Fraction | Sequence[Fraction]:
    if np.ndim(value):
        return tuple(_scalar_disturbance(float(p), float(v), short) for p, v in zip(position, value, strict=True))
    return _scalar_disturbance(float(position), float(value), short)


def _scalar_disturbance(position: float, value: float, short: bool) -> Fraction:
    """The decimal of the float; at the ends of the interval, whatever the exact end is."""
    if position in (0.0, 1.0):
        return BEYOND_INTERVALS if position else -BEYOND_INTERVALS
    if not np.isfinite(value):
        return Fraction(0)
    return Fraction(f"{value:.4g}" if short else repr(value))
