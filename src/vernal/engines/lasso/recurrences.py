"""Simulated runs that come back: exactly, where states are integers or saturate, or nearly, which is a hint.

A run that comes back in floating point is replayed in exact arithmetic, and only what closes there is a lasso. A run
that nearly comes back, late, to a state that is an initial one says where a periodic point may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.evidence import confirm
from vernal.evidence.candidates import path_of
from vernal.evidence.knowledge import Candidate
from vernal.evidence.replay import closed
from vernal.evidence.trace import Trace
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.semantics import evaluate
from vernal.model.expr import Expr
from vernal.model.initial import Box, Ends, Valuation
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.simulate.lift import decisions_taken, first_values
from vernal.simulate.runs import Plan, Runs, StepSimulator, random_plan

PERIODS = (1, 2, 3, 4, 6)  # of the decisions of half of the runs; those of the others never repeat on purpose
MAX_PAIRS = 4_000  # recurrences that are judged
MAX_REPLAYS = 12
RECURRENCE_DISTANCE = 1e-6  # relative distance of a hint
DENOMINATORS = (10, 1000, 10**6)  # of the simplest numbers near a hint


@dataclass(frozen=True, order=True)
class Recurrence:
    """Two positions of a run with the same state and memory."""

    last: int
    first: int
    row: int


def simulated(system: Model, runs: int, steps: int, seed: int, tick: Tick) -> Runs:
    """Random runs, some of them with decisions that repeat."""
    rng = np.random.default_rng(seed)
    plan = random_plan(system, runs, steps, rng, corners=True, tick=tick)
    for made in plan.decisions.values():
        for number, period in enumerate(PERIODS):
            rows = slice(number * runs // (2 * len(PERIODS)), (number + 1) * runs // (2 * len(PERIODS)))
            made[rows] = made[rows][:, np.arange(steps + 1) % period]
    with np.errstate(all="ignore"):
        return StepSimulator(system, steps).run(Plan(plan.first, plan.decisions), tick)


def positions(runs: Runs) -> Floats:
    """State and memory of every run at every position, as one vector."""
    count, steps = runs.plan.runs, runs.steps + 1
    parts = [runs.state[var.name].reshape(count, steps, 1) for var in runs.system.step.state]
    parts += [runs.memory[var].reshape(count, steps, -1) for var in runs.system.step.memory]
    return np.concatenate(parts, axis=2) + 0.0  # no negative zeros


def recurrences(runs: Runs) -> Iterator[Recurrence]:
    """Positions that have the state of an earlier one, the shortest first; the nearest earlier one is named."""
    values = positions(runs)
    found: list[Recurrence] = []
    for row in range(runs.plan.runs):
        seen: dict[bytes, int] = {}
        for t in range(int(runs.lengths[row])):
            key = values[row, t].tobytes()
            if key in seen and np.isfinite(values[row, t]).all():
                found.append(Recurrence(t, seen[key], row))
            seen[key] = t
    return iter(sorted(found))


def lasso_among(runs: Runs, goal: Formula, tick: Tick) -> Trace | None:
    """A run that is a lasso in exact arithmetic, too, and on which the goal is false."""
    truths = _truths(runs, goal)
    judged: set[object] = set()
    replays = 0
    for pair in recurrences(runs):
        tick()
        if len(judged) >= MAX_PAIRS or replays >= MAX_REPLAYS:
            break
        pattern = pair.first, *(truth[pair.row, : pair.last].tobytes() for truth in truths.values())
        if pattern not in judged and _false_on(pair, goal, truths):
            replays += 1
            trace = _replayed(runs, pair, tick)
            if trace is not None and confirm.truth(trace, goal) is False:
                return trace
        else:
            judged.add(pattern)
    return None


def _truths(runs: Runs, goal: Formula) -> dict[Expr, NDArray[np.bool_]]:
    """The truth of every atom at every position of every run, as floats tell it."""
    asked = atoms(goal)
    resolved = [runs.system.step.resolve(atom) for atom in asked]
    columns: dict[Expr, list[NDArray[np.bool_]]] = {atom: [] for atom in asked}
    with np.errstate(all="ignore"):
        for t in range(runs.steps + 1):
            values = concrete.evaluate(resolved, runs.inputs(t)) if resolved else []
            for atom, value in zip(asked, values, strict=True):
                columns[atom].append(np.broadcast_to(np.asarray(value, dtype=bool), (runs.plan.runs,)))
    return {atom: np.stack(found, axis=1) for atom, found in columns.items()}


def _false_on(pair: Recurrence | NearMiss, goal: Formula, truths: dict[Expr, NDArray[np.bool_]]) -> bool:
    truth = evaluate(goal, lambda atom, t: bool(truths[atom][pair.row, t]), pair.last, loop=pair.first)
    return truth is False


def _replayed(runs: Runs, pair: Recurrence, tick: Tick) -> Trace | None:
    system = runs.system
    first, memory = system.pack(first_values(system, runs.plan.rows(np.array([pair.row]))))
    taken = decisions_taken(runs, pair.row, tick=tick)
    path = path_of(system, Candidate(first, memory, taken, pair.last), tick)
    return None if path is None else closed(path, pair.first)


# Near misses ----------------------------------------------------------------------------------------------------------

MAX_ROWS, PAIRS_OF_ROW = 24, 6  # runs that come nearest to themselves, and the positions of each that are judged


@dataclass(frozen=True, order=True)
class NearMiss:
    """Two positions of a run with nearly the same state and memory; the discrete part is the same."""

    distance: float
    last: int
    first: int
    row: int


def near_misses(runs: Runs, goal: Formula, tick: Tick) -> list[NearMiss]:
    """Pairs of positions that would make the goal false if the run came back, the nearest first."""
    values = positions(runs)
    discrete = np.array([var.sort != REAL for var in runs.system.step.inputs for _ in range(var.size)])
    if discrete.all():  # what comes back does so exactly
        return []
    finite = np.where(np.isfinite(values), values, 0.0)
    spread = np.ptp(finite, axis=(0, 1)) + 1e-300
    nearest: list[list[NearMiss]] = []
    for row in range(runs.plan.runs):
        tick()
        nearest.append(_near(values[row, : runs.lengths[row]], spread, discrete, row))
    truths = _truths(runs, goal)
    found: list[NearMiss] = []
    for pairs in sorted(filter(None, nearest))[:MAX_ROWS]:
        tick()
        found += [miss for miss in pairs if _false_on(miss, goal, truths)][:1]
    return sorted(found)


def _near(values: Floats, spread: Floats, discrete: NDArray[np.bool_], row: int) -> list[NearMiss]:
    """The pairs of positions of a run that are nearest, for their length."""
    with np.errstate(all="ignore"):
        apart = np.abs(values[:, None] - values[None]) / spread
    distance = apart[:, :, ~discrete].max(axis=2, initial=0.0)
    distance[apart[:, :, discrete].any(axis=2) | ~np.isfinite(distance)] = np.inf
    last, first = np.tril_indices(len(values), -1)
    score = distance[last, first] * (1 + last / 20)
    best = np.argsort(score, kind="stable")[:PAIRS_OF_ROW]
    return [NearMiss(float(score[i]), int(last[i]), int(first[i]), row) for i in best if np.isfinite(score[i])]


# Hints ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hint:
    """A run that nearly comes back to its last position, where a periodic point may be, and after how many steps."""

    row: int
    centre: tuple[float, ...]
    period: int

    def box(self, system: Model, radius: Fraction) -> Box:
        """The states around it."""
        points = self._points(system, lambda number: Fraction(number))
        made: dict[Expr, tuple[Ends, ...]] = {}
        for var, entry in points.items():
            width = radius if var.sort == REAL else Fraction(0)
            made[var] = tuple((x - width * (1 + abs(x)), x + width * (1 + abs(x))) for x in entry)
        return Box(made)

    def rounded(self, system: Model, denominator: int) -> Valuation:
        """The simplest state nearby."""
        return self._points(system, lambda number: Fraction(number).limit_denominator(denominator))

    def _points(self, system: Model, read: Callable[[float], Fraction]) -> Valuation:
        rest = iter(self.centre)
        return {var: tuple(read(next(rest)) for _ in range(var.size)) for var in system.step.inputs}


def hints(runs: Runs) -> list[Hint]:
    """Late positions of runs that nearly come back, each once, short periods first."""
    values = positions(runs)
    found: dict[tuple[int, bytes], Hint] = {}
    for row in range(runs.plan.runs):
        last = int(runs.lengths[row]) - 1
        period = _period(values[row, : last + 1])
        if period is not None:
            centre = values[row, last]
            found.setdefault((period, np.round(centre, 4).tobytes()), Hint(row, tuple(centre.tolist()), period))
    return sorted(found.values(), key=lambda hint: hint.period)


def _period(values: Floats) -> int | None:
    """After how many steps the last position is nearly what it was before; None where it is not."""
    last = len(values) - 1
    scale = 1 + np.abs(values[last])
    if not np.isfinite(values[last]).all():
        return None
    for period in range(1, last // 2 + 1):
        if (np.abs(values[last] - values[last - period]) <= RECURRENCE_DISTANCE * scale).all():
            return period
    return None


def periodic(runs: Runs, hint: Hint, goal: Formula, tick: Tick) -> Trace | None:
    """A lasso from a simple state near a hint, with the decisions of the run; no equations, so of any system."""
    system, last = runs.system, int(runs.lengths[hint.row]) - 1
    taken = decisions_taken(runs, hint.row, tick=tick)[last - hint.period : last]
    for denominator in DENOMINATORS:
        values = hint.rounded(system, denominator)
        path = path_of(system, Candidate(*system.pack(values), taken, hint.period), tick)
        lasso = None if path is None else closed(path, 0)
        if lasso is not None and confirm.truth(lasso, goal) is False:
            return lasso
    return None
