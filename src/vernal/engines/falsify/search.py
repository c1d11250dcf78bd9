"""Local search: populations of runs that move towards a smaller margin.

A candidate is a plan: where a run starts and every decision on its way. Children mix two good plans and change a few
coordinates: resampled, nudged, or moved to an end. Everything is done for the whole population at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vernal.evidence.uniqueness import uncertain
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Argmax, Between, Choose, Expr
from vernal.model.initial import Span
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.simulate.runs import Plan, random_plan
from vernal.simulate.starts import place, tie

ELITE = 40


def freedom(system: Model) -> int:
    """How many coordinates of a plan can really vary at the start and in one step."""
    free = sum(not start.is_point for _, _, start in system.initial.components())
    return free + len(uncertain(system))


@dataclass
class Population:
    """The best plans so far, with their margins."""

    plan: Plan
    margins: Floats

    def merge(self, plan: Plan, found: Floats) -> Population:
        """The best of both, equal margins only a few times: copies teach nothing."""
        together = np.concatenate([self.margins, found])
        ranks = np.argsort(together, kind="stable")
        copies = _occurrence(together[ranks])
        chosen = ranks[copies < 4][:ELITE]
        joined = Plan(
            {var: np.concatenate([array, plan.first[var]]) for var, array in self.plan.first.items()},
            {node: np.concatenate([array, plan.decisions[node]]) for node, array in self.plan.decisions.items()},
        )
        return Population(joined.rows(chosen), together[chosen])


def _occurrence(ordered: Floats) -> NDArray[np.intp]:
    """How many equal numbers stand before each number of an ordered array."""
    index = np.arange(len(ordered))
    fresh = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    return index - np.maximum.accumulate(np.where(fresh, index, 0))


def first_plan(system: Model, count: int, steps: int, rng: np.random.Generator, tick: Tick = idle) -> Plan:
    """Random plans to begin with; some keep each decision for the whole run, some draw only the ends of intervals."""
    plan = random_plan(system, count, steps, rng, corners=True, tick=tick)
    kind = rng.integers(0, 4, count)
    decided: dict[Choose | Between | Argmax, Floats] = {}
    for node, drawn in plan.decisions.items():
        constant = np.broadcast_to(drawn[:, :1], drawn.shape)
        made = np.where(_column(kind, drawn) % 2 == 1, constant, drawn)
        decided[node] = np.where(_column(kind, drawn) >= 2, np.round(made), made) if isinstance(node, Between) else made
    return Plan(plan.first, decided)


def children(system: Model, parents: Plan, count: int, steps: int, rng: np.random.Generator) -> Plan:
    """New plans from good ones."""
    mother, father = rng.integers(0, parents.runs, (2, count))
    # Some children differ from their mother in a coordinate or two, others in many.
    rate = rng.choice([0.5 / (steps + 1), 2.0 / (steps + 1), 0.1, 0.4], count)
    cross = np.where(rng.random(count) < 0.3, 0.5, 0.0)
    breed = _Breeder(mother, father, np.minimum(rate, 0.5), cross, rng)
    fresh = random_plan_unconstrained(system, count, steps, rng)
    limits = _limits(system)
    first = {var: breed(a, fresh.first[var], limits.get(var)) for var, a in parents.first.items()}
    decided = {
        node: breed(a, fresh.decisions[node], (0.0, 1.0) if isinstance(node, Between) else None)
        for node, a in parents.decisions.items()
    }
    return Plan(tie(system, first), decided)


def random_plan_unconstrained(system: Model, runs: int, steps: int, rng: np.random.Generator) -> Plan:
    """A random plan that need not satisfy the constraints on initial states."""
    return random_plan(system.starting(replace(system.init, where=())), runs, steps, rng)


def _limits(system: Model) -> dict[Expr, tuple[Floats, Floats] | tuple[float, float]]:
    """The ends of every initial interval of a real state variable."""
    limits: dict[Expr, tuple[Floats, Floats] | tuple[float, float]] = {}
    for var, _, start in system.initial.components():
        if isinstance(start, Span) and var.sort == REAL and not var.shape:
            lower, upper = (float(place(start, np.array([p]))[0]) for p in (0.0, 1.0))
            limits[var] = (lower, upper)
    return limits


@dataclass
class _Breeder:
    """One way of mixing and changing, for arrays of any shape."""

    mother: NDArray[np.intp]
    father: NDArray[np.intp]
    rate: Floats
    cross: Floats
    rng: np.random.Generator

    def __call__(
        self, parents: Floats, fresh: Floats, limits: tuple[Floats, Floats] | tuple[float, float] | None
    ) -> Floats:
        child = np.where(self._hit(parents, self.cross), parents[self.father], parents[self.mother])
        changed = np.where(self._hit(parents, self.rate), fresh, child)
        if limits is None:
            return changed
        lower, upper = limits
        scale = 10.0 ** -self.rng.uniform(0.5, 5, len(child))
        nudge = self.rng.normal(size=child.shape) * _column(scale, child) * (upper - lower)
        changed = np.where(self._hit(parents, self.rate), np.clip(child + nudge, lower, upper), changed)
        end = np.where(self.rng.random(child.shape) < 0.5, lower, upper)
        return np.where(self._hit(parents, self.rate / 2), end, changed)

    def _hit(self, parents: Floats, probability: Floats) -> NDArray[np.bool_]:
        shape = (len(self.mother), *parents.shape[1:])
        if len(shape) == 1:  # an initial value: one coordinate, so it is changed more often
            probability = np.maximum(probability, np.where(probability > 0, 0.25, 0.0))
        hit: NDArray[np.bool_] = self.rng.random(shape) < _column(probability, np.empty(shape))
        return hit


def _column(values: NDArray[Any], like: Floats) -> NDArray[Any]:
    return values.reshape(-1, *([1] * (like.ndim - 1)))
