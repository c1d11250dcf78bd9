"""Regions in which the margin is zero: the search ends there, by exact arithmetic or with a reason."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from benchmarks.queries import formulas
from tests.engines.split.test_split import ask, graph
from tests.polygons import random_network
from vernal.engines.split import zero_margins
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.formats.layers import dense
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.sets.core import box_search

X, Y = build.var("x"), build.var("y")
START = Init(dict.fromkeys("xy", Span(Fraction(-1), Fraction(1))))
SYSTEM = System("flat", (Variable("x", REAL), Variable("y", REAL)), START, {})
RIDGE = build.absolute(X + Fraction(37, 100) * Y)


@pytest.mark.parametrize("seed", range(3))
def test_a_flat_minimum_of_a_network(seed: int) -> None:
    """|f| - f is zero wherever f is not negative, up to the edges of that region."""
    output = graph(random_network(random.Random(seed), (12, 12), "relu"), [X, Y])
    flat = build.absolute(output) - output
    assert ask(SYSTEM, build.compare("<=", 0, flat)).verdict is HOLDS


def test_many_boxes_along_a_line() -> None:
    """At zero along a slanted line, by one box around all of them; a strict claim fails at one point of it."""
    assert ask(SYSTEM, build.compare("<=", 0, RIDGE)).verdict is HOLDS
    assert ask(SYSTEM, build.compare("<", 0, RIDGE + build.relu(X - 1) * 2)).verdict is VIOLATED


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_parts_are_asked_where_all_at_once_take_too_long(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any time for several boxes each is asked alone, and the answer is the same."""
    monkeypatch.setattr(zero_margins, "EXACT_SECONDS", (seconds, seconds))
    monkeypatch.setattr(zero_margins, "MAX_ATTEMPTS", 10_000)
    assert ask(SYSTEM, build.compare("<=", 0, RIDGE), seconds=60).verdict is HOLDS


def test_attempts_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_margins, "EXACT_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(zero_margins, "MAX_ATTEMPTS", 3)
    result = ask(SYSTEM, build.compare("<=", 0, RIDGE), seconds=60)
    assert result.verdict is UNKNOWN
    assert "small boxes stay open, in which the margin is zero" in str(result.reason)


def test_a_condition_without_a_margin_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cancels may be undefined, so there is no row to bound, and no box along the line is ever closed."""
    monkeypatch.setattr(box_search, "MANY_BOXES", 500)
    quotient: Expr = Y / (X + 3)
    result = ask(SYSTEM, build.compare("<=", 0, RIDGE + quotient - quotient), seconds=60)
    assert result.verdict is UNKNOWN
    assert "not piecewise linear" in str(result.reason)


def test_what_cancels_and_is_always_defined_is_left_out() -> None:
    hidden = build.relu(X - Y)
    result = ask(SYSTEM, build.compare("<=", 0, RIDGE + hidden - hidden))
    assert result.verdict is HOLDS
    assert ask(SYSTEM, build.compare("<", hidden, 1 + hidden)).statistics["boxes"] == 1


def test_a_comparison_that_cancels_has_a_margin_all_the_same() -> None:
    """Of 0 <= 0 it is 0, however far from failing the rest of a claim is: nothing is said rather than too much."""
    claim = build.conj(build.compare("<=", -1, RIDGE), build.compare("<=", X, X), build.compare("<=", 0 * RIDGE, 0))
    result = ask(SYSTEM, claim)
    assert result.verdict is HOLDS
    assert result.margin is None or result.margin <= 0


@pytest.mark.parametrize("seed", formulas.SEEDS)
def test_a_bound_of_zero_is_no_margin_of_zero(seed: int) -> None:
    """Sums of activations that may all be flat, in 30 dimensions: a solution of the formula, or a proof without one."""
    clauses = formulas.drawn(seed)
    truth = formulas.solution(clauses)
    assert (truth is not None) == (seed % 2 == 0)
    inputs = [build.var(f"x{i}") for i in range(formulas.VARIABLES)]
    x: Expr = build.concat(*inputs)
    (weight, bias), (last, ends) = formulas.layers(clauses)
    cost = build.component(dense(build.relu(dense(x, weight, bias)), last, ends), 0)
    start = Init({f"x{i}": Span(Fraction(0), Fraction(1)) for i in range(len(inputs))})
    system = System("formula", tuple(Variable(f"x{i}", REAL) for i in range(len(inputs))), start, {})
    assert ask(system, build.compare("<", 0, cost), "auto").verdict is (HOLDS if truth is None else VIOLATED)
