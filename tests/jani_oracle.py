"""Planning models explored naively: the JSON read literally, states as tuples, networks in fractions.

Nothing of Vernal is used here: no expressions, no networks, no reader. Slow, and meant to be obviously right.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

Json = Any
Valued = dict[str, Any]  # a state: by the name of a variable, or of an automaton for its location
State = tuple[tuple[str, Any], ...]  # the same, to be kept in sets

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: Fraction(x) / Fraction(y),
    "min": min,
    "max": max,
    "=": operator.eq,
    "≠": operator.ne,
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
    "∧": lambda x, y: x and y,
    "∨": lambda x, y: x or y,
    "⇒": lambda x, y: not x or y,
    "%": operator.mod,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "¬": operator.not_,
    "abs": abs,
    "sgn": lambda x: (x > 0) - (x < 0),
    "floor": math.floor,
    "ceil": math.ceil,
}


def value(expression: Json, names: Mapping[str, Any]) -> Any:
    """An expression at a state."""
    if isinstance(expression, bool | int | Fraction):
        return expression
    if isinstance(expression, float):
        return Fraction(str(expression))
    if isinstance(expression, str):
        return names[expression]
    match expression["op"]:
        case op if op in UNARY:
            return UNARY[op](value(expression["exp"], names))
        case "ite":
            return value(expression["then" if value(expression["if"], names) else "else"], names)
        case "let":
            inner = dict(names)
            for declared in expression["variables"]:
                inner[declared["name"]] = value(declared["value"], inner)
            return value(expression["expression"], inner)
        case "aa":
            return element(value(expression["exp"], names), value(expression["index"], names))
        case "av":
            return [value(one, names) for one in expression["elements"]]
        case "ac":
            numbers = range(value(expression["length"], names))
            return [value(expression["exp"], {**names, expression["var"]: number}) for number in numbers]
    return BINARY[expression["op"]](value(expression["left"], names), value(expression["right"], names))


def element(array: list[Any], index: int) -> Any:
    """The element with this number, of which there has to be one."""
    if not 0 <= index < len(array):
        raise IndexError(index)
    return array[index]


def elements(name: str, array: Any) -> dict[str, Any]:
    """What an array, or a single value, is in a state: a name for each element."""
    if not isinstance(array, list):
        return {name: array}
    return {key: one for number, part in enumerate(array) for key, one in elements(f"{name}[{number}]", part).items()}


@dataclass(frozen=True)
class Network:
    """A .nnet file in fractions: ReLU between layers, none at the end."""

    layers: list[tuple[list[list[Fraction]], list[Fraction]]]

    @classmethod
    def read(cls, file: Path) -> Network:
        lines = [line for line in file.read_text().splitlines() if line and not line.startswith("//")]
        rows = [[Fraction(float(word)) for word in line.split(",") if word.strip()] for line in lines]
        sizes = [int(size) for size in rows[1]]
        rest = iter(rows[7:])
        return cls(
            [
                ([next(rest) for _ in range(height)], [next(rest)[0] for _ in range(height)])
                for height in sizes[1 : int(rows[0][0]) + 1]
            ]
        )

    def __call__(self, inputs: Sequence[Any]) -> list[Fraction]:
        x = [Fraction(int(number)) for number in inputs]
        for number, (weights, biases) in enumerate(self.layers, start=1):
            x = [sum((w * y for w, y in zip(row, x, strict=True)), b) for row, b in zip(weights, biases, strict=True)]
            x = [max(y, Fraction(0)) for y in x] if number < len(self.layers) else x
        return x


@dataclass
class PlanningOracle:
    """A model, a policy and a PA property."""

    model: Json
    property: Json
    interface: Json | None = None
    network: Network | None = None
    filtered: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def constants(self) -> Valued:
        known: Valued = {}
        for entry in self.model.get("constants", []):
            known[entry["name"]] = self.given.get(entry["name"], None)
            if known[entry["name"]] is None:
                known[entry["name"]] = value(entry["value"], known)
        return known

    @cached_property
    def automata(self) -> list[Json]:
        by_name = {entry["name"]: entry for entry in self.model["automata"]}
        return [by_name[element["automaton"]] for element in self.model["system"]["elements"]]

    @cached_property
    def ranges(self) -> dict[str, list[Any]]:
        """All values of every variable; of an automaton, its locations."""
        found: dict[str, list[Any]] = {}
        for entry in self.model["variables"]:
            kind, names = entry["type"], [entry["name"]]
            if isinstance(kind, dict) and kind["kind"] == "array":
                names = list(elements(entry["name"], value(entry["initial-value"], self.constants)))
                while isinstance(kind, dict) and kind["kind"] == "array":
                    kind = kind["base"]
            for name in names:
                if kind == "bool":
                    found[name] = [False, True]
                else:
                    low, high = (value(kind[end], self.constants) for end in ("lower-bound", "upper-bound"))
                    found[name] = list(range(low, high + 1))
        for automaton in self.automata:
            found[automaton["name"]] = [location["name"] for location in automaton["locations"]]
        return found

    @cached_property
    def shapes(self) -> dict[str, Any]:
        """The initial value of each array."""
        arrays = (entry for entry in self.model["variables"] if isinstance(entry["type"], dict))
        arrays = (entry for entry in arrays if entry["type"]["kind"] == "array")
        return {entry["name"]: value(entry["initial-value"], self.constants) for entry in arrays}

    def names(self, state: Valued) -> Valued:
        return {**self.constants, **state, **{name: self.array(name, one, state) for name, one in self.shapes.items()}}

    def array(self, name: str, shape: Any, state: Valued) -> Any:
        """An array of a state."""
        if not isinstance(shape, list):
            return state[name]
        return [self.array(f"{name}[{number}]", part, state) for number, part in enumerate(shape)]

    def assigned(self, target: Json, given: Any, names: Valued) -> Valued:
        """What an assignment changes in a state."""
        behind = ""
        while isinstance(target, dict):
            behind = f"[{value(target['index'], names)}]{behind}"
            target = target["exp"]
        return elements(f"{target}{behind}", given)

    # Steps ------------------------------------------------------------------------------------------------------------

    def outcomes(self, state: Valued) -> list[tuple[str | None, Valued]]:
        """Every label with every state it may lead to, whatever the policy says."""
        found: list[tuple[str | None, Valued]] = []
        for label, edges in self._combinations(state):
            for destinations in itertools.product(*(edge["destinations"] for _, edge in edges)):
                if any(self._probability(one) <= 0 for one in destinations):
                    continue
                after = dict(state)
                for (automaton, _), one in zip(edges, destinations, strict=True):
                    after[automaton] = one["location"]
                    for assignment in one.get("assignments", []):
                        given = value(assignment["value"], self.names(state))
                        after |= self.assigned(assignment["ref"], given, self.names(state))
                if all(after[name] in known for name, known in self.ranges.items()):
                    found.append((label, after))
        return found

    def _combinations(self, state: Valued) -> Iterator[tuple[str | None, list[tuple[str, Json]]]]:
        for vector in self.model["system"].get("syncs", []):
            taking = [
                [(automaton["name"], edge) for edge in self._enabled(automaton, state) if edge.get("action") == action]
                for automaton, action in zip(self.automata, vector["synchronise"], strict=True)
                if action is not None
            ]
            for edges in itertools.product(*taking):
                yield vector.get("result"), list(edges)
        for automaton in self.automata:
            for edge in self._enabled(automaton, state):
                if edge.get("action") is None:
                    yield None, [(automaton["name"], edge)]

    def _enabled(self, automaton: Json, state: Valued) -> Iterator[Json]:
        for edge in automaton["edges"]:
            guard = edge.get("guard", {"exp": True})["exp"]
            if edge["location"] == state[automaton["name"]] and value(guard, self.names(state)):
                yield edge

    def _probability(self, destination: Json) -> Any:
        return value(destination.get("probability", {"exp": 1})["exp"], self.constants)

    def decisions(self, state: Valued) -> list[list[tuple[str | None, Valued]]]:
        """For every way the policy may decide, the outcomes that are left."""
        every = self.outcomes(state)
        if self.interface is None or self.network is None:
            return [every]
        labels = self.interface["output"]
        scores = dict(
            zip(labels, self.network([self._seen(item, state) for item in self.interface["input"]]), strict=True)
        )
        if self.filtered:
            applicable = [label for label in labels if any(own == label for own, _ in every)]
            best = max((scores[label] for label in applicable), default=None)
            chosen = [label for label in applicable if scores[label] == best]
            return [[one for one in every if one[0] not in labels or one[0] in chosen]]
        winners = [label for label in labels if scores[label] == max(scores.values())]
        return [[one for one in every if one[0] not in labels or one[0] == winner] for winner in winners]

    def _seen(self, item: Json, state: Valued) -> int:
        name = item["name"] if item["name"] in self.ranges else f"{item['name']}[{item['index']}]"
        found = state[name]
        return self.ranges[name].index(found) if isinstance(found, str) else int(found)

    # Questions --------------------------------------------------------------------------------------------------------

    def starts(self) -> list[State]:
        start = self.property["expression"].get("start")
        if start is None:
            return [state for state in self.all_states() if self._is_initial(dict(state))]
        if start["op"] == "states-values":
            return [self._listed(item) for item in start["values"]]
        return [state for state in self.all_states() if self.satisfies(dict(state), start)]

    def all_states(self) -> Iterator[State]:
        for values in itertools.product(*self.ranges.values()):
            yield tuple(zip(self.ranges, values, strict=True))

    def _is_initial(self, state: Valued) -> bool:
        written = {
            entry["name"]: entry["initial-value"] for entry in self.model["variables"] if "initial-value" in entry
        }
        usual: Valued = {}
        for name, first in written.items():
            usual |= elements(name, value(first, self.constants))
        for automaton in self.automata:
            usual[automaton["name"]] = automaton["initial-locations"][0]
        if any(state[name] != known for name, known in usual.items() if name not in self._places):
            return False
        if any(state[name] != usual[name] for name in self._places):
            return False
        restrictions = [
            part["restrict-initial"]["exp"] for part in (self.model, *self.automata) if "restrict-initial" in part
        ]
        return all(value(condition, self.names(state)) for condition in restrictions)

    @cached_property
    def _places(self) -> set[str]:
        return {automaton["name"] for automaton in self.automata}

    def _listed(self, item: Json) -> State:
        state: Valued = {}
        for entry in self.model["variables"]:
            state |= elements(entry["name"], value(entry["initial-value"], self.constants))
        state |= {automaton["name"]: automaton["initial-locations"][0] for automaton in self.automata}
        for pair in item["variables"]:
            state |= self.assigned(pair["var"], value(pair["value"], self.constants), self.constants)
        return tuple((name, state[name]) for name in self.ranges)

    def satisfies(self, state: Valued, condition: Json) -> bool:
        places = all(state[entry["automaton"]] == entry["location"] for entry in condition.get("locations", []))
        return places and bool(value(condition.get("exp", True), self.names(state)))

    def explore(self, most: int = 20_000) -> Explored:
        """Everything reachable, breadth first."""
        depth = dict.fromkeys(self.starts(), 0)
        waiting, edges, stuck, unsafe = deque(depth), set(), set(), {}
        while waiting:
            here = waiting.popleft()
            state = dict(here)
            reach = self.property["expression"].get("reach")
            if reach is not None and self.satisfies(state, reach):
                unsafe[here] = depth[here]
            ways = self.decisions(state)
            if any(not left for left in ways) and self.outcomes(state):
                stuck.add(here)
            for after in {tuple(found.items()) for left in ways for _, found in left}:
                edges.add((here, after))
                if after not in depth:
                    depth[after] = depth[here] + 1
                    waiting.append(after)
            if len(depth) > most:
                raise OverflowError(f"more than {most} states")
        return Explored(depth, edges, unsafe, stuck)


@dataclass(frozen=True)
class Explored:
    """Reachable states with their depth, transitions, unsafe states with their depth, and where a policy is stuck."""

    depth: dict[State, int]
    edges: set[tuple[State, State]]
    unsafe: dict[State, int]
    stuck: set[State]


def resolved(entry: Json, folder: Path) -> Json:
    """A PA property with the files it names put in their places."""
    expression = dict(entry["expression"])
    for key in ("start", "reach", "predicates"):
        part = expression.get(key)
        if isinstance(part, dict) and set(part) == {"file"}:
            expression[key] = json.loads((folder / part["file"]).read_text())
    return {**entry, "expression": expression}


def read_oracle(
    model: Path, pa: Path, number: int, given: Mapping[str, Any] | None = None, filtered: bool | None = None
) -> PlanningOracle:
    """The oracle for published files."""
    properties = [e for e in json.loads(pa.read_text())["properties"] if e["expression"].get("op") == "PA"]
    asked = resolved(properties[number], pa.parent)
    policy = asked["expression"].get("file")
    if policy is None:
        return PlanningOracle(json.loads(model.read_text()), asked, given=given or {})
    file = pa.parent / policy
    interface = json.loads(file.read_text())
    network = Network.read(file.parent / interface["file"])
    known = bool(interface.get("filter")) if filtered is None else filtered
    return PlanningOracle(json.loads(model.read_text()), asked, interface, network, known, given or {})
