"""Task files: TOML in, the system out, as trees with what their names mean. Reading one runs no code.

What this program does not read it refuses (jumps and delays beside flows, other network formats): then nothing is said.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from vernal_check import nnet, onnx, syntax, worlds
from vernal_check.errors import Unreadable
from vernal_check.evaluation import Run
from vernal_check.expressions import Scope, pi
from vernal_check.forms import Form
from vernal_check.onnx import Network
from vernal_check.syntax import Node

MAX_BYTES, MAX_TASK = 64 * 2**20, 2**20
MAX_EXPONENT = 400
MAX_COMPONENTS = 5000
MAX_PERIOD = 2**20  # seconds
TOP = {
    "vernal", "name", "parameters", "constants", "networks", "state", "init", "agents", "environment", "properties",
    "predicates", "flow", "abstraction",
}  # fmt: skip
AGENT = {"policy", "observe", "act", "labels", "memory", "remember", "every"}


@dataclass(frozen=True)
class Variable:
    """A component of the state."""

    name: str
    sort: str  # real, int, bool or enum
    labels: tuple[str, ...] = ()
    owner: str | None = None  # the agent that remembers it
    within: Node | None = None  # its range, which claims nothing


@dataclass(frozen=True)
class Agent:
    """What an agent sees, the networks it acts by, and how."""

    name: str
    observe: tuple[Node, ...]
    networks: tuple[Network, ...]
    by: str | None  # the variable that chooses among them
    act: str | tuple[Node, ...]  # "argmax", "raw" or expressions
    labels: tuple[str, ...] | None


@dataclass
class Task:
    """A system in steps, and its properties as text."""

    name: str
    variables: list[Variable] = field(default_factory=list)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    parameters: dict[str, Form] = field(default_factory=dict)  # and constants
    functions: dict[str, Network] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    periods: dict[str, Fraction] = field(default_factory=dict)  # of agents beside a flow
    memories: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the variables that an agent remembers
    lets: dict[str, Node] = field(default_factory=dict)
    next: dict[str, Node] = field(default_factory=dict)
    rates: dict[str, Node] | None = None  # of a flow: of each variable that has one
    enabled: Node = field(default_factory=lambda: Node("name", ("true",)))
    init: dict[str, Node] = field(default_factory=dict)
    where: list[Node] = field(default_factory=list)
    predicates: list[Node] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    timed: set[str] = field(default_factory=set)  # properties that say what their bounds count
    claims: dict[str, Node] = field(default_factory=dict)  # properties that are no texts
    listed: frozenset[tuple[Any, ...]] | None = None  # the initial states one by one, as cells
    is_planning: bool = False  # names may be any texts
    worlds: list[str] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)  # the sha256 of each world and network that was read

    @property
    def labels(self) -> set[str]:
        found = {label for variable in self.variables for label in variable.labels}
        return found.union(*(agent.labels or () for agent in self.agents.values()))


def unchanged(file: Path, sha256: str) -> bytes:
    """The bytes of a file, which has to have this hash."""
    data = content(file)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Unreadable(f"the task file {file} has not the hash that the certificate names: it was changed")
    return data


def load(file: Path, data: bytes, parameters: Mapping[str, Fraction], given: Mapping[str, str]) -> Task:
    """The task of a file with these bytes, with some parameters replaced; `given` are the texts of worlds."""
    layers, hashes, named = [tables(data, str(file))], list[str](), list[str]()
    while isinstance(name := layers[-1].get("world"), str) and len(layers) <= worlds.MAX_LAYERS:
        below = worlds.text(name, given, file.parent).encode()
        hashes.append(hashlib.sha256(below).hexdigest())
        named.append(name)
        layers.append(tables(below, f"world {name}"))
    merged: dict[str, Any] = {}
    for number, layer in enumerate(reversed(layers), 1 - len(layers)):
        left_out = {"world"} if number == 0 else {"world", "name"}
        merged = worlds.laid_over({key: value for key, value in layer.items() if key not in left_out}, merged)
    try:
        made = Builder(file.parent, merged, parameters, hashes).task
    except RecursionError:
        raise Unreadable(f"{file}: an expression is nested too deeply") from None
    made.worlds = named
    return made


def tables(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > MAX_TASK:
        raise Unreadable(f"{name}: more than {MAX_TASK >> 20} MiB of text")
    try:
        return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Unreadable(f"{name}: {error}") from None


def suffix(file: Path) -> str:
    return file.suffix.lower()


def content(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise Unreadable(f"{file} is larger than {MAX_BYTES >> 20} MiB")
        return file.read_bytes()
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from None


def tree(item: Any, read: Any = syntax.expression) -> Node:
    """An expression in a task file: text, a number, or a truth value."""
    if isinstance(item, bool):
        return Node("name", ("true" if item else "false",))
    if isinstance(item, int | Decimal):
        if isinstance(item, Decimal) and not (item.is_finite() and abs(item.adjusted()) <= MAX_EXPONENT):
            raise Unreadable(f"{item:.9} is no number that is read")
        return Node("num", (Fraction(item),))
    if isinstance(item, str):
        made: Node = read(item)
        return made
    if isinstance(item, list):
        return Node("list", tuple(tree(part, read) for part in item))
    raise Unreadable(f"{item!r} is no expression")


def listed(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise Unreadable("an array is expected")
    return items


class Builder:
    """The tables of a file, one after the other."""

    def __init__(
        self, folder: Path, table: Mapping[str, Any], given: Mapping[str, Fraction], hashes: list[str]
    ) -> None:
        self.folder, self.table = folder, table
        self.starts = dict[str, Node]()  # of what agents remember
        unknown = set(table) - TOP
        if unknown or table.get("vernal") != 1:
            raise Unreadable(f"{', '.join(sorted(unknown)) or 'a file without vernal = 1'}: not read by this program")
        self.task = Task(str(table.get("name", "")), hashes=hashes)
        self.constants(given)
        self.task.functions = {name: self.network(file)[0] for name, file in self.section("networks").items()}
        if any(network.memory for network in self.task.functions.values()):
            raise Unreadable("a network with a memory is no function")
        self.state()
        self.agents()
        self.environment()
        self.flow()
        self.init()
        self.task.predicates = [tree(item) for item in listed(self.table.get("predicates", []))]
        self.task.properties = {name: self.formula(name, item) for name, item in self.section("properties").items()}
        self.check_names()

    def section(self, name: str) -> Mapping[str, Any]:
        found = self.table.get(name, {})
        if not isinstance(found, dict):
            raise Unreadable(f"{name} is no table")
        return found

    def formula(self, name: str, item: Any) -> str:
        """A property; one with a time of its own is read only as a text that has to make sense."""
        if isinstance(item, dict) and "flow" in self.table and set(item) == {"formula", "time"}:
            self.task.timed.add(name)
            item = item["formula"]
        if not isinstance(item, str):
            raise Unreadable("a property is a text")
        return item

    # Numbers ----------------------------------------------------------------------------------------------------------

    def constants(self, given: Mapping[str, Fraction]) -> None:
        parameters, constants = self.section("parameters"), self.section("constants")
        if set(given) - set(parameters):
            raise Unreadable("the certificate names parameters that the task does not have")
        trees = {name: tree(item) for name, item in {**parameters, **constants}.items()}
        trees.update({name: Node("num", (value,)) for name, value in given.items()})
        found, busy = self.task.parameters, set[str]()

        def lookup(name: str, scope: Scope) -> Any:
            if name in found:
                return found[name]
            if name not in trees or name in busy:
                return plain(name)
            busy.add(name)
            found[name] = scope.number(trees[name])
            return found[name]

        for name in trees:
            lookup(name, Scope(Run((), {}), lookup, {}))

    def constant(self, node: Node) -> Fraction:
        value = self.scope().number(node)
        if not value.is_constant:
            raise Unreadable("a rational constant is expected")
        return value.value

    def scope(self) -> Scope:
        task = self.task
        labels = {label for variable in task.variables for label in variable.labels}

        def lookup(name: str, scope: Scope) -> Any:
            return task.parameters[name] if name in task.parameters else name if name in labels else plain(name)

        return Scope(Run((), {}), lookup, {})

    # State ------------------------------------------------------------------------------------------------------------

    def state(self) -> None:
        for name, item in self.section("state").items():
            if not isinstance(item, str):
                raise Unreadable(f"the sort of {name} is a text")
            word, size, labels, within = syntax.sort(item)
            if size is None:
                self.task.variables.append(Variable(name, word, labels, within=within))
                continue
            count = self.constant(size)
            if count.denominator != 1 or not 0 < count <= MAX_COMPONENTS:
                raise Unreadable("the size of an array is a natural number, and not a large one")
            names = [f"{name}[{i}]" for i in range(int(count))]
            self.task.arrays[name] = names
            self.task.variables += [Variable(one, word, labels, within=within) for one in names]

    def spread(self, entries: Mapping[str, Any], read: Any) -> dict[str, Node]:
        """Entries for variables and arrays, as one for each component."""
        found: dict[str, Node] = {}
        names = {variable.name for variable in self.task.variables}
        for name, item in entries.items():
            node = tree(item, read)
            if name in names:
                found[name] = node
                continue
            if name not in self.task.arrays:
                raise Unreadable(f"{name!r} is no variable")
            components = self.task.arrays[name]
            for i, one in enumerate(components):
                found.setdefault(one, self.component(node, i, len(components), item))
        return found

    def component(self, node: Node, place: int, count: int, item: Any) -> Node:
        if node.op == "list":
            if len(node.args) != count:
                raise Unreadable("an array has not as many entries as components")
            entry: Node = node.args[place]
            return entry
        if node.op != "each" and syntax.has_draw(node):
            raise Unreadable("one draw for all components of an array is not read")
        if node.op == "each":
            return Node("bind", (node.args[0], node.args[1], place + int(self.constant(node.args[2]))))
        return node

    def init(self) -> None:
        entries = dict(self.section("init"))
        where = entries.pop("where", [])
        self.task.where = [tree(item) for item in listed(where)]
        self.task.init = {**self.spread(entries, syntax.region), **self.starts}
        missing = [variable.name for variable in self.task.variables if variable.name not in self.task.init]
        if missing:
            raise Unreadable(f"{missing[0]} has no start")

    # Agents and environment -------------------------------------------------------------------------------------------

    def agents(self) -> None:
        for name, item in self.section("agents").items():
            if not isinstance(item, dict) or set(item) - AGENT:
                raise Unreadable(f"the agent {name}: {', '.join(sorted(set(item) - AGENT))} is not read")
            policy = item.get("policy")
            by = policy.get("by") if isinstance(policy, dict) else None
            files = policy.get("networks", []) if isinstance(policy, dict) else [policy]
            act = item.get("act", "argmax")
            read = [self.network(file) for file in files]
            if any(softmax for _, softmax in read) and act != "argmax":
                raise Unreadable("a network that ends with a Softmax is read before an argmax only")
            self.task.agents[name] = Agent(
                name,
                tuple(tree(part) for part in item.get("observe", [])),
                tuple(network for network, _ in read),
                by,
                act if isinstance(act, str) else tuple(tree(part) for part in act),
                self.agent_labels(item.get("labels")),
            )
            if self.task.agents[name].act not in ("argmax", "raw") and isinstance(act, str):
                raise Unreadable(f"act = {act!r} is not read")
            if "every" in item:
                self.task.periods[name] = self.constant(tree(item["every"]))
                if not 0 < self.task.periods[name] <= MAX_PERIOD:
                    raise Unreadable(f"the period of {name} is none")
            self.memory(name, item, max(network.memory for network, _ in read))

    def memory(self, name: str, item: Mapping[str, Any], size: int) -> None:
        """What an agent remembers, as variables of the state."""
        if not size:
            if "memory" in item or "remember" in item:
                raise Unreadable(f"the agent {name} has a network without a memory")
            return
        if isinstance(item.get("policy"), dict):
            raise Unreadable("several networks with a memory are not read")
        names = tuple(f"{name}.memory[{i}]" for i in range(size))
        start = item.get("memory", 0)
        starts = start if isinstance(start, list) else [start] * size
        if len(starts) != size:
            raise Unreadable(f"the memory of {name} has {size} numbers")
        self.task.variables += [Variable(one, "real", owner=name) for one in names]
        self.task.memories[name] = names
        self.starts |= {one: tree(part, syntax.region) for one, part in zip(names, starts, strict=True)}
        if "remember" in item:
            self.task.arrays[str(item["remember"])] = list(names)

    def agent_labels(self, labels: Any) -> tuple[str, ...] | None:
        if labels is None or isinstance(labels, list):
            return None if labels is None else tuple(map(str, labels))
        for variable in self.task.variables:
            if variable.name == labels and variable.labels:
                return variable.labels
        raise Unreadable(f"{labels!r} is no variable with labels")

    def network(self, file: Any) -> tuple[Network, bool]:
        if not isinstance(file, str) or not file.endswith((".onnx", ".nnet")):
            raise Unreadable(f"the network {file!r} is not read: only .onnx and .nnet files are")
        path = self.folder / file
        if file.startswith("data:"):
            path = Path(os.environ.get("VERNAL_DATA", "")) / file.removeprefix("data:")
        data = content(path)
        self.task.hashes.append(hashlib.sha256(data).hexdigest())
        return (nnet.read(data), False) if file.endswith(".nnet") else onnx.read(data)

    def environment(self) -> None:
        table = self.section("environment")
        if set(table) - {"let", "next", "enabled"}:
            raise Unreadable("a loop that samples is not read")
        self.task.lets = {name: tree(item) for name, item in table.get("let", {}).items()}
        self.task.next = self.spread(table.get("next", {}), syntax.expression)
        if "enabled" in table:
            self.task.enabled = tree(table["enabled"])

    def flow(self) -> None:
        """Rates of change; what an abstraction is made of is no part of the system."""
        table = dict(self.section("flow"))
        if "flow" not in self.table:
            if "abstraction" in self.table or self.task.periods:
                raise Unreadable("abstractions and periods belong to flows")
            return
        if "environment" in self.table or self.task.memories or set(self.task.agents) != set(self.task.periods):
            raise Unreadable("a loop that samples is read only if agents without memories act, each after its period")
        self.section("abstraction")
        lets = table.pop("let", {})
        if not isinstance(lets, dict):
            raise Unreadable("let is no table")
        self.task.lets = {name: tree(item) for name, item in lets.items()}
        self.task.rates = self.spread(table, syntax.expression)

    def check_names(self) -> None:
        """Every name belongs to one thing, so that no tree is read in two ways."""
        task = self.task
        kinds: Sequence[set[str]] = [
            {variable.name for variable in task.variables} | set(task.arrays),
            set(task.parameters),
            set(task.functions),
            set(task.agents),
            set(task.lets),
            task.labels,
        ]
        for i, names in enumerate(kinds):
            for others in kinds[i + 1 :]:
                if names & others:
                    raise Unreadable(f"{sorted(names & others)[0]!r} names two things, which is not read")


def plain(name: str) -> Any:
    """What a name means that the task does not define."""
    if name in ("true", "false"):
        return name == "true"
    if name == "pi":
        return pi()
    raise Unreadable(f"{name!r} is not known")
