"""Simulated runs over many more steps than sets of states can be followed: some claims fail late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vernal.engines.falsify.engine import MAX_RUN_STEPS, Falsify
from vernal.engines.falsify.only_path import OnlyPath
from vernal.engines.falsify.paths import TOLERANCE, batch_size
from vernal.engines.falsify.search import first_plan
from vernal.engines.refusals import in_steps
from vernal.evidence.knowledge import Counterexample, Known, Open
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.logic.normal import horizon
from vernal.logic.prefix import says_something
from vernal.logic.question import Question
from vernal.logic.shortening import weaker
from vernal.run.budget import Budget
from vernal.simulate.lift import violation
from vernal.simulate.runs import Runs, StepSimulator
from vernal.simulate.starts import NoInitialState
from vernal.simulate.targets import Target

SHORTEST = 100  # steps of the first batch, each of the next ones twice as long
RUN_STEPS_PER_BATCH = 100_000  # run-steps of one batch
FLOATS = "rounding errors grow along it until the exact path is another one"
NO_PREFIX = "not supported by this engine: no finite path decides this formula"


class FarRuns:
    """Batches of longer and longer runs, of a claim of all paths without a bound; none is bred further."""

    name = Falsify.name

    def __init__(self, steps: int) -> None:
        """How long the longest runs are."""
        self.steps = min(steps, MAX_RUN_STEPS)

    def takes(self, question: Question) -> str | None:
        """Claims of all paths that finite paths refute."""
        if in_steps(question) is not None or question.claim.mentions_some:
            return in_steps(question) or NO_PREFIX
        return None if says_something(weaker(question.claim.path, self.steps)) else NO_PREFIX

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A path that refutes the claim, or that none was found."""
        path = question.claim.path
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        simulated = 0
        alone = OnlyPath.of(question.system, path, budget)
        try:
            with np.errstate(all="ignore"):  # what overflows in floats is no candidate
                for width in self._widths():
                    batch = FarBatch(question, path, width, budget, alone)
                    simulated += batch.runs.plan.runs
                    steps = batch.fails_at()
                    if steps is None:
                        continue
                    trace = batch.path(steps) or self._exact(alone, width)
                    if trace is None:
                        reason = f"a simulated run fails after {steps:,} steps, but only in floating point: {FLOATS}"
                        return Open(engine=self.name, reason=reason)
                    return Counterexample(engine=self.name, trace=trace, statistics={"runs": simulated, "steps": width})
        except NoInitialState as error:
            return Open(engine=self.name, reason=f"no initial state was found: {error.message}")
        reason = f"no violation found in {simulated:,} runs of up to {self.steps:,} steps"
        return Open(engine=self.name, reason=reason, statistics={"runs": simulated, "steps": self.steps})

    def _exact(self, alone: OnlyPath | None, least: int) -> Trace | None:
        """The only path as far as it fails, where a run from its start or from next to it does."""
        return None if alone is None else alone.failing(width for width in self._widths() if width >= least)

    def _widths(self) -> Iterator[int]:
        width = SHORTEST
        while width < self.steps:
            yield width
            width *= 2
        yield self.steps


class FarBatch:
    """Runs that are judged by what of a claim so many steps can refute."""

    def __init__(
        self, question: Question, path: Formula, width: int, budget: Budget, alone: OnlyPath | None = None
    ) -> None:
        self.system, self.goal, self.width, self.budget = question.system, path, width, budget
        steps = self._steps(width)
        rng = np.random.default_rng(budget.seed)
        plan = first_plan(self.system, batch_size(self.system, steps, RUN_STEPS_PER_BATCH), steps, rng, budget.check)
        if alone is not None:
            plan = alone.nearby(plan, max(1, RUN_STEPS_PER_BATCH // max(steps, 1)))
        budget.progress(f"simulating {steps:,} steps", None)
        self.runs = StepSimulator(self.system, steps).run(plan, budget.check)

    def _steps(self, width: int) -> int:
        return horizon(weaker(self.goal, width)) or 0

    def _least(self, runs: Runs, width: int) -> tuple[int, float]:
        """The run with the least margin, of what so many steps can refute."""
        margins = Target(self.system, self.goal, weaker(self.goal, width)).margins(runs)
        row = int(np.argmin(margins))
        return row, float(margins[row])

    def fails_at(self) -> int | None:
        """After how many steps a run clearly fails; None where none does. It is kept as the one to be replayed."""
        row, margin = self._least(self.runs, self.width)
        if margin >= -TOLERANCE:
            return None
        plan = self.runs.plan.rows(np.array([row]))
        self.runs = StepSimulator(self.system, self.runs.steps).run(plan, self.budget.check)
        return min(self._steps(self._shortest(self.runs)), int(self.runs.lengths[0]) - 1)

    def path(self, steps: int) -> Trace | None:
        """The run that fails as an exact path on which the claim is false; None where it is none."""
        readable = [] if self.system.initial.is_point else [True]  # from elsewhere a long run would go elsewhere
        for short in (*readable, False):
            trace = violation(self.runs, 0, self.goal, self.budget.check, short=short, steps=steps)
            if trace is not None:
                return trace
        return None

    def _shortest(self, one: Runs) -> int:
        """How many steps of a run suffice to see that it fails."""
        low, high = 0, self.width  # high is enough, low is not
        while high - low > 1:
            self.budget.check()
            middle = (low + high) // 2
            low, high = (low, middle) if self._least(one, middle)[1] < -TOLERANCE else (middle, high)
        return high
