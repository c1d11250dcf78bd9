"""The sorts of a task's expressions, found without evaluating them: where something does not fit, nothing is said.

An evaluation sees only what it comes across; a branch that is never taken, or a let that nobody uses, it does not. So
every text of a task is gone through once: numbers of arguments, sorts, names that it may use, constants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from vernal_check import curves
from vernal_check.errors import Unreadable
from vernal_check.expressions import ARGUMENTS, MAX_POWER, Scope
from vernal_check.formulas import TEMPORAL, Normal
from vernal_check.onnx import Network
from vernal_check.seconds import Timed
from vernal_check.syntax import Node, expression
from vernal_check.task import Agent, Task, Variable

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OPERATORS = {"A", "E", "F", "G", "R", "U", "W", "X", "AX", "EX", "AF", "EF", "AG", "EG"}
WORDS = {
    *("and", "or", "not", "always", "eventually", "pi", "true", "false", "where", "out", "_"),
    *("if", "choose", "between", "match", "clip", "min", "max", "abs", "relu", "sign", "floor", *curves.NAMES),
}  # fmt: skip
MAX_INTEGERS = 1000  # in which an integer may start
EVERYWHERE = frozenset({"state", "let", "draw", "action", "memory", "out"})


@dataclass(frozen=True)
class Sort:
    """The sort of a value, and what it depends on."""

    kind: str  # real, int, bool, enum, or label where only the words are known
    labels: tuple[str, ...] = ()
    size: int | None = None  # of an array
    uses: frozenset[str] = frozenset()

    @property
    def is_number(self) -> bool:
        return self.kind in ("real", "int") and self.size is None

    def using(self, *more: frozenset[str]) -> Sort:
        return replace(self, uses=self.uses.union(*more))

    def also(self, *words: str) -> Sort:
        return replace(self, uses=self.uses.union(words))


def check(task: Task, scope: Scope, claim: Node) -> None:
    """Refuse a task, or a claim about it, in which something has not the sort that it should have."""
    sorts = Sorts(task, scope)
    sorts.check()
    sorts.claim(claim)


class Sorts:
    """The sorts of all names of a task; `scope` computes its constants."""

    def __init__(self, task: Task, scope: Scope) -> None:
        self.task, self.scope = task, scope
        self.labels = {label: variable.labels for variable in task.variables for label in variable.labels}
        self.labels |= {label: agent.labels or () for agent in task.agents.values() for label in agent.labels or ()}
        state = frozenset({"state"})
        self.known = {v.name: Sort(v.sort, v.labels, uses=state) for v in task.variables if v.owner is None}
        memories = {name for names in task.memories.values() for name in names}
        for name, components in task.arrays.items():
            is_memory = components[0] in memories
            first = Sort("real", uses=frozenset({"memory"})) if is_memory else self.known[components[0]]
            self.known[name] = replace(first, size=len(components))
        self.busy: list[str] = []

    def check(self) -> None:
        """Every text of the task, each with what it may not use."""
        task = self.task
        self.names()
        for variable in task.variables:
            self.declared(variable)
        for condition in task.where:
            self.expect(condition, "bool", EVERYWHERE - {"state"})
        for name in task.lets:
            self.sort(Node("name", (name,)), {"memory", "out"})
        for agent in task.agents.values():
            self.agent(agent)
            self.name(agent.name)
        for name, node in task.next.items():
            bound = {}
            if node.op == "bind":
                node, bound = node.args[0], {node.args[1]: node.args[2]}
            self.suits(self.sort(node, {"memory", "out"}, bound), self.known[name], f"the next value of {name}")
        self.expect(task.enabled, "bool", {"draw", "memory", "out"})
        for condition in task.predicates:
            self.expect(condition, "bool", {"draw", "out"})
        self.rates()
        for claim in (*map(expression, task.properties.values()), *task.claims.values()):
            if task.rates is None:
                self.claim(claim)
            else:  # others may be over samples, or for all time
                self.expect(claim, "bool", {"draw", "out"})

    def claim(self, made: Node) -> None:
        """A formula: what it says is a truth value, nothing is drawn for it, and its bounds are numbers."""
        self.expect(made, "bool", {"draw", "out"} if self.task.rates is None else {"draw", "out", "action"})
        (Normal if self.task.rates is None else Timed)(made, self.scope)

    def rates(self) -> None:
        """Rates are real numbers that do not jump."""
        for name, node in (self.task.rates or {}).items():
            bound = {}
            if node.op == "bind":
                node, bound = node.args[0], {node.args[1]: node.args[2]}
            self.suits(self.sort(node, {"memory", "out"}, bound), self.known[name], f"the rate of {name}")
        written = [] if self.task.rates is None else [*self.task.rates.values(), *self.task.lets.values()]
        if any(jumps(node, set(self.task.agents)) for node in written):
            raise Unreadable("a rate that jumps, or a let of a flow that decides something, is not read")

    # Declarations -----------------------------------------------------------------------------------------------------

    def names(self) -> None:
        task = self.task
        owned = [*task.parameters, *task.functions, *task.agents, *task.lets, *task.arrays]
        owned += [v.name for v in task.variables if "[" not in v.name]
        for name in [*owned, *self.labels]:
            taken = name in WORDS or (name in OPERATORS and name not in self.labels)
            if taken or not (task.is_planning or NAME.fullmatch(name)):
                raise Unreadable(f"{name!r} is no name")
        lists = [v.labels for v in task.variables] + [agent.labels or () for agent in task.agents.values()]
        if any(len(set(one)) < len(one) for one in lists):
            raise Unreadable("a label appears twice")
        if not task.variables:
            raise Unreadable("a task without a state variable")
        if any(not name or not name.isprintable() or name == "in_range" for name in task.properties):
            raise Unreadable("a property has a name that it cannot have")

    def declared(self, variable: Variable) -> None:
        """The range of a variable, and its start in it."""
        within, numbers = None, variable.sort in ("real", "int")
        if variable.within is not None:
            within = [self.constant(end) for end in variable.within.args]
            fractional = variable.sort == "int" and any(end.denominator > 1 for end in within)
            if not numbers or within[0] > within[1] or fractional:
                raise Unreadable(f"the range of {variable.name} is none of its sort")
        node, scope = self.task.init[variable.name], self.scope
        if node.op == "bind":
            scope, node = scope.inside(node.args[1], node.args[2]), node.args[0]
        if node.op in ("range", "set"):
            members = [scope.value(part) for part in node.args]
        else:
            members = [scope.value(node)]
        if not numbers:
            if node.op == "range" or not all(one in (variable.labels or (False, True)) for one in members):
                raise Unreadable(f"the start of {variable.name} is no value of its sort")
            return
        values = [self.rational(one) for one in members]
        if node.op == "range":
            inside = values[1].__floor__() - values[0].__ceil__() + 1
            if values[0] > values[1] or (variable.sort == "int" and not 0 < inside <= MAX_INTEGERS):
                raise Unreadable(f"the start of {variable.name} is inverted, empty, or has too many integers")
        elif variable.sort == "int" and any(value.denominator > 1 for value in values):
            raise Unreadable(f"the start of {variable.name} is no integer")
        if within is not None and any(not within[0] <= value <= within[1] for value in values):
            raise Unreadable(f"the start of {variable.name} is outside of its range")

    def constant(self, node: Node) -> Fraction:
        return self.rational(self.scope.value(node))

    def rational(self, value: Any) -> Fraction:
        if isinstance(value, bool | str | tuple) or not value.is_constant:
            raise Unreadable("a rational constant is expected")
        found: Fraction = value.value
        return found

    # Agents -----------------------------------------------------------------------------------------------------------

    def agent(self, agent: Agent) -> None:
        memory = len(self.task.memories.get(agent.name, ()))
        more = set() if self.task.rates is None else {"let"}
        seen = [self.sort(node, {"action", "memory", "out", *more}) for node in agent.observe]
        if any(sort.kind not in ("real", "int") for sort in seen):
            raise Unreadable(f"{agent.name} observes what is no number")
        count = sum(sort.size or 1 for sort in seen)
        for network in agent.networks:
            if network.size - memory != count or (agent.labels and network.outputs - memory != len(agent.labels)):
                raise Unreadable(f"the network of {agent.name} has other inputs or outputs than the agent")
        if agent.by is not None:
            by = self.sort(Node("name", (agent.by,)), {"draw", "action", "memory"})
            if len(agent.networks) != (2 if by.kind == "bool" else len(by.labels)) or by.size is not None:
                raise Unreadable(f"{agent.name} has not a network for each value of {agent.by}")
        if any(may_end(node) for node in agent.observe):
            raise Unreadable(f"what {agent.name} observes may not be there")

    def action(self, agent: Agent) -> Sort:
        uses = frozenset({"action", "state"})
        if agent.act == "argmax":
            return Sort("enum" if agent.labels else "int", agent.labels or (), uses=uses)
        count = agent.networks[0].outputs - len(self.task.memories.get(agent.name, ()))
        if agent.act == "raw":
            return Sort("real", size=None if count == 1 else count, uses=uses)
        known, self.known = self.known, {**self.known, "out": Sort("real", size=count, uses=frozenset({"out"}))}
        parts = [
            self.sort(node, {"let", "draw", "action", "memory"}) for node in agent.act if not isinstance(node, str)
        ]
        self.known = known
        if not parts or (len(parts) > 1 and not all(part.is_number for part in parts)):
            raise Unreadable(f"the action of {agent.name} is not made of numbers")
        return replace(parts[0], uses=uses, size=len(parts) if len(parts) > 1 else parts[0].size)

    # Expressions ------------------------------------------------------------------------------------------------------

    def expect(self, node: Node, kind: str, forbidden: set[str] | frozenset[str]) -> None:
        sort = self.sort(node, forbidden)
        if sort.kind != kind or sort.size is not None:
            raise Unreadable(f"a value of the sort {kind} is expected, not {sort.kind}")

    def sort(self, node: Node, forbidden: set[str] | frozenset[str], bound: Mapping[str, int] | None = None) -> Sort:
        """The sort of an expression that may not use some things."""
        found = self.of(node, bound or {})
        if found.uses & forbidden:
            raise Unreadable(f"an expression uses what it may not: {', '.join(sorted(found.uses & forbidden))}")
        return found

    def of(self, node: Node, bound: Mapping[str, int]) -> Sort:
        op, args = node.op, node.args
        if op == "num":
            return Sort("int" if Fraction(args[0]).denominator == 1 else "real")
        if op == "name":
            return Sort("int") if args[0] in bound else self.name(args[0])
        if op in TEMPORAL:
            ends = [end for end in args[1] or () if end is not None]
            if any(self.of(end, bound).uses for end in ends):
                raise Unreadable("a bound is a constant")
            return self.truths([self.of(arg, bound) for arg in args[2:]])
        if op in ("&", "|", "!", "->", "<->"):
            return self.truths([self.of(arg, bound) for arg in args])
        if op in ("==", "!=", "<", "<=", ">", ">="):
            a, b = (self.of(arg, bound) for arg in args)
            joined = self.joined([a, b])
            if joined.size is not None or (op not in ("==", "!=") and not joined.is_number):
                raise Unreadable(f"{op} compares numbers, == and != single values")
            return replace(joined, kind="bool", labels=())
        if op in ("+", "-", "*", "/", "//", "%", "^", "neg"):
            return self.arithmetic(op, args, bound)
        if op == "match":
            return self.match(args[0], args[1], bound)
        if op == "index":
            return self.component(args, bound)
        if op == "each":
            return self.each(args, bound)
        if op == "call":
            return self.call(args[0], args[1:], bound)
        raise Unreadable(f"{op!r} does not belong into an expression")

    def name(self, name: str) -> Sort:
        if name in self.known:
            return self.known[name]
        if name in self.task.parameters or name == "pi":
            value = self.task.parameters.get(name)
            is_integer = value is not None and value.is_constant and value.value.denominator == 1
            return Sort("int" if is_integer else "real")
        if name in ("true", "false"):
            return Sort("bool")
        if name in self.task.lets or name in self.task.agents:
            if name in self.busy:
                raise Unreadable(f"{name!r} is defined by itself")
            self.busy.append(name)
            agent = self.task.agents.get(name)
            sort = self.of(self.task.lets[name], {}).also("let") if agent is None else self.action(agent)
            self.known[name] = sort
            self.busy.pop()
            return sort
        if name in self.labels:
            return Sort("label", (name,))
        raise Unreadable(f"{name!r} is not known")

    def arithmetic(self, op: str, args: Sequence[Node], bound: Mapping[str, int]) -> Sort:
        sorts = [self.of(arg, bound) for arg in args]
        if not all(sort.is_number for sort in sorts):
            raise Unreadable(f"{op} takes numbers")
        joined = self.joined(sorts)
        if op in ("/", "//", "%", "^") and (op != "/" or not sorts[1].uses):
            value = self.scope_in(bound).number(args[1]) if not sorts[1].uses else None
            if value is None or (op == "^" and not value.is_constant):
                raise Unreadable(f"{op} takes a constant on its right")
            if op != "^" and value.is_constant and value.value == 0:
                raise Unreadable("a division by the constant 0")
            if op in ("//", "%") and joined.kind != "int":
                raise Unreadable(f"{op} takes integers")
            if op == "^" and max(abs(value.value.numerator), value.value.denominator) > MAX_POWER:
                raise Unreadable("an exponent is not a large one")
            natural = op == "^" and value.value >= 0 and value.value.denominator == 1
            joined = replace(joined, kind=sorts[0].kind if natural else joined.kind if op in ("//", "%") else "real")
        return replace(joined, kind="real") if op == "/" else joined

    def scope_in(self, bound: Mapping[str, int]) -> Scope:
        return reduce(lambda scope, index: scope.inside(*index), bound.items(), self.scope)

    def match(self, subject: Node, cases: Sequence[tuple[Any, Node]], bound: Mapping[str, int]) -> Sort:
        sort, labels = self.of(subject, bound), [label for label, _ in cases]
        kinds = {"bool": ("true", "false"), "enum": sort.labels}
        if sort.size is not None or "_" in labels[:-1] or sort.kind == "label" or not labels:
            raise Unreadable("a match is not well formed")
        for label in labels:
            known = isinstance(label, Fraction) if sort.is_number else label in kinds[sort.kind]
            if label != "_" and not known:
                raise Unreadable(f"{label!r} is no case of a match")
        if labels[-1] != "_" and (sort.is_number or set(kinds[sort.kind]) - set(labels)):
            raise Unreadable("a match leaves a value out")
        return self.joined([self.of(body, bound) for _, body in cases]).using(sort.uses)

    def component(self, args: Sequence[Node], bound: Mapping[str, int]) -> Sort:
        array, index = (self.of(arg, bound) for arg in args)
        if index.kind != "int" or index.size is not None:
            raise Unreadable("a component has an integer number")
        last = (array.size or 1) - 1
        if not index.uses and not 0 <= self.scope_in(bound).integer(args[1]) <= last:
            raise Unreadable("there is no such component")
        if array.size is None and not array.uses & {"action", "out"}:
            raise Unreadable("only arrays have components")
        return replace(array, size=None).using(index.uses)

    def each(self, args: Sequence[Any], bound: Mapping[str, int]) -> Sort:
        item, index, lower, upper = args
        if any(self.of(end, bound).uses for end in (lower, upper)):
            raise Unreadable("the ends of an index are constants")
        scope = self.scope_in(bound)
        first, last = scope.integer(lower), scope.integer(upper)
        if not first <= last <= first + 10_000:
            raise Unreadable("an index takes no value, or too many")
        sorts = [self.of(item, {**bound, index: i}) for i in range(first, last + 1)]
        return replace(self.joined(sorts), size=len(sorts))

    def call(self, name: str, given: Sequence[Node], bound: Mapping[str, int]) -> Sort:
        if len(given) != ARGUMENTS.get(name, max(1, len(given))):
            raise Unreadable(f"{name} does not take {len(given)} arguments")
        if name == "choose":
            return self.choose(given, bound)
        sorts = [self.of(one, bound) for one in given]
        uses = frozenset[str]().union(*(sort.uses for sort in sorts))
        if name == "if":
            self.truths(sorts[:1])
            if "draw" in sorts[0].uses and may_end(tuple(given[1:])):
                raise Unreadable("whether there is a step depends on what is drawn in it")
            return self.joined(sorts[1:]).using(uses)
        if name in ("all", "any", "count", "sum") or (name in ("min", "max") and len(given) == 1):
            kinds = ("bool",) if name in ("all", "any", "count") else ("real", "int")
            if sorts[0].kind not in kinds or sorts[0].size is None:
                raise Unreadable(f"{name} takes an array")
            kind = "int" if name == "count" else sorts[0].kind
            return Sort(kind, uses=uses)
        if name in self.task.functions:
            return self.function(self.task.functions[name], sorts).using(uses)
        if name not in WORDS or not all(sort.is_number for sort in sorts):
            raise Unreadable(f"{name!r} takes numbers, if it is a function")
        if name == "between":
            ends = [] if uses else [self.scope_in(bound).number(one) for one in given]
            if ends and ends[0].is_constant and ends[1].is_constant and ends[0].value > ends[1].value:
                raise Unreadable("a draw from an inverted interval")
            return Sort("real", uses=uses | {"draw"})
        if name in ("sign", "floor"):
            return Sort("int", uses=uses)
        return Sort("real", uses=uses) if name in curves.NAMES else self.joined(sorts)

    def choose(self, options: Sequence[Node], bound: Mapping[str, int]) -> Sort:
        values, guards = [], []
        for option in options:
            values.append(self.of(option.args[0] if option.op == "when" else option, bound))
            guards += [self.of(option.args[1], bound)] if option.op == "when" else []
        self.truths(guards)
        if len(guards) == len(options) and any("draw" in guard.uses for guard in guards):
            raise Unreadable("whether there is a step depends on what is drawn in it")
        return self.joined(values).using(*(guard.uses for guard in guards), frozenset({"draw"}))

    def function(self, network: Network, given: Sequence[Sort]) -> Sort:
        if any(sort.kind not in ("real", "int") for sort in given):
            raise Unreadable("a network takes numbers")
        if sum(sort.size or 1 for sort in given) != network.size:
            raise Unreadable(f"a network of {network.size} inputs is given another number of them")
        return Sort("real", size=None if network.outputs == 1 else network.outputs)

    # Several sorts ----------------------------------------------------------------------------------------------------

    def truths(self, sorts: Sequence[Sort]) -> Sort:
        if any(sort.kind != "bool" or sort.size is not None for sort in sorts):
            raise Unreadable("a truth value is expected")
        return Sort("bool").using(*(sort.uses for sort in sorts))

    def joined(self, sorts: Sequence[Sort]) -> Sort:
        """The sort of alternatives."""
        kinds = {sort.kind for sort in sorts}
        uses = frozenset[str]().union(*(sort.uses for sort in sorts))
        if len({sort.size for sort in sorts}) > 1:
            raise Unreadable("values of different sizes do not go together")
        if kinds <= {"real", "int"}:
            return Sort("real" if "real" in kinds else "int", (), sorts[0].size, uses)
        if kinds == {"bool"}:
            return Sort("bool", (), sorts[0].size, uses)
        if kinds <= {"enum", "label"}:
            lists = {sort.labels for sort in sorts if sort.kind == "enum"}
            words = {label for sort in sorts for label in sort.labels}
            if not lists:
                return Sort("label", tuple(sorted(words)), sorts[0].size, uses)
            if len(lists) == 1 and words <= set(whole := next(iter(lists))):
                return Sort("enum", whole, sorts[0].size, uses)
        raise Unreadable("values of different sorts do not go together")

    def suits(self, sort: Sort, wanted: Sort, what: str) -> None:
        """Refuse a value that is given to something of another sort; an integer is also a real."""
        if sort.size is None and (sort.kind == wanted.kind == "bool" or (sort.kind, wanted.kind) == ("int", "real")):
            return
        if sort.size is None and sort.kind == wanted.kind and sort.kind in ("real", "int"):
            return
        fits = wanted.kind == "enum" and (sort.kind == "enum" and sort.labels == wanted.labels)
        fits = fits or (sort.kind == "label" and set(sort.labels) <= set(wanted.labels))
        if sort.size is not None or not fits:
            raise Unreadable(f"{what} is of another sort")


def jumps(node: Any, held: set[str]) -> bool:
    """Whether something in a rate, or in a let that it may use, is no continuous number between two instants."""
    if isinstance(node, tuple):
        return any(jumps(part, held) for part in node)
    if not isinstance(node, Node):
        return False
    named = node.args[0] if node.op == "call" else node.op
    if named == "match" and node.args[0].op == "name" and node.args[0].args[0] in held:
        return any(jumps(body, held) for _, body in node.args[1])
    jumping = ("choose", "if", "sign", "floor", "match", "//", "%", "all", "any", "count")
    return named in jumping or jumps(node.args, held)


def may_end(node: Any) -> bool:
    """Whether a choice inside may have no option."""
    if isinstance(node, tuple):
        return any(map(may_end, node))
    if not isinstance(node, Node):
        return False
    if node.op == "call" and node.args[0] == "choose" and all(option.op == "when" for option in node.args[1:]):
        return True
    return may_end(node.args)
