"""Random planning models that start anywhere a condition over truth values, locations and integers is true.

The model is drawn once as plain data, written as JANI, and enumerated here state by state: nothing of Vernal takes part
in what is expected of it.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task

Json = Any
Term = tuple[Any, ...]  # a condition: ("flag", name), ("number", op, name, value), ("at", automaton, location), ...
State = tuple[Any, ...]
COMPARISONS: dict[str, tuple[str, str, Callable[[int, int], bool]]] = {  # in task files, in JANI, in Python
    "==": ("==", "=", lambda a, b: a == b),
    ">=": (">=", "≥", lambda a, b: a >= b),
    "<": ("<", "<", lambda a, b: a < b),
}
SHAPES = ("{p}", "G {p}", "F {p}", "X {p}", "EX {p}", "AX {p}", "EF {p}", "EG {p}", "AG EF {p}", "G F {p}", "F G {p}")


@dataclass
class StartsModel:
    """Flags, counters and automata; a condition for its starts, and a claim about all of it."""

    flags: list[str]
    counters: dict[str, tuple[int, int]]
    automata: dict[str, list[str]]
    edges: dict[str, list[Json]] = field(default_factory=dict)
    start: Term = ()
    shape: str = ""
    atom: Term = ()

    @property
    def names(self) -> list[str]:
        return [*self.flags, *self.counters, *self.automata]

    @property
    def claim(self) -> str:
        return self.shape.format(p=f"({text(self.atom)})")

    # Enumeration ------------------------------------------------------------------------------------------------------

    @cached_property
    def states(self) -> list[State]:
        ranges: list[list[Any]] = [[False, True] for _ in self.flags]
        ranges += [list(range(low, high + 1)) for low, high in self.counters.values()]
        return list(itertools.product(*ranges, *self.automata.values()))

    def named(self, state: State) -> dict[str, Any]:
        return dict(zip(self.names, state, strict=True))

    @cached_property
    def starts(self) -> set[State]:
        return {state for state in self.states if true(self.start, self.named(state))}

    @cached_property
    def after(self) -> dict[State, set[State]]:
        return {state: set(self._moves(self.named(state))) for state in self.states}

    def _moves(self, now: dict[str, Any]) -> Iterator[State]:
        for automaton, edges in self.edges.items():
            for edge in edges:
                if now[automaton] == edge["from"] and true(edge["guard"], now):
                    then = {**now, automaton: edge["to"]}
                    if edge["flips"]:
                        then[edge["flips"]] = not now[edge["flips"]]
                    if edge["counts"] and now[edge["counts"]] < self.counters[edge["counts"]][1]:
                        then[edge["counts"]] += 1
                    yield tuple(then[name] for name in self.names)

    def holds(self) -> bool:
        """Whether the claim is true of every start."""
        every = set(self.states)
        good = {state for state in every if true(self.atom, self.named(state))}
        found: dict[str, Callable[[], set[State]]] = {
            "{p}": lambda: good,
            "G {p}": lambda: self.always(good, every=True),
            "F {p}": lambda: self.eventually(good, every=True),
            "X {p}": lambda: {s for s in self.after if self.after[s] and self.after[s] <= good},
            "EX {p}": lambda: {s for s in self.after if self.after[s] & good},
            "AX {p}": lambda: {s for s in self.after if self.after[s] <= good},
            "EF {p}": lambda: self.eventually(good, every=False),
            "EG {p}": lambda: self.always(good, every=False),
            "AG EF {p}": lambda: self.always(self.eventually(good, every=False), every=True),
            "G F {p}": lambda: self.always(self.eventually(good, every=True), every=True),
            "F G {p}": lambda: (
                set(self.states) - self.eventually(self._recurring(set(self.states) - good), every=False)
            ),
        }
        return self.starts <= found[self.shape]()

    def eventually(self, good: set[State], *, every: bool) -> set[State]:
        """From where some path, or every one, comes to a good state."""
        found = set(good)
        while True:
            more = {s for s, after in self.after.items() if after and (after <= found if every else after & found)}
            if more <= found:
                return found
            found |= more

    def always(self, good: set[State], *, every: bool) -> set[State]:
        """From where some path, or every one, stays in good states as long as it goes on."""
        found = set(good)
        while True:
            kept = {
                s for s in found if not self.after[s] or (self.after[s] <= found if every else self.after[s] & found)
            }
            if kept == found:
                return found
            found = kept

    def _recurring(self, bad: set[State]) -> set[State]:
        """Bad states that some path meets again and again, or at which one ends."""
        return {s for s in bad if not self.after[s] or s in self._later(s)}

    def _later(self, state: State) -> set[State]:
        seen: set[State] = set()
        waiting = list(self.after[state])
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                waiting.extend(self.after[here])
        return seen

    # As a file --------------------------------------------------------------------------------------------------------

    def json(self) -> Json:
        bounded = {"kind": "bounded", "base": "int"}
        return {
            "jani-version": 1,
            "name": "starts",
            "type": "lts",
            "actions": [{"name": "go"}],
            "variables": [
                *({"name": flag, "type": "bool", "initial-value": False} for flag in self.flags),
                *(
                    {"name": n, "type": {**bounded, "lower-bound": low, "upper-bound": high}, "initial-value": low}
                    for n, (low, high) in self.counters.items()
                ),
            ],
            "automata": [
                {
                    "name": name,
                    "locations": [{"name": location} for location in locations],
                    "initial-locations": locations[:1],
                    "edges": [self._edge(edge) for edge in self.edges[name]],
                }
                for name, locations in self.automata.items()
            ],
            "system": {
                "elements": [{"automaton": name} for name in self.automata],
                "syncs": [
                    {"synchronise": ["go" if name == other else None for other in self.automata], "result": "go"}
                    for name in self.automata
                ],
            },
        }

    def _edge(self, edge: Json) -> Json:
        assignments = []
        if edge["flips"]:
            assignments.append({"ref": edge["flips"], "value": {"op": "¬", "exp": edge["flips"]}})
        if edge["counts"]:
            name, most = edge["counts"], self.counters[edge["counts"]][1]
            more = {"op": "+", "left": name, "right": 1}
            assignments.append({"ref": name, "value": {"op": "min", "left": more, "right": most}})
        return {
            "location": edge["from"],
            "action": "go",
            "guard": {"exp": jani(edge["guard"])},
            "destinations": [{"location": edge["to"], "assignments": assignments}],
        }

    def task(self) -> Task:
        """The model as Vernal reads it."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.jani"
            file.write_text(json.dumps(self.json()), encoding="utf-8")
            return load_jani(file, start=text(self.start), unsafe="false")


# Conditions -----------------------------------------------------------------------------------------------------------


def true(term: Term, names: Mapping[str, Any]) -> bool:
    match term:
        case ("flag", name):
            return bool(names[name])
        case ("number", op, name, value):
            return COMPARISONS[op][2](names[name], value)
        case ("at", automaton, location):
            return bool(names[automaton] == location)
        case ("!", part):
            return not true(part, names)
        case ("&", *parts):
            return all(true(part, names) for part in parts)
        case ("|", *parts):
            return any(true(part, names) for part in parts)
        case ("<->", left, right):
            return true(left, names) == true(right, names)
    raise AssertionError(term)


def text(term: Term) -> str:
    match term:
        case ("flag", name):
            return str(name)
        case ("number", op, name, value):
            return f"{name} {COMPARISONS[op][0]} {value}"
        case ("at", automaton, location):
            return f"{automaton} == {location}"
        case ("!", part):
            return f"!({text(part)})"
        case (op, *parts):
            return f" {op} ".join(f"({text(part)})" for part in parts)
    raise AssertionError(term)


def jani(term: Term) -> Json:
    match term:
        case ("flag", name):
            return name
        case ("number", op, name, value):
            return {"op": COMPARISONS[op][1], "left": name, "right": value}
        case ("!", part):
            return {"op": "¬", "exp": jani(part)}
        case ("&" | "|" as op, left, right):
            return {"op": "∧" if op == "&" else "∨", "left": jani(left), "right": jani(right)}
    raise AssertionError(term)


# Drawing --------------------------------------------------------------------------------------------------------------


def drawn(random: Random) -> StartsModel:
    """A model with its starts and its claim."""
    flags = ["x", "y", "z"][: random.randint(1, 3)]
    counters = {
        n: (low := random.randint(-1, 0), low + random.randint(2, 6)) for n in ("n", "m")[: random.randint(1, 2)]
    }
    automata = {a: [f"{a}{i}" for i in range(random.randint(1, 3))] for a in ("p", "q")[: random.randint(1, 2)]}
    model = StartsModel(flags, counters, automata)
    for name, locations in automata.items():
        model.edges[name] = [_edge(random, model, locations) for _ in range(random.randint(1, 4))]
    model.start = _condition(random, model, depth=2, located=True)
    model.shape, model.atom = random.choice(SHAPES), _condition(random, model, depth=1, located=True)
    if random.random() < 0.5:  # claims that are true at first hold more often
        model.atom = "|", model.start, model.atom
    return model


def _edge(random: Random, model: StartsModel, locations: list[str]) -> Json:
    return {
        "from": random.choice(locations),
        "to": random.choice(locations),
        "guard": _condition(random, model, depth=1, located=False),
        "flips": random.choice([*model.flags, None]),
        "counts": random.choice([*model.counters, None]),
    }


def _condition(random: Random, model: StartsModel, depth: int, *, located: bool) -> Term:
    kinds = ["flag", "flag", "number"] + ["at"] * (located and any(len(x) > 1 for x in model.automata.values()))
    kind = random.choice(kinds if depth == 0 else [*kinds, "!", "|", "|", "|", "&"] + ["<->"] * located)
    match kind:
        case "flag":
            return kind, random.choice(model.flags)
        case "number":
            name, (low, high) = random.choice(list(model.counters.items()))
            return kind, random.choice(list(COMPARISONS)), name, random.randint(low, high)
        case "at":
            name, locations = random.choice([(a, x) for a, x in model.automata.items() if len(x) > 1])
            return kind, name, random.choice(locations)
        case "!":
            return kind, _condition(random, model, depth - 1, located=located)
    return kind, *(_condition(random, model, depth - 1, located=located) for _ in range(2))
