"""The exact meaning: rationals where there are any, balls that contain the value elsewhere, nothing guessed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import decisions, expressions, networks, points
from vernal.interpret import concrete, exact
from vernal.interpret.exact import ExactValue
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.integers import is_sparse
from vernal.interpret.numbers.reals import Undefined
from vernal.model import build, graph
from vernal.model import expr as e
from vernal.model.expr import Between, Expr, Function
from vernal.model.network import Network
from vernal.model.sorts import BOOL

X, Y = build.var("x"), build.var("y")
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def value(node: Expr, x: Fraction | int = 0, **more: Fraction) -> ExactValue:
    """The node's value where x and others have the given ones."""
    inputs: dict[Expr, exact.Given] = {X: Fraction(x), **{build.var(name): number for name, number in more.items()}}
    return exact.evaluate([node], inputs)[0]


def test_ten_tenths_are_one() -> None:
    total = build.add(X, *(build.const(0.1) for _ in range(10)))
    assert value(total) == 1
    assert value(total < 1) is False


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (X / 3, Fraction(2, 3)),
        (X ** Fraction(1, 2), None),
        ((X * 2) ** Fraction(1, 2), Fraction(2)),
        ((X * 4) ** Fraction(-2, 3), Fraction(1, 4)),
        (build.apply(Function.SQRT, X / 8), HALF),
        (build.apply(Function.EXP, X - 2), Fraction(1)),
        (build.apply(Function.SIGMOID, X - 2), HALF),
        (build.floor(X / -3), Fraction(-1)),
        (build.leaky_relu(-X, [TENTH]), Fraction(-1, 5)),
        (build.argmax(build.concat(X, 3, X + 1)), Fraction(1)),
        (build.argmax(build.concat(X, build.PI, 3)), Fraction(1)),
        (build.floor(build.PI * 100), Fraction(314)),
        (build.sign(build.PI - Fraction(355, 113)), Fraction(-1)),
        (build.apply(Function.SIN, X) * 0 + X, Fraction(2)),
    ],
)
def test_values(node: Expr, expected: Fraction | None) -> None:
    found = value(node, 2)
    assert isinstance(found, arb) if expected is None else found == expected


def test_balls_contain_the_value() -> None:
    found = value(build.apply(Function.EXP, X), 1)
    assert isinstance(found, arb)
    lower, upper = reals.ends(found)
    assert lower < Fraction("2.71828182845904523536028747135266249775724709") < upper
    assert upper - lower < Fraction(1, 10**30)


def test_undecided_until_the_precision_suffices() -> None:
    """pi and its first 60 digits differ, but 128 bits do not show it."""
    digits = Fraction("3.14159265358979323846264338327950288419716939937510582097494")
    claim = build.compare("<", digits, build.PI)
    assert exact.evaluate([claim], {}) == [None]
    assert exact.evaluate([claim], {}, precision=256) == [True]


@pytest.mark.parametrize("node", [build.div(1, X), X ** Fraction(-1), build.apply(Function.LOG, X), (X - 1) ** HALF])
def test_undefined_matters_only_where_it_is_used(node: Expr) -> None:
    assert isinstance(value(node), Undefined)
    assert isinstance(value(node + 1), Undefined)
    assert isinstance(value((node > 0) | (X > 0)), Undefined)
    assert value((node > 0) & (X > 0)) is False
    assert value((node > 0) | (X < 1)) is True
    assert value(build.if_(X < 1, 3, node)) == 3
    assert value(build.switch(X, [Fraction(0), None], [4, node])) == 4


def test_a_draw_in_an_untaken_branch_does_not_exist() -> None:
    left, right = build.choose(1, 2), build.between(0, 1)
    root = build.if_(X < 0, left, right)
    assert set(exact.run([root], {X: Fraction(-1)}, {left: 1}).reached) == {left}
    assert set(exact.run([root], {X: Fraction(1)}, {right: HALF}).reached) == {right}


def test_only_the_chosen_option_is_reached() -> None:
    inner = build.between(0, 1)
    outer = build.choose(inner, 5)
    outcome = exact.run([outer], {}, {outer: 1})
    assert outcome.values == [5]
    assert set(outcome.reached) == {outer}


def test_a_disturbance_stays_in_its_interval() -> None:
    noise = build.between(0, X, name="gust")
    for wanted, found in ((Fraction(-1, 10**20), 0), (Fraction(1, 3) + Fraction(1, 10**20), Fraction(1, 3))):
        strict = exact.evaluate([noise], {X: Fraction(1, 3)}, {noise: wanted})[0]
        assert isinstance(strict, Undefined)
        assert "gust" in strict.why
        assert exact.run([noise], {X: Fraction(1, 3)}, {noise: wanted}, lenient=True).values == [found]
    assert exact.evaluate([noise], {X: Fraction(1, 3)}, {noise: Fraction(1, 3)}) == [Fraction(1, 3)]


def test_an_irrational_end_is_approached_from_inside() -> None:
    noise = build.between(0, build.PI)
    (found,) = exact.run([noise], {}, {noise: Fraction(4)}, lenient=True).values
    assert isinstance(found, Fraction)
    assert 0 < Fraction("3.1415926535897932384626433832") - found < Fraction(1, 10**15)


def test_ties_are_choices() -> None:
    best = build.argmax(build.concat(X, 3, 3), name="pilot")
    at: dict[Expr, exact.Given] = {X: Fraction(0)}
    assert exact.evaluate([best], at, {best: 2}) == [2]
    assert exact.evaluate([best], at) == [1]
    refused = exact.evaluate([best], at, {best: 0})[0]
    assert isinstance(refused, Undefined)
    assert "pilot" in refused.why
    assert exact.run([best], at, {best: 0}, lenient=True).values == [1]


def test_a_tie_of_balls_is_undecided() -> None:
    sine = build.apply(Function.SIN, X)
    cosine = build.apply(Function.COS, X)
    assert value(build.argmax(build.concat(sine * sine + cosine * cosine, 1)), 1) is None


def test_numbers_that_explode_become_balls() -> None:
    """Squaring forty times doubles the length of a rational each time."""
    node: Expr = X
    for _ in range(40):
        node = build.clip(node * node, HALF, 2)
        node = build.if_(node < 1, node + HALF - Fraction(1, 7), node)
    assert isinstance(value(node, Fraction(97, 100)), Fraction | arb)
    power: Expr = X
    for _ in range(3):
        power = power**1000
    assert value(power, 3) is None  # larger than anything Vernal writes down
    assert value(power, 1) == 1


def test_depth_does_not_matter() -> None:
    nested: Expr = X
    for _ in range(20_001):
        nested = e.Neg((nested,), nested.sort, nested.shape)
    assert value(nested, 1) == -1
    assert value(build.add(*(X for _ in range(10_000))), 1) == 10_000


@given(networks(smooth=False), st.lists(st.integers(-1000, 1000), min_size=2, max_size=2))
def test_networks_are_exact(net: Network, numerators: list[int]) -> None:
    """W x + b in rationals is what fractions say it is, weight by weight."""
    x = [Fraction(n, 7) for n in numerators]
    first = next(node for node in graph.order([net.output]) if isinstance(node, e.Affine))
    expected = tuple(
        sum((Fraction(w) * v for w, v in zip(row, x, strict=True)), Fraction(b))
        for row, b in zip(first.weight.array.tolist(), first.bias.array.tolist(), strict=True)
    )
    assert exact.evaluate([first], {net.inputs: x}) == [expected]


def test_sparse_layers_are_exact() -> None:
    """Of a large matrix of zeros only the entries are multiplied, and rows without any are the bias."""
    rng = np.random.default_rng(0)
    array = np.zeros((400, 300))
    places = rng.integers(0, 300, (399, 5))
    np.put_along_axis(array[:399], places, rng.normal(size=(399, 5)) * 10.0 ** rng.integers(-9, 9, (399, 5)), axis=1)
    bias = rng.normal(size=400)
    assert is_sparse(e.Matrix(array))
    var = build.var("v", shape=(300,))
    x = [Fraction(int(n), 7) for n in rng.integers(-50, 50, 300)]
    (found,) = exact.evaluate([build.affine(var, e.Matrix(array), e.Matrix(bias))], {var: x})
    assert isinstance(found, tuple)
    for row in (0, 17, 399):
        assert found[row] == sum((Fraction(w) * v for w, v in zip(array[row], x, strict=True)), Fraction(bias[row]))


# Random graphs --------------------------------------------------------------------------------------------------------


def as_float(number: object) -> float:
    """A result as the concrete meaning would write it."""
    if isinstance(number, arb):
        return float(number.mid())
    return float(number) if isinstance(number, Fraction | bool) else float("nan")


def as_array(result: ExactValue) -> concrete.Array:
    return np.array([[as_float(item) for item in result]] if isinstance(result, tuple) else [as_float(result)])


def known(result: ExactValue) -> bool:
    items = result if isinstance(result, tuple) else (result,)
    return not any(item is None or isinstance(item, Undefined) for item in items)


def position_to_value(node: Between, low: ExactValue, high: ExactValue, position: Fraction) -> Fraction | None:
    if isinstance(low, Fraction) and isinstance(high, Fraction) and low <= high:
        return low + position * (high - low)
    return None


@given(st.data())
def test_exact_agrees_with_concrete_operator_by_operator(data: st.DataObject) -> None:
    """Each node, given its arguments' exact values, means the same in both; the whole graph means what its nodes do."""
    roots = data.draw(expressions())
    inputs, drawn = data.draw(points()), data.draw(decisions(roots))
    values: dict[Expr, ExactValue] = {}
    taken: dict[Expr, Fraction] = {}
    for node in graph.order(roots):
        names = tuple(e.Var((), arg.sort, arg.shape, f"_{i}", e.Role.INPUT) for i, arg in enumerate(node.args))
        local = graph.with_args(node, names)
        arguments = [values[arg] for arg in node.args]
        given_values: dict[Expr, Any] = dict(zip(names, arguments, strict=True))
        if isinstance(node, Between):
            found = position_to_value(node, arguments[0], arguments[1], drawn[node])
            if found is None:
                values[node] = None
                continue
            taken[node] = found
        elif node in drawn:
            taken[node] = drawn[node]
        if isinstance(node, e.Var):
            given_values = {local: inputs[node]}
        elif not all(known(argument) for argument in arguments):
            values[node] = None
            continue
        (values[node],) = exact.evaluate([local], given_values, {local: taken[node]} if node in taken else {})
        if known(values[node]):
            floats = {name: as_array(argument) for name, argument in given_values.items()}
            if node in drawn:
                floats[local] = np.array([float(drawn[node])])
            (approximate,) = concrete.evaluate([local], floats)
            np.testing.assert_allclose(
                approximate.astype(float), as_array(values[node]), rtol=1e-9, atol=1e-9 * largest(arguments)
            )
    check_whole(roots, inputs, drawn, taken, values)


def largest(arguments: list[ExactValue]) -> float:
    """The size of the arguments: what rounding is relative to."""
    return max([1.0, *(float(np.abs(as_array(argument)).max()) for argument in arguments)])


def check_whole(
    roots: list[Expr],
    inputs: dict[Expr, Fraction | tuple[Fraction, ...]],
    drawn: dict[Expr, Fraction],
    taken: dict[Expr, Fraction],
    values: dict[Expr, ExactValue],
) -> None:
    """On-demand evaluation of the graph gives what the nodes gave one by one, wherever that is known."""
    everything = {**drawn, **taken}
    for root in roots:
        if known(values[root]):
            (found,) = exact.evaluate([root], inputs, everything)
            assert same(found, values[root])


def same(left: ExactValue, right: ExactValue) -> bool:
    a, b = (item if isinstance(item, tuple) else (item,) for item in (left, right))
    return all(
        x.overlaps(y) if isinstance(x, arb) and isinstance(y, arb) else x == y for x, y in zip(a, b, strict=True)
    )


def test_truth_values_come_in_as_numbers() -> None:
    flag = build.var("p", BOOL)
    assert exact.evaluate([~flag, flag], {flag: Fraction(1)}) == [False, True]
