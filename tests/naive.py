"""A naive explicit-state checker for formulas without a bound: reachable states, LTL by tableau, CTL by fixpoints.

LTL (E. Clarke, O. Grumberg and K. Hamaguchi, 1994): a state is paired with every guess of what is true at the next
position; an edge has to make the guesses true, and what is waited for has to come again and again. Nothing here is
shared with the engines but the successors of a state, which come from brute force.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from tests.brute import Brute, State, TooLarge
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
from vernal.logic.normal import TRUTH, is_ctl
from vernal.model.system import System

Guess = Mapping[Formula, bool]  # of formulas, whether they are true at the next position


@dataclass(frozen=True)
class Naive:
    """A finite system opened up; formulas have to be without bounds."""

    system: System
    most: int = 500  # states

    @cached_property
    def brute(self) -> Brute:
        return Brute(self.system, limit=200_000)

    @cached_property
    def states(self) -> list[State]:
        found = dict.fromkeys(self.brute.starts())
        waiting = list(found)
        while waiting:
            new = [after for after in self.brute.successors(waiting.pop()) if after not in found]
            found.update(dict.fromkeys(new))
            waiting += new
            if len(found) > self.most:
                raise TooLarge
        return list(found)

    def holds(self, formula: Formula) -> bool:
        core = simplified(formula)
        starts = self.brute.starts()
        if is_ctl(formula):
            return all(start in self.where(formula) for start in starts)
        return not Tableau(self, Not(core)).has_path(starts)

    # CTL

    def where(self, formula: Formula) -> set[State]:
        """The states at which a CTL formula is true."""
        everywhere = set(self.states)
        args = [self.where(arg) for arg in operands(formula)]
        match formula:
            case Atom(expr):
                return {state for state in self.states if self.brute.truth(expr, state)}
            case Not():
                return everywhere - args[0]
            case And():
                return everywhere.intersection(*args)
            case Or():
                return set().union(*args)
            case Implies():
                return (everywhere - args[0]) | args[1]
            case Iff():
                return everywhere - (args[0] ^ args[1])
            case Next(count=count, quantifier=quantifier):
                some = quantifier is Quantifier.SOME
                found = args[0] if some else everywhere - args[0]
                for _ in range(count):
                    found = self.before(found)
                return found if some else everywhere - found
        assert isinstance(formula, Eventually | Always | Until | Release | Weak)
        if formula.quantifier is Quantifier.SOME:
            return self.some(type(formula), args)
        opposite = self.some(*self.negated(type(formula), args))
        return everywhere - opposite

    def negated(self, operator: type[Formula], args: list[set[State]]) -> tuple[type[Formula], list[set[State]]]:
        no = [set(self.states) - arg for arg in args]
        if operator is Weak:  # some position without either, and no q before it
            return Until, [no[1], no[0] & no[1]]
        pairs = {Eventually: Always, Always: Eventually, Until: Release, Release: Until}
        return pairs[operator], no

    def some(self, operator: type[Formula], args: list[set[State]]) -> set[State]:
        """The states with a path: least and greatest fixpoints."""
        if operator is Eventually:
            return self.until(set(self.states), args[0])
        if operator is Until:
            return self.until(*args)
        if operator is Always:
            return self.always(args[0])
        if operator is Weak:
            return self.until(*args) | self.always(args[0])
        return self.until(args[1], args[0] & args[1]) | self.always(args[1])

    def until(self, p: set[State], q: set[State]) -> set[State]:
        found = set(q)
        while (more := found | (p & self.before(found))) != found:
            found = more
        return found

    def always(self, p: set[State]) -> set[State]:
        ends = {state for state in self.states if not self.brute.successors(state)}
        found = set(p)
        while (less := found & (ends | self.before(found))) != found:
            found = less
        return found

    def before(self, after: set[State]) -> set[State]:
        return {state for state in self.states if not after.isdisjoint(self.brute.successors(state))}


# LTL ------------------------------------------------------------------------------------------------------------------


def simplified(formula: Formula) -> Formula:
    """The same by negation, conjunction, next and until alone."""
    args = tuple(simplified(arg) for arg in operands(formula))
    match formula:
        case Not():
            return Not(args[0])
        case And():
            return And(args)
        case Or():
            return Not(And(tuple(Not(arg) for arg in args)))
        case Implies():
            return Not(And((args[0], Not(args[1]))))
        case Iff():
            return Not(And((Not(And(args)), Not(And((Not(args[0]), Not(args[1])))))))
        case Next(count=count):
            made = args[0]
            for _ in range(count):
                made = Next(made)
            return made
        case Eventually():
            return Until(TRUTH, args[0])
        case Always():
            return Not(Until(TRUTH, Not(args[0])))
        case Until():
            return Until(args[0], args[1])
        case Release():
            return Not(Until(Not(args[0]), Not(args[1])))
        case Weak():
            never = Not(Until(TRUTH, Not(args[0])))
            return Not(And((Not(Until(args[0], args[1])), Not(never))))
    return formula


@dataclass(frozen=True)
class Tableau:
    """The product of a system with all guesses of what comes next."""

    naive: Naive
    formula: Formula

    @cached_property
    def parts(self) -> list[Formula]:
        """All sub-formulas, each once, operands first."""
        found: dict[Formula, None] = {}

        def visit(node: Formula) -> None:
            for arg in operands(node):
                visit(arg)
            found[node] = None

        visit(self.formula)
        return list(found)

    @cached_property
    def ahead(self) -> list[Formula]:
        """The formulas whose truth at the next position matters."""
        wanted = [node.arg if isinstance(node, Next) else node for node in self.parts if isinstance(node, Next | Until)]
        return list(dict.fromkeys(wanted))

    def truths(self, state: State, guess: Guess) -> dict[Formula, bool]:
        known: dict[Formula, bool] = {}
        for node in self.parts:
            match node:
                case Atom(expr):
                    known[node] = node == TRUTH or self.naive.brute.truth(expr, state)
                case Not(arg):
                    known[node] = not known[arg]
                case And(args):
                    known[node] = all(known[arg] for arg in args)
                case Next(arg):
                    known[node] = guess[arg]
                case Until(left, right):
                    known[node] = known[right] or (known[left] and guess[node])
        return known

    @cached_property
    def nodes(self) -> list[tuple[State, Guess, dict[Formula, bool]]]:
        return [
            (state, guess, self.truths(state, guess)) for state in self.naive.states for guess in self.guesses(state)
        ]

    def guesses(self, state: State) -> Iterator[Guess]:
        """Where a path ends, nothing is true at the next position."""
        ends = not self.naive.brute.successors(state)
        values = [(False,) if ends else (False, True)] * len(self.ahead)
        return (dict(zip(self.ahead, one, strict=True)) for one in itertools.product(*values))

    def has_path(self, starts: list[State]) -> bool:
        """Whether a maximal path from a start keeps the formula."""
        edges = self.edges()
        good = self.accepting(edges)
        reach = {i for i, (state, _, known) in enumerate(self.nodes) if state in starts and known[self.formula]}
        waiting = list(reach)
        while waiting:
            new = [j for j in edges[waiting.pop()] if j not in reach]
            reach.update(new)
            waiting += new
        return not reach.isdisjoint(good)

    def edges(self) -> list[list[int]]:
        by_state: dict[State, list[int]] = {}
        for i, (state, _, _) in enumerate(self.nodes):
            by_state.setdefault(state, []).append(i)
        return [
            [
                j
                for after in self.naive.brute.successors(state)
                for j in by_state[after]
                if all(self.nodes[j][2][node] == truth for node, truth in guess.items())
            ]
            for state, guess, _ in self.nodes
        ]

    def accepting(self, edges: list[list[int]]) -> set[int]:
        """Ends of paths, and cycles in which all that is waited for comes."""
        size = len(self.nodes)
        ends = {i for i, (state, _, _) in enumerate(self.nodes) if not self.naive.brute.successors(state)}
        pairs = [(i, j) for i, after in enumerate(edges) for j in after]
        rows, columns = np.array(pairs, dtype=int).reshape(-1, 2).T
        _, labels = connected_components(
            csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=(size, size)), connection="strong"
        )
        inside: dict[int, set[int]] = {}
        for i, j in pairs:
            if labels[i] == labels[j]:
                inside.setdefault(int(labels[i]), set()).update((i, j))
        waited = [node for node in self.parts if isinstance(node, Until)]
        for members in inside.values():
            known = [self.nodes[i][2] for i in members]
            if all(any(k[node.right] or not k[node] for k in known) for node in waited):
                ends |= members
        return ends
