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

from vernal.engines.falsify.search import Population, children, first_plan, freedom
from vernal.engines.flow.margins import FlowTarget
from vernal.errors import Stopped
from vernal.evidence.knowledge import Counterexample, Known, Open, Statistics
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
from vernal.simulate.starts import NoInitialState
from vernal.simulate.trajectories import TrajectorySimulator, simulator_of

ROWS = 600  # trajectories of a batch
RECORDED = 16  # times, about, in a trace; decimals where the horizon is one
GENERATIONS = 12
PATIENCE = 4  # generations without progress
PROGRESS = 0.01  # of the margin, at least
TRIES = 3  # trajectories of a batch that are enclosed
MAX_ENCLOSED = 16  # of all batches
TOLERANCE = 1e-9  # a margin this close to zero is decided by enclosures
SECONDS = 10.0  # for enclosing one
READABLE_DIGITS = 3  # of the width of an interval


class FalsifyFlow:
    """Searches for a trajectory on which the formula is false."""

    name = "falsify"

    def __init__(self, generations: int = GENERATIONS) -> None:
        """How often to breed from the best trajectories: 0 is one batch of simulations."""
        self.generations = generations

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A counterexample, or that none was found."""
        hunt = FlowHunt(question, budget, self.generations)
        try:
            with np.errstate(all="ignore"):  # what overflows in floats is no candidate
                found = hunt.go()
        except NoInitialState as error:
            return Open(engine=self.name, reason=f"no initial state was found: {error.message}")
        if found is not None:
            return Counterexample(engine=self.name, trace=found, statistics=hunt.statistics())
        return Open(engine=self.name, reason=hunt.reason(), statistics=hunt.statistics())


class FlowHunt:
    """One search: simulate, enclose the promising, breed from the best."""

    def __init__(self, question: Question, budget: Budget, generations: int) -> None:
        self.question, self.budget, self.generations = question, budget, generations
        self.flow = question.model
        self.rng = np.random.default_rng(budget.seed)
        self.target = FlowTarget(question)
        self.simulator = simulator_of(self.flow, question.claim.last_time, self.target.instants)
        self.system, self.stretches = self.simulator.model, len(self.simulator.changes)
        self.rows = ROWS if freedom(self.system) else 1
        self.simulated = self.enclosed = 0
        self.best = float("inf")

    def go(self) -> Trace | None:
        """The first trajectory found on which the formula is false of all solutions."""
        plan = first_plan(self.system, self.rows, self.stretches - 1, self.rng, self.budget.check)
        found, margins = self.batch(plan)
        population = Population(plan.rows(np.arange(0)), np.empty(0)).merge(plan, margins)
        waited = 0
        for generation in range(self.generations if self.rows > 1 else 0):
            if found is not None or waited == PATIENCE:
                break
            self.budget.progress(f"searching, best margin {self.best:.4g}", generation / self.generations)
            before = self.best
            plan = children(self.system, population.plan, self.rows, self.stretches - 1, self.rng)
            found, margins = self.batch(plan)
            population = population.merge(plan, margins)
            waited = 0 if self.best < before - PROGRESS * abs(before) else waited + 1
        return found

    def batch(self, plan: Plan) -> tuple[Trace | None, Floats]:
        """Simulate a plan; the confirmed violation it contains, if any, and its margins."""
        self.budget.check()
        runs = self.simulator.run(plan, self.budget.check)
        margins = self.target.margins(runs)
        self.simulated += plan.runs
        self.best = min(self.best, float(margins.min(initial=np.inf)))
        return self.confirm(plan, margins), margins

    def confirm(self, plan: Plan, margins: Floats) -> Trace | None:
        """Enclose a few trajectories that seem to fail, or are at the margin, where exact numbers may tell."""
        close = np.flatnonzero(margins <= TOLERANCE)
        for row in apart(plan, close[np.argsort(margins[close], kind="stable")], TRIES):
            for short in (True, False):  # rounded to a few digits first, for people to read
                found = self.enclose(plan.rows(np.array([row])), short) if self.enclosed < MAX_ENCLOSED else None
                if found is not None:
                    return found
        return None

    def enclose(self, plan: Plan, short: bool) -> Trace | None:
        """The trajectory of a plan of one row, if it refutes the formula."""
        self.enclosed += 1
        return enclosed(self.question, self.target, self.simulator, plan, self.budget, short=short)

    def reason(self) -> str:
        """Why nothing was found."""
        last = float(self.question.claim.last_time)
        said = f"no violation found in {self.simulated:,} trajectories until time {last:g}"
        if not self.enclosed:
            return said
        return f"{said}: some seem to fail, but not all solutions from there provably do"

    def statistics(self) -> Statistics:
        """What the search did."""
        made: dict[str, int | float] = {"trajectories": self.simulated, "enclosed": self.enclosed}
        return {**made, "best_margin": self.best} if np.isfinite(self.best) else made


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
    question: Question, target: FlowTarget, simulator: TrajectorySimulator, plan: Plan, budget: Budget, *, short: bool
) -> Trace | None:
    """The trajectory that a plan of one row makes, as far as it takes to refute the formula; None where it does not.

    With `short`, numbers are rounded to a few digits, for people to read.
    """
    lift = Lifted(simulator, target, plan, short)
    part = budget.part(1.0, SECONDS)
    try:
        for precision in precisions(question.model):
            path = trajectory(question.model, lift.first, lift.times, lift.disturbances, precision, part.check)
            found = refuted(path, question.formula)
            if found is not None:
                return found.finer(RECORDED).trace
    except NotAPath:
        return None
    except Stopped:
        budget.check()  # its own limits end the search, those of the part only this trajectory
    return None


class Lifted:
    """A simulated trajectory in exact numbers: its first state, disturbances, and times at which it is recorded."""

    def __init__(self, simulator: TrajectorySimulator, target: FlowTarget, plan: Plan, short: bool) -> None:
        self.simulator, self.flow, self.plan, self.short = simulator, simulator.flow, plan, short
        values = first_values(simulator.model, plan, short)
        self.first = {var.name: values[var][0] for var in simulator.model.vars}
        self.times = self._times(target, simulator.run(plan))
        self.disturbances = [self._given(time) for time in self.times]

    def _times(self, target: FlowTarget, runs: Runs) -> list[Fraction]:
        """Those at which disturbances change, that the formula names, that are critical, and some between."""
        last = min(max([*target.instants, Fraction(0)]), self.simulator.time)
        even = [last * k / RECORDED for k in range(RECORDED + 1)]
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
