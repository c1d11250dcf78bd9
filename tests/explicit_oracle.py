"""CTL and LTL of finite systems, naively: dictionaries of states, sets, and the definitions read literally.

States, transitions and atoms come from brute force in rational arithmetic (tests/brute.py). CTL is the expansion law of
each operator, applied to all states until nothing changes. LTL is the tableau of Lichtenstein and Pnueli (POPL 1985),
not an automaton: a node is a state with a guess which temporal sub-formulas are true there, and a path of nodes that
follow from each other is good if no until is promised for ever.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tests.brute import Brute, State, TooLarge
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
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
)
from vernal.logic.normal import is_ctl
from vernal.model.expr import Const, Expr
from vernal.model.system import Init, OneOf, Slot, Span, Start, System

MAX_STATES = 500
MAX_NODES = 20_000  # of a tableau


class FiniteOracle:
    """Every state of a finite system, and what is true of it."""

    def __init__(self, system: System, formula: Formula, limit: float = 30_000) -> None:
        self.brute = Brute(listed(system), formula, limit)
        self.formula = formula
        self.starts = self.brute.starts()
        self.after: dict[State, tuple[State, ...]] = {}
        waiting = list(self.starts)
        while waiting:
            state = waiting.pop()
            if state not in self.after:
                self.after[state] = self.brute.successors(state)
                waiting.extend(self.after[state])
                if len(self.after) > MAX_STATES:
                    raise TooLarge

    def holds(self) -> bool:
        """Whether the formula is true of every initial state."""
        if is_ctl(self.formula):
            good = self.satisfying(self.formula)
            return all(start in good for start in self.starts)
        return not Tableau(self, Not(self.formula)).accepts(self.starts)

    def truth(self, atom: Expr, state: State) -> bool:
        return bool(atom.value) if isinstance(atom, Const) else self.brute.truth(atom, state)

    # CTL --------------------------------------------------------------------------------------------------------------

    def satisfying(self, formula: Formula) -> set[State]:
        """The states at which a CTL formula is true."""
        states = set(self.after)
        match formula:
            case Atom(expr):
                return {state for state in states if self.truth(expr, state)}
            case Not(arg):
                return states - self.satisfying(arg)
            case And(args):
                return states.intersection(*map(self.satisfying, args))
            case Or(args):
                return set().union(*map(self.satisfying, args))
            case Implies(p, q):
                return (states - self.satisfying(p)) | self.satisfying(q)
            case Iff(p, q):
                return states - (self.satisfying(p) ^ self.satisfying(q))
            case Next(arg, count, quantifier):
                found = self.satisfying(arg)
                for _ in range(count):
                    found = {state for state in states if self._next(quantifier, state, found)}
                return found
            case Eventually(arg):
                return self._bounded(formula, states, self.satisfying(arg))
            case Always(arg):
                return self._bounded(formula, self.satisfying(arg), states)
        assert isinstance(formula, Until | Release | Weak)
        return self._bounded(formula, self.satisfying(formula.left), self.satisfying(formula.right))

    def _next(self, quantifier: Quantifier | None, state: State, found: set[State]) -> bool:
        answers = [other in found for other in self.after[state]]
        return all(answers) if quantifier is Quantifier.ALL else any(answers)

    def _bounded(self, formula: Formula, left: set[State], right: set[State]) -> set[State]:
        """The expansion law of an operator: what it asks now, given what it asks after a step."""
        assert isinstance(formula, Eventually | Always | Until | Release | Weak)
        strong = isinstance(formula, Eventually | Until)

        def later(state: State, found: set[State]) -> bool:
            """One step later, on some path or on all; on a path that ends only the weak operators are satisfied."""
            return self._next(formula.quantifier, state, found) if self.after[state] else not strong

        def early(state: State, found: set[State]) -> bool:  # before the bound begins
            if isinstance(formula, Eventually | Always):
                return later(state, found)
            if isinstance(formula, Release):
                return state in left or later(state, found)
            return state in left and later(state, found)

        def now(state: State, found: set[State], last: bool) -> bool:
            match formula:
                case Eventually():
                    return state in right or (not last and later(state, found))
                case Always():
                    return state in left and (last or later(state, found))
                case Until():
                    return state in right or (not last and state in left and later(state, found))
                case Weak():
                    return state in right or (state in left and (last or later(state, found)))
            return state in right and (last or state in left or later(state, found))

        found = self._within(formula, strong, now)
        for _ in range(int(formula.bound.lower)):
            found = {state for state in self.after if early(state, found)}
        return found

    def _within(self, formula: Formula, strong: bool, now: Callable[[State, set[State], bool], bool]) -> set[State]:
        assert isinstance(formula, Eventually | Always | Until | Release | Weak)
        if formula.bound.upper is not None:
            found = {state for state in self.after if now(state, set(), True)}
            for _ in range(int(formula.bound.upper - formula.bound.lower)):
                found = {state for state in self.after if now(state, found, False)}
            return found
        found = set() if strong else set(self.after)
        while True:
            again = {state for state in self.after if now(state, found, False)}
            if again == found:
                return found
            found = again


def listed(system: System) -> System:
    """The system with intervals of integers written out, as brute force wants them."""
    starts = {name: _values(start) for name, start in system.init.starts.items()}
    agents = [replace(agent, slots=tuple(map(_restarted, agent.slots))) for agent in system.agents]
    return system.starting(Init(starts, system.init.where), tuple(agents))


def _restarted(slot: Slot) -> Slot:
    return replace(slot, starts=tuple(map(_values, slot.starts)))


def _values(start: Start) -> Start:
    return OneOf(tuple(map(Fraction, start.integers))) if isinstance(start, Span) else start


# LTL ------------------------------------------------------------------------------------------------------------------


class Core(NamedTuple):
    """A formula of atoms, not, or, next and until; its parts by their numbers."""

    kind: str
    parts: tuple[int, ...] = ()
    atom: Expr | None = None


Guess = tuple[bool, ...]
Node = tuple[State, Guess]


class Tableau:
    """Nodes of states and guesses, and the transitions between them."""

    def __init__(self, oracle: FiniteOracle, formula: Formula) -> None:
        self.oracle = oracle
        self.cores: list[Core] = []
        self.root = self._core(formula)
        self.temporal = [number for number, core in enumerate(self.cores) if core.kind in ("next", "until")]
        if len(oracle.after) << len(self.temporal) > MAX_NODES:
            raise TooLarge

    # Everything in terms of next and until

    def _add(self, kind: str, *parts: int, atom: Expr | None = None) -> int:
        core = Core(kind, parts, atom)
        if core not in self.cores:
            self.cores.append(core)
        return self.cores.index(core)

    def _not(self, part: int) -> int:
        return self._add("not", part)

    def _or(self, *parts: int) -> int:
        return self._add("or", *parts)

    def _and(self, *parts: int) -> int:
        return self._not(self._or(*map(self._not, parts)))

    def _core(self, formula: Formula) -> int:
        match formula:
            case Atom(expr):
                return self._add("atom", atom=expr)
            case Not(arg):
                return self._not(self._core(arg))
            case And(args):
                return self._and(*map(self._core, args))
            case Or(args):
                return self._or(*map(self._core, args))
            case Implies(p, q):
                return self._or(self._not(self._core(p)), self._core(q))
            case Iff(p, q):
                left, right = self._core(p), self._core(q)
                return self._or(self._and(left, right), self._and(self._not(left), self._not(right)))
            case Next(arg, count):
                found = self._core(arg)
                for _ in range(count):
                    found = self._add("next", found)
                return found
        return self._until_core(formula)

    def _until_core(self, formula: Formula) -> int:
        true = self._or(self._not(self._or()), self._or())
        match formula:
            case Eventually(arg, bound):
                return self._until(true, self._core(arg), bound)
            case Always(arg, bound):
                return self._not(self._until(true, self._not(self._core(arg)), bound))
            case Until(p, q, bound):
                return self._until(self._core(p), self._core(q), bound)
            case Release(p, q, bound):
                return self._not(self._until(self._not(self._core(p)), self._not(self._core(q)), bound))
        assert isinstance(formula, Weak)
        left, right, bound = self._core(formula.left), self._core(formula.right), formula.bound
        until = self._until(left, right, bound)
        whole = Bound(Fraction(0), bound.upper)
        return self._or(until, self._not(self._until(true, self._not(left), whole)))

    def _until(self, p: int, q: int, bound: Bound) -> int:
        lower, upper = int(bound.lower), bound.upper
        found = self._add("until", p, q) if upper is None else q
        for _ in range(0 if upper is None else int(upper) - lower):
            found = self._or(q, self._and(p, self._add("next", found)))
        for _ in range(lower):
            found = self._and(p, self._add("next", found))
        return found

    # Nodes

    def _values(self, state: State, guess: Guess) -> list[bool]:
        """The truth of every part at a node."""
        guessed = dict(zip(self.temporal, guess, strict=True))
        values: list[bool] = []
        for number, core in enumerate(self.cores):
            match core.kind:
                case "atom":
                    assert core.atom is not None
                    values.append(self.oracle.truth(core.atom, state))
                case "not":
                    values.append(not values[core.parts[0]])
                case "or":
                    values.append(any(values[part] for part in core.parts))
                case _:
                    values.append(guessed[number])
        return values

    def _before(self, state: State, after: list[bool] | None) -> Guess:
        """What has to be guessed at a state if this is true at the next position, or if there is none."""
        guess: dict[int, bool] = {}
        values: list[bool] = []
        for number, core in enumerate(self.cores):
            match core.kind:
                case "atom":
                    assert core.atom is not None
                    value = self.oracle.truth(core.atom, state)
                case "not":
                    value = not values[core.parts[0]]
                case "or":
                    value = any(values[part] for part in core.parts)
                case "next":
                    value = guess[number] = after is not None and after[core.parts[0]]
                case _:
                    p, q = (values[part] for part in core.parts)
                    value = guess[number] = q or (p and after is not None and after[number])
            values.append(value)
        return tuple(guess[number] for number in self.temporal)

    def accepts(self, starts: Iterable[State]) -> bool:
        """Whether the formula is true of a path from one of these states."""
        values: dict[Node, list[bool]] = {}
        earlier: dict[Node, list[Node]] = {}
        guesses = list(itertools.product((False, True), repeat=len(self.temporal)))
        for state in self.oracle.after:
            for guess in guesses:
                values[state, guess] = self._values(state, guess)
                earlier[state, guess] = []
        for state, after in self.oracle.after.items():
            for other in after:
                for guess in guesses:
                    earlier[other, guess].append((state, self._before(state, values[other, guess])))
        good = [(state, self._before(state, None)) for state, after in self.oracle.after.items() if not after]
        good += [node for part in components(earlier) if self._is_fair(part, earlier, values) for node in part]
        met = set(good)
        while good:
            for node in earlier[good.pop()]:
                if node not in met:
                    met.add(node)
                    good.append(node)
        starting = set(starts)
        return any(state in starting and values[state, guess][self.root] for state, guess in met)

    def _is_fair(self, part: list[Node], earlier: dict[Node, list[Node]], values: dict[Node, list[bool]]) -> bool:
        """Whether a component has a loop, and every until that is promised somewhere in it is kept somewhere."""
        inside = set(part)
        if not any(other in inside for node in part for other in earlier[node]):
            return False
        untils = [(number, core.parts[1]) for number, core in enumerate(self.cores) if core.kind == "until"]
        return all(any(values[node][right] or not values[node][number] for node in part) for number, right in untils)


def components(graph: dict[Node, list[Node]]) -> list[list[Node]]:
    """Strongly connected components, by two passes of depth-first search (Kosaraju)."""
    reverse: dict[Node, list[Node]] = {node: [] for node in graph}
    for node, others in graph.items():
        for other in others:
            reverse[other].append(node)
    order = [node for tree in _forest(graph, list(graph)) for node in tree]
    return _forest(reverse, order[::-1])


def _forest(graph: dict[Node, list[Node]], roots: list[Node]) -> list[list[Node]]:
    """Depth-first trees, each in the order in which its nodes are left."""
    seen: set[Node] = set()
    trees = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        tree, stack = [], [(root, iter(graph[root]))]
        while stack:
            node, others = stack[-1]
            fresh = next((other for other in others if other not in seen), None)
            if fresh is None:
                tree.append(node)
                stack.pop()
            else:
                seen.add(fresh)
                stack.append((fresh, iter(graph[fresh])))
        trees.append(tree)
    return trees
