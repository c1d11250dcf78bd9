"""Whether there is an initial state at all: exactly where everything is linear, by the query core where it is not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests import systems
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.sorts import REAL
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.core.inquiry import possible
from vernal.sets.emptiness import is_empty

X, Y = (build.var(name, REAL) for name in "xy")


def square(*where: Expr) -> System:
    """States of the unit square under constraints."""
    return systems.make({"x": (0, 1), "y": (0, 1)}, {"x": X, "y": Y}, where=where)


def at_most(left: Expr, right: str) -> Expr:
    return build.compare("<=", left, build.const(Fraction(right)))


def at_least(left: Expr, right: str) -> Expr:
    return build.compare(">=", left, build.const(Fraction(right)))


@pytest.mark.parametrize(
    ("where", "empty"),
    [
        ((at_least(X * Y, "0.9"), at_most(X + Y, "1.5")), True),  # x y is at most 0.5625 there; many boxes show it
        ((at_least(X * Y, "0.5"), at_most(X + Y, "1.5")), False),
        ((at_least(build.power(X, 2) + build.power(Y, 2), "2.1"),), True),
        ((at_most(build.power(X, 2) + build.power(Y, 2), "0.01"), at_least(X + Y, "0.3")), True),
        ((build.compare("<", X * Y, build.const(0)),), True),  # at a margin of zero, where intervals are exact
        ((at_least(X + Y, "2.5"),), True),  # linear: exact
        ((at_least(X + Y, "2"),), False),  # a single state
    ],
    ids=["product", "inside", "corner", "disc", "sign", "linear", "one state"],
)
def test_constraints_that_leave_nothing_are_seen(where: tuple[Expr, ...], empty: bool) -> None:
    assert is_empty(square(*where), Budget(20)) is empty


def test_what_cannot_be_decided_stays_open() -> None:
    touching = at_least(X * Y, "1"), at_least(build.power(X - 1, 2), "0")
    assert is_empty(square(*touching), Budget(20)) in (False, None)  # the corner alone


@pytest.mark.parametrize(
    ("condition", "found"),
    [(at_least(X * X - X, "0.1"), False), (at_most(X * X - X, "-0.2"), True)],
    ids=["nowhere", "somewhere"],
)
def test_the_core_says_whether_something_can_be_so(condition: Expr, found: bool) -> None:
    assert possible(condition, square(), Budget(20)) is found
