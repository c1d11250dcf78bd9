"""Which of many simulated trajectories break a property: how many, and one of them enclosed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.evidence.trace import Trace
from vernal.logic.formula import Eventually
from vernal.logic.normal import order
from vernal.logic.question import Question
from vernal.logic.times import Time, is_plain
from vernal.model.lazy import cached_property
from vernal.model.tick import Tick
from vernal.run.budget import Budget
from vernal.simulate.enclosed_runs import enclosed
from vernal.simulate.runs import Plan, Runs
from vernal.simulate.timed_targets import TARGETS, TrajectoryTarget
from vernal.simulate.trajectories import TrajectorySimulator


@dataclass(frozen=True)
class TrajectoryJudge:
    """Trajectories, in seconds or over samples: judged by margins, and enclosed."""

    question: Question
    simulator: TrajectorySimulator
    plan: Plan

    @cached_property
    def target(self) -> TrajectoryTarget:
        """The margins of the claim."""
        return TARGETS[self.question.time](self.question)

    def verdicts(self, runs: Runs, tick: Tick) -> tuple[Sequence[int], int]:
        """Those that fail, the clearest first; those that are followed for too short a time say less."""
        whole, sampled = self._is_whole, self.question.time is Time.SAMPLES
        if not (whole if sampled else self._is_seen):
            return [], 0
        margins = self.target.margins(runs)
        failing = np.flatnonzero(margins < 0)
        bounded = not sampled or self.question.claim.horizon is not None
        keeping = len(margins) - len(failing) if whole and bounded else 0
        return failing[np.argsort(margins[failing], kind="stable")].tolist(), keeping

    @property
    def _is_whole(self) -> bool:
        """Whether trajectories are followed as long as the claim looks."""
        return max(self.target.instants, default=0) <= self.simulator.time

    @property
    def _is_seen(self) -> bool:
        """Whether a trajectory may be said to fail: what has to come true may do so as long as there is time for it."""
        if not is_plain(self.question.claim.normal):
            return self._is_whole
        waits = (node.bound.upper for node in order(self.question.claim.normal) if isinstance(node, Eventually))
        return all(end is not None and end <= self.simulator.time for end in waits)

    def confirmed(self, runs: Runs, row: int, budget: Budget, *, short: bool) -> Trace | None:
        """The trajectory, enclosed."""
        one = self.plan.rows(np.array([row]))
        return enclosed(self.question, self.target, self.simulator, one, budget, short=short)
