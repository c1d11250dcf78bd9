"""What evidence forces: the verdict of every system that agrees with the task about the states a file shows.

Known are these states, which of them are initial, and which of them follow which. Every other initial state, and every
other successor, is `wild`: conditions are true or false there as they like, and anything follows, or nothing where
paths may end. (Of a tree, which says that others are excluded, the successors of its states are known, too.) A verdict
is forced if it is the same whatever the wild ones do. CTL is decided with two sets for each formula, the states at
which it is true in any case and those at which it may be; LTL of all paths, by the tableau of tests/explicit_oracle.py
on the graph with everything that may happen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from tests.brute import State, TooLarge
from tests.explicit_oracle import FiniteOracle, Tableau
from vernal.evidence.trace import TraceStep
from vernal.evidence.trace_file import from_json
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Until,
    Weak,
    operands,
)
from vernal.logic.normal import atoms, is_ctl
from vernal.model.build import TRUE
from vernal.model.expr import Const, Expr
from vernal.model.sorts import Kind

MAX_WILD = 64  # ways in which conditions may be true or false
MAX_AROUND = 600  # states around the reachable ones, at which an invariant is looked at


@dataclass(frozen=True)
class PathShown:
    """The states of a path in a file, where its end returns to, and whether what follows them is known, too."""

    states: tuple[State, ...]
    loop: int | None
    with_successors: bool

    @classmethod
    def of(cls, content: Mapping[str, Any], graph: FiniteOracle) -> PathShown:
        trace = from_json(content["trace"], graph.brute.system)
        states = tuple(_state(step, graph) for step in trace.steps)
        return cls(states, trace.loop, content["evidence"] == "tree")


def _state(step: TraceStep, graph: FiniteOracle) -> State:
    """A position as brute force has it: the values of variables, and the actions that conditions ask about."""
    system, names = graph.brute.system, graph.brute.step.names
    taken = {**step.actions, **{name: choice.index for name, choice in step.choices.items()}}
    values = [step.state[variable.name] for variable in system.state]
    return tuple(Fraction(value) for value in (*values, *(taken.get(names[node], 0) for node in graph.brute.open)))


class Place(NamedTuple):
    """A state, or a way in which conditions are true; the same state at two positions of a path is two places."""

    state: State | None
    truths: tuple[bool, ...]
    position: int = -1
    ends: bool = False  # nothing follows


@dataclass(frozen=True)
class OpenGraph:
    """Places, what follows them, and what is true there: what the tableau asks of a graph."""

    conditions: tuple[Expr, ...]
    after: Mapping[Place, tuple[Place, ...]]
    starts: tuple[Place, ...]

    def truth(self, atom: Expr, place: Place) -> bool:
        return bool(atom.value) if isinstance(atom, Const) else place.truths[self.conditions.index(atom)]


def forces_on_graph(shown: PathShown, graph: FiniteOracle, holds: bool) -> bool:
    """Whether a path that is one of the system forces a verdict."""
    if is_ctl(graph.formula):
        return _Known(graph, shown).forces(holds)
    if holds:
        known = everything(graph, shown)
        return not Tableau(known, Not(graph.formula)).accepts(known.starts)  # type: ignore[arg-type]
    return _refutes(shown, graph)


# LTL: every path through what is known and what may be ----------------------------------------------------------------


def _refutes(shown: PathShown, graph: FiniteOracle) -> bool:
    """Whether the formula is false however the path goes on, or on all paths from its first state."""
    line, known = _line(graph, shown), everything(graph, shown)
    first = [place for place in known.starts if place.state == shown.states[0]]
    return any(
        not Tableau(one, graph.formula).accepts(starts)  # type: ignore[arg-type]
        for one, starts in ((line, list(line.starts)), (known, first))
    )


def _truths(graph: FiniteOracle, state: State) -> tuple[bool, ...]:
    return tuple(graph.truth(atom, state) for atom in _conditions(graph))


def _conditions(graph: FiniteOracle) -> tuple[Expr, ...]:
    return tuple(dict.fromkeys(atom for atom in atoms(graph.formula) if not isinstance(atom, Const)))


def _may_end(graph: FiniteOracle) -> bool:
    return graph.brute.system.step.enabled is not TRUE


def _wild(graph: FiniteOracle) -> dict[Place, tuple[Place, ...]]:
    """Places of any truths, which follow each other in any way."""
    ways = list(itertools.product((False, True), repeat=len(_conditions(graph))))
    if len(ways) > MAX_WILD:
        raise TooLarge
    endless = tuple(Place(None, truths) for truths in ways)
    ended = tuple(Place(None, truths, ends=True) for truths in ways) if _may_end(graph) else ()
    return {**dict.fromkeys(endless, (*endless, *ended)), **dict.fromkeys(ended, ())}


def _line(graph: FiniteOracle, shown: PathShown) -> OpenGraph:
    """The path alone, each position a place of its own, and whatever may follow its last one."""
    places = [Place(state, _truths(graph, state), t) for t, state in enumerate(shown.states)]
    after: dict[Place, tuple[Place, ...]] = {place: (then,) for place, then in itertools.pairwise(places)}
    wild = _wild(graph)
    if shown.loop is not None:
        after[places[-1]] = (places[shown.loop],)
    else:
        after[places[-1]] = tuple(wild) if graph.after[shown.states[-1]] else ()
    return OpenGraph(_conditions(graph), {**after, **wild}, (places[0],))


def everything(graph: FiniteOracle, shown: PathShown) -> OpenGraph:
    """All starts, all successors of the states shown, and whatever may follow the others."""
    wild, known = _wild(graph), set(shown.states)
    after: dict[Place, tuple[Place, ...]] = dict(wild)

    def places(state: State, told: bool) -> Iterator[Place]:
        """What a state may be: the one that is shown, one that is told without what follows it, or anything."""
        if state in known:
            yield Place(state, _truths(graph, state))
        elif told:
            yield Place(state, _truths(graph, state))
            yield from [Place(state, _truths(graph, state), ends=True)] if _may_end(graph) else []
        else:
            yield from wild

    starts = tuple(dict.fromkeys(place for state in graph.starts for place in places(state, told=False)))
    waiting = [place for place in starts if place.state is not None]
    while waiting:
        place = waiting.pop()
        if place in after:
            continue
        assert place.state is not None
        if place.state in known:
            following = graph.after[place.state]
            then = (one for state in following for one in places(state, shown.with_successors))
            after[place] = tuple(dict.fromkeys(then))
        else:
            after[place] = () if place.ends else tuple(wild)
        waiting.extend(after[place])
    return OpenGraph(_conditions(graph), after, starts)


# CTL: where a formula is true in any case, and where it may be --------------------------------------------------------

Sets = tuple[frozenset[Place], frozenset[Place]]  # in any case, and perhaps


class _Known:
    """The same graph, with two sets for each formula."""

    def __init__(self, graph: FiniteOracle, shown: PathShown) -> None:
        self.graph = graph
        self.open = everything(graph, shown)
        self.known = {Place(state, _truths(graph, state)) for state in shown.states}
        self.places = frozenset(place for place in self.open.after if not place.ends)
        self.wild = frozenset(place for place in self.places if place.state is None)
        self.starts = [place for place in self.open.starts if not place.ends]

    def forces(self, holds: bool) -> bool:
        surely, perhaps = self.where(self.graph.formula)
        if holds:
            return all(start in surely for start in self.starts)
        return any(start not in perhaps for start in self.starts if start not in self.wild)

    def where(self, formula: Formula) -> Sets:
        """The places at which a formula is true in any case, and those at which it may be."""
        parts = [self.where(arg) for arg in operands(formula)]
        match formula:
            case Atom(expr):
                found = frozenset(place for place in self.places if self.open.truth(expr, place))
                return found, found
            case Not():
                return self._not(parts[0])
            case And():
                return self._both(parts)
            case Or():
                return self._either(parts)
            case Implies():
                return self._either([self._not(parts[0]), parts[1]])
            case Iff():
                left, right = parts
                return self._either([self._both(parts), self._both([self._not(left), self._not(right)])])
            case Next(count=count, quantifier=quantifier):
                surely, perhaps = parts[0]
                for _ in range(count):
                    ends = quantifier is Quantifier.ALL
                    surely = self._before(quantifier, surely, sure=True, at_end=ends)
                    perhaps = self._before(quantifier, perhaps, sure=False, at_end=ends)
                return surely, perhaps
        every: Sets = (self.places, self.places)  # what `F p` and `G p` leave out of `p U q`
        (left, right) = [every, *parts] if isinstance(formula, Eventually) else [*parts, every][:2]
        surely = self._bounded(formula, left[0], right[0], sure=True)
        return surely, self._bounded(formula, left[1], right[1], sure=False)

    def _not(self, one: Sets) -> Sets:
        return self.places - one[1], self.places - one[0]

    def _both(self, parts: list[Sets]) -> Sets:
        return self.places.intersection(*(p[0] for p in parts)), self.places.intersection(*(p[1] for p in parts))

    def _either(self, parts: list[Sets]) -> Sets:
        return frozenset[Place]().union(*(p[0] for p in parts)), frozenset[Place]().union(*(p[1] for p in parts))

    def _before(
        self, quantifier: Quantifier | None, found: frozenset[Place], *, sure: bool, at_end: bool
    ) -> frozenset[Place]:
        """The places before these, on all paths or on some; `at_end`: whether a place that nothing follows counts."""
        return frozenset(place for place in self.places if self._leads(place, quantifier, found, sure, at_end))

    def _leads(
        self, place: Place, quantifier: Quantifier | None, found: frozenset[Place], sure: bool, at_end: bool
    ) -> bool:
        judged = all if sure else any  # whatever a wild one is, or something that it may be
        if place not in self.known:
            return judged([*(then in found for then in self.wild), *([at_end] if _may_end(self.graph) else [])])
        after = [then for then in self.open.after[place] if not then.ends]
        if not after:
            return at_end
        answers = [then in found for then in after if then not in self.wild]
        answers += [judged(then in found for then in self.wild)] if self.wild.intersection(after) else []
        return all(answers) if quantifier is Quantifier.ALL else any(answers)

    def _bounded(
        self, formula: Formula, left: frozenset[Place], right: frozenset[Place], sure: bool
    ) -> frozenset[Place]:
        """The expansion law of an operator, as often as its bound says, or until nothing changes."""
        assert isinstance(formula, Eventually | Always | Until | Release | Weak)
        strong, bound = isinstance(formula, Eventually | Until), formula.bound

        def later(found: frozenset[Place]) -> frozenset[Place]:
            return self._before(formula.quantifier, found, sure=sure, at_end=not strong)

        def now(after: frozenset[Place]) -> frozenset[Place]:
            match formula:
                case Eventually() | Until() | Weak():
                    return right | (left & after)
                case Always():
                    return left & after
            return right & (left | after)

        def early(after: frozenset[Place]) -> frozenset[Place]:  # before the bound begins
            if isinstance(formula, Eventually | Always):
                return after
            return left | after if isinstance(formula, Release) else left & after

        found = now(frozenset() if strong else self.places)
        for _ in itertools.count() if bound.upper is None else range(int(bound.upper - bound.lower)):
            if (again := now(later(found))) == found:
                break
            found = again
        for _ in range(int(bound.lower)):
            found = early(later(found))
        return found


# Invariants -----------------------------------------------------------------------------------------------------------


def invariant_forces(content: Mapping[str, Any], graph: FiniteOracle) -> bool:
    """Whether an invariant is one, as far as the states around the reachable ones tell.

    Starts (of a tree, its state) are inside, no step leads outside, and the formula is true (of a tree, false) from
    every state inside.
    """
    invariant = content["invariant"]
    levels = [*invariant["prefix"], invariant["sets"]]
    tree = content["evidence"] == "tree"
    starts = [PathShown.of(content, graph).states[0]] if tree else graph.starts
    inside = [{state for state in _around(graph) if _is_inside(state, sets, content, graph)} for sets in levels]
    follows = zip(inside, [*inside[1:], inside[-1]], strict=True)
    steps = ((then, after) for sets, after in follows for state in sets for then in graph.brute.successors(state))
    if not all(start in inside[0] for start in starts):
        return False
    if _watches_on(graph.formula) and not all(then in after for then, after in steps):
        return False
    return all(_truth_from(graph, state) is not tree for state in inside[0])


def _around(graph: FiniteOracle) -> list[State]:
    """The reachable states and those next to them; of labels and truth values all."""
    spans = []
    for place, variable in enumerate(graph.brute.system.state):
        values = [int(state[place]) for state in graph.after]
        match variable.sort.kind:
            case Kind.BOOL:
                spans.append(range(2))
            case Kind.ENUM:
                spans.append(range(len(variable.sort.labels)))
            case _:
                spans.append(range(min(values) - 1, max(values) + 2))
    states = [tuple(map(Fraction, state)) for state in itertools.product(*spans)]
    if len(states) > MAX_AROUND:
        raise TooLarge
    return [position for state in states for position in graph.brute.positions(state)]


def _is_inside(state: State, sets: list[Any], content: Mapping[str, Any], graph: FiniteOracle) -> bool:
    names = [variable.name for variable in graph.brute.system.state]
    values = [state[names.index(name)] for name in content["invariant"]["components"]]
    return any(
        all(
            sum(Fraction(str(a)) * x for a, x in zip(row, values, strict=True)) <= Fraction(str(bound))
            for row, bound in zip(one["rows"], one["bounds"], strict=True)
        )
        for one in sets
    )


def _watches_on(formula: Formula) -> bool:
    """Whether a claim is watched for ever: after the end of an until, an invariant may be left."""
    return not isinstance(formula, Until | Release | Weak) and all(map(_watches_on, operands(formula)))


def _truth_from(graph: FiniteOracle, start: State) -> bool:
    """The truth of the formula at a state, reachable or not."""
    other = copy(graph)
    other.starts, other.after = [start], dict(graph.after)
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if state not in other.after:
            other.after[state] = graph.brute.successors(state)
            waiting.extend(other.after[state])
    return other.holds()
