"""Bounded model checking as a competitor: is there an unsafe path of 0, 1, 2, ... steps? One growing Z3 query.

As in the ICAPS 2022 paper (section 8.2), with a copy of the network for every step. It reads the JANI files itself, so
that it is a second opinion about short paths, too. Needs the extra `smt`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import z3

from benchmarks.ppa.jani import Instance, Json
from benchmarks.ppa.policy import Policy, digits

Term = Any  # of z3, which has no types
State = dict[str, Term]
HERE = " location"  # the location's place in a state; no variable has a name like that


@dataclass(frozen=True)
class Bounded:
    """The length of the shortest unsafe path, where one was found, and the greatest length that was answered."""

    unsafe: int | None
    checked: int | None
    seconds: float


def check(instance: Instance, policy: Policy, seconds: float) -> Bounded:
    """Step by step until a path is found or the time is over."""
    started = time.monotonic()
    solver, encoding = z3.Solver(), Encoding(instance.model.declaration, policy)
    state = encoding.state(0)
    solver.add(*encoding.ranges(state), encoding.start(instance.start, state))
    checked = None
    for length in range(10_000):
        answer = _ask(solver, encoding.term(instance.unsafe, state), seconds - (time.monotonic() - started))
        if answer == z3.unknown:
            break
        checked = length
        if answer == z3.sat:
            return Bounded(length, length, time.monotonic() - started)
        following = encoding.state(length + 1)
        solver.add(*encoding.ranges(following), *encoding.moves(state, following, length))
        state = following
    return Bounded(None, checked, time.monotonic() - started)


def _ask(solver: Term, condition: Term, left: float) -> Term:
    if left <= 0:
        return z3.unknown
    solver.set("timeout", max(int(1000 * left), 1))
    return solver.check(condition)


class Encoding:
    """States, transitions and decisions of a model with one automaton as terms."""

    def __init__(self, declaration: Json, policy: Policy) -> None:
        self.declaration, self.policy = declaration, policy
        (self.automaton,) = declaration["automata"]
        self.places = [location["name"] for location in self.automaton["locations"]]

    def state(self, step: int) -> State:
        found: State = {v["name"]: _variable(v, step) for v in self.declaration["variables"]}
        return {**found, HERE: z3.Int(f"{HERE} {step}")}

    def ranges(self, state: State) -> Iterator[Term]:
        yield z3.And(state[HERE] >= 0, state[HERE] < len(self.places))
        for variable in self.declaration["variables"]:
            if variable["type"] != "bool":
                kind, term = variable["type"], state[variable["name"]]
                yield z3.And(term >= kind["lower-bound"], term <= kind["upper-bound"])

    def start(self, start: Json, state: State) -> Term:
        here = state[HERE] == self.places.index(self.automaton["initial-locations"][0])
        if start["op"] == "state-condition":
            return z3.And(here, self.term(start["exp"], state))
        initial = {v["name"]: v["initial-value"] for v in self.declaration["variables"]}
        listed = [initial | {one["var"]: one["value"] for one in entry["variables"]} for entry in start["values"]]
        return z3.And(here, z3.Or(*(z3.And(*(state[n] == v for n, v in values.items())) for values in listed)))

    def term(self, expression: Json, state: State) -> Term:
        match expression:
            case bool():
                return z3.BoolVal(expression)
            case int():
                return z3.IntVal(expression)
            case str():
                return state[expression]
            case {"op": "¬", "exp": inner}:
                return z3.Not(self.term(inner, state))
            case {"op": op, "left": left, "right": right}:
                return OPERATORS[op](self.term(left, state), self.term(right, state))
        raise ValueError(f"bounded model checking does not know {expression!r}")

    def moves(self, state: State, following: State, step: int) -> Iterator[Term]:
        """A label of the highest score, and one of the edges that have it or are silent."""
        label = z3.Int(f" label {step}")
        yield from self._decision(state, label, step)
        edges = [(edge, one) for edge in self.automaton["edges"] for one in edge["destinations"]]
        yield z3.Or(*(self._edge(edge, one, state, following, label) for edge, one in edges))

    def _edge(self, edge: Json, destination: Json, state: State, following: State, label: Term) -> Term:
        values = {one["ref"]: self.term(one["value"], state) for one in destination["assignments"]}
        after = {**state, **values, HERE: z3.IntVal(self.places.index(destination["location"]))}
        taken = [label == self.policy.labels.index(edge["action"])] if "action" in edge else []
        guard = self.term(edge.get("guard", {"exp": True})["exp"], state)
        source = state[HERE] == self.places.index(edge["location"])
        return z3.And(source, guard, *taken, *(following[name] == value for name, value in after.items()))

    def _decision(self, state: State, label: Term, step: int) -> Iterator[Term]:
        """The network, a name for each of its numbers; ties are decided either way."""
        values = [z3.ToReal(state[name]) for name in self.policy.inputs]
        for number, (weight, bias) in enumerate(self.policy.layers):
            last = number == len(self.policy.layers) - 1
            names = [z3.Real(f" {step} {number} {row}") for row in range(len(bias))]
            sums = [_affine(row, one, values) for row, one in zip(weight, bias, strict=True)]
            yield from (
                name == (one if last else z3.If(one >= 0, one, 0)) for name, one in zip(names, sums, strict=True)
            )
            values = names
        yield z3.Or(*(z3.And(label == i, *(one >= other for other in values)) for i, one in enumerate(values)))


OPERATORS = {
    "+": lambda left, right: left + right,
    "=": lambda left, right: left == right,
    "≠": lambda left, right: left != right,
    "≤": lambda left, right: left <= right,
    "≥": lambda left, right: left >= right,
    "∧": lambda left, right: z3.And(left, right),
    "∨": lambda left, right: z3.Or(left, right),
}


def _variable(declared: Json, step: int) -> Term:
    make = z3.Bool if declared["type"] == "bool" else z3.Int
    return make(f"{declared['name']} {step}")


def _affine(row: np.ndarray[Any, Any], bias: float, values: Sequence[Term]) -> Term:
    """With the decimals that are written in the file."""
    parts = [z3.RealVal(digits(one)) * value for one, value in zip(row, values, strict=True)]
    return reduce(lambda left, right: left + right, parts, z3.RealVal(digits(bias)))
