"""How many marked edges an automaton takes on simulated paths: a guess at the number that is to be proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.buchi import Automaton
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.simulate.runs import Runs, StepSimulator, random_plan

SIMULATED_RUNS = 64


@dataclass(frozen=True)
class MarkCount:
    """The most marked edges that are taken on a simulated path, and the step at which the last of them was."""

    most: int
    last: int


def marks_taken(system: System, automaton: Automaton, steps: int, budget: Budget) -> MarkCount:
    """Simulate paths, and follow all runs of the automaton on each: for every state the most marks on a way to it."""
    with np.errstate(all="ignore"):  # floats are for a guess only
        plan = random_plan(
            system, SIMULATED_RUNS, steps, np.random.default_rng(budget.seed), corners=True, tick=budget.check
        )
        return _count(StepSimulator(system, steps).run(plan, budget.check), automaton, budget)


def _count(runs: Runs, automaton: Automaton, budget: Budget) -> MarkCount:
    atoms = list(dict.fromkeys(atom for edge in automaton.edges for atom, _ in edge.literals))
    resolved = [runs.system.step.resolve(atom) for atom in atoms]
    count = np.full((len(runs.lengths), automaton.states), -np.inf)
    count[:, automaton.initial] = 0
    found = MarkCount(0, 0)
    for t in range(runs.steps):
        budget.check()
        values = concrete.evaluate(resolved, runs.inputs(t))
        truth = {atom: np.broadcast_to(value, len(count)) for atom, value in zip(atoms, values, strict=True)}
        count = _read(count, automaton, truth)
        count[runs.lengths <= t + 1] = -np.inf  # these paths have ended
        most = count.max(initial=0)
        if most > found.most:
            found = MarkCount(int(most), t + 1)
    return found


def _read(count: Floats, automaton: Automaton, truth: Mapping[Expr, NDArray[np.generic]]) -> Floats:
    """The most marks on a way to every state after one more position; minus infinity where there is no way."""
    after = np.full_like(count, -np.inf)
    for edge in automaton.edges:
        fits = np.ones(len(count), bool)
        for atom, positive in edge.literals:
            fits &= truth[atom].astype(bool) == positive
        taken = np.where(fits, count[:, edge.source] + bool(edge.marks), -np.inf)
        after[:, edge.target] = np.maximum(after[:, edge.target], taken)
    return after
