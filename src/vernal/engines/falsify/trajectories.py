"""Falsify flows: batched simulation and local search for a trajectory that fails, which is then enclosed.

Floats only propose a first state and disturbances. A counterexample is one where the formula is false of all solutions
from that state under those disturbances, which are enclosed rigorously.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.engines.falsify.hunt import HuntPatience
from vernal.engines.falsify.search import freedom
from vernal.evidence.knowledge import Statistics
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.simulate.enclosed_runs import enclosed
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.timed_targets import TARGETS
from vernal.simulate.trajectories import simulator_of

TRAJECTORIES_PER_BATCH = 600  # trajectories of a batch
TRAJECTORY_PATIENCE = HuntPatience(generations=12, waits=4, progress=0.01)
MAX_ENCLOSED_PER_BATCH = 3  # trajectories of a batch that are enclosed
MAX_ENCLOSED = 16  # of all batches
TOLERANCE = 1e-9  # a margin this close to zero is decided by enclosures


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
    starts = np.concatenate([array.reshape(len(array), -1)[rows] for array in plan.first.values()], axis=1)
    scaled = starts / np.maximum(np.ptp(starts, axis=0), TOLERANCE) if len(rows) else starts
    distance = np.full(len(rows), np.inf)
    for _ in range(min(count, len(rows))):
        chosen = int(distance.argmax())
        yield int(rows[chosen])
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[chosen], axis=1))
