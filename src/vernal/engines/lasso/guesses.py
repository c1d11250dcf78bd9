"""Loops that runs suggest: the decisions of a run between two of its positions, and a first state near by."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from vernal.engines.lasso.recurrences import hints, near_misses, positions
from vernal.evidence.periodic import EnclosedLoop
from vernal.evidence.replay import NodeDecisions
from vernal.evidence.uniqueness import BEYOND_INTERVALS
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula
from vernal.model.expr import Between, Expr
from vernal.model.initial import Valuation
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.simulate.lift import decisions_taken
from vernal.simulate.runs import Runs

PERIODS = (2, 3, 4, 6)  # of loops that are tried from where runs begin, beside those of one step
MAX_NEAR, MAX_HINTS, MAX_STARTS = 12, 8, 16  # runs that are tried
MAX_TURNS = 8  # positions of a loop that are tried as its first


def guesses(runs: Runs, goal: Formula, tick: Tick) -> Iterator[EnclosedLoop]:
    """Loops of one step from where runs begin, loops runs converge to, those that nearly close, and short ones."""
    starts = range(0, runs.plan.runs, max(1, runs.plan.runs // MAX_STARTS))
    for row in starts:
        yield from _along(runs, row, 0, 1, 0, tick)
    for hint in hints(runs)[:MAX_HINTS]:
        for end in reversed(range(int(runs.lengths[hint.row]))[-min(hint.period, MAX_TURNS) :]):
            yield from _along(runs, hint.row, end - hint.period, end, 0, tick)
    misses = near_misses(runs, goal, tick)[:MAX_NEAR]
    for miss in sorted(misses, key=lambda miss: miss.last - miss.first):
        yield from _along(runs, miss.row, miss.first, miss.last, 0, tick)
    for miss in misses:
        yield from _along(runs, miss.row, 0, miss.last, miss.first, tick)
    for period in PERIODS:
        for row in starts:
            yield from _along(runs, row, 0, period, 0, tick)


def _along(runs: Runs, row: int, start: int, end: int, loop: int, tick: Tick) -> Iterator[EnclosedLoop]:
    """The loop that begins at one position of a run, takes its decisions and returns after another, if it can."""
    if end >= runs.lengths[row]:
        return
    state = positions(runs)[row, start]
    if not np.isfinite(state).all():
        return
    taken = decisions_taken(runs, row, tick=tick)[start:end]
    try:
        decisions = [_within_reach(runs, row, start + t, one) for t, one in enumerate(taken)]
    except LookupError:  # the ends of a disturbance depend on another draw
        return
    yield EnclosedLoop(_nearest_start(runs.system, state), tuple(decisions), loop)


def _nearest_start(system: Model, state: Floats) -> Valuation:
    """The initial state nearest to a state."""
    rest = iter(state.tolist())
    floats: dict[Expr, list[Fraction | float]] = {
        var: [next(rest) for _ in range(var.size)] for var in system.step.inputs
    }
    return system.initial.nearest(floats)


def _within_reach(runs: Runs, row: int, t: int, taken: NodeDecisions) -> dict[Expr, Any]:
    """The decisions of a position, with disturbances at an end of their interval as the number that is there."""
    inputs: dict[Expr, Given] = {}
    for var, array in runs.inputs(t).items():
        if not isinstance(var, Between):
            numbers = tuple(map(Fraction, np.ravel(array[row]).tolist()))
            inputs[var] = numbers if var.shape else numbers[0]
    made: dict[Expr, Any] = {}
    for node, value in taken.items():
        numbers = value if isinstance(value, tuple) else (value,)
        if isinstance(node, Between) and any(abs(Fraction(number)) == BEYOND_INTERVALS for number in numbers):
            ends = [_fractions(end, node.size) for end in exact.evaluate(node.args, inputs)]
            numbers = tuple(min(max(n, low), high) for n, low, high in zip(numbers, *ends, strict=True))
        made[node] = tuple(numbers) if node.shape else Fraction(numbers[0])
    return made


def _fractions(value: Any, size: int) -> list[Fraction]:
    """The numbers of an end, rounded where they are not rational."""
    items = value if isinstance(value, tuple) else (value,) * size
    if any(not isinstance(item, Fraction | arb) for item in items):
        raise LookupError("an end that has no value")
    return [Fraction(float(item.mid())) if isinstance(item, arb) else item for item in items]
