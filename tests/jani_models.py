"""Random small planning models: several automata, synchronisation, silent edges, arrays, policies with ties."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

Json = Any

LABELS = ("a", "b", "c-d")
COMPARISONS = ("=", "≠", "<", "≤", ">", "≥")


@dataclass(frozen=True)
class PlanningFiles:
    """A model with its policy and property, written to a folder."""

    model: Path
    policy: Path | None
    property: str


class PlanningDraw:
    """Draws the parts of one model."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.bounds: dict[str, tuple[int, int]] = {}
        self.flags: list[str] = []
        self.assigned: list[str] = []  # by the automaton that is drawn
        self.arrays: dict[str, int] = {}  # with their lengths
        self.apart = Random(f"arrays {seed}")  # what is not drawn by it is the same with and without arrays

    # Expressions ------------------------------------------------------------------------------------------------------

    def number(self, depth: int = 2) -> Json:
        if self.arrays and depth > 0 and self.apart.random() < 0.3:
            return self.element(depth) if self.apart.random() < 0.7 else self.rounded(depth)
        kind = self.random.choice(("variable", "variable", "constant", "+", "-", "*", "ite", "min", "max"))
        if depth == 0 or kind in ("variable", "constant"):
            return self.random.choice([*self.bounds, "K"]) if kind == "variable" else self.random.randint(-2, 3)
        if kind == "ite":
            branches = {"then": self.number(depth - 1), "else": self.number(depth - 1)}
            return {"op": "ite", "if": self.truth(depth - 1), **branches}
        left = self.random.randint(-2, 2) if kind == "*" else self.number(depth - 1)
        return {"op": kind, "left": left, "right": self.number(depth - 1)}

    def rounded(self, depth: int) -> Json:
        """A size, a sign, a remainder, or a half rounded up or down."""
        number = self.number(depth - 1)
        match self.apart.choice(("abs", "sgn", "floor", "ceil", "%")):
            case "%":
                return {"op": "%", "left": {"op": "max", "left": 0, "right": number}, "right": self.apart.randint(1, 3)}
            case "abs" | "sgn" as op:
                return {"op": op, "exp": number}
            case op:
                return {"op": op, "exp": {"op": "*", "left": {"op": "/", "left": 1, "right": 2}, "right": number}}

    def element(self, depth: int) -> Json:
        """An element of an array, or of one that is written down."""
        name, length = self.apart.choice(list(self.arrays.items()))
        whole: Json = name
        match self.apart.choice(("array", "array", "constructed", "listed")):
            case "constructed":
                inner = {"op": "aa", "exp": name, "index": "each"}
                whole = {
                    "op": "ac",
                    "var": "each",
                    "length": length,
                    "exp": {"op": "-", "left": "each", "right": inner},
                }
            case "listed":
                whole = {"op": "av", "elements": [self.number(depth - 1) for _ in range(length)]}
        return {"op": "aa", "exp": whole, "index": self.place(length)}

    def place(self, length: int) -> Json:
        """The number of an element: a constant, a variable of that range, or anything kept inside."""
        kind = self.apart.choice(("constant", "variable", "variable", "any"))
        if kind == "constant":
            return self.apart.randrange(length)
        if kind == "variable":
            return "place"
        number = self.apart.choice(list(self.bounds))
        return {"op": "max", "left": 0, "right": {"op": "min", "left": length - 1, "right": number}}

    def truth(self, depth: int = 2) -> Json:
        kind = self.random.choice(("compare", "compare", "compare", "flag", "∧", "∨", "¬", "⇒", "ite", "let"))
        if kind == "flag" and self.flags:
            return self.random.choice(self.flags)
        if depth == 0 or kind in ("compare", "flag"):
            return {"op": self.random.choice(COMPARISONS), "left": self.number(1), "right": self.number(1)}
        match kind:
            case "¬":
                return {"op": "¬", "exp": self.truth(depth - 1)}
            case "ite":
                branches = {"then": self.truth(depth - 1), "else": self.truth(depth - 1)}
                return {"op": "ite", "if": self.truth(depth - 1), **branches}
            case "let":
                named = {"name": "inner", "value": self.number(depth - 1)}
                body = {"op": self.random.choice(COMPARISONS), "left": "inner", "right": self.number(1)}
                return {"op": "let", "variables": [named], "expression": body}
        return {"op": kind, "left": self.truth(depth - 1), "right": self.truth(depth - 1)}

    # Automata ---------------------------------------------------------------------------------------------------------

    def model(self) -> Json:
        for number in range(self.random.choice((1, 2, 2))):
            low = self.random.randint(-2, 0)
            self.bounds[f"x-{number}"] = (low, low + self.random.randint(2, 5))
        self.flags = ["ready"][: self.random.randint(0, 1)]
        if self.apart.random() < 0.4:
            self.arrays = {"d": self.apart.randint(2, 3)}
            self.bounds["place"] = (0, self.arrays["d"] - 1)
        count = self.random.choice((1, 1, 2))
        automata = []
        for number in range(count):  # two automata assign different variables: they may do so at once
            self.assigned = [*self.bounds, *self.flags, *self.arrays][number::count]
            automata.append(self.automaton(f"m{number}"))
        made = {
            "jani-version": 1,
            "name": "drawn",
            "type": "mdp",
            "actions": [{"name": label} for label in LABELS],
            "constants": [{"name": "K", "type": "int"}, {"name": "p", "type": "real", "value": 0.25}],
            "variables": [
                *map(self.integer, self.bounds),
                *map(self.flag, self.flags),
                *map(self.array, self.arrays),
            ],
            "automata": automata,
            "system": {
                "elements": [{"automaton": automaton["name"]} for automaton in automata],
                "syncs": [self.vector(len(automata)) for _ in range(self.random.randint(3, 7))],
            },
        }
        if self.random.random() < 0.3:
            made["restrict-initial"] = {"exp": self.truth(1)}
        return made

    def integer(self, name: str) -> Json:
        low, high = self.bounds[name]
        kind = {"kind": "bounded", "base": "int", "lower-bound": low, "upper-bound": high}
        entry: Json = {"name": name, "type": kind}
        if self.random.random() < 0.8:
            entry["initial-value"] = self.random.randint(low, high)
        return entry

    def array(self, name: str) -> Json:
        kind = {"kind": "bounded", "base": "int", "lower-bound": -1, "upper-bound": 2}
        first = {"op": "av", "elements": [self.apart.randint(-1, 2) for _ in range(self.arrays[name])]}
        return {"name": name, "type": {"kind": "array", "base": kind}, "initial-value": first}

    def flag(self, name: str) -> Json:
        return {"name": name, "type": "bool", "initial-value": self.random.random() < 0.5}

    def automaton(self, name: str) -> Json:
        locations = [f"{name}-{number}" for number in range(self.random.randint(1, 3))]
        return {
            "name": name,
            "locations": [{"name": location} for location in locations],
            "initial-locations": [locations[0]],
            "edges": [self.edge(locations) for _ in range(self.random.randint(4, 9))],
        }

    def edge(self, locations: list[str]) -> Json:
        made: Json = {"location": self.random.choice(locations), "destinations": []}
        if self.random.random() < 0.85:
            made["action"] = self.random.choice(LABELS)
        if self.random.random() < 0.4:
            made["guard"] = {"exp": self.truth()}
        for probability in self.random.choice(
            ((None,), (0.5, 0.5), ("p", {"op": "-", "left": 1, "right": "p"}), (0, 1))
        ):
            made["destinations"].append(self.destination(locations, probability))
        return made

    def destination(self, locations: list[str], probability: Json) -> Json:
        made: Json = {"location": self.random.choice(locations)}
        if probability is not None:
            made["probability"] = {"exp": probability}
        made["assignments"] = [
            self.given(name)
            if name in self.arrays
            else {"ref": name, "value": self.truth(1) if name in self.flags else self.moved(name)}
            for name in self.assigned
            if self.random.random() < 0.7
        ]
        return made

    def given(self, array: str) -> Json:
        """A next value of an array, or of one of its elements."""
        length = self.arrays[array]
        if self.apart.random() < 0.6:
            place = self.place(length)
            before = {"op": "aa", "exp": array, "index": place}
            value = {"op": self.apart.choice("+-"), "left": before, "right": 1}
            return {"ref": before, "value": self.apart.choice((value, self.apart.randint(-1, 2), self.number(1)))}
        later = {"op": "-", "left": length - 1, "right": "each"}
        turned = {"op": "aa", "exp": array, "index": later}
        return {"ref": array, "value": {"op": "ac", "var": "each", "length": length, "exp": turned}}

    def moved(self, name: str) -> Json:
        """A next value of an integer: most are near the last one, some are anything."""
        kind = self.random.choice(("near", "near", "near", "value", "any"))
        if kind == "near":
            return {"op": self.random.choice("+-"), "left": name, "right": self.random.choice((1, 1, 2, "K"))}
        return self.random.randint(*self.bounds[name]) if kind == "value" else self.number()

    def vector(self, automata: int) -> Json:
        chosen = [self.random.choice([*LABELS, None]) for _ in range(automata)]
        if all(action is None for action in chosen):
            chosen[0] = self.random.choice(LABELS)
        if self.random.random() < 0.15:
            return {"synchronise": chosen}
        return {"synchronise": chosen, "result": self.random.choice(LABELS)}

    # Policy and property ----------------------------------------------------------------------------------------------

    def property(self, model: Json) -> Json:
        expression: Json = {"op": "PA", "reach": {"op": "state-condition", "exp": self.corner()}}
        kind = self.random.choice(("condition", "condition", "list", "none"))
        if kind == "condition":
            expression["start"] = {"op": "state-condition", "exp": self.corner()}
            if self.random.random() < 0.5:
                automaton = self.random.choice(model["automata"])
                location = self.random.choice(automaton["locations"])["name"]
                expression["start"]["locations"] = [{"automaton": automaton["name"], "location": location}]
        elif kind == "list" and all("initial-value" in entry for entry in model["variables"]):
            expression["start"] = {
                "op": "states-values",
                "values": [self.state() for _ in range(self.random.randint(1, 4))],
            }
        return {"name": "drawn_pa", "expression": expression}

    def corner(self) -> Json:
        """A condition that few states satisfy, or any condition."""
        if self.random.random() < 0.25:
            return self.truth()
        each = [{"op": "=", "left": name, "right": self.random.randint(*self.bounds[name])} for name in self.bounds]
        return each[0] if len(each) == 1 else {"op": "∧", "left": each[0], "right": each[-1]}

    def state(self) -> Json:
        named = [name for name in self.bounds if self.random.random() < 0.7]
        values = [{"var": name, "value": self.random.randint(*self.bounds[name])} for name in named]
        for name, length in self.arrays.items():
            listed = {"op": "av", "elements": [self.apart.randint(-1, 2) for _ in range(length)]}
            one = {"var": {"op": "aa", "exp": name, "index": 1}, "value": self.apart.randint(-1, 2)}
            ways: list[Json] = [{"var": name, "value": listed}, one]
            values.append(self.apart.choice(ways))
        return {"variables": values}

    def interface(self, model: Json) -> Json:
        places = [automaton["name"] for automaton in model["automata"] if len(automaton["locations"]) > 1]
        seen = [name for name in (*self.bounds, *self.flags, *places) if self.random.random() < 0.8] or [
            next(iter(self.bounds))
        ]
        labels = list(LABELS if self.random.random() < 0.8 else LABELS[:2])
        self.random.shuffle(labels)
        inputs = [{"name": name, "automaton": None} for name in seen]
        inputs += [{"name": name, "automaton": None, "index": 1} for name in self.arrays]
        return {"file": "policy.nnet", "input": inputs, "output": labels}

    def network(self, inputs: int, outputs: int) -> str:
        """Small weights in halves, so that ties are common."""
        sizes = [inputs, self.random.randint(1, 4), outputs]
        lines = ["// drawn", f"2,{inputs},{outputs},{max(sizes)},", ",".join(map(str, sizes)) + ",", "0,"]
        lines += [",".join(["0"] * inputs) + ","] * 2
        lines += [",".join(["0.0"] * (inputs + 1)) + ",", ",".join(["1.0"] * (inputs + 1)) + ","]
        for width, height in pairwise(sizes):
            lines += [",".join(str(self.random.randint(-3, 3) / 2) for _ in range(width)) + "," for _ in range(height)]
            lines += [f"{self.random.randint(-2, 2) / 2}," for _ in range(height)]
        return "\n".join(lines) + "\n"


def write_planning_files(seed: int, folder: Path) -> PlanningFiles:
    """A random model with a property, most of them with a policy."""
    draw = PlanningDraw(seed)
    model = draw.model()
    asked = draw.property(model)
    policy = None
    if draw.random.random() < 0.85:
        interface = draw.interface(model)
        policy = folder / "policy.jani2nnet"
        policy.write_text(json.dumps(interface))
        (folder / "policy.nnet").write_text(draw.network(len(interface["input"]), len(interface["output"])))
        asked["expression"]["file"] = "policy.jani2nnet"
    (folder / "model.jani").write_text(json.dumps(model))
    (folder / "pa.jani").write_text(json.dumps({"properties": [asked]}))
    return PlanningFiles(folder / "model.jani", policy, f"{folder / 'pa.jani'}#0")
