"""The windows of a claim in continuous time: during which times it keeps states from a set, or wants one in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vernal.logic.claim import position_expression
from vernal.logic.formula import Always, And, Bound, Eventually, Formula, Temporal, Until
from vernal.logic.normal import nnf, order
from vernal.logic.times import is_timed
from vernal.model.expr import Expr


@dataclass(frozen=True, slots=True)
class ClaimWindow:
    """A condition that is claimed at all times of a bound, or wanted at some; until a goal is reached, at all before.

    `alone` is whether it has to be kept by itself: the claim is a conjunction, and this one of its parts.
    """

    condition: Expr
    bound: Bound
    wanted: bool
    alone: bool = True


def windows_of(formula: Formula) -> list[ClaimWindow]:
    """Those of G, F and U over conditions; none where windows are within windows, which ask for no set."""
    normal = nnf(formula, total=True)
    temporal = [node for node in order(normal) if isinstance(node, Temporal)]
    if any(not isinstance(node, Always | Eventually | Until) or any(map(is_timed, _parts(node))) for node in temporal):
        return []
    together = {id(node) for node in _together(normal)}
    return [window for node in temporal for window in _windows(node, id(node) in together)]


def _parts(node: Formula) -> tuple[Formula, ...]:
    match node:
        case Always(arg=arg) | Eventually(arg=arg):
            return (arg,)
        case Until(left=left, right=right):
            return left, right
    return ()


def _windows(node: Formula, alone: bool) -> Iterator[ClaimWindow]:
    match node:
        case Always(arg=arg, bound=bound) | Eventually(arg=arg, bound=bound):
            yield ClaimWindow(position_expression(arg), bound, isinstance(node, Eventually), alone)
        case Until(left=left, right=right, bound=bound):
            yield ClaimWindow(position_expression(left), Bound(upper=bound.upper), False, alone)
            yield ClaimWindow(position_expression(right), bound, True, alone)


def _together(formula: Formula) -> Iterator[Formula]:
    """The parts of a conjunction."""
    waiting = [formula]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And):
            waiting += node.args
        else:
            yield node
