"""The largest value of a number over initial states, against what is known on paper and against random points."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import vernal as vn
from vernal.interpret.concrete import evaluate
from vernal.logic.elaboration import Scope, expression
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.run.budget import Budget
from vernal.sets.core.extrema import extent

SQUARE = Span(Fraction(-1), Fraction(1))
SPREAD = 4.0  # of the bounds that are known before
KNOWN = {
    "x + y": (-2, 2),
    "x*y - x^2": (-2, 0.25),
    "relu(x - y) - relu(y) - x": (-2, 1),
    "abs(x + y) - abs(x - y)": (-2, 2),
    "max(x, y) * min(x, y)": (-1, 1),
    "sin(3*x)": (-1, 1),
    "floor(2*x) + y": (-3, 3),
    "if(x > y, x - y, -1)": (-1, 2),
}
OTHERS = ["x^3 - x*y + tanh(4*y)", "exp(x*y) - relu(x - 0.3)", "cos(5*x) * sin(4*y)", "(x - y)^2 * abs(y)"]


def system_of(*where: Expr) -> System:
    state = (Variable("x", REAL), Variable("y", REAL))
    return System("square", state, Init({"x": SQUARE, "y": SQUARE}, where), {})


def number(text: str) -> Expr:
    return expression(text, Scope({"x": build.var("x"), "y": build.var("y")}))


@pytest.mark.parametrize("text", KNOWN)
def test_ends_that_are_known(text: str) -> None:
    lower, upper = extent(number(text), system_of(), -SPREAD, SPREAD, Budget())
    least, most = KNOWN[text]
    assert least - 0.05 <= lower <= least
    assert most <= upper <= most + 0.05


@pytest.mark.parametrize("text", OTHERS)
def test_no_point_is_beyond_the_ends(text: str) -> None:
    node, rng = number(text), np.random.default_rng(7)
    lower, upper = extent(node, system_of(), -SPREAD * 2, SPREAD * 2, Budget())
    points = rng.uniform(-1, 1, (2, 20_000))
    (values,) = evaluate([node], {build.var("x"): points[0], build.var("y"): points[1]})
    assert lower <= values.min() <= lower + 0.1
    assert upper - 0.1 <= values.max() <= upper


def test_constraints_count() -> None:
    lower, upper = extent(number("x + y"), system_of(number("x + 2*y <= 0.5")), -SPREAD, SPREAD, Budget())
    assert 0.75 <= upper <= 0.77  # at x = 1, y = -0.25
    assert -2.02 <= lower <= -2


def test_what_has_no_bounds_is_left_as_it_was() -> None:
    assert extent(number("x"), system_of(), -np.inf, 3.0, Budget()) == (-np.inf, 3.0)


def test_reach_begins_with_the_ends_of_what_is_asked() -> None:
    system = vn.System(
        state={"x": vn.real(-1, 1), "y": vn.real(-1, 1)},
        init={"x": vn.interval(-1, 1), "y": vn.interval(-1, 1)},
        step=lambda s: {"x": s.x / 2},
    )
    lower, upper = vn.reach(system, of=["relu(x - y) - relu(y) - x"], steps=1).bounds("relu(x - y) - relu(y) - x")
    assert upper[0] <= 1.01
    assert lower[0] <= -2
