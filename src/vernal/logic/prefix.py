"""What a finite prefix of a path can refute, of formulas without a bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from vernal.logic.formula import Always, Bound, Eventually, Formula, Release, Temporal, Until, Weak
from vernal.logic.normal import TRUTH, atoms, fold, horizon, nnf, rebuild, steps
from vernal.model.expr import Const

WINDOW = 50  # how many steps are looked at where a formula has no bound


def refutable(formula: Formula) -> Formula:
    """A bounded formula that follows from this one: whatever path refutes it, refutes the formula.

    Operators without an end get a window. That something happens at last is no claim about a window, so `F p` becomes
    true and `p U q` becomes `p W q`. A formula that is bounded already only comes in negation normal form.
    """
    if horizon(formula) is not None:
        return formula
    normal = nnf(formula)
    depth = fold(normal, lambda node, args: _is_endless(node) + max(args, default=0))
    return fold(normal, lambda node, args: _windowed(node, args, max(5, WINDOW // depth)))


def says_something(formula: Formula) -> bool:
    """Whether the formula says anything about a state."""
    return any(not isinstance(atom, Const) for atom in atoms(formula))


def _is_endless(node: Formula) -> bool:
    return isinstance(node, Eventually | Always | Until | Release | Weak) and node.bound.upper is None


def _windowed(node: Formula, args: tuple[Formula, ...], width: int) -> Formula:
    made = rebuild(node, args)
    if not _is_endless(made) or not isinstance(made, Temporal):
        return made
    match made:
        case Eventually():
            return TRUTH
        case Until(left, right, bound):
            return Weak(left, right, _window(bound, width))
        case Always() | Release() | Weak():
            return replace(made, bound=_window(made.bound, width))
    return made


def _window(bound: Bound, width: int) -> Bound:
    return Bound(bound.lower, Fraction(steps(bound)[0] + width))
