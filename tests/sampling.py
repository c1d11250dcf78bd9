"""The oracle where draws are real and steps are bent: thousands of runs, the worst of them bred, and exact replay.

A sampled run is a float run. It refutes an answer once it has been lifted to an exact path, or to an enclosed one;
a run so far below zero that no rounding explains it refutes the answer by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from vernal.engines.falsify.search import Population, children, first_plan
from vernal.evidence import confirm
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import horizon, quantifiers, strip_quantifiers
from vernal.model.system import Init, OneOf, System
from vernal.simulate.lift import violation
from vernal.simulate.runs import Runs, StepSimulator
from vernal.simulate.starts import NoInitialState
from vernal.simulate.targets import Target

RUNS = 3000
GENERATIONS = 4
BRED = 1000
SLACK = 1e-7  # of a float run, in proportion to its largest number
LIFTED = 3  # candidates that are lifted


@dataclass(frozen=True)
class Sample:
    """Runs of a system with their margins, the worst first looked for."""

    system: System
    path: Formula  # without quantifiers
    seed: int

    @cached_property
    def batches(self) -> list[tuple[Runs, np.ndarray]]:
        reach, rng = horizon(self.path), np.random.default_rng(self.seed)
        assert reach is not None
        simulator, target = StepSimulator(self.system, reach), Target(self.system, self.path, self.path)
        made: list[tuple[Runs, np.ndarray]] = []
        with np.errstate(all="ignore"):
            plan = first_plan(self.system, RUNS, reach, rng)
            population = Population(plan.rows(np.arange(0)), np.empty(0))
            for _ in range(GENERATIONS + 1):
                runs = simulator.run(plan)
                made.append((runs, target.margins(runs)))
                population = population.merge(plan, made[-1][1])
                plan = children(self.system, population.plan, BRED, reach, rng)
        return made

    @property
    def least(self) -> float:
        """The least margin that was met."""
        return min(float(margins.min(initial=np.inf)) for _, margins in self.batches)

    @cached_property
    def slack(self) -> float:
        """What rounding can do to a margin, generously."""
        sizes = [float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for runs, _ in self.batches for v in _numbers(runs)]
        return SLACK * (1 + max(sizes))

    @cached_property
    def refuted(self) -> Trace | None:
        """An exact path on which the formula is false."""
        for runs, margins in self.batches:
            for row in np.argsort(margins, kind="stable")[:LIFTED]:
                if margins[row] <= self.slack:
                    trace = violation(runs, int(row), self.path)
                    if trace is not None:
                        return trace
        return None


def _numbers(runs: Runs) -> list[np.ndarray]:
    return [*runs.state.values(), *runs.memory.values(), *runs.actions.values()]


class Oracle:
    """What samples say about the answers to one question."""

    def __init__(self, system: System, formula: Formula, seed: int) -> None:
        self.system, self.formula, self.seed = system, formula, seed
        self.path = strip_quantifiers(formula)
        self.kinds = quantifiers(formula)

    @cached_property
    def sample(self) -> Sample:
        return Sample(self.system, self.path, self.seed)

    def problem(self, result: Result) -> str | None:
        """What is wrong with an answer, as far as samples can tell."""
        try:
            if result.verdict is HOLDS and Quantifier.SOME not in self.kinds:
                return self._not_kept(result)
            if result.verdict is VIOLATED and self.kinds == {Quantifier.SOME}:
                return self._not_violated(result)
        except NoInitialState:
            return None
        if result.verdict is VIOLATED and Quantifier.SOME not in self.kinds:
            return self._wrong_margin(result)
        assert result.verdict is not UNKNOWN
        return None

    def _not_kept(self, result: Result) -> str | None:
        if self.sample.refuted is not None:
            return f"holds, but not on a path that starts in {self.sample.refuted.steps[0].state}"
        if self.sample.least < -self.sample.slack:
            return f"holds, but a run has the margin {self.sample.least}"
        if result.margin is not None and result.margin > self.sample.least + self.sample.slack:
            return f"a certified margin of {result.margin}, but a run has {self.sample.least}"
        return None

    def _not_violated(self, result: Result) -> str | None:
        """A claim of some path is false at the state that is shown: no path from there may satisfy it."""
        assert result.trace is not None
        first = result.trace.steps[0].state
        starts = {name: OneOf((value,)) for name, value in first.items() if isinstance(value, Fraction)}
        if len(starts) < len(first) or any(agent.slots for agent in self.system.agents):
            return None
        alone = self.system.starting(Init(starts, self.system.init.where))
        witness = Sample(alone, Not(self.path), self.seed).refuted
        return None if witness is None else "violated, but a path from the state shown satisfies it"

    def _wrong_margin(self, result: Result) -> str | None:
        assert result.trace is not None
        replayed = confirm.margin(result.trace, self.path, self.system)
        if result.margin is None or replayed is None:
            return None
        same = math.isclose(result.margin, replayed, rel_tol=1e-9, abs_tol=1e-12)
        return None if same and result.margin <= 0 else f"the margin is {replayed}, not {result.margin}"
