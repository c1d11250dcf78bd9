"""Batches of states of a JANI model with one automaton, in numpy: for training, success rates and as a second opinion.

It is written apart from the reader of the package on purpose: where both agree, neither misreads the models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ppa.jani import Json

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Values = NDArray[Any]
Compiled = Callable[[Ints], Values]  # a column for each variable, and one for the location

OPERATORS: Mapping[str, Callable[[Values, Values], Values]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "=": np.equal,
    "≠": np.not_equal,
    "≤": np.less_equal,
    "<": np.less,
    "≥": np.greater_equal,
    ">": np.greater,
    "∧": np.logical_and,
    "∨": np.logical_or,
}


@dataclass(frozen=True)
class Operator:
    """What an edge does: where it leaves from, its guard, and the columns it sets."""

    label: str | None
    source: int
    guard: Compiled
    assigned: Sequence[tuple[int, Compiled]]
    target: int


@dataclass(frozen=True)
class Successors:
    """Next states, and for each the row of its source and the number of its operator."""

    source: Ints
    operator: Ints
    states: Ints


class Simulator:
    """The states of a model as rows of integers: its variables in order, and at the end its location."""

    def __init__(self, declaration: Json) -> None:
        (automaton,) = declaration["automata"]
        self.names: list[str] = [variable["name"] for variable in declaration["variables"]]
        self.columns = {name: number for number, name in enumerate(self.names)}
        self.locations = [location["name"] for location in automaton["locations"]]
        self.lower, self.upper = np.array([_range(variable["type"]) for variable in declaration["variables"]]).T
        initial = [int(variable["initial-value"]) for variable in declaration["variables"]]
        (location,) = automaton["initial-locations"]
        self.initial: Ints = np.array([*initial, self.locations.index(location)])
        self.labels: list[str] = [action["name"] for action in declaration["actions"]]
        self.operators = [
            self._operator(edge, destination) for edge in automaton["edges"] for destination in edge["destinations"]
        ]

    def _operator(self, edge: Json, destination: Json) -> Operator:
        guard = self.compile(edge.get("guard", {"exp": True})["exp"])
        assigned = [(self.columns[one["ref"]], self.compile(one["value"])) for one in destination["assignments"]]
        source, target = (self.locations.index(place) for place in (edge["location"], destination["location"]))
        return Operator(edge.get("action"), source, guard, assigned, target)

    def compile(self, expression: Json) -> Compiled:
        """The values of an expression at a batch of states."""
        match expression:
            case bool() | int():
                return lambda states: np.full(len(states), expression)
            case str():
                column = self.columns[expression]
                return lambda states: states[:, column]
            case {"op": "¬", "exp": inner}:
                condition = self.compile(inner)
                return lambda states: np.logical_not(condition(states))
            case {"op": op, "left": left, "right": right}:
                function, first, second = OPERATORS[op], self.compile(left), self.compile(right)
                return lambda states: function(first(states), second(states))
        raise ValueError(f"the simulator does not know {expression!r}")

    def holds(self, expression: Json, states: Ints) -> Bools:
        return self.compile(expression)(states).astype(bool)

    def column(self, name: str) -> int:
        return self.columns[name]

    # Moving -----------------------------------------------------------------------------------------------------------

    def successors(self, states: Ints, chosen: Ints | None = None) -> Successors:
        """By all operators, or by those whose label is chosen (numbers of labels) and the silent ones."""
        rows: list[Ints] = [np.empty(0, np.int64)]
        numbers: list[Ints] = [np.empty(0, np.int64)]
        reached: list[Ints] = [np.empty((0, states.shape[1]), np.int64)]
        for number, operator in enumerate(self.operators):
            here = self._enabled(operator, states, chosen)
            after = self._apply(operator, states[here])
            kept = self.in_range(after)
            rows.append(here[kept])
            numbers.append(np.full(int(kept.sum()), number))
            reached.append(after[kept])
        return Successors(np.concatenate(rows), np.concatenate(numbers), np.concatenate(reached))

    def _enabled(self, operator: Operator, states: Ints, chosen: Ints | None) -> Ints:
        at_source = states[:, -1] == operator.source
        if chosen is not None and operator.label is not None:
            at_source &= chosen == self.labels.index(operator.label)
        here = np.flatnonzero(at_source)
        found: Ints = here[operator.guard(states[here]).astype(bool)]
        return found

    def _apply(self, operator: Operator, states: Ints) -> Ints:
        after = states.copy()
        for column, value in operator.assigned:
            after[:, column] = value(states)
        after[:, -1] = operator.target
        return after

    def in_range(self, states: Ints) -> Bools:
        inside: Bools = ((states[:, :-1] >= self.lower) & (states[:, :-1] <= self.upper)).all(axis=1)
        return inside

    def applicable(self, states: Ints) -> Bools:
        """For each state and label, whether an operator with that label can be taken."""
        found = np.zeros((len(states), len(self.labels)), dtype=bool)
        for operator in self.operators:
            if operator.label is not None:
                found[self._enabled(operator, states, None), self.labels.index(operator.label)] = True
        return found

    def after(self, states: Ints, operators: Ints) -> Ints:
        """Each state by its own operator, which is enabled there."""
        following = states.copy()
        for number in np.unique(operators):
            rows = operators == number
            following[rows] = self._apply(self.operators[number], states[rows])
        return following

    # Starting ---------------------------------------------------------------------------------------------------------

    def states(self, start: Json) -> Ints:
        """The states of an explicit list, or all those that satisfy a condition, where variables are few."""
        if start["op"] == "states-values":
            return np.array([self._listed(entry["variables"]) for entry in start["values"]])
        spans = [range(low, high + 1) for low, high in zip(self.lower, self.upper, strict=True)]
        every = np.array([[*values, self.initial[-1]] for values in product(*spans)])
        return every[self.holds(start["exp"], every)]

    def _listed(self, entries: Json) -> Ints:
        state = self.initial.copy()
        for entry in entries:
            state[self.columns[entry["var"]]] = int(entry["value"])
        return state


def _range(kind: Json) -> tuple[int, int]:
    return (0, 1) if kind == "bool" else (kind["lower-bound"], kind["upper-bound"])
