"""Simulated trajectories in exact numbers, enclosed: what floats propose, and what all solutions from there do."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

from vernal.errors import Stopped
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory import precisions, refuted, trajectory
from vernal.evidence.walk import NotAPath
from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.question import Question
from vernal.model.expr import Between, Choose, Expr
from vernal.model.initial import Span, represented
from vernal.run.budget import Budget
from vernal.simulate.lift import first_values
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.timed_targets import TrajectoryTarget
from vernal.simulate.trajectories import TrajectorySimulator

RECORDED_TIMES = 16  # times, about, in a trace; decimals where the horizon is one
ENCLOSURE_SECONDS = 10.0  # for enclosing one
READABLE_DIGITS = 3  # of the width of an interval


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
        self.first |= {var.name: values[of][k] for var, (of, k) in plant_of(self.flow).memory_places().items()}
        self.times = self._times(target, simulator.run(plan))
        self.disturbances = [self._given(time) for time in self.times]

    def _times(self, target: TrajectoryTarget, runs: Runs) -> list[Fraction]:
        """Those at which disturbances change, that the formula names, that are critical, and some between."""
        last = min(max([*target.instants, Fraction(0)]), self.simulator.time)
        even = [last * k / RECORDED_TIMES for k in range(RECORDED_TIMES + 1)]
        critical = [Fraction(repr(time)) for time in target.critical(runs)]
        first, until = target.needed(runs)
        if first < last:  # nobody looks at what comes afterwards
            last = next((time for time in even if first <= time <= until), Fraction(repr(first)))
            critical.append(last)
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
