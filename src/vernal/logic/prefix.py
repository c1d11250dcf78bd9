"""What a finite prefix of a path can refute, of formulas without a bound."""

from __future__ import annotations

from vernal.logic.formula import Formula
from vernal.logic.normal import atoms, horizon
from vernal.logic.shortening import nesting, weaker
from vernal.model.expr import Const

WINDOW = 50  # how many steps are looked at where a formula has no bound


def refutable(formula: Formula) -> Formula:
    """A bounded formula that follows from this one: whatever path refutes it, refutes the formula.

    Operators without an end get a window, and a formula that is bounded already stays as it is.
    """
    if horizon(formula) is not None:
        return formula
    return weaker(formula, _window(formula))


def refuted_within(formula: Formula, positions: int) -> Formula:
    """The same with windows that reach as far as a path of so many positions, which may fail late."""
    if horizon(formula) is not None:
        return formula
    return weaker(formula, max(_window(formula), positions))


def _window(formula: Formula) -> int:
    return max(5, WINDOW // nesting(formula))


def says_something(formula: Formula) -> bool:
    """Whether the formula says anything about a state."""
    return any(not isinstance(atom, Const) for atom in atoms(formula))
