"""Concrete states in batches: where operators lead from them, and which of them are unsafe.

A search for an unsafe path follows concrete states as long as the abstraction says that an unsafe state may still come.
It begins with all initial states if they are few, and then what it does not find does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from vernal.engines.predicates.boxes import IntegerArray, IntegerBoxes
from vernal.engines.predicates.integer_model import OperatorModel, PlanOperator
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds, Selection
from vernal.evidence.knowledge import Candidate
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.expr import Expr
from vernal.sets.finite.points import RowBatch


class Successors(NamedTuple):
    """From which of some states which operator leads where."""

    origin: IntegerArray
    operator: IntegerArray
    states: Floats

    def take(self, rows: IntegerArray) -> Successors:
        """Some of them."""
        return Successors(self.origin[rows], self.operator[rows], self.states[rows])


@dataclass(frozen=True, slots=True)
class PathStep:
    """An operator that is taken at a state."""

    state: Floats
    operator: int


@dataclass(frozen=True)
class ConcretePath:
    """States and operators up to a last state."""

    steps: tuple[PathStep, ...]
    last: Floats

    def candidate(self, model: OperatorModel) -> Candidate:
        """The path as decisions, to be replayed."""
        first = self.steps[0].state if self.steps else self.last
        values: dict[Expr, tuple[Fraction, ...]] = {
            var: (value,) for var, value in zip(model.variables, model.exact(first), strict=True)
        }
        names = model.system.step.names
        decisions = [
            {names[node]: number for node, number in model.operators[step.operator].source.decisions.items()}
            for step in self.steps
        ]
        defaults = dict.fromkeys(names.values(), 0)
        return Candidate(
            *model.system.pack(values), [*({**defaults, **own} for own in decisions), defaults], len(decisions)
        )


class ConcreteStates:
    """Successors of states, and whether they are unsafe, exactly."""

    def __init__(self, model: OperatorModel, policy: PolicyBounds) -> None:
        self.model, self.policy = model, policy
        self._guards = [operator.guard for operator in model.operators]

    def satisfying(self, question: PointQuestion, states: Floats) -> Mask:
        """Which states satisfy conditions and a selection."""
        must, _ = self.model.judge.decide(question.conditions, IntegerBoxes.points(states))
        found: Mask = np.asarray(must.all(axis=1))
        rows = np.flatnonzero(found)
        if question.selection is not None and len(rows):
            found[rows] = self.policy.says(question.selection, states[rows])
        return found

    def unsafe(self, states: Floats) -> Mask:
        """Which states are unsafe."""
        found = np.zeros(len(states), bool)
        for way in self.model.unsafe:
            found |= self.satisfying(way, states)
        return found

    def successors(self, states: Floats) -> Successors:
        """Every transition from some states."""
        taken, _ = self.model.judge.decide(self._guards, IntegerBoxes.points(states))
        says: dict[Selection | None, Mask] = {None: np.ones(len(states), bool)}
        parts: list[Successors] = []
        for number, operator in enumerate(self.model.operators):
            rows = np.flatnonzero(taken[:, number])
            selection = operator.selection
            if len(rows) and selection is not None and selection not in says:
                says[selection] = self.policy.says(selection, states)
            rows = rows[says[selection][rows]] if len(rows) else rows
            if len(rows):
                parts.append(Successors(rows, np.full(len(rows), number), self.after(operator, states[rows])))
        if not parts:
            nothing = np.zeros(0, np.int64)
            return Successors(nothing, nothing, states[:0])
        return Successors(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def after(self, operator: PlanOperator, states: Floats) -> Floats:
        """Where an operator leads."""
        found = states.copy()
        variables = list(operator.source.updates)
        codes = self.policy.points.codes(
            list(operator.source.updates.values()), variables, RowBatch(states.astype(np.int64), {})
        )
        for var in variables:
            column = self.model.table.columns[var]
            found[:, column] = codes[:, column]
        return found


@dataclass(eq=False)
class StateGraph:
    """States met so far, each once, with the transitions between them and where they came from."""

    states: list[Floats] = field(default_factory=list)
    edges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # to a state: from which, by which operator
    numbers: dict[bytes, int] = field(default_factory=dict)

    def enter(self, state: Floats) -> tuple[int, bool]:
        """The number of a state, and whether it is new."""
        key = state.tobytes()
        known = self.numbers.get(key)
        if known is not None:
            return known, False
        self.numbers[key] = len(self.states)
        self.states.append(state)
        return len(self.states) - 1, True

    def paths_to(self, ends: Sequence[int]) -> dict[int, tuple[int, int]]:
        """From every state that can reach one of the ends, the operator and the state that come next on a shortest way.

        An end has itself, by no operator.
        """
        following = {end: (-1, end) for end in ends}
        waiting = list(ends)
        for state in waiting:  # grows on the way
            for before, operator in self.edges.get(state, ()):
                if before not in following:
                    following[before] = operator, state
                    waiting.append(before)
        return following

    def path(self, first: int, following: dict[int, tuple[int, int]]) -> ConcretePath:
        """The way from a state."""
        steps = []
        while following[first][0] >= 0:
            operator, after = following[first]
            steps.append(PathStep(self.states[first], operator))
            first = after
        return ConcretePath(tuple(steps), self.states[first])
