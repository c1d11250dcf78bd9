"""Buchi automata over the atoms of a formula: the data, and what makes them smaller without changing what they accept.

An automaton reads a path position by position, each by an edge whose literals are true there. It accepts an infinite
path if some run takes edges of every mark again and again, and a finite maximal path if some run reads its last
position by an edge that may end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from vernal.model.expr import Expr
from vernal.model.tick import Tick, idle


@dataclass(frozen=True, slots=True)
class Edge:
    """From state to state by reading one position."""

    source: int
    target: int
    literals: tuple[tuple[Expr, bool], ...]  # what the atoms of the position it reads have to be, all of them
    marks: frozenset[int]  # the acceptance sets it belongs to
    may_end: bool  # whether a maximal finite path may end with the position it reads


@dataclass(frozen=True)
class Automaton:
    """A generalised Buchi automaton with acceptance on edges; states are numbered 0 .. states - 1."""

    initial: int
    states: int
    edges: tuple[Edge, ...]
    marks: int  # an infinite run is accepted if it takes edges of every mark again and again (0: every infinite run)


# Smaller automata -----------------------------------------------------------------------------------------------------


def trimmed(automaton: Automaton, *, tick: Tick = idle) -> Automaton:
    """The same paths are accepted: equal states are one, and no state is left from which nothing is accepted.

    Edges that lie on no cycle of an accepting component lose their marks, which mean nothing there.
    """
    while True:
        before = automaton.states, len(automaton.edges)
        automaton = _merged(_useful(_merged(automaton, tick)), tick)
        if before == (automaton.states, len(automaton.edges)):
            return automaton


def _merged(automaton: Automaton, tick: Tick) -> Automaton:
    """Equal states as one; states are equal if their edges are, up to equal targets."""
    edges = _by_source(automaton.states, _without_needless(automaton.edges, tick))
    classes = _classes(edges, tick)
    first = {classes[state]: state for state in reversed(range(automaton.states))}
    kept = (replace(edge, source=one, target=classes[edge.target]) for one in first for edge in edges[first[one]])
    return _renumbered(replace(automaton, initial=classes[automaton.initial], states=len(first), edges=tuple(kept)))


def _classes(edges: list[list[Edge]], tick: Tick) -> list[int]:
    """The class of every state, numbered from 0: one class at first, divided for as long as members differ.

    Only states with an edge to a state that has changed its class are looked at again; a long chain is divided at
    one end, state by state.
    """
    classes, looks = [0] * len(edges), [frozenset[Hashable]()] * len(edges)
    members, changed = [set(range(len(edges)))], set(range(len(edges)))
    before = [{edge.source for edge in arriving} for arriving in _by_target(len(edges), chain(*edges))]
    while changed:
        tick()
        parts: dict[tuple[int, Hashable], set[int]] = {}
        for state in changed:
            look = frozenset((e.literals, e.marks, e.may_end, classes[e.target]) for e in edges[state])
            if look != looks[state]:
                parts.setdefault((classes[state], look), set()).add(state)
            looks[state] = look
        changed = set()
        for (number, _), part in sorted(parts.items(), key=lambda item: len(item[1])):
            moved = _smaller_part(members, number, part)
            for state in moved:
                classes[state] = len(members) - 1
                changed |= before[state]
    return classes


def _smaller_part(members: list[set[int]], number: int, part: set[int]) -> set[int]:
    """Divides a class into a part and the rest, and makes the smaller of the two a class of its own."""
    rest = members[number] - part
    small, large = sorted((part, rest), key=len)
    if small:
        members[number] = large
        members.append(small)
    return small


def _useful(automaton: Automaton) -> Automaton:
    """Without states from which nothing is accepted; marks only where a run can take them for ever."""
    component = components(automaton)
    fair = _fair(automaton, component)
    edges = [
        edge if component[edge.source] == component[edge.target] in fair else replace(edge, marks=frozenset())
        for edge in automaton.edges
    ]
    hopeful = {edge.source for edge in edges if edge.may_end or component[edge.source] in fair}
    arriving = _by_target(automaton.states, edges)
    waiting = list(hopeful)
    while waiting:
        fresh = {edge.source for edge in arriving[waiting.pop()]} - hopeful
        hopeful |= fresh
        waiting.extend(fresh)
    kept = [edge for edge in edges if edge.target in hopeful or edge.may_end]
    return _renumbered(replace(automaton, edges=tuple(edge for edge in kept if edge.source in hopeful)))


def _fair(automaton: Automaton, component: Sequence[int]) -> set[int]:
    """The components in which a run may take edges of every mark for ever."""
    inside: dict[int, set[int]] = {}
    for edge in automaton.edges:
        if component[edge.source] == component[edge.target]:
            inside.setdefault(component[edge.source], set()).update(edge.marks)
    return {number for number, marks in inside.items() if len(marks) == automaton.marks}


def with_fewer_marks(automaton: Automaton) -> Automaton:
    """Without marks that every cycle has, or every cycle that has another mark; of a trimmed automaton."""
    component = components(automaton)
    cyclic = [edge for edge in automaton.edges if component[edge.source] == component[edge.target]]
    sets = {mark: {n for n, edge in enumerate(cyclic) if mark in edge.marks} for mark in range(automaton.marks)}
    needed = {mark: found for mark, found in sets.items() if len(found) < len(cyclic)}
    for mark in sorted(needed, reverse=True):
        if any(needed[other] <= needed[mark] for other in needed if other != mark):
            del needed[mark]
    numbers = {mark: number for number, mark in enumerate(sorted(needed))}
    edges = (
        replace(edge, marks=frozenset(numbers[mark] for mark in edge.marks if mark in numbers))
        for edge in automaton.edges
    )
    return replace(automaton, edges=tuple(edges), marks=len(numbers))


def _without_needless(edges: Iterable[Edge], tick: Tick) -> list[Edge]:
    """Without edges beside which another has the same ends, asks less, and gives as much."""
    ordered = sorted(edges, key=_ends)
    return [edge for _, group in groupby(ordered, key=_ends) for edge in _least(_resolved(list(group)), tick)]


def _ends(edge: Edge) -> tuple[int, int]:
    return edge.source, edge.target


def _least(edges: list[Edge], tick: Tick) -> list[Edge]:
    least: list[Edge] = []
    for edge in edges:
        tick()
        if not any(_dominates(other, edge) for other in least):
            least = [*(other for other in least if not _dominates(edge, other)), edge]
    return least


def _dominates(one: Edge, other: Edge) -> bool:
    return one.may_end >= other.may_end and one.marks >= other.marks and set(one.literals) <= set(other.literals)


def _resolved(edges: list[Edge]) -> list[Edge]:
    """Two edges that differ in the sign of one literal are one edge without it."""
    known = set(edges)
    waiting = list(edges)
    while waiting:
        edge = waiting.pop()
        for literal in edge.literals:
            atom, positive = literal
            twin = replace(
                edge, literals=tuple((atom, not positive) if one == literal else one for one in edge.literals)
            )
            joined = replace(edge, literals=tuple(one for one in edge.literals if one != literal))
            if twin in known and joined not in known:
                known.add(joined)
                waiting.append(joined)
                edges.append(joined)
    return edges


def _renumbered(automaton: Automaton) -> Automaton:
    """States in the order in which they are met from the initial one; those that are not met are left out."""
    leaving = _by_source(automaton.states, automaton.edges)
    numbers = {automaton.initial: 0}
    waiting = [automaton.initial]
    edges: list[Edge] = []
    for state in waiting:
        for edge in leaving[state]:
            if edge.target not in numbers:
                numbers[edge.target] = len(numbers)
                waiting.append(edge.target)
            edges.append(replace(edge, source=numbers[state], target=numbers[edge.target]))
    return replace(automaton, initial=0, states=len(numbers), edges=tuple(edges))


def _by_source(states: int, edges: Iterable[Edge]) -> list[list[Edge]]:
    found: list[list[Edge]] = [[] for _ in range(states)]
    for edge in edges:
        found[edge.source].append(edge)
    return found


def _by_target(states: int, edges: Iterable[Edge]) -> list[list[Edge]]:
    found: list[list[Edge]] = [[] for _ in range(states)]
    for edge in edges:
        found[edge.target].append(edge)
    return found


# Components -----------------------------------------------------------------------------------------------------------


def components(automaton: Automaton) -> list[int]:
    """The strongly connected component of every state, by its number (Kosaraju's two searches)."""
    after = [[edge.target for edge in leaving] for leaving in _by_source(automaton.states, automaton.edges)]
    before = [[edge.source for edge in arriving] for arriving in _by_target(automaton.states, automaton.edges)]
    found = [-1] * automaton.states
    for state in reversed(_finished(after)):
        waiting = [state] if found[state] < 0 else []
        while waiting:
            member = waiting.pop()
            if found[member] < 0:
                found[member] = state
                waiting.extend(before[member])
    return found


def _finished(after: Sequence[Sequence[int]]) -> list[int]:
    """The states in the order in which a depth-first search leaves them."""
    seen: set[int] = set()
    order: list[int] = []
    for root in range(len(after)):
        waiting = [(root, False)]
        while waiting:
            state, ready = waiting.pop()
            if ready:
                order.append(state)
            elif state not in seen:
                seen.add(state)
                waiting.append((state, True))
                waiting.extend((target, False) for target in after[state])
    return order


# One mark -------------------------------------------------------------------------------------------------------------


def degeneralised(automaton: Automaton, *, tick: Tick = idle) -> Automaton:
    """An automaton with one mark that accepts the same paths.

    A state remembers which mark is waited for; an edge is marked once all have come, one after the other. Between
    components of the automaton the waiting begins anew, which changes nothing for a run that goes on for ever.
    """
    component = components(automaton)
    leaving = _by_source(automaton.states, automaton.edges)
    numbers = {(automaton.initial, 0): 0}
    waiting = [(automaton.initial, 0)]
    edges: list[Edge] = []
    for state, level in waiting:
        tick()
        for edge in leaving[state]:
            stays = component[edge.source] == component[edge.target]
            after, full = _advance(level, edge.marks, automaton.marks) if stays else (0, False)
            target = edge.target, after
            if target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
            marks = frozenset({0} if full else ())
            edges.append(replace(edge, source=numbers[state, level], target=numbers[target], marks=marks))
    return trimmed(Automaton(0, len(numbers), tuple(edges), 1), tick=tick)


def _advance(level: int, marks: frozenset[int], count: int) -> tuple[int, bool]:
    """The mark that is waited for next, and whether all have come."""
    while level < count and level in marks:
        level += 1
    if level < count:
        return level, False
    again = next((mark for mark in range(count) if mark not in marks), 0)
    return again, True
