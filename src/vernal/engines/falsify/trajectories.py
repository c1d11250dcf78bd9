"""Falsify flows: batched simulation and local search for a trajectory that fails, which is then enclosed.

Floats only propose a first state and disturbances. A counterexample is one where the formula is false of all solutions
from that state under those disturbances, which are enclosed rigorously.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.engines.falsify.hunt import HuntPatience
from vernal.engines.falsify.search import freedom
from vernal.engines.falsify.timed_target import TARGETS, TrajectoryTarget
from vernal.errors import Stopped
from vernal.evidence.knowledge import Statistics
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory import precisions, refuted, trajectory
from vernal.evidence.walk import NotAPath
from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.model.expr import Between, Choose, Expr
from vernal.model.initial import Span, represented
from vernal.run.budget import Budget
from vernal.simulate.lift import first_values
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.trajectories import TrajectorySimulator, simulator_of

TRAJECTORIES_PER_BATCH = 600  # trajectories of a batch
RECORDED_TIMES = 16  # times, about, in a trace; decimals where the horizon is one
TRAJECTORY_PATIENCE = HuntPatience(generations=12, waits=4, progress=0.01)
MAX_ENCLOSED_PER_BATCH = 3  # trajectories of a batch that are enclosed
MAX_ENCLOSED = 16  # of all batches
TOLERANCE = 1e-9  # a margin this close to zero is decided by enclosures
ENCLOSURE_SECONDS = 10.0  # for enclosing one
READABLE_DIGITS = 3  # of the width of an interval


class FailingTrajectories:
    """Trajectories of a flow on which a claim is false."""

    patience = TRAJECTORY_PATIENCE

    def __init__(self, question: Question, budget: Budget) -> None:
        self.question, self.budget = question, budget
        self.target = TARGETS[question.time](question)
        self.last = max(self.target.instants, default=Fraction(0))
        self.simulator = simulator_of(question.model, self.last, self.target.instants)
        self.rows = TRAJECTORIES_PER_BATCH if freedom(self.simulator.model) else 1
        self.enclosed, self.stops_before = 0, len(budget.stops)

    def margins(self, runs: Runs) -> Floats:
        """The margin of the claim on each trajectory."""
        return self.target.margins(runs)

    def confirmed(self, plan: Plan, runs: Runs, margins: Floats) -> Trace | None:
        """Enclose a few trajectories that seem to fail, or are at the margin, where exact numbers may tell."""
        close = np.flatnonzero(margins <= TOLERANCE)
        for row in apart(plan, close[np.argsort(margins[close], kind="stable")], MAX_ENCLOSED_PER_BATCH):
            for short in (True, False):  # rounded to a few digits first, for people to read
                found = self._enclosed(plan.rows(np.array([row])), short) if self.enclosed < MAX_ENCLOSED else None
                if found is not None:
                    return found
        return None

    def _enclosed(self, plan: Plan, short: bool) -> Trace | None:
        """The trajectory of a plan of one row, if it refutes the formula."""
        self.enclosed += 1
        return enclosed(self.question, self.target, self.simulator, plan, self.budget, short=short)

    def missed(self, simulated: int) -> str:
        """Why nothing was found."""
        said = f"no violation found in {simulated:,} trajectories until time {float(self.last):g}"
        if not self.enclosed:
            return said
        if (cut_short := self.budget.cut_since(self.stops_before)) is not None:
            return f"{said}: some seem to fail; enclosing their solutions is not finished: {cut_short}"
        return f"{said}: some seem to fail, but not all solutions from there provably do"

    def statistics(self, simulated: int) -> Statistics:
        """What was done."""
        return {"trajectories": simulated, "enclosed": self.enclosed}


def apart(plan: Plan, rows: NDArray[np.intp], count: int) -> Iterator[int]:
    """Some of these rows: the first, then those that begin farthest from the ones before.

    Where the best cannot be enclosed, as on its way through a singularity, its neighbours mostly cannot either.
    """
    starts = np.stack([array[rows] for array in plan.first.values()], 1)
    scaled = starts / np.maximum(np.ptp(starts, axis=0), TOLERANCE) if len(rows) else starts
    distance = np.full(len(rows), np.inf)
    for _ in range(min(count, len(rows))):
        chosen = int(distance.argmax())
        yield int(rows[chosen])
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[chosen], axis=1))


# Floats as exact values -----------------------------------------------------------------------------------------------


def enclosed(
    question: Question,
    target: TrajectoryTarget,
    simulator: TrajectorySimulator,
    plan: Plan,
    budget: Budget,
    *,
    short: bool,
) -> Trace | None:
    """The trajectory that a plan of one row makes, as far as it takes to refute the formula; None where it does not.

    With `short`, numbers are rounded to a few digits, for people to read.
    """
    lift = Lifted(simulator, target, plan, short)
    part = budget.part(1.0, ENCLOSURE_SECONDS)
    try:
        for precision in precisions(question.model):
            path = trajectory(question.model, lift.first, lift.times, lift.disturbances, precision, part.check)
            found = refuted(path, question.formula, question.time)
            if found is not None:
                return found.finer(RECORDED_TIMES).trace
    except NotAPath:
        return None
    except Stopped:
        budget.check()  # its own limits end the search, those of the part only this trajectory
    return None


class Lifted:
    """A simulated trajectory in exact numbers: its first state, disturbances, and times at which it is recorded."""

    def __init__(self, simulator: TrajectorySimulator, target: TrajectoryTarget, plan: Plan, short: bool) -> None:
        self.simulator, self.flow, self.plan, self.short = simulator, simulator.flow, plan, short
        values = first_values(simulator.model, plan, short)
        self.first = {var.name: values[var][0] for var in simulator.model.vars}
        self.times = self._times(target, simulator.run(plan))
        self.disturbances = [self._given(time) for time in self.times]

    def _times(self, target: TrajectoryTarget, runs: Runs) -> list[Fraction]:
        """Those at which disturbances change, that the formula names, that are critical, and some between."""
        last = min(max([*target.instants, Fraction(0)]), self.simulator.time)
        even = [last * k / RECORDED_TIMES for k in range(RECORDED_TIMES + 1)]
        critical = [Fraction(repr(time)) for time in target.critical(runs)]
        found = {*even, *self.simulator.changes, *target.instants, *critical}
        return sorted(time for time in found if time <= last)

    def _given(self, time: Fraction) -> dict[Expr, Given]:
        """The disturbances from this time on."""
        stretch = bisect_right(self.simulator.changes, time) - 1
        drawn = {node: float(array[0, stretch]) for node, array in self.plan.decisions.items() if array.ndim == 2}
        found: dict[Expr, Given] = {
            node: self._value(node, position) for node, position in drawn.items() if isinstance(node, Between)
        }
        return found | {node: int(index) for node, index in drawn.items() if isinstance(node, Choose)}

    def _value(self, node: Between, position: float) -> Fraction:
        """A value between the ends that the interval has in the first state."""
        start: dict[Expr, Given] = {var: self.first[var.name] for var in self.simulator.model.vars}
        try:
            low, high = exact.evaluate(node.args, start)
        except LookupError:  # ends that depend on actions
            return Fraction(0)
        if not isinstance(low, Fraction) or not isinstance(high, Fraction):
            return Fraction(0)  # no rational ends: whether it is one of its values, the enclosure finds out
        span = Span(low, high)
        if position in (0.0, 1.0):
            return high if position else low
        return represented(
            span, float(low + Fraction(position) * (high - low)), READABLE_DIGITS if self.short else None
        )
