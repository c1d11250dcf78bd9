"""JANI models as plain data: expressions, variables, edges and whole models, in the fragment the family needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

Json = Any  # a value that json writes
Expression = int | bool | str | dict[str, Json]


# Expressions ----------------------------------------------------------------------------------------------------------


def binary(op: str, left: Expression, right: Expression) -> Expression:
    return {"op": op, "left": left, "right": right}


def eq(left: Expression, right: Expression) -> Expression:
    return binary("=", left, right)


def ne(left: Expression, right: Expression) -> Expression:
    return binary("≠", left, right)


def le(left: Expression, right: Expression) -> Expression:
    return binary("≤", left, right)


def ge(left: Expression, right: Expression) -> Expression:
    return binary("≥", left, right)


def plus(left: Expression, right: Expression) -> Expression:
    return binary("+", left, right)


def negate(condition: Expression) -> Expression:
    return {"op": "¬", "exp": condition}


def both(*conditions: Expression) -> Expression:
    """All of them; at least one is given."""
    return reduce(lambda left, right: binary("∧", left, right), conditions)


def either(*conditions: Expression) -> Expression:
    """One of them; at least one is given."""
    return reduce(lambda left, right: binary("∨", left, right), conditions)


def total(terms: Iterable[Expression]) -> Expression:
    return reduce(plus, terms)


# Models ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounded:
    """An integer variable with its range and initial value."""

    name: str
    lower: int
    upper: int
    initial: int

    @property
    def declaration(self) -> Json:
        kind = {"kind": "bounded", "base": "int", "lower-bound": self.lower, "upper-bound": self.upper}
        return {"name": self.name, "type": kind, "initial-value": self.initial}


@dataclass(frozen=True)
class Flag:
    """A Boolean variable, false at first."""

    name: str

    @property
    def declaration(self) -> Json:
        return {"name": self.name, "type": "bool", "initial-value": False}


@dataclass(frozen=True)
class Edge:
    """From a location to a location: a label (None is silent), a guard, and what is assigned."""

    label: str | None
    guard: Expression
    assigned: Mapping[str, Expression]
    source: str = "here"
    target: str = "here"

    @property
    def declaration(self) -> Json:
        assignments = [{"ref": name, "value": value} for name, value in self.assigned.items()]
        label = {} if self.label is None else {"action": self.label}
        guard = {} if self.guard is True else {"guard": {"exp": self.guard}}
        destination = {"location": self.target, "assignments": assignments}
        return {**label, "location": self.source, **guard, "destinations": [destination]}


@dataclass(frozen=True)
class Model:
    """One automaton; every label synchronises with itself."""

    name: str
    labels: Sequence[str]
    variables: Sequence[Bounded | Flag]
    edges: Sequence[Edge]
    locations: Sequence[str] = ("here",)  # the first is initial

    @property
    def declaration(self) -> Json:
        automaton = {
            "name": "world",
            "locations": [{"name": name} for name in self.locations],
            "initial-locations": [self.locations[0]],
            "edges": [edge.declaration for edge in self.edges],
        }
        syncs = [{"synchronise": [label], "result": label} for label in self.labels]
        return {
            "jani-version": 1,
            "name": self.name,
            "type": "lts",
            "actions": [{"name": label} for label in self.labels],
            "variables": [variable.declaration for variable in self.variables],
            "automata": [automaton],
            "system": {"elements": [{"automaton": "world"}], "syncs": syncs},
            "properties": [],
        }


# Instances ------------------------------------------------------------------------------------------------------------


def condition(expression: Expression) -> Json:
    return {"op": "state-condition", "exp": expression}


def values(states: Iterable[Mapping[str, int]]) -> Json:
    """An explicit list of states; variables that are not named have their initial values."""
    rows = [{"variables": [{"var": name, "value": value} for name, value in state.items()]} for state in states]
    return {"op": "states-values", "values": rows}


@dataclass(frozen=True)
class Instance:
    """A model with start, unsafe and goal conditions, what a policy may observe, and growing sets of predicates."""

    model: Model
    start: Json
    unsafe: Expression
    goal: Expression
    observed: Sequence[str]
    stages: Sequence[Sequence[Expression]]  # each with what it adds to those before
    costs: Sequence[str] = field(default=())  # observed by cost-aware policies only

    @property
    def predicates(self) -> list[list[Expression]]:
        """The sets of predicates, each containing those before it."""
        sets: list[list[Expression]] = []
        for added in self.stages:
            sets.append([*(sets[-1] if sets else []), *added])
        return sets

    @property
    def percentages(self) -> list[int]:
        """The size of each set relative to the last."""
        sizes = [len(found) for found in self.predicates]
        return [round(100 * size / sizes[-1]) for size in sizes]


SHORT = 120  # characters of a line
DEPTH = 4  # levels down to an edge, which is one line


def write_json(path: Path, value: Json) -> None:
    """One line for each edge, variable or state: short files that can still be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_lines(value, DEPTH) + "\n", encoding="utf-8")


def _lines(value: Json, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(flat) <= SHORT or not depth:
        return flat
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_lines(entry, depth - 1)}" for key, entry in value.items()]
        return "{" + ",\n".join(entries) + "}"
    return "[\n" + ",\n".join(_lines(entry, depth - 1) for entry in value) + "]"
