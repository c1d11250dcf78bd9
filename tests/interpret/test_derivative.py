"""Derivatives over enclosures: what they enclose is what interval Newton needs, for every operator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx

from tests.operators import BOX, SAMPLES, Kind
from vernal.interpret import exact
from vernal.interpret.derivative import ONE, RULES, ZERO, Gradients, differentiate
from vernal.interpret.numbers import reals
from vernal.model import build, graph
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.sorts import BOOL
from vernal.model.traits import OPERATORS, kinds

PRECISION = 128
Ends = Mapping[Expr, list[tuple[Fraction, Fraction]]]


def part(ends: tuple[Fraction, Fraction], number: int, parts: int) -> tuple[Fraction, Fraction]:
    low, high = ends
    width = (high - low) / parts
    return low + number * width, low + (number + 1) * width


def given(var: Expr, items: list[Any]) -> Any:
    return tuple(items) if var.shape else items[0]


def mean_value(node: Expr, ends: Ends, decisions: Mapping[Expr, Any]) -> int:
    """How many differences between points of a box the derivatives explain; the others are undecided on the box."""
    free = [(var, i) for var in ends if var.sort != BOOL for i in range(var.size)]
    inputs = {
        var: given(var, [reals.ball(*pair) if (var, i) in free else pair[0] for i, pair in enumerate(pairs)])
        for var, pairs in ends.items()
    }
    seeds: dict[Expr, Gradients] = {
        var: [[ONE if place == (var, i) else ZERO for place in free] for i in range(var.size)]
        for var in ends
        if var.sort != BOOL
    }
    found = differentiate([node], inputs, decisions, seeds, len(free), PRECISION)
    checked = 0
    for corners in itertools.product((0, 1), repeat=2):
        a, b = (point(ends, side) for side in corners)
        new, old = (exact.run([node], one, decisions, PRECISION, lenient=True).values[0] for one in (a, b))
        for i, row in enumerate(found.gradients[0]):
            value = found.evaluation.values[0]
            value = value[i] if isinstance(value, tuple) else value
            if row is None or not isinstance(value, Fraction | arb):
                continue
            moved = sum(
                (g * arb(component(a, place) - component(b, place)) for g, place in zip(row, free, strict=True)), arb(0)
            )
            assert moved.overlaps(number(new, i) - number(old, i)), (node, i)
            checked += 1
    return checked


def point(ends: Ends, side: int) -> dict[Expr, Any]:
    """The lower or the upper corner of a box."""
    return {
        var: given(var, [pair[side] if var.sort != BOOL else pair[0] for pair in pairs]) for var, pairs in ends.items()
    }


def component(values: Mapping[Expr, Any], place: tuple[Expr, int]) -> Any:
    var, i = place
    value = values[var][i] if var.shape else values[var]
    return reals.rational(value)


def number(value: Any, i: int) -> arb:
    item = value[i] if isinstance(value, tuple) else value
    return item if isinstance(item, arb) else arb(reals.rational(Fraction(item)))


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: getattr(kind, "__name__", str(kind)))
def test_differences_between_points_of_a_box_are_enclosed(kind: Kind) -> None:
    node = SAMPLES[kind]
    variables = graph.variables([node])
    checked = 0
    with ctx.workprec(PRECISION):
        for cut, truth, option in itertools.product(range(12), (0, 1), (0, 1)):
            ends: dict[Expr, list[tuple[Fraction, Fraction]]] = {}
            for var in variables:
                pairs = [part(pair, cut % 4 if cut < 8 else 0, 4 if cut < 8 else 1) for pair in BOX[var]]
                ends[var] = [(Fraction(truth), Fraction(truth))] if var.sort == BOOL else pairs
            decisions: dict[Expr, Any] = {
                draw: Fraction(option) if isinstance(draw, e.Choose) else Fraction(5, 4) for draw in graph.draws([node])
            }
            checked += mean_value(node, ends, decisions)
    assert checked or node.sort == BOOL or kind is e.Argmax


def test_every_operator_has_a_rule() -> None:
    leaves = {e.Const, e.Pi, e.Var}
    constant = {kind for kind, traits in OPERATORS.items() if traits.stepwise} | {e.Between}
    assert kinds() == set(RULES) | constant | leaves
    assert not set(RULES) & constant


DERIVATIVES: dict[Function, Callable[[float], float]] = {
    Function.SIN: math.cos,
    Function.COS: lambda x: -math.sin(x),
    Function.TAN: lambda x: 1 / math.cos(x) ** 2,
    Function.ATAN: lambda x: 1 / (1 + x * x),
    Function.TANH: lambda x: 1 / math.cosh(x) ** 2,
    Function.ERF: lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x),
    Function.EXP: math.exp,
    Function.EXPM1: math.exp,
    Function.LOG1P: lambda x: 1 / (1 + x),
    Function.LOG: lambda x: 1 / x,
    Function.SQRT: lambda x: 0.5 / math.sqrt(x),
    Function.SIGMOID: lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2,
}


def slope(node: Expr, at: arb | Fraction) -> arb | None:
    found = differentiate([node], {X: at}, {}, {X: [[ONE]]}, 1, PRECISION)
    (row,) = found.gradients[0]
    return None if row is None else row[0]


X = build.var("x")


@pytest.mark.parametrize("function", Function)
def test_derivatives_of_functions(function: Function) -> None:
    for x in (Fraction(1, 4), Fraction(3, 4), Fraction(5, 2)):
        found = slope(build.apply(function, X), x)
        assert found is not None
        assert math.isclose(float(found.mid()), DERIVATIVES[function](float(x)), rel_tol=1e-12)


def test_a_kink_has_every_slope_beside_it() -> None:
    around = arb(0, 1)
    for node, slopes in (
        (build.relu(X), (0, 1)),
        (build.absolute(X), (-1, 1)),
        (build.maximum(2 * X, -3 * X), (-3, 2)),
        (build.leaky_relu(X, [Fraction(1, 4)]), (Fraction(1, 4), 1)),
    ):
        found = slope(node, around)
        assert found is not None
        assert all(found.contains(arb(reals.rational(Fraction(one)))) for one in slopes)


def test_no_bounded_derivative() -> None:
    assert slope(build.apply(Function.SQRT, X), Fraction(0)) is None
    assert slope(build.power(X, Fraction(1, 3)), Fraction(0)) is None
    assert slope(1 / X, arb(0, 1)) is None
    assert slope(build.sign(X) * X, arb(0, 1)) is None  # which sign is not decided


def test_only_what_is_taken_counts() -> None:
    """The branch that is not taken has a derivative without bound at 0."""
    node = build.if_(X < 1, 3 * X, build.apply(Function.SQRT, X - 1))
    found = slope(node, arb(0, 0.5))
    assert found is not None
    assert found == 3


def test_products_of_many_steps() -> None:
    """The derivative of the hundredth iterate of x / 2 + 1."""
    gradients: Gradients = [[ONE]]
    value: Any = Fraction(0)
    for _ in range(100):
        found = differentiate([X / 2 + 1], {X: value}, {}, {X: gradients}, 1, PRECISION)
        gradients, value = found.gradients[0], found.evaluation.values[0]
    (row,) = gradients
    assert row is not None
    assert row[0] == arb(1) / arb(2) ** 100
