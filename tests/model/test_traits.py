"""The table of traits: it forgets nothing, and what it promises is true of exact values."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from tests.operators import HALF, SAMPLES, Kind, P, X, Y, samples
from vernal.interpret import exact
from vernal.interpret.numbers.reals import Undefined
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.traits import (
    FUNCTIONS,
    OPERATORS,
    branches,
    check,
    is_rational,
    may_be_undefined,
    nonlinear_node,
    traits,
    varying,
)


@pytest.mark.parametrize("forgotten", [e.Floor, e.Atan2, Function.EXP], ids=str)
def test_what_is_forgotten_is_an_error_that_names_it(forgotten: Kind) -> None:
    operators = {kind for kind in OPERATORS if kind is not forgotten}
    functions = {function for function in FUNCTIONS if function is not forgotten}
    name = forgotten.value if isinstance(forgotten, Function) else forgotten.__name__
    with pytest.raises(LookupError, match=name):
        check(operators, functions)
    check(OPERATORS, FUNCTIONS)


@pytest.mark.parametrize("node", SAMPLES.values(), ids=lambda node: type(node).__name__)
def test_promises_are_kept(node: Expr) -> None:
    values = [sample.value for sample in samples(node)]
    flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    if is_rational(node):
        assert all(isinstance(item, Fraction | bool) for item in flat)
    if not may_be_undefined(node):
        assert not any(isinstance(item, Undefined) for item in flat)


LINE = [Fraction(k, 8) for k in range(-40, 41)]


@pytest.mark.parametrize("function", [f for f in Function if FUNCTIONS[f].monotone and FUNCTIONS[f].total])
def test_monotone_functions_rise(function: Function) -> None:
    nodes = [build.apply(function, build.const(x)) for x in LINE]
    found = exact.evaluate([low < high for low, high in pairwise(nodes)], {})
    assert all(truth is True for truth in found)


@pytest.mark.parametrize("function", Function)
def test_total_functions_are_defined(function: Function) -> None:
    found = [exact.evaluate([build.apply(function, X)], {X: x})[0] for x in LINE]
    if FUNCTIONS[function].total:
        assert not any(value is None or isinstance(value, Undefined) for value in found)


@pytest.mark.parametrize(
    ("node", "rational", "undefined"),
    [
        (X + Y, True, False),
        (build.div(X, 2), True, False),
        (build.div(X, Y), True, True),
        (build.power(X, 2), True, False),
        (build.power(X, -2), True, True),
        (build.power(X, HALF), False, True),
        (build.PI, False, False),
        (build.apply(Function.SIN, X), False, False),
        (build.apply(Function.ATAN, X), False, False),
        (build.apply(Function.TAN, X), False, True),
        (build.apply(Function.LOG, X), False, True),
        (build.atan2(X, Y), False, True),
        (build.between(-1, 1), True, False),
        (build.between(X, Y), True, True),
        (build.switch(X, [Fraction(1), None], [X, Y]), True, False),
        (build.switch(P, [Fraction(1), Fraction(0)], [X, Y]), True, False),
        (e.Switch((X, X), X.sort, (), (Fraction(1),)), True, True),
        (build.if_(P, X, Y), True, False),
    ],
    ids=str,
)
def test_what_holds_of_a_node(node: Expr, rational: bool, undefined: bool) -> None:
    assert is_rational(node) is rational
    assert may_be_undefined(node) is undefined


def test_a_draw_between_vectors_is_defined_where_its_ends_are_in_order() -> None:
    low, high = build.vector([Fraction(0), Fraction(5)]), build.vector([Fraction(1), Fraction(6)])
    assert not may_be_undefined(build.between(low, high))


def test_which_operators_are_nonlinear() -> None:
    constant = build.apply(Function.SIN, build.const(1))
    assert nonlinear_node([2 * X + build.relu(Y), X / 3, constant * Y, build.floor(X), build.power(X, 0)]) is None
    for node in (
        X * Y,
        X / Y,
        build.power(X, 2),
        build.apply(Function.ATAN, X),
        build.atan2(X, 1),
        X * build.choose(1, 2),
    ):
        assert nonlinear_node([X, node + 1]) is node


def test_what_varies_and_what_branches() -> None:
    assert varying([build.PI + 1]) == set()
    tie = build.argmax(build.vector([Fraction(1), Fraction(1)]))
    assert varying([tie + 1]) == {tie, tie + 1}
    assert all(map(branches, (build.sign(X), build.floor(X), X < Y, build.if_(P, X, Y), tie)))
    assert not any(map(branches, (X, X + Y, build.relu(X), build.apply(Function.SIN, X), build.atan2(X, Y))))
    assert not traits(build.atan2(X, Y)).continuous
