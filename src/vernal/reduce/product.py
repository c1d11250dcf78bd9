"""The product of a system with a Buchi automaton that reads its positions, as an ordinary system.

Two labels join the state: the automaton's state, and how many marked edges were taken, or whether the last one was
marked. (Not integers: sets of states are kept apart by labels, and may be joined over numbers.) At every position one
of the edges is taken whose literals are true there. That is a guarded choice: where the automaton cannot read the
position, the path ends. Literals may ask about actions. They are read in the step in which the agents act, so an action
that a tie or noise leaves open is the same one for the system and for the automaton. Draws and memories stay as they
are.

Hence the paths of the product are the paths of the system, as far as a run of the automaton reads them, each with that
run (EXACT). Two claims about it are enough to show that the automaton accepts no path of the system:

- `is_kept`: at most `limit` marked edges are taken. Then no infinite path has a run that takes them again and again.
  A path is followed until the limit is exceeded, and no further.
- `ends_well`: no position is reached at which the system ends and which an edge that may end can read. Then no finite
  maximal path is accepted.

Of two edges from one state only the better is taken where both can be: it has the mark if the other has, it may end if
the other may, and its target *simulates* the other's, i.e. answers every edge of the other by a better one that asks no
more. Where a run is accepted, so is one that takes best edges only. This makes the product of many formulas
deterministic. For simulation see K. Etessami, Th. Wilke and R. Schuller, ICALP 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from vernal.logic.buchi import Automaton, Edge
from vernal.logic.claim import position_formula
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Atom, Formula, Not, Or
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Expr, Role, Var
from vernal.model.sorts import enum
from vernal.model.system import OneOf, System, Variable
from vernal.model.tick import Tick, idle

MAX_SIMULATED = 60  # states of an automaton that are compared with each other; of a larger one only equal ones are


@dataclass(frozen=True)
class Product:
    """A system with an automaton beside it, and the claims that show that the automaton accepts none of its paths."""

    system: System
    marked: Var  # what is remembered of marked edges: a label
    is_kept: Always
    ends_well: Always

    direction = Direction.EXACT


class Move(NamedTuple):
    """One or several edges from a state to another, all with a mark or all without, and when they can be taken."""

    target: int
    marked: bool
    when: Expr


def product(system: System, automaton: Automaton, limit: int, *, tick: Tick = idle) -> Product:
    """The system beside an automaton with one mark; marked edges are counted up to the limit."""
    count = Labelled(_unused(system, "marked"), limit + 2)
    kept = build.compare("!=", count.var, count.label(limit + 1))
    one_more = count.among([count.label(min(n + 1, limit + 1)) for n in range(limit + 2)], count.var)
    made = _beside(system, automaton, Marks(count, one_more, count.var, kept), tick)
    state = _state(system, automaton)
    return Product(made, count.var, Always(Atom(kept)), Always(_ends_well(system, automaton, state)))


def marking_product(system: System, automaton: Automaton, *, tick: Tick = idle) -> Product:
    """The system beside an automaton with one mark; a label says whether the last edge was marked.

    Its paths go on after marked edges; `is_kept` says that none was taken just now.
    """
    last = Labelled(_unused(system, "marked"), 2)
    made = _beside(system, automaton, Marks(last, last.label(1), last.label(0), TRUE), tick)
    state = _state(system, automaton)
    return Product(made, last.var, Always(Atom(last.equals(0))), Always(_ends_well(system, automaton, state)))


@dataclass(frozen=True)
class Marks:
    """What a product remembers of marked edges: a label, and what it becomes when an edge is taken."""

    label: Labelled
    after_marked: Expr
    after_other: Expr
    goes_on: Expr  # while this is true


def _state(system: System, automaton: Automaton) -> Labelled:
    return Labelled(_unused(system, "automaton"), automaton.states)


def _beside(system: System, automaton: Automaton, marks: Marks, tick: Tick) -> System:
    """The system with an automaton beside it that reads its positions."""
    state, marked, moves = _state(system, automaton), marks.label, _moves(automaton, tick)
    edge = Labelled(_unused(system, "edge"), max(map(len, moves)), Role.LET)
    targets = [edge.among([state.label(move.target) for move in own], state.var) for own in moves]
    after = [
        edge.among([marks.after_marked if move.marked else marks.after_other for move in own], marked.var)
        for own in moves
    ]
    lets = {} if edge.count < 2 else {edge.name: edge.drawn(_guards(state, moves, edge.count))}
    starts = {**system.init.starts, state.name: _only(automaton.initial), marked.name: _only(0)}
    return System(
        system.name,
        (*system.state, state.variable, marked.variable),
        replace(system.init, starts=starts),
        {**system.next, state.name: state.among(targets, state.var), marked.name: state.among(after, marked.var)},
        system.agents,
        {**system.lets, **lets},
        build.conj(system.enabled, marks.goes_on, _readable(state, moves)),
    )


class Labelled:
    """A name for one of finitely many numbered labels: a state variable, or a choice that is drawn."""

    def __init__(self, name: str, count: int, role: Role = Role.STATE) -> None:
        self.name, self.count = name, count
        self.sort = enum(*(f"{name}_{number}" for number in range(count)))
        self.var = build.var(name, self.sort, role=role)

    @property
    def variable(self) -> Variable:
        return Variable(self.name, self.sort)

    def label(self, number: int) -> Expr:
        return build.label(self.sort, self.sort.labels[number])

    def equals(self, number: int) -> Expr:
        return build.eq(self.var, self.label(number))

    def among(self, values: Sequence[Expr], default: Expr) -> Expr:
        """The value that belongs to the label; labels beyond the values are never met, and stand for the last."""
        if all(value is values[0] for value in values):
            return values[0] if values else default
        cases = [Fraction(number) for number in range(self.count)]
        return build.switch(self.var, cases, [values[min(n, len(values) - 1)] for n in range(self.count)])

    def drawn(self, guards: Sequence[Expr]) -> Expr:
        """A choice of a label whose guard is true."""
        return build.choose(*(build.when(self.label(n), guard) for n, guard in enumerate(guards)), name=self.name)


def _guards(state: Labelled, moves: Sequence[Sequence[Move]], count: int) -> list[Expr]:
    """For every number the conditions under which a state has a move of this number."""
    return [
        build.disj(*(build.conj(state.equals(n), own[number].when) for n, own in enumerate(moves) if number < len(own)))
        for number in range(count)
    ]


def _readable(state: Labelled, moves: Sequence[Sequence[Move]]) -> Expr:
    """That states with one move at most have that move; others draw one, and end the path where they have none."""
    single = ((n, own) for n, own in enumerate(moves) if len(own) < 2)
    return build.conj(*(build.disj(build.negate(state.equals(n)), *(move.when for move in own)) for n, own in single))


def _only(number: int) -> OneOf:
    return OneOf((Fraction(number),))


def _unused(system: System, name: str) -> str:
    """A word with which no name of the system begins."""
    used = [*(variable.name for variable in system.state), *(agent.name for agent in system.agents), *system.lets]
    while any(other.startswith(name) for other in used):
        name += "_"
    return name


def _ends_well(system: System, automaton: Automaton, state: Labelled) -> Formula:
    """The system goes on, or no edge that may end can read the position."""
    last = [build.conj(state.equals(edge.source), *_literals(edge)) for edge in automaton.edges if edge.may_end]
    if system.step.enabled is TRUE or not last:
        return Atom(TRUE)
    return Or((position_formula(system.step.enabled), Not(position_formula(build.disj(*last)))))


# Edges ----------------------------------------------------------------------------------------------------------------


def _moves(automaton: Automaton, tick: Tick) -> list[list[Move]]:
    """For every state the moves that its edges make, each target once with a mark and once without."""
    better = _Better(automaton, tick)
    found: list[dict[tuple[int, bool], Expr]] = [{} for _ in range(automaton.states)]
    for index, edge in enumerate(automaton.edges):
        tick()
        rivals = [build.negate(build.conj(*_literals(automaton.edges[other]))) for other in better.than(index)]
        own, move = found[edge.source], (edge.target, bool(edge.marks))
        own[move] = build.disj(own.get(move, FALSE), build.conj(*_literals(edge), *rivals))
    return [[Move(*move, when) for move, when in sorted(own.items()) if when is not FALSE] for own in found]


def _literals(edge: Edge) -> list[Expr]:
    return [atom if positive else build.negate(atom) for atom, positive in edge.literals]


class _Better:
    """Which edges are taken before which others."""

    def __init__(self, automaton: Automaton, tick: Tick) -> None:
        states = range(automaton.states)
        self.edges = automaton.edges
        self.leaving = [[edge for edge in self.edges if edge.source == state] for state in states]
        all_pairs = automaton.states <= MAX_SIMULATED
        self.simulates = {(one, other) for one in states for other in (states if all_pairs else (one,))}
        while lost := {pair for pair in self.simulates if not self._answers(*pair, tick)}:
            self.simulates -= lost

    def _answers(self, one: int, other: int, tick: Tick) -> bool:
        """Whether a state has an answer to every edge of another, by what is known of their targets so far."""
        tick()
        return all(any(self._is_answer(answer, edge) for answer in self.leaving[one]) for edge in self.leaving[other])

    def _is_answer(self, answer: Edge, edge: Edge) -> bool:
        return set(answer.literals) <= set(edge.literals) and self._is_as_good(answer, edge)

    def _is_as_good(self, one: Edge, other: Edge) -> bool:
        gives = one.marks >= other.marks and one.may_end >= other.may_end
        return gives and (one.target, other.target) in self.simulates

    def than(self, index: int) -> list[int]:
        """The edges from the same state that are taken before this one where both can be.

        Of two that are as good as each other it is the first: the order is strict, so that one is always left.
        """
        edge = self.edges[index]
        rivals = [n for n, other in enumerate(self.edges) if other.source == edge.source and n != index]
        good = [n for n in rivals if self._is_as_good(self.edges[n], edge)]
        return [n for n in good if n < index or not self._is_as_good(edge, self.edges[n])]
