"""A formula in seconds as one over positions: a search asks it of sets at instants and of the tubes between them.

Instants cut time at the ends of every window (and wherever else somebody likes). Position k is what is true at instant
k, after whatever jumps there; its *tube* is everything from then on until instant k + 1, before the jump there. So
`G[a,b] p` is p before the jump at a, p throughout every tube from a to b, and p at b after the jump; `F[a,b] p` is p at
one of these. A path that ends in a tube has no further positions: what G asks of the rest is kept, what F asks is not.

What is asked of a tube, or before a jump, is an atom of the position: a variable of its own that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.claim import position_expression
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Next, Or, Release, Temporal, Until, Weak
from vernal.logic.normal import order, rebuild
from vernal.model import build
from vernal.model.expr import Expr, Role
from vernal.model.sorts import BOOL


class During(Enum):
    """Of what a position carries, where a condition is asked."""

    BEFORE = "before the jump at"
    THROUGHOUT = "throughout the tube after"
    SOMETIME = "at some time of the tube after"


@dataclass(frozen=True, slots=True)
class TubeAtom:
    """A condition on the state that is asked of what a position carries besides its state."""

    during: During
    condition: Expr


def window_ends(formula: Formula) -> list[Fraction]:
    """The times at which windows of a formula begin and end, in order; 0 is always one."""
    bounds = [node.bound for node in order(formula) if isinstance(node, Always | Eventually)]
    ends = {end for bound in bounds for end in (bound.lower, bound.upper) if end is not None}
    return sorted({Fraction(0), *ends})


class TubeAtoms:
    """Translates formulas for one choice of instants, and knows what the atoms that this makes stand for."""

    def __init__(self, instants: Sequence[Fraction], jumps: Callable[[int], bool] = lambda position: False) -> None:
        """`instants` are ascending, from 0; `jumps`: whether values may jump at the instant of a position."""
        self.instants, self.jumps = instants, jumps
        self.meaning: dict[Expr, TubeAtom] = {}
        self._made: dict[TubeAtom, Expr] = {}
        self._place = {time: position for position, time in enumerate(instants)}

    def path(self, formula: Formula) -> Formula:
        """A Boolean combination, in negation normal form, of G[a,b] and F[a,b] in seconds; as LTL over positions."""
        match formula:
            case Always(arg=arg, bound=bound):
                parts = self._asked(position_expression(arg), During.THROUGHOUT, bound)
                return And(tuple(Always(Atom(atom), where) for atom, where in parts))
            case Eventually(arg=arg, bound=bound):
                parts = self._asked(position_expression(arg), During.SOMETIME, bound)
                return Or(tuple(Eventually(Atom(atom), where) for atom, where in parts))
            case And(args) | Or(args) if any(isinstance(node, Temporal) for node in order(formula)):
                return rebuild(formula, tuple(map(self.path, args)))
            case Next() | Until() | Release() | Weak():
                raise UnsupportedFormula("over tubes a formula is a Boolean combination of G[a,b] and F[a,b]")
        return Atom(position_expression(formula))

    def _asked(self, condition: Expr, during: During, bound: Bound) -> list[tuple[Expr, Bound]]:
        """Where a window looks: atoms, each with the positions at which it is asked."""
        assert bound.upper is not None, "a window of seconds has an end"
        first, last = self._place[bound.lower], self._place[bound.upper]
        found = [(condition, _positions(last, last))]
        if first < last:
            found.append((self._atom(TubeAtom(during, condition)), _positions(first, last - 1)))
        if first and self.jumps(first):
            found.append((self._atom(TubeAtom(During.BEFORE, condition)), _positions(first, first)))
        return found

    def _atom(self, asked: TubeAtom) -> Expr:
        if asked not in self._made:
            name = f"{asked.during.value}: condition {len(self._made)}"
            self._made[asked] = build.var(name, BOOL, role=Role.INPUT)
            self.meaning[self._made[asked]] = asked
        return self._made[asked]


def _positions(first: int, last: int) -> Bound:
    return Bound(Fraction(first), Fraction(last))
