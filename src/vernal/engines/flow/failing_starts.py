"""A counterexample from a part of the initial set, where flowpipes, or simulations, say that its trajectories fail.

Where all trajectories of a part fail, any start of it and any disturbances will do. Where a part merely stays open, a
few of its trajectories are simulated in floats, of many parts at once. Those that seem to fail are enclosed; the first
that provably fails is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from vernal.evidence.knowledge import Counterexample, Statistics
from vernal.evidence.trace import Trace
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.initial import Box, Ends
from vernal.model.lazy import cached_property
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.flow_starts import StartBoxes
from vernal.simulate.enclosed_runs import enclosed
from vernal.simulate.runs import Plan, joined_plans, random_plan
from vernal.simulate.starts import NoInitialState
from vernal.simulate.timed_targets import TARGETS, TrajectoryTarget
from vernal.simulate.trajectories import TrajectorySimulator, simulator_of

TRIED_PARTS, TRIED_STARTS = 2, 3  # failing parts that are looked at, and starts of each
SIMULATED_PARTS = 32  # open parts of which trajectories are simulated, at most
MAX_TRIES = 4  # trajectories that seem to fail, of open parts, that are enclosed


class FailingStarts:
    """Trajectories from parts of the initial set of one question."""

    def __init__(self, question: Question, engine: str, budget: Budget) -> None:
        self.question, self.engine, self.budget = question, engine, budget
        self.tries = 0  # of trajectories of open parts

    def of_failing(self, boxes: StartBoxes, statistics: Statistics) -> Counterexample | None:
        """A trajectory from one of these boxes, all of which fail; None where none of those tried is enclosed well."""
        for row in range(min(len(boxes), TRIED_PARTS)):
            for plan in self._plans(boxes[np.array([row])]):
                for start in range(plan.runs):
                    trace = self._enclosed(plan.rows(np.array([start])))
                    if trace is not None:
                        return self._counterexample(trace, statistics)
        return None

    def of_open(self, boxes: StartBoxes, statistics: Statistics) -> Counterexample | None:
        """A trajectory from one of these boxes that provably fails, if simulations show one that may."""
        some = np.unique(np.linspace(0, len(boxes) - 1, min(len(boxes), SIMULATED_PARTS)).astype(np.intp))
        plans = list(self._plans(boxes[some])) if self.tries < MAX_TRIES else []
        if not plans:
            return None
        whole = joined_plans(plans)
        with np.errstate(all="ignore"):  # what overflows in floats is no candidate
            margins = self.target.margins(self.simulator.run(whole, self.budget.check))
        parts = np.split(np.arange(whole.runs), np.cumsum([plan.runs for plan in plans[:-1]]))
        worst = [int(rows[np.argmin(margins[rows])]) for rows in parts]  # of each box
        for row in sorted(worst, key=lambda one: float(margins[one])):
            if margins[row] >= 0 or self.tries >= MAX_TRIES:
                break
            self.tries += 1
            trace = self._enclosed(whole.rows(np.array([row])))
            if trace is not None:
                return self._counterexample(trace, statistics)
        return None

    def _counterexample(self, trace: Trace, statistics: Statistics) -> Counterexample:
        return Counterexample(engine=self.engine, trace=trace, statistics=statistics)

    def _enclosed(self, plan: Plan) -> Trace | None:
        """The trajectory of a plan of one row, if it fails; its numbers are rounded to a few digits at first."""
        for short in (True, False):
            trace = enclosed(self.question, self.target, self.simulator, plan, self.budget, short=short)
            if trace is not None:
                return trace
        return None

    # Plans

    @cached_property
    def target(self) -> TrajectoryTarget:
        return TARGETS[self.question.time](self.question)

    @cached_property
    def simulator(self) -> TrajectorySimulator:
        instants = self.target.instants
        return simulator_of(self.question.model, max(instants, default=Fraction(0)), instants)

    def _plans(self, boxes: StartBoxes) -> Iterator[Plan]:
        """A few starts of each box in which there are any."""
        rng = np.random.default_rng(self.budget.seed)
        for lower, upper in zip(boxes.lower, boxes.upper, strict=True):
            part = self._part(lower.tolist(), upper.tolist())
            try:
                if part is not None:
                    yield random_plan(part, TRIED_STARTS, self.simulator.columns, rng, corners=True)
            except NoInitialState:
                continue

    def _part(self, lower: list[float], upper: list[float]) -> Model | None:
        """The model with the starts in a box alone."""
        model = self.question.model
        ends = {
            var.name: (Fraction(low), Fraction(high)) for var, low, high in zip(model.vars, lower, upper, strict=True)
        }
        remembered: dict[Expr, tuple[Ends, ...]] = {}
        for var, (vector, _) in plant_of(model).memory_places().items():
            remembered[vector] = (*remembered.get(vector, ()), ends[var.name])
        box = Box({**{var: (ends[var.name],) for var in self.simulator.model.vars}, **remembered})
        return self.simulator.model.cut(box)
