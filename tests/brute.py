"""The oracle: all states, all choices, all ties, in rational arithmetic, with the definitions read literally.

For systems with finitely many starts and finite choice only. Slow and obvious.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache

from vernal.interpret import exact
from vernal.interpret.exact import Evaluation, Given
from vernal.interpret.numbers.reals import Undefined
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
from vernal.logic.normal import atoms, horizon, is_ctl
from vernal.logic.semantics import evaluate
from vernal.model.expr import Argmax, Choose, Expr
from vernal.model.graph import decisions, order
from vernal.model.system import OneOf, System

State = tuple[Fraction, ...]  # with memories; where atoms or the guard ask about open actions, what was decided, too
Decided = Choose | Argmax


class TooLarge(Exception):
    """More work than was allowed."""


class ValueUndefined(Exception):
    """A value that is needed is not defined: a division by zero, say. What is true then, nobody says."""


class Brute:
    """A system opened up completely.

    With the formula to be asked, actions it asks about belong to the states: a tie has several of them.
    """

    def __init__(self, system: System, formula: Formula | None = None, limit: float = math.inf) -> None:
        self.system = system
        self.step = system.step
        self.limit = limit
        self.size = sum(var.size for var in self.step.inputs)
        self.resolved = cache(self.step.resolve)
        self.enabled = self.step.resolve(system.enabled)  # as written: that choices have options is not asked here
        self.asked = _asked(system, formula)
        self.open = _finite(self.asked)
        asked = [] if formula is None else [self.step.resolve(atom) for atom in atoms(formula)]
        self.guarded = bool(self.open) and not decisions(asked)  # it is the guard alone that asks about them
        self.rest = [node for node in _finite(self.step.roots) if node not in self.open]
        self.successors = cache(self._successors)
        self.satisfies = cache(self._satisfies)
        self.positions = cache(self._positions)
        self.truth = cache(self._truth)

    def starts(self) -> list[State]:
        options = []
        for variable in self.system.state:
            start = self.system.init.starts[variable.name]
            assert isinstance(start, OneOf)
            options.append(start.values)
        for start in (start for slot in self.system.slots for start in slot.starts):
            assert isinstance(start, OneOf)
            options.append(start.values)
        values = (s for s in itertools.product(*options) if all(self.is_true(w, s) for w in self.system.init.where))
        return [position for state in values for position in self.positions(state)]

    def _inputs(self, state: State) -> dict[Expr, Given]:
        rest = iter(state)
        return {var: tuple(itertools.islice(rest, var.size)) if var.shape else next(rest) for var in self.step.inputs}

    def _decided(self, state: State) -> dict[Expr, Fraction]:
        return dict(zip(self.open, state[self.size :], strict=False))

    def is_true(self, condition: Expr, state: State) -> bool:
        (value,) = exact.evaluate([condition], self._inputs(state), self._decided(state))
        if not isinstance(value, bool):
            raise ValueUndefined
        return value

    def _truth(self, atom: Expr, state: State) -> bool:
        return self.is_true(self.resolved(atom), state)

    def _positions(self, state: State) -> tuple[State, ...]:
        """The state with every way to decide what the atoms and the guard ask about."""
        found: dict[State, None] = {}
        for picked in self._combinations(self.open):
            outcome = exact.run(self.asked, self._inputs(state), picked)
            if not _contradicts(outcome):
                taken = tuple(picked[node] if node in outcome.reached else Fraction(0) for node in self.open)
                found[(*state, *taken)] = None
        return tuple(found)

    def _combinations(self, nodes: list[Decided]) -> Iterator[dict[Expr, Fraction]]:
        for indices in itertools.product(*(range(_options(node)) for node in nodes)):
            self._charge()
            yield dict(zip(nodes, map(Fraction, indices), strict=True))

    def _charge(self) -> None:
        """One more evaluation, or one more path: few states can still have very many paths."""
        self.limit -= 1
        if self.limit < 0:
            raise TooLarge

    def _successors(self, state: State) -> tuple[State, ...]:
        """What the draws lead to; options that do not exist lead nowhere, so that there may be nothing."""
        if not self.is_true(self.enabled, state):
            return ()
        found: set[State] = set()
        for picked in self._combinations(self.rest):
            following = [*self.step.next_state, *self.step.next_memory]
            outcome = exact.run(following, self._inputs(state), {**picked, **self._decided(state)})
            if not _contradicts(outcome):
                flat = _flat(outcome.values)
                known = [Fraction(value) for value in flat if isinstance(value, Fraction | bool)]
                if len(known) < len(flat):
                    raise ValueUndefined
                found.add(tuple(known))
        return tuple(position for after in sorted(found) for position in self.positions(after))

    def holds(self, formula: Formula) -> bool:
        if is_ctl(formula):
            return all(self.satisfies(formula, start) for start in self.starts())
        reach = horizon(formula)
        assert reach is not None
        return all(self._path_satisfies(formula, path) for start in self.starts() for path in self._paths(start, reach))

    def _paths(self, start: State, length: int) -> Iterator[tuple[State, ...]]:
        after = self.successors(start) if length else ()
        if not after:
            self._charge()
            yield (start,)
        for state in after:
            for rest in self._paths(state, length - 1):
                yield (start, *rest)

    def _path_satisfies(self, formula: Formula, path: tuple[State, ...]) -> bool:
        ended = not self.successors(path[-1])
        value = evaluate(formula, lambda atom, t: self.truth(atom, path[t]), len(path), complete=ended)
        assert value is not None
        return value

    def _satisfies(self, formula: Formula, state: State) -> bool:
        """CTL, by the definition of each operator on the finite unfolding."""
        match formula:
            case Atom(expr):
                return self.truth(expr, state)
            case Not(arg):
                return not self.satisfies(arg, state)
            case And(args):
                return all(self.satisfies(arg, state) for arg in args)
            case Or(args):
                return any(self.satisfies(arg, state) for arg in args)
            case Implies(p, q):
                return not self.satisfies(p, state) or self.satisfies(q, state)
            case Iff(p, q):
                return self.satisfies(p, state) == self.satisfies(q, state)
            case Next(arg, count):
                if count == 0:
                    return self.satisfies(arg, state)
                return self._joined(formula, state)
        return self._joined(formula, state)

    def _joined(self, formula: Formula, state: State) -> bool:
        """What a quantifier says; where the guard alone tells the positions of a state apart, over all of them."""
        assert isinstance(formula, Temporal)
        here = self.positions(state[: len(state) - len(self.open)]) if self.guarded else (state,)
        truths = [self._quantified(formula, position) for position in here]
        return all(truths) if formula.quantifier is Quantifier.ALL else any(truths)

    def _quantified(self, formula: Temporal, state: State) -> bool:
        match formula:
            case Next(arg, count, quantifier):
                inner = Next(arg, count - 1, quantifier)
                results = [self.satisfies(inner, after) for after in self.successors(state)]
                return all(results) if quantifier is Quantifier.ALL else any(results)
        return self._path_operator(formula, state)

    def _path_operator(self, formula: Formula, state: State) -> bool:
        """A quantified path operator: look at every path far enough, with its operands decided state by state."""
        assert isinstance(formula, Eventually | Always | Until | Release | Weak)
        assert formula.bound.upper is not None
        results = [self._on_path(formula, path) for path in self._paths(state, int(formula.bound.upper))]
        return all(results) if formula.quantifier is Quantifier.ALL else any(results)

    def _on_path(self, formula: Formula, path: tuple[State, ...]) -> bool:
        assert isinstance(formula, Eventually | Always | Until | Release | Weak)
        assert formula.bound.upper is not None
        low, high = int(formula.bound.lower), int(formula.bound.upper)

        def until(p: list[bool], q: list[bool]) -> bool:
            return any(q[i] and all(p[:i]) for i in range(low, min(high + 1, len(path))))

        yes = [True] * len(path)
        match formula:
            case Eventually(arg):
                return until(yes, [self.satisfies(arg, s) for s in path])
            case Always(arg):
                return not until(yes, [not self.satisfies(arg, s) for s in path])
        left = [self.satisfies(formula.left, s) for s in path]
        right = [self.satisfies(formula.right, s) for s in path]
        match formula:
            case Until():
                return until(left, right)
            case Release():
                return not until([not p for p in left], [not q for q in right])
        return until(left, right) or all(left[: high + 1])


def _finite(roots: Iterable[Expr]) -> list[Decided]:
    found = decisions(list(roots))
    assert all(isinstance(node, Choose | Argmax) for node in found)
    return [node for node in found if isinstance(node, Choose | Argmax)]


def _asked(system: System, formula: Formula | None) -> list[Expr]:
    """Actions that the state does not determine and that atoms or the guard ask about, and those conditions."""
    asked = [] if formula is None else [system.step.resolve(atom) for atom in atoms(formula)]
    asked = [condition for condition in (*asked, system.step.enabled) if decisions([condition])]
    inside = set(order(asked))
    return [*(action for action in system.step.actions.values() if action in inside), *asked]


def _options(node: Decided) -> int:
    return len(node.options) if isinstance(node, Choose) else node.args[0].size


def _contradicts(outcome: Evaluation) -> bool:
    """Whether a decision cannot be made that way: an index of argmax that is not maximal, an option not there."""
    values = [*outcome.values, *outcome.reached.values()]
    reasons = [item.why for item in _flat(values) if isinstance(item, Undefined)]
    return any("largest" in why or "does not exist" in why for why in reasons)


def _flat(values: Iterable[object]) -> list[object]:
    return [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
