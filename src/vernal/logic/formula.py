"""Temporal formulas as frozen data: LTL where an operator has no path quantifier, CTL where it has one.

Boolean structure lives at the level of formulas: an atom's expression is a comparison, a Boolean variable or an
`if`/`match`, never a conjunction, disjunction or negation (the elaborator sees to that).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from vernal.model.expr import Expr
from vernal.model.portable import Portable


class Quantifier(Enum):
    """Of all paths, or of some path."""

    ALL = "A"
    SOME = "E"

    @property
    def dual(self) -> Quantifier:
        return Quantifier.SOME if self is Quantifier.ALL else Quantifier.ALL


@dataclass(frozen=True, slots=True)
class Bound:
    """Positions (or, in continuous time, instants) from lower to upper, both included; upper None is for ever."""

    lower: Fraction = Fraction(0)
    upper: Fraction | None = None

    printer: ClassVar[Callable[[Bound], str]]  # set by `vernal.logic.printing`, which is loaded with the package

    def __str__(self) -> str:
        return Bound.printer(self)


ALL_TIME = Bound()


@dataclass(frozen=True, slots=True)
class Formula(Portable):
    """A property of the positions of a path, or of states; `str` prints it as the parser reads it."""

    printer: ClassVar[Callable[[Formula], str]]  # set by `vernal.logic.printing`, which is loaded with the package

    def __str__(self) -> str:
        return Formula.printer(self)


@dataclass(frozen=True, slots=True)
class Atom(Formula):
    """A fact about one position: a Boolean expression over state variables, actions and lets."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class Not(Formula):
    arg: Formula


@dataclass(frozen=True, slots=True)
class And(Formula):
    args: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or(Formula):
    args: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies(Formula):
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iff(Formula):
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Next(Formula):
    """`X[count] arg`: arg after exactly count transitions."""

    arg: Formula
    count: int = 1
    quantifier: Quantifier | None = None


@dataclass(frozen=True, slots=True)
class Eventually(Formula):
    """`F[bound] arg`: arg at some position within the bound."""

    arg: Formula
    bound: Bound = ALL_TIME
    quantifier: Quantifier | None = None


@dataclass(frozen=True, slots=True)
class Always(Formula):
    """`G[bound] arg`: arg at every position within the bound (of what remains of the path)."""

    arg: Formula
    bound: Bound = ALL_TIME
    quantifier: Quantifier | None = None


@dataclass(frozen=True, slots=True)
class Until(Formula):
    """`left U[bound] right`: right occurs within bound, and left holds until then."""

    left: Formula
    right: Formula
    bound: Bound = ALL_TIME
    quantifier: Quantifier | None = None


@dataclass(frozen=True, slots=True)
class Release(Formula):
    """`left R[bound] right`: not (!left U[bound] !right)."""

    left: Formula
    right: Formula
    bound: Bound = ALL_TIME
    quantifier: Quantifier | None = None


@dataclass(frozen=True, slots=True)
class Weak(Formula):
    """`left W[bound] right`: left U[bound] right, or left at every position up to the bound's end."""

    left: Formula
    right: Formula
    bound: Bound = ALL_TIME
    quantifier: Quantifier | None = None


Temporal = Next | Eventually | Always | Until | Release | Weak


def operands(formula: Formula) -> tuple[Formula, ...]:
    """The direct sub-formulas."""
    match formula:
        case Not(arg) | Next(arg=arg) | Eventually(arg=arg) | Always(arg=arg):
            return (arg,)
        case And(args) | Or(args):
            return args
        case (
            Implies(left, right)
            | Iff(left, right)
            | Until(left=left, right=right)
            | Release(left=left, right=right)
            | Weak(left=left, right=right)
        ):
            return (left, right)
    return ()
