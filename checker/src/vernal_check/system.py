"""The closed loop over sets of states: what is true in a set, and where its states go.

A set of states gives every variable a value: a label, a truth value, or a form over symbols with ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor, inf
from typing import Any

from vernal_check import curves
from vernal_check.directed import Rounded, spanned
from vernal_check.errors import Endless, Rejected, Unreadable
from vernal_check.evaluation import End, Fork, Outcome, Run, outcomes
from vernal_check.expressions import Scope
from vernal_check.forms import ONE, ZERO, Exact, Form, Interval, Ranges, below
from vernal_check.networks import computed
from vernal_check.onnx import Network
from vernal_check.rows import most
from vernal_check.syntax import Node, has_draw
from vernal_check.task import Agent, Task, Variable, plain

Cell = Interval | bool | str  # what a set says of a variable: the ends of a number, a truth value, a label
Region = tuple[Cell, ...]
Row = tuple[tuple[Fraction, ...], Fraction]  # coefficients of the variables, and what their sum is at most
Truths = tuple[bool | None, ...]  # of the atoms of the claim; None where nobody asks
MAX_STARTS = 2_000_000


@dataclass(frozen=True)
class Place:
    """A set of states: a value for every variable, over symbols with ranges."""

    values: tuple[Any, ...]
    ranges: tuple[tuple[int, Interval], ...]
    directed: bool = False
    rows: tuple[Exact, ...] | None = None  # forms that are at most 0, where they are kept

    @property
    def region(self) -> Region:
        """The box around it."""
        ranges = dict(self.ranges)
        return tuple(ends(value, ranges, self.rows) if isinstance(value, Form) else value for value in self.values)

    @property
    def is_empty(self) -> bool:
        """Whether its rows are seen to contradict each other: then there is no state."""
        return bool(self.rows) and any(isinstance(cell, tuple) and cell[0] > cell[1] for cell in self.region)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it apart from others."""
        rows = () if self.rows is None else (tuple(row.key for row in self.rows),)
        return self.ranges, *rows, *(value.key if isinstance(value, Form) else value for value in self.values)

    @property
    def coarse(self) -> Place:
        """A place around one in floats, such that what comes of the same draws in another order is the same place."""
        values = tuple(value.coarse() if isinstance(value, Rounded) else value for value in self.values)
        return replace(self, values=values)

    def halves(self) -> tuple[Place, Place] | None:
        """The place cut in the middle of the symbol that matters most; None where there is none."""
        widths = [
            0 if high - low == inf else (high - low) * self._weight(symbol) for symbol, (low, high) in self.ranges
        ]
        if not widths or not max(widths):
            return None
        at = widths.index(max(widths))
        symbol, (low, high) = self.ranges[at]
        middle = (low + high) / 2 if self.directed else below((low + high) / 2, 64)
        if not low < middle < high:
            return None
        parts = [
            (*self.ranges[:at], (symbol, ends), *self.ranges[at + 1 :]) for ends in ((low, middle), (middle, high))
        ]
        return replace(self, ranges=parts[0]), replace(self, ranges=parts[1])

    def _weight(self, symbol: int) -> Any:
        return max((abs(v.terms[symbol]) for v in self.values if isinstance(v, Form) and symbol in v.terms), default=0)


NOT_FOUND = Place((), ())  # where a step leads, of which nothing is known


def ends(value: Form, ranges: Ranges, rows: tuple[Exact, ...] | None = None) -> Interval:
    """The ends of a value: rational, or infinite."""
    low, high = value.ends(ranges)
    if rows and low < high and isinstance(value, Exact):
        negative = value.times(-ONE)
        assert isinstance(negative, Exact)
        low, high = -most(negative, rows, ranges), most(value, rows, ranges)
    return low if low == -inf else Fraction(low), high if high == inf else Fraction(high)


def placed(region: Region, directed: bool = False, keeps: bool = False) -> Place:
    """A region as a place: the symbol of a variable is its number; `keeps` what is assumed about it as rows."""
    values: list[Any] = []
    ranges: list[tuple[int, Interval]] = []
    for number, cell in enumerate(region):
        if not isinstance(cell, tuple) or cell[0] == cell[1]:
            values.append(Exact(cell[0]) if isinstance(cell, tuple) else cell)
        elif directed:
            ranges.append((number, (-1.0, 1.0)))
            values.append(spanned(number, *cell))
        else:
            ranges.append((number, cell))
            values.append(Exact(ZERO, {number: ONE}))
    return Place(tuple(values), tuple(ranges), directed, () if keeps else None)


@dataclass(frozen=True)
class Case:
    """One way a position goes: the truth of atoms there, and where its states go; None where paths end."""

    forks: tuple[Fork, ...]
    truths: Truths
    after: Place | None


class System:
    """A task, asked about regions."""

    def __init__(self, task: Task) -> None:
        self.task, self.labels = task, task.labels
        self.names = {variable.name: place for place, variable in enumerate(task.variables)}
        self.remembered: dict[tuple[int, tuple[Fraction, ...]], tuple[Form, ...]] = {}
        self.calls = {name: self._function(network) for name, network in task.functions.items()}

    # Names ------------------------------------------------------------------------------------------------------------

    def scope(self, run: Run, place: Place) -> Scope:
        """Where expressions are evaluated at the states of a place; what is drawn is drawn once."""
        task, busy = self.task, set[str]()
        known: dict[str, Any] = dict(zip(self.names, place.values, strict=True))
        for name, components in task.arrays.items():
            known[name] = tuple(known[one] for one in components)

        def lookup(name: str, scope: Scope) -> Any:
            if name in known:
                return known[name]
            if name in task.parameters:
                return task.parameters[name]
            if name not in task.lets and name not in task.agents:
                return name if name in self.labels else plain(name)
            if name in busy:
                raise Unreadable(f"{name!r} is defined by itself")
            busy.add(name)
            plainly = Scope(run, lookup, self.calls)
            agent = task.agents.get(name)
            known[name] = plainly.value(task.lets[name]) if agent is None else self._action(agent, plainly, known)
            return known[name]

        return Scope(run, lookup, self.calls)

    def constant(self, name: str) -> Any:
        """What a name means that is neither of the state nor defined by the task: a label, or a constant."""
        return name if name in self.labels else plain(name)

    # Networks ---------------------------------------------------------------------------------------------------------

    def _action(self, agent: Agent, scope: Scope, remembered: dict[str, Any]) -> Any:
        inputs: list[Form] = []
        for node in agent.observe:
            value = scope.value(node)
            inputs += value if isinstance(value, tuple) else [value]
        if not all(isinstance(value, Form) for value in inputs):
            raise Unreadable(f"the agent {agent.name} observes something that is no number")
        network, memory = self._chosen(agent, scope), self.task.memories.get(agent.name, ())
        out = self.network(network, [*inputs, *(scope.lookup(name, scope) for name in memory)], scope.run)
        for name in reversed(memory):  # its last outputs are what it remembers next
            remembered[f"{name}'"], out = out[-1], out[:-1]
        if agent.act == "argmax":
            winner = scope.run.largest(out)
            return Exact(Fraction(winner)) if agent.labels is None else agent.labels[winner]
        if agent.act == "raw":
            return out[0] if len(out) == 1 else tuple(out)
        inner = Scope(scope.run, lambda name, s: tuple(out) if name == "out" else scope.lookup(name, s), self.calls)
        acts = tuple(inner.value(node) for node in agent.act if isinstance(node, Node))
        return acts[0] if len(acts) == 1 else acts

    def _chosen(self, agent: Agent, scope: Scope) -> Network:
        if agent.by is None:
            return agent.networks[0]
        value = scope.lookup(agent.by, scope)
        if isinstance(value, bool):
            return agent.networks[int(value)]
        variable = self.task.variables[self.names[agent.by]]
        return agent.networks[variable.labels.index(value)]

    def _function(self, network: Network) -> Any:
        def call(scope: Scope, given: Sequence[Any]) -> Any:
            inputs = [part for value in given for part in (value if isinstance(value, tuple) else (value,))]
            out = self.network(network, inputs, scope.run)
            return out[0] if len(out) == 1 else tuple(out)

        return call

    def network(self, network: Network, inputs: Sequence[Form], run: Run) -> Sequence[Form]:
        """The outputs of a network; those at single states are remembered."""
        if len(inputs) != network.size:
            raise Unreadable(f"a network of {network.size} inputs is given {len(inputs)}")
        if not all(value.is_constant for value in inputs):
            return computed(network, inputs, run)
        key = (id(network), tuple(value.value for value in inputs))
        if key not in self.remembered:
            self.remembered[key] = tuple(computed(network, inputs, run))
        return self.remembered[key]

    # Questions --------------------------------------------------------------------------------------------------------

    def starts(self) -> Iterator[Place]:
        """Places that contain all initial states, and of single states only those that are initial."""
        if self.task.listed is not None:
            yield from map(placed, self.task.listed)
            return
        parts = [list(self._starts(variable)) for variable in self.task.variables]
        conditions = self.conditions_by_place()
        left: list[Region] = [()]
        for _ in range(MAX_STARTS):
            if not left:
                return
            begun = left.pop()
            if len(begun) == len(parts):
                yield from self._restricted(placed(begun))
                continue
            for cell in reversed(parts[len(begun)]):
                region = (*begun, cell)
                if all(self.may_be(condition, region) for condition in conditions.get(len(begun), ())):
                    left.append(region)
        raise Unreadable(f"more than {MAX_STARTS:,} initial states")

    def conditions_by_place(self) -> dict[int, list[Node]]:
        """The constraints on initial states, by the last variable that they name."""
        found: dict[int, list[Node]] = {}
        for condition in (part for one in self.task.where for part in conjuncts(one)):
            places = [place for name in names(condition) for place in self.places_of(name)]
            found.setdefault(max(places, default=0), []).append(condition)
        return found

    def places_of(self, name: str) -> list[int]:
        return [self.names[one] for one in self.task.arrays.get(name, [name]) if one in self.names]

    def may_be(self, condition: Node, begun: Region) -> bool:
        """Whether a condition is not seen to be false at states that begin like this: then none of them is initial."""
        if any(isinstance(cell, tuple) and cell[0] != cell[1] for cell in begun):
            return True
        rest = [False] * (len(self.task.variables) - len(begun))  # which it does not name
        try:
            return self.scope(Run((), {}), placed((*begun, *rest))).truth(condition)
        except (curves.Undefined, Unreadable):
            return True  # decided when all is known

    def is_initial(self, state: Region) -> bool:
        """Whether one state is an initial one, which is decided exactly."""
        if self.task.listed is not None:
            return state in self.task.listed
        if any(isinstance(cell, tuple) and cell[0] != cell[1] for cell in state):
            return False
        for variable, cell in zip(self.task.variables, state, strict=True):
            parts = list(self._starts(variable))
            inside = self.task.init[variable.name].op == "range" and any(map(partial(contains, cell), parts))
            if not inside and cell not in parts:  # what is no rational number is enclosed, and no state is equal to it
                return False
        run = Run((), {})
        try:
            allowed = all(self.scope(run, placed(state)).truth(condition) for condition in self.task.where)
        except curves.Undefined:
            return False
        return allowed and not run.forks  # no question was left open on the way

    def _restricted(self, place: Place) -> Iterator[Place]:
        """The parts of a place in which the constraints on initial states may be true."""
        if not self.task.where:
            yield place
            return

        def allowed(run: Run) -> bool:
            scope = self.scope(run, place)
            return all(scope.truth(condition) for condition in self.task.where)

        for found in outcomes(dict(place.ranges), allowed, rows=()):
            if found.value:
                yield narrowed(place, found)

    def _starts(self, variable: Variable) -> Iterator[Cell]:
        node = self.task.init[variable.name]
        scope = self.scope_of_constants()
        if node.op == "bind":
            scope, node = scope.inside(node.args[1], node.args[2]), node.args[0]
        if node.op == "range":
            low, high = (scope.number(end) for end in node.args)
            if not low.is_constant or not high.is_constant:
                raise Unreadable(f"the start of {variable.name} is not rational")
            if low.value > high.value:
                raise Unreadable(f"the start of {variable.name} is an inverted interval")
            if variable.sort == "int":
                yield from ((Fraction(i), Fraction(i)) for i in range(ceil(low.value), floor(high.value) + 1))
            else:
                yield low.value, high.value
            return
        for member in node.args if node.op == "set" else (node,):
            yield _cell(scope.value(member), {}, variable)

    def scope_of_constants(self) -> Scope:
        task = self.task

        def lookup(name: str, scope: Scope) -> Any:
            return task.parameters[name] if name in task.parameters else name if name in self.labels else plain(name)

        return Scope(Run((), {}), lookup, {})

    def cases(self, place: Place, atoms: Sequence[Node], asked: frozenset[int], moves: bool) -> list[Case]:
        """All ways the positions of a place go; only what is true there unless it moves."""
        found = []
        for outcome in outcomes(
            dict(place.ranges), lambda run: self._case(run, place, atoms, asked, moves), place.directed, place.rows
        ):
            truths, after = outcome.value
            found.append(Case(outcome.forks, truths, after))
        return found

    def _case(
        self, run: Run, place: Place, atoms: Sequence[Node], asked: frozenset[int], moves: bool
    ) -> tuple[Truths, Place | None]:
        scope = self.scope(run, place)
        try:
            truths = tuple(scope.truth(atom) if i in asked else None for i, atom in enumerate(atoms))
            if not moves or not scope.truth(self.task.enabled):
                return truths, None
            try:
                after = [
                    _checked(self._next(scope, variable), run.ranges, variable) for variable in self.task.variables
                ]
            except End:
                return truths, None
            except Endless:
                return truths, NOT_FOUND  # which matters only where these truths allow what the claim forbids
        except curves.Undefined as problem:
            raise Rejected(f"{problem} at some of the states {self.described(place.region)}", obligation=6) from None
        used = {symbol for value in after if isinstance(value, Form) for symbol in value.terms}
        rows = None if run.rows is None else kept_rows(run, used)
        ranges = tuple(
            (symbol, run.ranges[symbol]) for symbol in sorted(used.union(*(row.terms for row in rows or ())))
        )
        return truths, Place(tuple(after), ranges, place.directed, rows)

    def _next(self, scope: Scope, variable: Variable) -> Any:
        if variable.owner is not None:  # what an agent remembers
            scope.lookup(variable.owner, scope)
            return scope.lookup(f"{variable.name}'", scope)
        node = self.task.next.get(variable.name)
        if node is None:
            return scope.lookup(variable.name, scope)
        if node.op == "bind":
            return scope.inside(node.args[1], node.args[2]).value(node.args[0])
        return scope.value(node)

    # Sets of other shapes ---------------------------------------------------------------------------------------------

    def inside(self, run: Run, place: Place, region: Region, rows: Sequence[Row], where: Node | None) -> bool:
        """Whether the states of a place are in a set: its ends, its rows, its condition."""
        for value, cell in zip(place.values, region, strict=True):
            if not isinstance(cell, tuple):
                if value != cell:
                    return False
                continue
            low, high = cell
            if low != -inf and not run.is_negative(Exact(low).minus(value), strict=False):
                return False
            if high != inf and not run.is_negative(value.minus(Exact(high)), strict=False):
                return False
        return all(self.below(run, place, row) for row in rows) and (
            where is None or self.scope_of_states(run, place).truth(where)
        )

    def covers_all(self, regions: Sequence[Region]) -> None:
        """Refuse regions that leave out a state there could be, whatever its numbers are."""
        options: list[list[Cell]] = []
        for variable in self.task.variables:
            if variable.sort == "int":
                raise Unreadable("an induction over integers is not read")
            everything: list[Cell] = [(-inf, inf)] if variable.sort == "real" else [*variable.labels]
            options.append([False, True] if variable.sort == "bool" else everything)
        for region in itertools.product(*options):
            if region not in regions:
                raise Rejected(f"the induction says nothing of the states {self.described(region)}", obligation=1)

    def below(self, run: Run, place: Place, row: Row) -> bool:
        total: Form = Exact(-row[1])
        for a, value in zip(row[0], place.values, strict=True):
            total = total.plus(value.times(a)) if a else total
        return run.is_negative(total, strict=False)

    def scope_of_states(self, run: Run, place: Place) -> Scope:
        """Where a condition on states is evaluated: nothing is drawn, and nobody acts."""
        task, busy = self.task, set[str]()
        known: dict[str, Any] = dict(zip(self.names, place.values, strict=True))
        for name, components in task.arrays.items():
            known[name] = tuple(known[one] for one in components)

        def lookup(name: str, scope: Scope) -> Any:
            if name in known or name in task.parameters:
                return known[name] if name in known else task.parameters[name]
            if name in task.lets and name not in busy and not has_draw(task.lets[name]):
                busy.add(name)
                known[name] = scope.value(task.lets[name])
                return known[name]
            return name if name in self.labels else plain(name)

        return Scope(run, lookup, {})

    def described(self, region: Region) -> str:
        """A region, or the state that it is."""
        return ", ".join(f"{v.name} = {_shown(cell)}" for v, cell in zip(self.task.variables, region, strict=True))


def narrowed(place: Place, found: Outcome[Any]) -> Place:
    """The part of a place that one outcome is about."""
    ranges = tuple((symbol, found.ranges[symbol]) for symbol, _ in place.ranges)
    return replace(place, ranges=ranges, rows=found.rows)


def kept_rows(run: Run, used: set[int]) -> tuple[Exact, ...]:
    """The rows that say something of symbols that are used, or of others that have to do with them."""
    left, kept, size = list(run.rows or ()), list[Exact](), -1
    reached = set(used)
    while len(kept) > size:
        size = len(kept)
        kept += [row for row in left if not reached.isdisjoint(row.terms)]
        left = [row for row in left if reached.isdisjoint(row.terms)]
        reached.update(*(row.terms for row in kept))
    return tuple({row.key: row for row in kept}.values())


def conjuncts(condition: Node) -> Iterator[Node]:
    """The parts of a conjunction."""
    if condition.op != "&":
        yield condition
        return
    for part in condition.args:
        yield from conjuncts(part)


def names(node: Any) -> set[str]:
    """All names in an expression."""
    if isinstance(node, tuple):
        return set().union(*map(names, node))
    if not isinstance(node, Node):
        return set()
    return {node.args[0]} if node.op == "name" else names(node.args)


def contains(cell: Cell, part: Cell) -> bool:
    """Whether a number is between the ends of an interval."""
    return isinstance(cell, tuple) and isinstance(part, tuple) and part[0] <= cell[0] and cell[1] <= part[1]


# Cells ----------------------------------------------------------------------------------------------------------------


def _cell(value: Any, ranges: Ranges, variable: Variable) -> Cell:
    """A value as what a region says of a variable."""
    checked = _checked(value, ranges, variable)
    found: Cell = ends(checked, ranges) if isinstance(checked, Form) else checked
    return found


def _checked(value: Any, ranges: Ranges, variable: Variable) -> Any:
    """A value of a variable; one of the wrong sort is refused."""
    if variable.sort == "bool" and isinstance(value, bool):
        return value
    if variable.sort == "enum" and isinstance(value, str) and value in variable.labels:
        return value
    if variable.sort in ("real", "int") and isinstance(value, Form):
        if value.is_constant and variable.sort == "real":
            return value
        low, high = value.ends(ranges)
        if variable.sort == "int" and (low != high or Fraction(low).denominator != 1):
            raise Rejected(f"the integer {variable.name} is not one number in a case", obligation=3)
        return Exact(Fraction(low)) if low == high else value
    raise Unreadable(f"{variable.name} is given a value of another sort")


def _shown(cell: Cell) -> str:
    if not isinstance(cell, tuple):
        return str(cell).lower() if isinstance(cell, bool) else cell
    return str(cell[0]) if cell[0] == cell[1] else f"[{cell[0]}, {cell[1]}]"
