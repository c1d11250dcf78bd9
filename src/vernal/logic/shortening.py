"""Formulas without a bound, shortened: bounded formulas that imply them, and bounded formulas that follow from them.

In positive positions (negation normal form) `F[0,k] p` implies `F p`, and `G p` implies `G[0,k] p`. So a proof of the
*stronger* formula proves the one that was asked, and what refutes the *weaker* one refutes it. Where nothing bounded
implies an operator but that the path ends (`G p`), the stronger formula says so: p up to a position without successor.

A *prompt* formula bounds only what has to come at last: `G F[0,k] p` implies `G F p`, and `G[k,] p` implies `F G p`.
What is left to be claimed for all time can only fail by a bad prefix. (O. Kupferman, N. Piterman and M. Vardi, From
liveness to promptness, CAV 2007.)
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from vernal.logic.formula import (
    Always,
    And,
    Bound,
    Eventually,
    Formula,
    Next,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
)
from vernal.logic.normal import FALSITY, TRUTH, fold, horizon, nnf, rebuild, steps, weak_next

Endless = Eventually | Always | Until | Release | Weak


def is_endless(node: Formula) -> bool:
    """Whether an operator has a bound without an end."""
    return isinstance(node, Endless) and node.bound.upper is None


def nesting(formula: Formula) -> int:
    """How many operators without an end stand inside each other, at most."""
    return fold(formula, lambda node, args: is_endless(node) + max(args, default=0))


def shortened(bound: Bound, width: int) -> Bound:
    """The bound with so many positions after its first."""
    return Bound(bound.lower, Fraction(steps(bound)[0] + width))


# What follows ---------------------------------------------------------------------------------------------------------


def weaker(formula: Formula, width: int) -> Formula:
    """A bounded formula that follows from this one: whatever refutes it, refutes the formula.

    That something happens at last is no claim about a window, so `F p` becomes true and `p U q` becomes `p W q`.
    """
    return fold(nnf(formula), lambda node, args: _weaker(rebuild(node, args), width))


def _weaker(node: Formula, width: int) -> Formula:
    if not is_endless(node) or not isinstance(node, Temporal):
        return node
    match node:
        case Eventually():
            return TRUTH
        case Until(left, right, bound, quantifier):
            return Weak(left, right, shortened(bound, width), quantifier)
        case Always() | Release() | Weak():
            return replace(node, bound=shortened(node.bound, width))
    return node


# What implies ---------------------------------------------------------------------------------------------------------


def stronger(formula: Formula, width: int, *, total: bool = False) -> Formula:
    """A bounded formula that implies this one; `total` if no path ends, so that no end can be waited for."""
    normal = nnf(formula, total=total)
    return fold(normal, lambda node, args: _stronger(rebuild(node, args), width, total))


def _stronger(node: Formula, width: int, total: bool) -> Formula:
    if not is_endless(node) or not isinstance(node, Temporal) or isinstance(node, Next):
        return node
    bound, quantifier = shortened(node.bound, width), node.quantifier
    end = FALSITY if total else _end(quantifier)
    from_now = node.bound.lower == 0
    match node:
        case Eventually() | Until():
            return replace(node, bound=bound)
        case Always(arg=p) if from_now:
            return _until(p, _both(p, end), bound, quantifier)
        case Release(left=p, right=q) if from_now:
            return _until(q, _both(q, _either(p, end)), bound, quantifier)
        case Weak(left=p, right=q) if from_now:
            return _until(p, _either(q, _both(p, end)), bound, quantifier)
        case Weak(left=p, right=q):
            return _until(p, q, bound, quantifier)
        case Release(left=p) if quantifier is not Quantifier.SOME:
            done = Eventually(_either(p, end), Bound(Fraction(0), bound.upper), quantifier)
            return And((replace(node, bound=bound), done))
        case Always() if quantifier is not Quantifier.SOME and not total:
            return And((replace(node, bound=bound), Eventually(end, Bound(Fraction(0), bound.upper), quantifier)))
    return FALSITY


def _end(quantifier: Quantifier | None) -> Formula:
    """That the path has no further position; of a state, that it has no successor."""
    return weak_next(FALSITY) if quantifier is None else Next(FALSITY, 1, Quantifier.ALL)


def _until(left: Formula, right: Formula, bound: Bound, quantifier: Quantifier | None) -> Formula:
    return FALSITY if right == FALSITY else Until(left, right, bound, quantifier)


def _both(left: Formula, right: Formula) -> Formula:
    return FALSITY if FALSITY in (left, right) else And((left, right))


def _either(left: Formula, right: Formula) -> Formula:
    return left if right == FALSITY else right if left == FALSITY else Or((left, right))


# Promptness -----------------------------------------------------------------------------------------------------------


def prompt(formula: Formula, delay: int, *, total: bool) -> Formula:
    """A formula that implies this one: what has to come at last comes within a delay. `total`: no path ends."""
    return fold(nnf(formula, total=total), lambda node, args: _prompt(rebuild(node, args), delay, total))


def _prompt(node: Formula, delay: int, total: bool) -> Formula:
    if not isinstance(node, Eventually | Until) or node.bound.upper is not None:
        return node
    if isinstance(node, Eventually) and total and horizon(node.arg) is None:  # it is simplest at a fixed position
        return _at(node.arg, steps(node.bound)[0] + delay)
    return replace(node, bound=shortened(node.bound, delay))


def _at(formula: Formula, count: int) -> Formula:
    """The formula so many positions later, where there is such a position."""
    match formula:
        case Always(bound=bound) if formula.quantifier is None:
            upper = None if bound.upper is None else bound.upper + count
            return replace(formula, bound=Bound(bound.lower + count, upper))
    return Next(formula, count) if count else formula
