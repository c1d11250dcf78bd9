"""All paths of a case from one initial state of integers and labels, in exact arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vernal.evidence.replay import NodeDecisions
from vernal.model import build
from vernal.model.expr import Argmax, Between, Choose, Occurrence
from vernal.model.graph import decisions
from vernal.model.initial import Valuation
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.finite.choices import Decider
from vernal.sets.finite.columns import Columns
from vernal.sets.finite.points import Points, RowBatch
from vernal.sets.finite.size import is_discrete
from vernal.sets.refutation import Case


class StartStates:
    """Initial states of a discrete system that a solver proposes, looked at one by one."""

    def __init__(self, system: System, case: Case, budget: Budget) -> None:
        self.system = system
        self.condition = build.conj(*system.init.where, case.condition)
        self.columns = Columns(system.step.inputs)
        self.points = Points(self.columns, budget.check)
        self.decider = Decider(self.points, [self.condition])

    def failing(self, state: Valuation) -> dict[Occurrence, int] | None:
        """Decisions on a path of the case from this state; None where there is none. May raise `NotFinite`."""
        codes = [self.columns.code(value, var.sort) for var in self.system.step.inputs for value in state[var]]
        start = RowBatch(np.array([codes], np.int64), {})
        for batch, _ in self.decider.combinations(start):
            (true,) = self.points.truths([self.condition], batch)
            for row in np.flatnonzero(true)[:1]:
                made = {node: max(int(taken[row]), 0) for node, taken in batch.taken.items()}
                return {node.occurrence: number for node, number in made.items() if isinstance(node, Choose | Argmax)}
        return None

    def decisions(self, taken: dict[Occurrence, int], steps: int) -> list[NodeDecisions]:
        """The decisions as those of the step, at each position; where nothing depends on one, its first option."""
        names = self.system.step.names
        return [{node: taken.get(replace(node.occurrence, step=t), 0) for node in names} for t in range(steps + 1)]


def is_finite(system: System, case: Case) -> bool:
    """Whether states are discrete, and every draw that a case depends on is a choice."""
    return is_discrete(system) and not any(isinstance(node, Between) for node in decisions([case.condition]))
