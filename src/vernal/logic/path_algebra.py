"""The operators of formulas on paths, over whatever a formula is at each position: a truth value, or a margin.

Every temporal operator is an until, and every connective made of three, so that an algebra says what these are (and
`F` apart, which is often quicker than an until).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, And, Eventually, Formula, Iff, Implies, Next, Not, Or, Release, Until, Weak
from vernal.logic.normal import steps

V = TypeVar("V")


class PathAlgebra(Protocol[V]):
    """Values at all positions of a path, and what connectives and operators make of them."""

    def negation(self, value: V) -> V: ...

    def conjunction(self, values: Sequence[V]) -> V: ...

    def disjunction(self, values: Sequence[V]) -> V: ...

    def eventually(self, goal: V, lower: int, upper: int | None) -> V: ...

    def until(self, stay: V, goal: V, lower: int, upper: int | None) -> V: ...


def operator_value(node: Formula, args: Sequence[V], algebra: PathAlgebra[V]) -> V:
    """The value of a formula from those of its operands; quantifiers and atoms are the caller's."""
    no, both, some = algebra.negation, algebra.conjunction, algebra.disjunction
    match node:
        case Not():
            return no(args[0])
        case And():
            return both(args)
        case Or():
            return some(args)
        case Implies():
            return some([no(args[0]), args[1]])
        case Iff():
            return some([both(args), both([no(arg) for arg in args])])
        case Next(count=count):
            return algebra.eventually(args[0], count, count)
        case Eventually(bound=bound):
            return algebra.eventually(args[0], *steps(bound))
        case Always(bound=bound):
            return no(algebra.eventually(no(args[0]), *steps(bound)))
        case Until(bound=bound):
            return algebra.until(args[0], args[1], *steps(bound))
        case Release(bound=bound):
            return no(algebra.until(no(args[0]), no(args[1]), *steps(bound)))
        case Weak(bound=bound):
            always = no(algebra.eventually(no(args[0]), 0, steps(bound)[1]))
            return some([algebra.until(args[0], args[1], *steps(bound)), always])
    raise UnsupportedFormula(f"{type(node).__name__} is not an operator of the property language")
