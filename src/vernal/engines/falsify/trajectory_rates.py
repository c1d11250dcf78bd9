"""Which of many simulated trajectories break a property: how many, and one of them enclosed."""

from __future__ import annotations

import numpy as np

from vernal.engines.falsify.failure_rates import CONFIRMATION_SECONDS, MAX_LIFTED, RunShare
from vernal.engines.falsify.timed_target import TimedTarget
from vernal.engines.falsify.trajectories import enclosed
from vernal.errors import Stopped
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Eventually
from vernal.logic.normal import order
from vernal.logic.printing import text
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.trajectories import TrajectorySimulator


def share_of_trajectories(
    question: Question, simulator: TrajectorySimulator, plan: Plan, runs: Runs, budget: Budget
) -> RunShare:
    """Which of the trajectories break the formula; those that are followed for too short a time say less."""
    target = TimedTarget(question)
    margins = target.margins(runs) if _is_seen(question, simulator) else np.full(len(runs.lengths), np.inf)
    failing = np.flatnonzero(margins < 0)
    keeping = len(margins) - len(failing) if question.claim.last_time <= simulator.time else 0
    trace = _confirmed(question, target, simulator, plan, margins, budget.part(1.0, CONFIRMATION_SECONDS))
    written = text(question.formula)
    return RunShare(question.name, written, len(margins), True, tuple(failing.tolist()), keeping, trace)


def _is_seen(question: Question, simulator: TrajectorySimulator) -> bool:
    """Whether a trajectory may be said to fail: what has to come true may do so as long as there is time for it."""
    waits = (node.bound.upper for node in order(question.claim.normal) if isinstance(node, Eventually))
    return all(end is not None and end <= simulator.time for end in waits)


def _confirmed(
    question: Question, target: TimedTarget, simulator: TrajectorySimulator, plan: Plan, margins: Floats, budget: Budget
) -> Trace | None:
    """One of those that fail most clearly; None where that would take long, or none is confirmed."""
    failing = np.flatnonzero(margins < 0)
    try:
        for row in failing[np.argsort(margins[failing], kind="stable")][:MAX_LIFTED]:
            for short in (True, False):
                one = plan.rows(np.array([row]))
                found = enclosed(question, target, simulator, one, budget, short=short)
                if found is not None:
                    return found
    except Stopped:
        return None
    return None
