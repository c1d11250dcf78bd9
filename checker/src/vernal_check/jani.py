"""JANI models with a policy and a safety property, as tasks (docs/planning.md): one choice among all outcomes.

An outcome is one edge of each automaton that takes part, with one destination each. It exists where its guards are
true, what it assigns stays in range, and the policy chooses its label. What is not named here is refused.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

from vernal_check import nnet, onnx, syntax
from vernal_check.errors import Unreadable
from vernal_check.evaluation import Run
from vernal_check.expressions import Scope
from vernal_check.forms import Exact
from vernal_check.onnx import Network
from vernal_check.syntax import Node
from vernal_check.task import Agent, Task, Variable, content, plain, suffix

POLICY, EDGE, STUCK = "policy", "edge", "stuck"
MAX_OUTCOMES = 5000
MAX_DEPTH = 200
TRUE, FALSE = Node("name", ("true",)), Node("name", ("false",))
BINARY = {
    "+": "+", "-": "-", "*": "*", "/": "/", "=": "==", "≠": "!=", "<": "<", "≤": "<=", ">": ">", "≥": ">=",
    "∧": "&", "∨": "|", "⇒": "->",
}  # fmt: skip
Find = Callable[[str], Path]  # a file by the name that was typed


@dataclass(frozen=True)
class Edge:
    """An edge of one automaton with one of its destinations."""

    action: str | None
    guard: Node
    updates: Mapping[str, Node]


@dataclass(frozen=True)
class Outcome:
    label: str | None
    guard: Node
    updates: Mapping[str, Node]


def load(data: bytes, folder: Path, find: Find, given: Mapping[str, Fraction], options: Mapping[str, str]) -> Task:
    """The task of a model's bytes; `options` name the policy and the property."""
    try:
        return Reader(parsed(data), folder, find, given, options).task
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as error:
        raise Unreadable(f"not a JANI file that is read: {error!r:.100}") from None


def parsed(data: bytes) -> Any:
    return json.loads(data, parse_float=syntax.decimal, parse_int=syntax.decimal, parse_constant=syntax.decimal)


def both(op: str, parts: Sequence[Node]) -> Node:
    """A conjunction or disjunction of any number of conditions."""
    parts = list(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else Node(op, tuple(parts)) if parts else TRUE if op == "&" else FALSE


def equal(name: str, label: str) -> Node:
    return Node("==", (Node("name", (name,)), Node("name", (label,))))


class Reader:
    """One model, and what is asked of it."""

    def __init__(
        self, model: Any, folder: Path, find: Find, given: Mapping[str, Fraction], options: Mapping[str, str]
    ) -> None:
        self.model, self.folder, self.find, self.options = model, folder, find, options
        self.task = Task(str(model["name"]), is_planning=True)
        self.ranges: dict[str, tuple[Fraction, Fraction]] = {}
        self.places: dict[str, tuple[str, ...]] = {}  # the locations of automata that have several
        self.transient: set[str] = set()
        if model["type"] not in ("lts", "mdp"):
            raise Unreadable(f"models of the type {model['type']!r} are not read")
        self.constants(given)
        self.actions = [str(action["name"]) for action in model.get("actions", ())]
        self.variables(model)
        automata = {one["name"]: one for one in model["automata"]}
        named = [element["automaton"] for element in model["system"]["elements"]]
        if any(element.get("input-enable") for element in model["system"]["elements"]) or len({*named}) < len(named):
            raise Unreadable("automata that appear twice, and input-enable, are not read")
        self.automata = [automata[name] for name in named]
        kept = [self.condition(model["restrict-initial"])] if "restrict-initial" in model else []
        edges = []
        for automaton in self.automata:
            edges.append(self.automaton(automaton))
            kept += [self.condition(automaton["restrict-initial"])] if "restrict-initial" in automaton else []
        self.task.where = kept
        outcomes = [self.within(outcome) for outcome in self.outcomes(edges)]
        asked, folder = self.asked()
        policy = self.options.get("policy")
        policy_file = find(policy) if policy else folder / asked["file"] if "file" in asked else None
        self.step(outcomes, None if policy_file is None else self.policy(policy_file, outcomes))
        self.check_names()

    # Declarations -----------------------------------------------------------------------------------------------------

    def constants(self, given: Mapping[str, Fraction]) -> None:
        found = self.task.parameters
        for entry in self.model.get("constants", ()):
            name, kind = str(entry["name"]), entry["type"]
            value = given[name] if name in given else self.constant(entry["value"])
            if kind == "bool" or name in found or (kind == "int" and value.denominator != 1):
                raise Unreadable(f"the constant {name!r} is not read")
            found[name] = Exact(value)
        if set(given) - set(found):
            raise Unreadable("the certificate names constants that the model does not have")

    def constant(self, entry: Any) -> Fraction:
        """A number that only constants are in."""
        return self.rational(self.expression(entry))

    def rational(self, node: Node) -> Fraction:
        parameters = self.task.parameters
        scope = Scope(Run((), {}), lambda name, s: parameters[name] if name in parameters else plain(name), {})
        value = scope.number(node)
        if not value.is_constant:
            raise Unreadable("a rational constant is expected")
        return value.value

    def variables(self, owner: Any) -> None:
        for entry in owner.get("variables", ()):
            name, kind = str(entry["name"]), entry["type"]
            if entry.get("transient"):
                self.transient.add(name)
                continue
            start = self.expression(entry["initial-value"]) if "initial-value" in entry else None
            if kind == "bool":
                self.declare(Variable(name, "bool"), start or Node("set", (FALSE, TRUE)))
                continue
            if kind["kind"] != "bounded" or kind["base"] not in ("int", "real"):
                raise Unreadable(f"the type of {name!r} is not read")
            low, high = self.ranges[name] = self.constant(kind["lower-bound"]), self.constant(kind["upper-bound"])
            within = Node("range", (Node("num", (low,)), Node("num", (high,))))
            self.declare(Variable(name, kind["base"], within=within), start or within)

    def declare(self, variable: Variable, start: Node) -> None:
        if variable.name in self.task.init or variable.name in self.transient:
            raise Unreadable(f"the name {variable.name!r} is declared twice, which is not read")
        self.task.variables.append(variable)
        self.task.init[variable.name] = start

    def automaton(self, automaton: Any) -> list[Edge]:
        """Its place and variables are declared, and its edges read."""
        name, locations = str(automaton["name"]), tuple(str(one["name"]) for one in automaton["locations"])
        (initial,) = automaton["initial-locations"]
        if any("time-progress" in one for one in automaton["locations"]) or initial not in locations:
            raise Unreadable("time progress, and other initial locations than one, are not read")
        self.places[name] = locations
        if len(locations) > 1:
            self.declare(Variable(name, "enum", locations), Node("name", (initial,)))
        self.variables(automaton)
        return [edge for entry in automaton["edges"] for edge in self.edges(entry, name)]

    def edges(self, entry: Any, name: str) -> Iterator[Edge]:
        action = entry.get("action")
        if "rate" in entry or (action is not None and action not in self.actions):
            raise Unreadable("an edge with a rate, or an action that is not declared")
        guard = [self.at(name, entry["location"])] + ([self.condition(entry["guard"])] if "guard" in entry else [])
        for destination in entry["destinations"]:
            chance = destination.get("probability", Fraction(1))
            likely = self.constant(chance.get("exp", chance) if isinstance(chance, dict) else chance)
            if not 0 <= likely <= 1:
                raise Unreadable("a probability is none")
            updates = {str(one["ref"]): self.assigned(one) for one in destination.get("assignments", ())}
            if len(updates) < len(destination.get("assignments", ())):
                raise Unreadable("a variable is assigned twice at once")
            updates = {ref: value for ref, value in updates.items() if ref not in self.transient}
            if set(updates) - set(self.task.init):
                raise Unreadable("what is assigned is no variable")
            self.at(name, destination["location"])
            if len(self.places[name]) > 1:
                updates[name] = Node("name", (destination["location"],))
            if likely:
                yield Edge(action, both("&", guard), updates)

    def assigned(self, entry: Any) -> Node:
        if entry.get("index", 0) != 0:
            raise Unreadable("assignments one after the other are not read")
        return self.expression(entry["value"])

    def at(self, automaton: str, location: str) -> Node:
        """That an automaton is at a location."""
        if location not in self.places[automaton]:
            raise Unreadable(f"there is no location {location!r}")
        return equal(automaton, location) if len(self.places[automaton]) > 1 else TRUE

    # Expressions ------------------------------------------------------------------------------------------------------

    def condition(self, entry: Any) -> Node:
        return self.expression(entry["exp"] if isinstance(entry, dict) and "op" not in entry else entry)

    def expression(self, entry: Any, depth: int = 0, bound: Mapping[str, Node] | None = None) -> Node:
        """An expression; `bound` are names that a let gives."""
        if depth > MAX_DEPTH:
            raise Unreadable("an expression is nested too deeply")
        if isinstance(entry, bool):
            return TRUE if entry else FALSE
        if isinstance(entry, Fraction):
            return Node("num", (entry,))
        if isinstance(entry, str):
            return (bound or {}).get(entry, Node("name", (entry,)))
        op = entry["op"]
        if op == "let":
            inner = dict(bound or {})
            for one in entry["variables"]:
                inner[one["name"]] = self.expression(one["value"], depth + 1, inner)
            return self.expression(entry["expression"], depth + 1, inner)
        if op in ("∧", "∨"):  # of which many are nested in each other
            return both(BINARY[op], [self.expression(part, depth + 1, bound) for part in flat(entry, op)])
        if op == "¬":
            return Node("!", (self.expression(entry["exp"], depth + 1, bound),))
        names = ("if", "then", "else") if op == "ite" else ("left", "right")
        parts = tuple(self.expression(entry[name], depth + 1, bound) for name in names)
        if op in "*/" and sum(map(self.is_constant, parts)) < (1 if op == "*" else 2):
            raise Unreadable("products and quotients of variables are not read")
        if op in ("ite", "min", "max"):
            return Node("call", ("if" if op == "ite" else op, *parts))
        return Node(BINARY[op], parts)

    def is_constant(self, node: Any) -> bool:
        if not isinstance(node, Node):
            return True
        if node.op == "name":
            return node.args[0] in self.task.parameters
        return all(map(self.is_constant, node.args))

    # Outcomes ---------------------------------------------------------------------------------------------------------

    def outcomes(self, edges: Sequence[Sequence[Edge]]) -> Iterator[Outcome]:
        """Combinations of edges by the synchronisation vectors, and edges without an action."""
        vectors = self.model["system"].get("syncs", ())
        if not vectors and any(edge.action is not None for own in edges for edge in own):
            raise Unreadable("edges have actions, but nothing lets them be taken")
        for vector in vectors:
            wanted, label = vector["synchronise"], vector.get("result")
            if len(wanted) != len(edges) or not {*wanted, label} <= {None, *self.actions} or not any(wanted):
                raise Unreadable("a synchronisation names other actions or automata than there are")
            taking = [
                [edge for edge in own if edge.action == one]
                for own, one in zip(edges, wanted, strict=True)
                if one is not None
            ]
            if prod(map(len, taking)) > MAX_OUTCOMES:
                raise Unreadable("a synchronisation has too many combinations")
            yield from (together(label, chosen) for chosen in itertools.product(*taking))
        for own in edges:
            yield from (together(None, [edge]) for edge in own if edge.action is None)

    def within(self, outcome: Outcome) -> Outcome:
        """The outcome where what it assigns stays in the ranges: what leaves them is no step."""
        limits = [outcome.guard]
        for name, value in outcome.updates.items():
            if name in self.ranges:
                low, high = self.ranges[name]
                limits += [Node("<=", (Node("num", (low,)), value)), Node("<=", (value, Node("num", (high,))))]
        return Outcome(outcome.label, both("&", limits), outcome.updates)

    def step(self, outcomes: Sequence[Outcome], policy: tuple[Sequence[str], bool] | None) -> None:
        """The next values: one outcome of those that exist is taken."""
        free = both("|", [outcome.guard for outcome in outcomes])
        if policy is not None:
            outcomes = list(self.chosen(outcomes, *policy))
            stuck = Node("&", (free, Node("!", (both("|", [outcome.guard for outcome in outcomes]),))))
            self.task.lets[STUCK] = FALSE if policy[1] else stuck
            self.task.claims["not_stuck"] = always(Node("!", (Node("name", (STUCK,)),)))
        options = [Node("when", (Node("num", (Fraction(i),)), one.guard)) for i, one in enumerate(outcomes)]
        self.task.enabled = both("|", [outcome.guard for outcome in outcomes])
        if options:
            self.task.lets[EDGE] = Node("call", ("choose", *options))
        for variable in self.task.variables:
            values = [
                (Fraction(i), one.updates[variable.name])
                for i, one in enumerate(outcomes)
                if variable.name in one.updates
            ]
            if values:
                stays = ("_", Node("name", (variable.name,)))
                self.task.next[variable.name] = Node("match", (Node("name", (EDGE,)), (*values, stays)))

    def chosen(self, outcomes: Sequence[Outcome], labels: Sequence[str], filtered: bool) -> Iterator[Outcome]:
        """Outcomes where the policy chooses their label: the best of all, or of those that have an outcome."""
        possible = {label: both("|", [one.guard for one in outcomes if one.label == label]) for label in labels}
        scores = {
            label: Node("index", (Node("name", (POLICY,)), Node("num", (Fraction(i),))))
            for i, label in enumerate(labels)
        }
        for one in outcomes:
            if one.label not in possible:
                yield one
                continue
            best = [
                Node("|", (Node("!", (possible[other],)), Node("<=", (scores[other], scores[one.label]))))
                for other in labels
                if other != one.label
            ]
            taken = best if filtered else [equal(POLICY, one.label)]
            yield Outcome(one.label, both("&", [one.guard, *taken]), one.updates)

    # Policy and property ----------------------------------------------------------------------------------------------

    def read(self, file: Path) -> bytes:
        data = content(file)
        self.task.hashes.append(hashlib.sha256(data).hexdigest())
        return data

    def policy(self, file: Path, outcomes: Sequence[Outcome]) -> tuple[Sequence[str], bool]:
        """The labels of a policy, which becomes an agent, and whether it chooses among applicable ones only."""
        told = parsed(self.read(file))
        labels, filtered = [str(label) for label in told["output"]], told.get("filter", False)
        if self.options.get("filter", "applicable") != "applicable" or not isinstance(filtered, bool):
            raise Unreadable("this filter is not read")
        filtered = filtered or "filter" in self.options
        if len(set(labels)) < len(labels) or set(labels) - set(self.actions):
            raise Unreadable("the policy has other actions than the model")
        network = self.network(file.parent / told["file"])
        seen = tuple(self.seen(entry) for entry in told["input"])
        if network.outputs != len(labels) or network.memory:
            raise Unreadable("the policy's network has other outputs than the policy")
        own = (POLICY, seen, (network,), None)
        self.task.agents[POLICY] = Agent(*own, "raw", None) if filtered else Agent(*own, "argmax", tuple(labels))
        return labels, filtered

    def network(self, file: Path) -> Network:
        data = self.read(file)
        if suffix(file) == ".nnet":
            return nnet.read(data)
        network, softmax = onnx.read(data) if suffix(file) == ".onnx" else (None, False)
        if network is None or softmax:
            raise Unreadable(f"the network {file.name} is not read")
        return network

    def seen(self, entry: Any) -> Node:
        """What the policy sees of a variable: a truth value as 0 or 1, a location by its number."""
        name = entry if isinstance(entry, str) else entry["name"]
        variable = next(one for one in self.task.variables if one.name == name)
        if variable.sort == "bool":
            return Node("call", ("if", Node("name", (name,)), Node("num", (Fraction(1),)), Node("num", (Fraction(0),))))
        if variable.sort == "enum":
            numbers = tuple((label, Node("num", (Fraction(i),))) for i, label in enumerate(variable.labels))
            return Node("match", (Node("name", (name,)), numbers))
        return Node("name", (name,))

    def asked(self) -> tuple[Mapping[str, Any], Path]:
        """The safety property: initial states and a claim; and the folder of its file."""
        start, unsafe, which = (self.options.get(name) for name in ("start", "unsafe", "property"))
        if start is not None or unsafe is not None:
            if which is not None:
                raise Unreadable("a property is asked, or what it consists of, not both")
            if start is not None:
                self.begin(syntax.expression(start))
            bad = FALSE if unsafe is None else syntax.expression(unsafe)
            self.task.claims["safe"] = always(Node("!", (bad,)))
            return {}, Path()
        name, _, number = (which or "").partition("#")
        file = self.find(name) if name else None
        whole, folder = (self.model, self.folder) if file is None else (parsed(self.read(file)), file.parent)
        entries = [one for one in whole.get("properties", ()) if one["expression"].get("op") == "PA"]
        if which is None and not entries:
            return {}, Path()
        named = [one["name"] for one in entries]
        if len(entries) > 1 and not number:
            raise Unreadable("which property is not said")
        place = int(number or 0) if number.isdigit() or not number else named.index(number)
        asked = entries[place]["expression"]
        parts = {key: self.part(asked[key], folder) for key in ("start", "reach") if key in asked}
        if "start" in parts and parts["start"]["op"] == "states-values":
            self.task.listed = frozenset(map(self.listed, parts["start"]["values"]))
        elif "start" in parts:
            self.begin(self.states(parts["start"]))
        bad = self.states(parts["reach"]) if "reach" in parts else FALSE
        self.task.claims[str(named[place])] = always(Node("!", (bad,)))
        return asked, folder

    def part(self, entry: Any, folder: Path) -> Any:
        """A part of a property, or the whole of the file that it names."""
        return parsed(self.read(folder / entry["file"])) if set(entry) == {"file"} else entry

    def states(self, entry: Any) -> Node:
        if entry["op"] != "state-condition":
            raise Unreadable(f"states given by {entry['op']!r} are not read")
        parts = [self.condition(entry["exp"])] if "exp" in entry else []
        return both("&", parts + [self.at(one["automaton"], one["location"]) for one in entry.get("locations", ())])

    def listed(self, entry: Any) -> tuple[Any, ...]:
        """One initial state of a list: what it does not name has its usual value."""
        told = {one["var"]: self.expression(one["value"]) for one in entry["variables"]}
        told |= {one["automaton"]: Node("name", (one["location"],)) for one in entry.get("locations", ())}
        if set(told) - set(self.task.init) - set(self.places):
            raise Unreadable("a list of states names what is no variable")
        return tuple(self.value(told.get(v.name, self.task.init[v.name]), v) for v in self.task.variables)

    def value(self, node: Node, variable: Variable) -> Any:
        if variable.sort in ("bool", "enum"):
            label = node.args[0] if node.op == "name" else None
            if label not in (variable.labels or ("true", "false")):
                raise Unreadable(f"{variable.name!r} has no value in a list of states")
            return label if variable.labels else label == "true"
        value, (low, high) = self.rational(node), self.ranges[variable.name]
        if not low <= value <= high or (variable.sort == "int" and value.denominator != 1):
            raise Unreadable(f"{variable.name!r} is outside of its range in a list of states")
        return value, value

    def begin(self, condition: Node) -> None:
        """All states in which a condition is true are initial ones, whatever the model says of them."""
        self.task.where = [condition]
        for variable in self.task.variables:
            values: Sequence[str] = variable.labels or ("false", "true")
            anything = Node("set", tuple(Node("name", (value,)) for value in values))
            self.task.init[variable.name] = variable.within or anything

    def check_names(self) -> None:
        """Names that mean two things, or something else here, are not read."""
        task = self.task
        names = [*task.parameters, *(v.name for v in task.variables), *task.labels, *task.lets, *task.agents]
        if len(set(names)) < len(names) or {*names} & {"true", "false", "pi"}:
            raise Unreadable("a name means two things, which is not read")


def always(claim: Node) -> Node:
    return Node("G", (None, None, claim))


def flat(entry: Any, op: str) -> list[Any]:
    """The operands of nested conjunctions or disjunctions, from left to right."""
    found, left = [], [entry]
    while left:
        one = left.pop()
        if isinstance(one, dict) and one.get("op") == op:
            left += [one["right"], one["left"]]
        else:
            found.append(one)
    return found


def together(label: str | None, edges: Sequence[Edge]) -> Outcome:
    """Edges taken at once."""
    updates: dict[str, Node] = {}
    for edge in edges:
        for name, value in edge.updates.items():
            if updates.setdefault(name, value) != value:
                raise Unreadable(f"{name!r} is assigned differently by two automata at once")
    return Outcome(label, both("&", [edge.guard for edge in edges]), updates)
