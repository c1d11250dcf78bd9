"""By how much a formula is true on simulated trajectories, and at which times it is closest to failing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vernal.evidence.trajectory import closed
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.logic.claim import always
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Not, Or, Release, Temporal, Until
from vernal.logic.margin import atom_margin
from vernal.logic.normal import atoms, fold, horizon, order
from vernal.logic.prefix import refutable
from vernal.logic.question import Question
from vernal.logic.times import TIMED, Time, is_plain, last_time
from vernal.model.expr import Expr
from vernal.model.numbers import nearest
from vernal.model.system import Model
from vernal.simulate.runs import Runs
from vernal.simulate.starts import satisfied, typed
from vernal.simulate.targets import path_margins
from vernal.simulate.time_scale import time_scale
from vernal.simulate.trajectories import column

ENDLESS_SCALES = (
    64  # times the time scale of a model, for which trajectories are followed where a claim has no last time
)
ROUNDING = 1e-12  # of sums of times


class TrajectoryTarget(Protocol):
    """By how much trajectories keep a formula, in floats."""

    @property
    def instants(self) -> Sequence[Fraction]:
        """The times that the formula is about."""
        ...

    def margins(self, runs: Runs) -> Floats:
        """One number for each trajectory; where the state is not defined or not an initial one, infinity."""
        ...

    def critical(self, runs: Runs) -> list[float]:
        """Of a single trajectory, other times at which it may fail."""
        ...

    def needed(self, runs: Runs) -> tuple[float, float]:
        """Of a single trajectory, between which times it may be left, since it fails by then; infinity: not at all."""
        ...


class AtomMargins:
    """The margins of the atoms of formulas over the variables of a flow, at all positions of trajectories."""

    def __init__(self, flow: Model, *formulas: Formula) -> None:
        self.flow = flow
        self.atoms = list(dict.fromkeys(atom for formula in formulas for atom in atoms(formula)))
        self.program = concrete.compile([atom_margin(atom) for atom in self.atoms])

    def table(self, runs: Runs) -> dict[Expr, Floats]:
        """A row for each trajectory, a column for each position."""
        shape = (len(runs.lengths), runs.steps + 1)
        inputs: dict[Expr, NDArray[np.generic]] = {
            var: typed(var, column(runs, var.name).reshape(-1)) for var in self.flow.vars
        }
        values = self.program(inputs, shape[0] * shape[1]) if self.atoms else []
        spread = [np.broadcast_to(value, shape[0] * shape[1]).reshape(shape) for value in values]
        return dict(zip(self.atoms, spread, strict=True))


class TimedTarget:
    """The margin of a question's formula in seconds."""

    def __init__(self, question: Question) -> None:
        self.formula = closed(_with_end(question), question.model)
        self.known = AtomMargins(question.model, self.formula)
        self.timed = [node for node in order(self.formula) if isinstance(node, TIMED)]
        self.nested = not is_plain(self.formula)

    @property
    def instants(self) -> list[Fraction]:
        """The times that the formula names, and the last it speaks of."""
        ends = [end for node in self.timed for end in (node.bound.lower, node.bound.upper)]
        return [*(end for end in ends if end is not None), *([last_time([self.formula])] if self.nested else [])]

    def margins(self, runs: Runs) -> Floats:
        """One number for each trajectory; where the state is not defined or not an initial one, infinity."""
        table = self.known.table(runs)
        result: Floats = np.array(fold(self.formula, lambda node, args: self._margin(node, args, table, runs))[:, 0])
        result[np.isnan(result) | ~satisfied(runs.system, runs.plan.first)] = np.inf
        return result

    def critical(self, runs: Runs) -> list[float]:
        """Of a single trajectory, the times at which what has to hold throughout is closest to failing."""
        assert runs.times is not None
        table = self.known.table(runs)
        found = []
        for node in () if self.nested else self.timed:
            if isinstance(node, Always):
                rows = fold(node.arg, lambda part, args: _margin(part, args, table, runs))
                counted = np.where(_counted(runs, node.bound), rows, np.inf)
                found.append(float(runs.times[int(np.argmin(counted[0]))]))
        return found

    def _margin(self, node: Formula, args: tuple[Floats, ...], table: dict[Expr, Floats], runs: Runs) -> Floats:
        if self.nested and isinstance(node, TIMED):
            return _windows(node, args, runs)
        return _margin(node, args, table, runs)

    def needed(self, runs: Runs) -> tuple[float, float]:
        """While something that has to hold throughout clearly does not, or when something had to come true."""
        if self.nested:
            return np.inf, np.inf
        table = self.known.table(runs)
        found = fold(self.formula, lambda node, args: self._failing(node, args, table, runs))
        return found.time, found.last

    def _failing(self, node: Formula, args: tuple[Failing, ...], table: dict[Expr, Floats], runs: Runs) -> Failing:
        """By how much a part of the formula fails at the beginning, and when that is seen."""
        assert runs.times is not None
        rows = _margin(node, tuple(arg.rows for arg in args), table, runs)
        match node:
            case Always(bound=bound):
                counted = np.where(_counted(runs, bound), args[0].rows, np.inf)[0]
                clear = counted <= min(float(counted.min(initial=np.inf)) / 2, 0.0)
                if not clear.any():
                    return Failing(rows, np.inf, np.inf)
                first = int(clear.argmax())
                after = np.flatnonzero(~clear[first:])
                last = first + int(after[0]) - 1 if len(after) else len(clear) - 1
                return Failing(rows, float(runs.times[first]), float(runs.times[last]))
            case Eventually(bound=Bound(upper=upper)):
                end = np.inf if upper is None else nearest(upper)
                return Failing(rows, end, end)
            case And():
                failing = [arg for arg in args if arg.rows[0, 0] < 0]
                chosen = min(failing, key=lambda arg: arg.time, default=Failing(rows, np.inf, np.inf))
                return Failing(rows, chosen.time, chosen.last)
            case Or():
                chosen = max(args, key=lambda arg: arg.time)
                return Failing(rows, chosen.time, chosen.time)
        return Failing(rows, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Failing:
    """Margins of a part of a formula at all positions, and when it is seen that it fails at the first."""

    rows: Floats
    time: float
    last: float  # until when it is seen


def _with_end(question: Question) -> Formula:
    """The formula of a question; of one for all time what it says of a while, which refutes it, too."""
    kept = always(question.claim.normal) if question.claim.is_endless else None
    if kept is None:
        return question.claim.normal
    return replace(kept, bound=Bound(kept.bound.lower, kept.bound.lower + ENDLESS_SCALES * time_scale(question.model)))


class SampledTarget:
    """The margin of a question's formula over the samples of a loop."""

    def __init__(self, question: Question) -> None:
        self.formula = closed(question.claim.path, question.model)
        self.window = refutable(self.formula)
        self.known = AtomMargins(question.model, self.formula, self.window)
        steps, grid = horizon(self.window), question.model.grid
        assert steps is not None
        assert grid is not None
        self.instants = [k * grid for k in range(max(steps, 1) + 1)]

    def margins(self, runs: Runs) -> Floats:
        """One number for each path, by what holds after everything that happens at an instant."""
        assert runs.times is not None
        columns = np.searchsorted(runs.times, [nearest(time) for time in self.instants], side="right") - 1
        lengths = (columns < runs.lengths[:, None]).sum(axis=1)
        values = self.known.table(runs)
        table = [{atom: rows[:, place] for atom, rows in values.items()} for place in columns]
        result = path_margins(self.formula, self.window, table, lengths)
        result[np.isnan(result) | ~satisfied(runs.system, runs.plan.first)] = np.inf
        return result

    def critical(self, runs: Runs) -> list[float]:
        """None: only instants count."""
        return []

    def needed(self, runs: Runs) -> tuple[float, float]:
        """All of it."""
        return np.inf, np.inf


TARGETS: Mapping[Time, Callable[[Question], TrajectoryTarget]] = {
    Time.SECONDS: TimedTarget,
    Time.SAMPLES: SampledTarget,
}


def _margin(node: Formula, args: tuple[Floats, ...], table: dict[Expr, Floats], runs: Runs) -> Floats:
    """A row for each trajectory, a column for each position."""
    match node:
        case Atom(expr):
            return table[expr]
        case Not():
            return -args[0]
        case And():
            return np.asarray(np.minimum.reduce(args))
        case Or():
            return np.asarray(np.maximum.reduce(args))
        case Always(bound=bound):
            least = np.min(args[0], axis=1, initial=np.inf, where=_counted(runs, bound))
            return np.broadcast_to(least[:, None], args[0].shape)
        case Eventually(bound=bound):
            most = np.max(args[0], axis=1, initial=-np.inf, where=_counted(runs, bound))
            return np.broadcast_to(most[:, None], args[0].shape)
    raise AssertionError(f"{type(node).__name__} has no place in a normal form in continuous time")


def _windows(node: Temporal, args: tuple[Floats, ...], runs: Runs) -> Floats:
    """An operator at every position of the trajectories, as far as each is in the region."""
    assert runs.times is not None
    assert isinstance(node, TIMED)
    alive = np.arange(len(runs.times)) < runs.lengths[:, None]
    sign = -1.0 if isinstance(node, Always | Release) else 1.0  # G and R are the opposites of F and U
    wanted = np.where(alive, sign * args[-1], -np.inf)
    lower, upper = (np.inf if end is None else float(end) for end in (node.bound.lower, node.bound.upper))
    found = np.empty_like(wanted)
    for position, time in enumerate(runs.times):
        later = runs.times[position:]
        within = (later >= time + lower - ROUNDING) & (later <= time + upper + ROUNDING)
        reached = wanted[:, position:]
        if isinstance(node, Until | Release):
            before = np.minimum.accumulate(sign * args[0][:, position:], axis=1)
            reached = reached.copy()
            reached[:, 1:] = np.minimum(reached[:, 1:], before[:, :-1])
        found[:, position] = np.max(reached, axis=1, initial=-np.inf, where=within)
    return sign * found


def _counted(runs: Runs, bound: Bound) -> Mask:
    """The positions within a bound, as far as each trajectory is in the region."""
    assert runs.times is not None
    assert bound.upper is not None
    within = (runs.times >= float(bound.lower)) & (runs.times <= float(bound.upper))
    counted: Mask = within & (np.arange(len(runs.times)) < runs.lengths[:, None])
    return counted
