"""The oracle: all states, all choices, all ties, in rational arithmetic, with the definitions read literally.

For systems with finitely many starts and finite choice only, and for atoms over state variables. Slow and obvious.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from vernal.interpret import exact
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
)
from vernal.logic.normal import horizon, is_ctl
from vernal.logic.semantics import evaluate
from vernal.model.expr import Argmax, Choose, Expr
from vernal.model.graph import decisions
from vernal.model.system import OneOf, System

State = tuple[Fraction, ...]


class Brute:
    """A system opened up completely."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.step = system.step
        assert not system.slots
        self.choices = [node for node in decisions(self.step.roots) if isinstance(node, Choose)]
        self.ties = [node for node in decisions(self.step.roots) if isinstance(node, Argmax)]
        self.successors = cache(self._successors)
        self.satisfies = cache(self._satisfies)

    def starts(self) -> list[State]:
        options = []
        for variable in self.system.state:
            start = self.system.init.starts[variable.name]
            assert isinstance(start, OneOf)
            options.append(start.values)
        return [s for s in itertools.product(*options) if all(self.truth(w, s) for w in self.system.init.where)]

    def _inputs(self, state: State) -> dict[Expr, Fraction]:
        return dict(zip(self.step.state, state, strict=True))

    def truth(self, atom: Expr, state: State) -> bool:
        (value,) = exact.evaluate([atom], self._inputs(state))
        assert isinstance(value, bool)
        return value

    def _successors(self, state: State) -> tuple[State, ...]:
        found: set[State] = set()
        for choice in itertools.product(*(range(len(node.args)) for node in self.choices)):
            for tie in itertools.product(*(range(node.args[0].size) for node in self.ties)):
                picked = dict(zip([*self.choices, *self.ties], [*choice, *tie], strict=True))
                outcome = exact.run([self.step.enabled, *self.step.next_state], self._inputs(state), picked)
                if outcome.values[0] is True and all(isinstance(v, Fraction | bool) for v in outcome.values):
                    found.add(tuple(Fraction(v) for v in outcome.values[1:]))  # type: ignore[arg-type]
        return tuple(sorted(found))

    def holds(self, formula: Formula) -> bool:
        if is_ctl(formula):
            return all(self.satisfies(formula, start) for start in self.starts())
        reach = horizon(formula)
        assert reach is not None
        return all(self._path_satisfies(formula, path) for start in self.starts() for path in self._paths(start, reach))

    def _paths(self, start: State, length: int) -> Iterator[tuple[State, ...]]:
        after = self.successors(start) if length else ()
        if not after:
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
            case Next(arg, count, quantifier):
                if count == 0:
                    return self.satisfies(arg, state)
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
