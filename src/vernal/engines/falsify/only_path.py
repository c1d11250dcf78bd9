"""The only path of a loop, followed in exact numbers to where it fails, however late.

Where rounding errors grow, a simulated run is soon another path than the exact one. Both come by the same kinds of
states, though not at the same time: if runs from next to the start fail, the exact path may fail, too, and only exact
numbers tell whether and when.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np

from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Candidate
from vernal.evidence.trace import Trace
from vernal.evidence.uniqueness import forced_decisions, uncertain
from vernal.evidence.walk import BITS_PER_STEP
from vernal.logic.formula import Formula
from vernal.model.expr import Between, Choose
from vernal.model.sorts import REAL
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.simulate.runs import Plan

NEXT_TO = 1e-12  # about as far from the start as rounding leads after a few steps


@dataclass(frozen=True)
class OnlyPath:
    """A system that starts at one point and has nothing to choose, and what is claimed of its path."""

    system: System
    claimed: Formula
    budget: Budget

    @classmethod
    def of(cls, system: System, claimed: Formula, budget: Budget) -> OnlyPath | None:
        """The only path of a system; None where it has several."""
        several = any(isinstance(node, Choose | Between) for node in uncertain(system))
        return None if several or not system.initial.is_point else cls(system, claimed, budget)

    def nearby(self, plan: Plan, runs: int) -> Plan:
        """Runs from next to the start, the first of them from the start."""
        rng = np.random.default_rng(self.budget.seed)
        made = plan.rows(np.zeros(runs, dtype=np.intp))
        first = {}
        for var, array in made.first.items():
            moved = array + NEXT_TO * rng.standard_normal(array.shape) * (var.sort == REAL)
            first[var] = np.concatenate([array[:1], moved[1:]])
        return Plan(first, made.decisions)

    def failing(self, widths: Iterable[int]) -> Trace | None:
        """The path as far as its first failure within so many steps; None where it has none."""
        first, memory = self.system.pack(self.system.initial.first)
        taken = forced_decisions(self.system)
        for width in widths:
            self.budget.progress(f"following the only path for {width:,} steps", None)
            path = Candidate(first, memory, [taken] * (width + 1), width)
            bits = ceil(BITS_PER_STEP * width)
            trace = refuting_path(self.system, path, self.claimed, self.budget.check, precision=bits)
            if trace is not None:
                return trace
        return None
