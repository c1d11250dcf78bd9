"""Paths that fail, hunted in steps: runs in floats, and the promising ones replayed exactly."""

from __future__ import annotations

import numpy as np

from vernal.engines.falsify.hunt import HuntPatience
from vernal.engines.falsify.search import freedom
from vernal.evidence.knowledge import Statistics
from vernal.evidence.trace import Trace
from vernal.evidence.uniqueness import uncertain
from vernal.interpret.numbers.memory_room import numbers_at_once
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula
from vernal.logic.normal import horizon
from vernal.logic.prefix import WINDOW, says_something
from vernal.logic.question import Question
from vernal.model.expr import Argmax
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.simulate.lift import violation
from vernal.simulate.runs import Plan, Runs, StepSimulator
from vernal.simulate.targets import Target

RUN_STEPS_PER_BATCH = 400_000  # run-steps of one batch
MIN_RUNS, MAX_RUNS = 50, 2000  # runs of a batch
RUN_PATIENCE = HuntPatience(generations=25, waits=8)
TOLERANCE = 1e-9  # relative; a margin this close to zero is decided by exact replay
MAX_REPLAYS_PER_BATCH = 4  # exact replays per batch, of clear violations and of those at zero each
UNDEFINED = (
    "a quotient by 0, log, sqrt or tan outside its domain, or atan2(0, 0); begin elsewhere, or say what is meant there"
)


class FailingPaths:
    """Paths of a system on which a goal is false, judged by `window`: the goal, or what of it a prefix can refute."""

    patience = RUN_PATIENCE

    def __init__(self, question: Question, goal: Formula, window: Formula, budget: Budget) -> None:
        self.question, self.goal, self.budget = question, goal, budget
        reach = horizon(window)
        assert reach is not None
        # A formula that only the end of a path can refute still needs a path.
        steps = reach if says_something(window) or horizon(goal) is not None else WINDOW
        self.rows = batch_size(question.model, steps)
        self.simulator = StepSimulator(question.model, steps)
        self.target = Target(question.model, goal, window)
        self.replayed = self.at_zero = self.undefined = 0

    def margins(self, runs: Runs) -> Floats:
        """The margin of the goal on each run."""
        self.undefined += int(runs.undefined.sum())
        return self.target.margins(runs)

    def confirmed(self, plan: Plan, runs: Runs, margins: Floats) -> Trace | None:
        """Replay the best few clear violations, then a few at zero: exact arithmetic tells these apart."""
        slack = TOLERANCE * (1 + _size(runs))
        clear = np.flatnonzero(margins < -slack)
        zero = (
            np.flatnonzero(np.abs(margins) <= slack)
            if self.at_zero < 6 * MAX_REPLAYS_PER_BATCH
            else np.empty(0, np.intp)
        )
        self.at_zero += min(len(zero), MAX_REPLAYS_PER_BATCH)
        for rows in (clear, zero):
            for row in rows[np.argsort(margins[rows], kind="stable")][:MAX_REPLAYS_PER_BATCH]:
                self.budget.check()
                self.replayed += 1
                trace = self._lifted(runs, int(row), clear=rows is clear)
                if trace is not None:
                    return trace
        return None

    def _lifted(self, runs: Runs, row: int, clear: bool) -> Trace | None:
        """The run as an exact violation; a clear one may be rounded to numbers one can read."""
        short = violation(runs, row, self.goal, self.budget.check, short=True) if clear else None
        return short or violation(runs, row, self.goal, self.budget.check)

    def missed(self, simulated: int) -> str:
        """Why nothing was found."""
        what = "witness" if self.question.claim.mentions_some else "violation"
        reason = f"no {what} found in {simulated:,} runs of {self.simulator.steps} steps"
        if self.undefined:
            reason += f"; in {self.undefined:,} of them a state is not defined: {UNDEFINED}"
        return reason

    def statistics(self, simulated: int) -> Statistics:
        """What was done."""
        return {"runs": simulated, "steps": self.simulator.steps, "replayed": self.replayed}


def batch_size(system: Model, length: int, cells: int = RUN_STEPS_PER_BATCH) -> int:
    """How many runs are simulated at once: one where nothing varies, few where only ties do, which are rare.

    Where memory is limited, no more than there is room for.
    """
    if not freedom(system):
        return 1
    only_ties = system.initial.is_point and all(isinstance(node, Argmax) for node in uncertain(system))
    numbers = (length + 1) * (sum(var.size for var in system.step.inputs) + len(system.step.names))  # of one run
    fit = numbers_at_once(MAX_RUNS * numbers) // max(1, numbers)
    return MIN_RUNS if only_ties else int(np.clip(cells // (length + 1), MIN_RUNS, np.clip(fit, MIN_RUNS, MAX_RUNS)))


def _size(runs: Runs) -> Floats:
    """The largest number of each run: what rounding is relative to."""
    largest = np.zeros(runs.plan.runs)
    for values in runs.state.values():
        finite = np.where(np.isfinite(values), np.abs(values), 0)
        largest = np.maximum(largest, finite.max(axis=1))
    return largest
