"""Predicate abstractions by looking at every concrete state: slow, obvious, in rational arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TypeVar

from tests.brute import Brute, State
from tests.explicit_oracle import listed
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL
from vernal.model.system import System, Variable

T = TypeVar("T")
AbstractState = tuple[bool, ...]


def values_of(variable: Variable) -> list[Fraction]:
    """All values of a variable."""
    if variable.sort == BOOL:
        return [Fraction(0), Fraction(1)]
    assert variable.lower is not None
    assert variable.upper is not None
    return [Fraction(value) for value in range(int(variable.lower), int(variable.upper) + 1)]


def number_of_states(system: System) -> int:
    return prod(len(values_of(variable)) for variable in system.state)


@dataclass(frozen=True)
class AbstractAnswer:
    """The reachable part of an abstraction."""

    starts: frozenset[AbstractState]
    reachable: frozenset[AbstractState]
    transitions: frozenset[tuple[AbstractState, AbstractState]]
    unsafe: frozenset[AbstractState]


class PlanningOracle:
    """Every state of a planning system, its successors, and what is reached."""

    def __init__(self, system: System, unsafe: Expr) -> None:
        self.system, self.unsafe = listed(system), unsafe
        brute = Brute(self.system)
        count = len(system.state)
        self.states: list[State] = list(itertools.product(*map(values_of, system.state)))
        self.after = {
            state: {after[:count] for place in brute.positions(state) for after in brute.successors(place)}
            for state in self.states
        }
        self.starts = [state[:count] for state in brute.starts()]
        self.reachable = self._closure(set(self.starts), lambda state: self.after[state])

    @property
    def is_safe(self) -> bool:
        return not any(self.truths([self.unsafe], state)[0] for state in self.reachable)

    @staticmethod
    def _closure(first: Iterable[T], following: Callable[[T], Iterable[T]]) -> set[T]:
        seen, waiting = set(first), list(first)
        while waiting:
            for after in following(waiting.pop()):
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return seen

    def truths(self, conditions: Sequence[Expr], state: State) -> AbstractState:
        values: dict[Expr, Given] = dict(zip(self.system.step.state, state, strict=True))
        return tuple(bool(value) for value in exact.evaluate(list(conditions), values))

    def abstraction(self, predicates: Sequence[Expr]) -> AbstractAnswer:
        """The abstraction over some predicates, from the states themselves."""
        cell = {state: self.truths(predicates, state) for state in self.states}
        after: dict[AbstractState, set[AbstractState]] = {own: set() for own in cell.values()}
        for state, following in self.after.items():
            after[cell[state]].update(cell[one] for one in following)
        starts = {cell[state] for state in self.starts}
        reachable = self._closure(starts, lambda own: after[own])
        bad = {cell[state] for state in self.states if self.truths([self.unsafe], state)[0]}
        pairs = {(one, other) for one in reachable for other in after[one]}
        return AbstractAnswer(frozenset(starts), frozenset(reachable), frozenset(pairs), frozenset(bad & reachable))
