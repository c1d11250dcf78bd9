"""Bounded model checking as a competitor: is there an unsafe path of 0, 1, 2, ... steps? One growing Z3 query.

As in the ICAPS 2022 paper (section 8.2), with a copy of the network for every step. It reads the JANI files itself, so
that it is a second opinion about short paths, too. Needs the extra `smt`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import z3

from benchmarks.ppa.jani import Instance, Json
from benchmarks.ppa.policy import Policy, digits

Term = Any  # of z3, which has no types
State = dict[str, Term]
PACE = 0.1  # seconds between two looks at the clock
HERE = " location"  # the location's place in a state; no variable has a name like that


@dataclass(frozen=True)
class Bounded:
    """The length of the shortest unsafe path, where one was found, and the greatest length that was answered.

    Seconds are of the processor.
    """

    unsafe: int | None
    checked: int | None
    seconds: float


def check(instance: Instance, policy: Policy, seconds: float) -> Bounded:
    """Step by step until a path is found or so many seconds of the processor are over."""
    started = time.process_time()
    solver, encoding = z3.Solver(), Encoding(instance.model.declaration, policy)
    state, here = encoding.state(0), {encoding.first}
    solver.add(*encoding.ranges(state), encoding.start(instance.start, state))
    checked = None
    for length in range(10_000):
        answer = _ask(solver, encoding.term(instance.unsafe, state), started + seconds)
        if answer == z3.unknown:
            break
        checked = length
        if answer == z3.sat:
            return Bounded(length, length, time.process_time() - started)
        following = encoding.state(length + 1)
        solver.add(*encoding.ranges(following), *encoding.moves(state, following, length, here))
        state, here = following, encoding.after(here)
    return Bounded(None, checked, time.process_time() - started)


def _ask(solver: Term, condition: Term, until: float) -> Term:
    """Whether the condition can be met; Z3 counts by the clock, so it is interrupted by the time of the processor."""
    answered = threading.Event()

    def watch() -> None:
        while not answered.wait(PACE):
            if time.process_time() > until:
                solver.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    answer = solver.check(condition) if time.process_time() < until else z3.unknown
    answered.set()
    watcher.join()
    return answer


class Encoding:
    """States, transitions and decisions of a model with one automaton as terms."""

    def __init__(self, declaration: Json, policy: Policy) -> None:
        self.declaration, self.policy = declaration, policy
        (self.automaton,) = declaration["automata"]
        self.places = [location["name"] for location in self.automaton["locations"]]
        self.first = self.automaton["initial-locations"][0]

    def edges(self, here: Set[str]) -> list[tuple[Json, Json]]:
        """The edges that leave some locations, each with one of its destinations."""
        found = [edge for edge in self.automaton["edges"] if edge["location"] in here]
        return [(edge, one) for edge in found for one in edge["destinations"]]

    def after(self, here: Set[str]) -> set[str]:
        """The locations that may be reached from some by one edge."""
        return {one["location"] for _, one in self.edges(here)}

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
        here = state[HERE] == self.places.index(self.first)
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

    def moves(self, state: State, following: State, step: int, here: Set[str]) -> Iterator[Term]:
        """A label of the highest score, and one of the edges that have it or are silent.

        Only edges of locations that can be met at this step are written down, and the network where one has a label.
        """
        label, edges = z3.Int(f" label {step}"), self.edges(here)
        if any("action" in edge for edge, _ in edges):
            yield from self._decision(state, label, step)
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
