"""A counterexample from a part of the initial set of which flowpipes know that all of its trajectories fail.

Any start of it and any disturbances will do, so a few are enclosed; the first that provably fails is shown.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vernal.evidence.knowledge import Counterexample, Statistics
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.initial import Box, Ends
from vernal.run.budget import Budget
from vernal.sets.flow_starts import StartBoxes
from vernal.simulate.enclosed_runs import enclosed
from vernal.simulate.runs import random_plan
from vernal.simulate.starts import NoInitialState
from vernal.simulate.timed_targets import TARGETS
from vernal.simulate.trajectories import simulator_of

TRIED_PARTS, TRIED_STARTS = 2, 3  # failing parts that are looked at, and starts of each


def failing_trajectory(
    question: Question, engine: str, failing: StartBoxes, budget: Budget, statistics: Statistics
) -> Counterexample | None:
    """A trajectory from one of these boxes that provably fails; None where none of those tried is enclosed well."""
    target = TARGETS[question.time](question)
    simulator = simulator_of(question.model, max(target.instants, default=Fraction(0)), target.instants)
    columns, names = simulator.columns, [var.name for var in question.model.vars]
    for row in range(min(len(failing), TRIED_PARTS)):
        corners = zip(names, failing.lower[row], failing.upper[row], strict=True)
        ends = {name: (Fraction(float(low)), Fraction(float(high))) for name, low, high in corners}
        remembered: dict[Expr, tuple[Ends, ...]] = {}
        for var, (vector, _) in plant_of(question.model).memory_places().items():
            remembered[vector] = (*remembered.get(vector, ()), ends[var.name])
        box = Box({**{var: (ends[var.name],) for var in simulator.model.vars}, **remembered})
        part = simulator.model.cut(box)
        if part is None:
            continue
        try:
            plan = random_plan(part, TRIED_STARTS, columns, np.random.default_rng(budget.seed), corners=True)
        except NoInitialState:
            continue
        for start in range(plan.runs):
            for short in (True, False):
                one = plan.rows(np.array([start]))
                trace = enclosed(question, target, simulator, one, budget, short=short)
                if trace is not None:
                    return Counterexample(engine=engine, trace=trace, statistics=statistics)
    return None
