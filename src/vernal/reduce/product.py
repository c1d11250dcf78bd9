"""The product of a system with a Buchi automaton that reads its positions, as an ordinary system.

Two integers join the state: the automaton's state, and how many marked edges were taken. At every position one of the
edges is taken whose literals are true there. That is a guarded choice: where the automaton cannot read the position,
the path ends. Literals may ask about actions. They are read in the step in which the agents act, so an action that a
tie or noise leaves open is the same one for the system and for the automaton. Draws and memories stay as they are.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.logic.buchi import Automaton, Edge
from vernal.logic.formula import Always, And, Atom, Formula, Not, Or
from vernal.model import build
from vernal.model import expr as e
from vernal.model.build import TRUE
from vernal.model.expr import Expr, Role, Var
from vernal.model.graph import order
from vernal.model.sorts import BOOL, INT
from vernal.model.system import OneOf, System, Variable
from vernal.model.tick import Tick, idle
from vernal.reduce.base import Direction

MAX_SIMULATED = 60  # states of an automaton that are compared with each other; of a larger one only equal ones are


@dataclass(frozen=True)
class Product:
    """A system with an automaton beside it, and the claims that show that the automaton accepts none of its paths."""

    system: System
    is_kept: Formula
    ends_well: Formula

    direction = Direction.EXACT


def product(system: System, automaton: Automaton, limit: int, *, tick: Tick = idle) -> Product:
    """The system beside an automaton with one mark and at least one edge; marked edges are counted up to the limit."""
    state, count, taken = (_unused(system, name) for name in ("automaton", "marked", "edge"))
    reading = Variable(state, INT, Fraction(0), Fraction(automaton.states - 1))
    counting = Variable(count, INT, Fraction(0), Fraction(limit + 1))
    kept = build.compare("<=", counting.var, limit)
    moves = {move: build.conj(kept, when) for move, when in _moves(automaton, reading.var, tick).items()}
    drawn, enabled = _chosen(moves, taken)
    chosen = build.var(taken, INT, role=Role.LET)
    following = {
        state: _by_choice(chosen, [build.const(target) for target, _ in moves]),
        count: _by_choice(chosen, [counting.var + 1 if marked else counting.var for _, marked in moves]),
    }
    starts = {state: OneOf((Fraction(automaton.initial),)), count: OneOf((Fraction(0),))}
    made = System(
        system.name,
        (*system.state, reading, counting),
        replace(system.init, starts={**system.init.starts, **starts}),
        {**system.next, **following},
        system.agents,
        {**system.lets, **({} if drawn is None else {taken: drawn})},
        build.conj(system.enabled, enabled),
    )
    return Product(made, Always(Atom(kept)), Always(_ends_well(system, automaton, reading.var)))


def _chosen(moves: Mapping[tuple[int, bool], Expr], name: str) -> tuple[Expr | None, Expr]:
    """The choice of a move, by its number, and what has to be enabled beside it; a single move is no choice."""
    if len(moves) == 1:
        return None, next(iter(moves.values()))
    return build.choose(*(build.when(number, guard) for number, guard in enumerate(moves.values())), name=name), TRUE


def _unused(system: System, name: str) -> str:
    """A name that the system does not use."""
    used = {*(variable.name for variable in system.state), *(agent.name for agent in system.agents), *system.lets}
    while name in used:
        name += "_"
    return name


def _by_choice(chosen: Expr, values: Sequence[Expr]) -> Expr:
    """The value that belongs to the option taken."""
    cases = [*map(Fraction, range(len(values) - 1)), None]
    return values[0] if len(set(values)) == 1 else build.switch(chosen, cases, values)


def _ends_well(system: System, automaton: Automaton, state: Var) -> Formula:
    """The system goes on, or no edge that may end can read the position."""
    last = [build.conj(build.eq(state, edge.source), *_literals(edge)) for edge in automaton.edges if edge.may_end]
    if system.step.enabled is TRUE or not last:
        return Atom(TRUE)
    return Or((_formula(system.step.enabled), Not(_formula(build.disj(*last)))))


def _formula(condition: Expr) -> Formula:
    """A Boolean expression as a formula whose atoms have no Boolean structure of their own."""
    made: dict[Expr, Formula] = {}
    for node in order([condition]):
        if node.sort != BOOL or node.shape:
            continue
        match node:
            case e.And():
                made[node] = And(tuple(made[arg] for arg in node.args))
            case e.Or():
                made[node] = Or(tuple(made[arg] for arg in node.args))
            case e.Not():
                made[node] = Not(made[node.args[0]])
            case _:
                made[node] = Atom(node)
    return made[condition]


# Edges ----------------------------------------------------------------------------------------------------------------


def _moves(automaton: Automaton, state: Var, tick: Tick) -> dict[tuple[int, bool], Expr]:
    """The targets of edges, with a mark and without, and when an edge there is taken."""
    better = _Better(automaton, tick)
    found: dict[tuple[int, bool], list[Expr]] = {}
    for index, edge in enumerate(automaton.edges):
        tick()
        rivals = [build.negate(build.conj(*_literals(automaton.edges[other]))) for other in better.than(index)]
        when = build.conj(build.eq(state, edge.source), *_literals(edge), *rivals)
        found.setdefault((edge.target, bool(edge.marks)), []).append(when)
    return {move: build.disj(*found[move]) for move in sorted(found)}


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
