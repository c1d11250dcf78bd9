"""One search for a failing run, whatever the kind of time: simulate, confirm the promising, breed from the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vernal.engines.falsify.search import Population, children, first_plan
from vernal.evidence.knowledge import Statistics
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.run.budget import Budget
from vernal.simulate.runs import Plan, Runs, Simulator


@dataclass(frozen=True, slots=True)
class HuntPatience:
    """How often to breed from the best runs, and when to stop before: after so many generations without progress."""

    generations: int
    waits: int
    progress: float = 0.0  # of the margin, at least


class Quarry(Protocol):
    """What is hunted in one kind of time: runs of plans, how close each is to failing, and failing runs as evidence."""

    rows: int  # of a batch; one where nothing varies
    patience: HuntPatience

    @property
    def simulator(self) -> Simulator:
        """What makes runs of plans."""
        ...

    def margins(self, runs: Runs) -> Floats:
        """One number for each run, below zero where it seems to fail."""
        ...

    def confirmed(self, plan: Plan, runs: Runs, margins: Floats) -> Trace | None:
        """A run that fails, in exact numbers or enclosed; None where none is shown to."""
        ...

    def missed(self, simulated: int) -> str:
        """Why nothing was found in so many runs."""
        ...

    def statistics(self, simulated: int) -> Statistics:
        """What was done."""
        ...


class Hunt:
    """One search."""

    def __init__(self, quarry: Quarry, budget: Budget, generations: int | None = None) -> None:
        self.quarry, self.budget = quarry, budget
        self.generations = quarry.patience.generations if generations is None else generations
        self.rng = np.random.default_rng(budget.seed)
        self.simulated, self.best = 0, float("inf")

    def go(self) -> Trace | None:
        """The first run found that provably fails."""
        quarry, patience = self.quarry, self.quarry.patience
        model, columns = quarry.simulator.model, quarry.simulator.columns
        plan = first_plan(model, quarry.rows, columns, self.rng, self.budget.check)
        found, margins = self.batch(plan)
        if found is not None or quarry.rows == 1:
            return found
        population = Population(plan.rows(np.arange(0)), np.empty(0)).merge(plan, margins)
        waited = 0
        for generation in range(self.generations):
            self.budget.progress(f"searching, best margin {self.best:.4g}", generation / self.generations)
            before = self.best
            plan = children(model, population.plan, quarry.rows, columns, self.rng)
            found, margins = self.batch(plan)
            if found is not None:
                return found
            population = population.merge(plan, margins)
            waited = 0 if self.best < before - patience.progress * abs(before) else waited + 1
            if waited == patience.waits:
                break
        return None

    def batch(self, plan: Plan) -> tuple[Trace | None, Floats]:
        """Simulate a plan; the confirmed violation it contains, if any, and its margins."""
        self.budget.check()
        runs = self.quarry.simulator.run(plan, self.budget.check)
        margins = self.quarry.margins(runs)
        self.simulated += plan.runs
        self.best = min(self.best, float(margins.min(initial=np.inf)))
        return self.quarry.confirmed(plan, runs, margins), margins

    def statistics(self) -> Statistics:
        """What the search did."""
        made = self.quarry.statistics(self.simulated)
        return {**made, "best_margin": self.best} if np.isfinite(self.best) else made
