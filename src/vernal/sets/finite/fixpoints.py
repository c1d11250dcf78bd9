"""CTL on a finite graph: every operator is a fixpoint, computed backwards from where it begins.

All temporal operators are an until, of all paths or of some:

    F q = true U q,   G q = !F !q,   p R q = !(!p U !q),   p W[0,b] q = !(!q U[0,b] (!p & !q))

each with the dual quantifier under the negation. After k rounds the least fixpoint of `p U q` has found exactly the
positions from which q is met within k transitions, so a bound is a number of rounds. A bound that begins later takes
single steps in front. Paths may end: a position without successors has no next one, `AX` is true there and `EX` false.

Atoms may be undefined at some positions. Then every sub-formula has two sets of positions, those at which it is surely
true and those at which it may be, and negation swaps them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from vernal.errors import UnsupportedFormula
from vernal.interpret.numbers.rounding import Mask
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
    Temporal,
    Until,
    Weak,
)
from vernal.logic.normal import fold, steps
from vernal.model.expr import Const, Expr
from vernal.model.tick import Tick
from vernal.sets.finite.labelled_graph import LabelledGraph
from vernal.sets.finite.table import Numbers

ALL, SOME = Quantifier.ALL, Quantifier.SOME


@dataclass(frozen=True, eq=False)
class Satisfied:
    """The positions at which a formula is surely true, and those at which it may be; one array where all is known."""

    sure: Mask
    maybe: Mask

    def __invert__(self) -> Satisfied:
        return lifted(np.logical_not, Satisfied(self.maybe, self.sure))

    def __and__(self, other: Satisfied) -> Satisfied:
        return lifted(np.logical_and, self, other)

    def __or__(self, other: Satisfied) -> Satisfied:
        return lifted(np.logical_or, self, other)


def lifted(function: Callable[..., Mask], *facts: Satisfied) -> Satisfied:
    """A monotone function of sets (or a negation of swapped ones), of what is sure and of what may be."""
    sure = function(*(fact.sure for fact in facts))
    if all(fact.sure is fact.maybe for fact in facts):
        return Satisfied(sure, sure)
    return Satisfied(sure, function(*(fact.maybe for fact in facts)))


# Formulas -------------------------------------------------------------------------------------------------------------


def satisfied(formula: Formula, graph: LabelledGraph, tick: Tick) -> Satisfied:
    """The positions at which a CTL formula is true."""
    solver = Fixpoints(graph, tick)

    def rule(node: Formula, args: tuple[Satisfied, ...]) -> Satisfied:
        tick()
        if isinstance(node, Atom):
            return atom(node.expr, graph.sure, graph.maybe, graph.size)
        return _boolean(node, args) or _of_states(_temporal(node, args, solver), node, graph)

    return fold(formula, rule)


def _of_states(found: Satisfied, node: Formula, graph: LabelledGraph) -> Satisfied:
    """What a quantifier says where it chooses among positions of a state, too: then it is the same at all of them."""
    if not len(graph.together):
        return found
    assert isinstance(node, Temporal)
    joined = np.logical_or if node.quantifier is SOME else np.logical_and
    many = np.diff(np.append(graph.together, graph.size))
    return lifted(lambda p: np.repeat(joined.reduceat(p, graph.together), many), found)


def of_position(formula: Formula, sure: Mapping[Expr, Mask], size: int) -> Mask:
    """Where a formula without temporal operators is surely true, from where its atoms are true; all are defined."""

    def rule(node: Formula, args: tuple[Satisfied, ...]) -> Satisfied:
        found = atom(node.expr, sure, sure, size) if isinstance(node, Atom) else _boolean(node, args)
        assert found is not None
        return found

    return fold(formula, rule).sure


def atom(expr: Expr, sure: Mapping[Expr, Mask], maybe: Mapping[Expr, Mask], size: int) -> Satisfied:
    """Where an atom is true."""
    if isinstance(expr, Const):
        constant = np.full(size, bool(expr.value))
        return Satisfied(constant, constant)
    known, possible = sure.get(expr, np.zeros(size, bool)), maybe.get(expr, np.zeros(size, bool))
    return Satisfied(known, known if np.array_equal(known, possible) else possible)


def _boolean(node: Formula, args: tuple[Satisfied, ...]) -> Satisfied | None:
    match node:
        case Not():
            return ~args[0]
        case And():
            return lifted(lambda *sets: np.logical_and.reduce(sets), *args)
        case Or():
            return lifted(lambda *sets: np.logical_or.reduce(sets), *args)
        case Implies():
            return ~args[0] | args[1]
        case Iff():
            return (args[0] & args[1]) | (~args[0] & ~args[1])
    return None


def _temporal(node: Formula, args: tuple[Satisfied, ...], solver: Fixpoints) -> Satisfied:
    match node:
        case Next(count=count, quantifier=Quantifier() as kind):
            return lifted(lambda p: solver.next(kind, p, count, strong=kind is SOME), args[0])
        case Eventually(bound=bound, quantifier=Quantifier() as kind):
            return _until(kind, solver.everywhere, args[0], *steps(bound), solver)
        case Always(bound=bound, quantifier=Quantifier() as kind):
            return ~_until(kind.dual, solver.everywhere, ~args[0], *steps(bound), solver)
        case Until(bound=bound, quantifier=Quantifier() as kind):
            return _until(kind, args[0], args[1], *steps(bound), solver)
        case Release(bound=bound, quantifier=Quantifier() as kind):
            return ~_until(kind.dual, ~args[0], ~args[1], *steps(bound), solver)
        case Weak(bound=bound, quantifier=Quantifier() as kind):
            lower, upper = steps(bound)
            rounds = None if upper is None else upper - lower
            inner = ~_until(kind.dual, ~args[1], ~args[0] & ~args[1], 0, rounds, solver)
            return lifted(lambda p, z: solver.before(kind, p, z, lower, strong=False), args[0], inner)
    raise UnsupportedFormula(f"{type(node).__name__} without a path quantifier is not an operator of CTL")


def _until(kind: Quantifier, p: Satisfied, q: Satisfied, lower: int, upper: int | None, solver: Fixpoints) -> Satisfied:
    rounds = None if upper is None else upper - lower

    def until(p: Mask, q: Mask) -> Mask:
        return solver.before(kind, p, solver.until(kind, p, q, rounds), lower, strong=True)

    return lifted(until, p, q)


# Sets of positions ----------------------------------------------------------------------------------------------------


class Fixpoints:
    """Next and until on the positions of a graph."""

    def __init__(self, graph: LabelledGraph, tick: Tick) -> None:
        self.graph, self.tick = graph, tick
        true = np.ones(graph.size, bool)
        self.everywhere = Satisfied(true, true)

    def next(self, kind: Quantifier, p: Mask, count: int, *, strong: bool) -> Mask:
        """Where so many transitions lead to p, by some path or by all; a strong next is false at the end of a path."""
        return self.before(kind, self.everywhere.sure, p, count, strong=strong)

    def before(self, kind: Quantifier, p: Mask, q: Mask, count: int, *, strong: bool) -> Mask:
        """Where p holds on the way of exactly so many transitions to q."""
        for _ in range(count):
            self.tick()
            earlier = p & self._step(kind, q, strong)
            if np.array_equal(earlier, q):
                break
            q = earlier
        return q

    def _step(self, kind: Quantifier, p: Mask, strong: bool) -> Mask:
        links = self.graph.successors
        wanted = p if kind is SOME else ~p
        leading = np.zeros(self.graph.size, bool)
        leading[links.owners[wanted[links.others]]] = True
        found = leading if kind is SOME else ~leading
        return found & ~self.graph.ends if strong else found | self.graph.ends

    def until(self, kind: Quantifier, p: Mask, q: Mask, rounds: int | None) -> Mask:
        """Where q is met within so many transitions, and p holds before, by some path or by all."""
        found = q.copy()
        waiting = self.graph.successors.counts.copy()  # successors not found yet
        fresh: Numbers = np.flatnonzero(q)
        done = 0
        while len(fresh) and (rounds is None or done < rounds):
            self.tick()
            before, _ = self.graph.predecessors.of(fresh)
            earlier, counts = np.unique(before, return_counts=True)
            if kind is ALL:
                waiting[earlier] -= counts
                earlier = earlier[waiting[earlier] == 0]
            fresh = earlier[p[earlier] & ~found[earlier]]
            found[fresh] = True
            done += 1
        return found
