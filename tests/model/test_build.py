"""Constructors: sorts are checked, constants are exact, equal nodes are one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from vernal.errors import TypeClash
from vernal.model import build as b
from vernal.model.declare import variables_of
from vernal.model.expr import Choose, Const, Expr
from vernal.model.sorts import BOOL, INT, REAL, enum

LIGHT = enum("RED", "GREEN")
x, n, p = b.var("x"), b.var("n", INT), b.var("p", BOOL)
light = b.var("light", LIGHT)
v = b.var("v", shape=(3,))


def test_equal_nodes_are_one_object() -> None:
    assert x + 1 is x + 1
    assert (x > 0) is b.compare("<", 0, x)
    assert b.add(x, n, 1) is x + n + 1


def test_two_equal_draws_stay_two() -> None:
    assert b.choose(0, 1) is not b.choose(0, 1)
    assert b.between(0, 1) is not b.between(0, 1)


def test_a_float_is_the_decimal_it_prints_as() -> None:
    tenth = b.const(0.1)
    assert isinstance(tenth, Const)
    assert tenth.value == Fraction(1, 10)
    assert b.add(*[0.1] * 10) is b.const(1)


@pytest.mark.parametrize(
    ("node", "sort"),
    [
        (n + 1, INT),
        (n + 0.5, REAL),
        (n / 2, REAL),
        (b.floor(x), INT),
        (b.sign(x), INT),
        (n**2, INT),
        (n**-1, REAL),
        (b.if_(p, n, x), REAL),
        (b.choose(1, 2), INT),
        (b.between(1, 2), REAL),
        (x < n, BOOL),
        (b.maximum(n, 3), INT),
        (b.argmax(v), INT),
        (b.argmax(b.gather(v, [0, 1]), LIGHT), LIGHT),
    ],
)
def test_sorts(node: Expr, sort: object) -> None:
    assert node.sort == sort


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: p + 1,
        lambda: light + 1,
        lambda: x & p,
        lambda: ~x,
        lambda: light < b.label(LIGHT, "RED"),
        lambda: b.eq(light, p),
        lambda: b.if_(x, 1, 2),
        lambda: b.if_(p, 1, p),
        lambda: b.label(LIGHT, "BLUE"),
        lambda: x / 0,
        lambda: x**1001,
        lambda: b.power(x, x),
        lambda: b.const(10) ** 999 * b.const(10) ** 999 * b.power(b.const(3), 999) ** 200,
        lambda: b.between(1, 0),
        lambda: b.choose(),
        lambda: b.choose(1, p),
        lambda: v + b.var("w", shape=(2,)),
        lambda: v[3],
        lambda: x[0],
        lambda: b.argmax(x),
        lambda: b.argmax(v, LIGHT),
        lambda: b.const(float("nan")),
        lambda: b.const("abc"),
        lambda: b.switch(light, [Fraction(0)], [1]),
        lambda: b.switch(n, [Fraction(0)], [1]),
        lambda: b.switch(light, [Fraction(0), Fraction(0)], [1, 2]),
        lambda: b.switch(light, [None, Fraction(0)], [1, 2]),
        lambda: b.leaky_relu(v, [Fraction(1), Fraction(2)]),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[], Expr]) -> None:
    with pytest.raises(TypeClash):
        wrong()


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(x > 0)


def test_constants_fold_through_truth_and_choice() -> None:
    assert b.if_(b.compare("<", 1, 2), x, n) is x
    assert b.conj(b.TRUE, p) is p
    assert b.conj(p, b.FALSE) is b.FALSE
    assert b.disj() is b.FALSE
    assert b.switch(b.label(LIGHT, "GREEN"), [Fraction(0), None], [x, n]) is n


def test_components_of_a_row_are_its_entries() -> None:
    row = b.concat(x, v, n)
    assert row.size == 5
    assert row[0] is x
    assert row[4] is n
    assert row[-1] is n
    assert row[2] is v[1]


def test_soft_shrink_is_continuous_and_hard_shrink_is_not() -> None:
    soft = b.soft_shrink(b.const(2), Fraction(1, 2))
    assert soft is b.const(1.5)
    assert b.hard_shrink(b.const(2), Fraction(1, 2)) is b.const(2)
    assert b.hard_shrink(b.const(0.25), Fraction(1, 2)) is b.const(0)


def test_draws_are_nodes_with_an_occurrence() -> None:
    draw = b.choose(1, 2, name="accel")
    assert isinstance(draw, Choose)
    assert draw.occurrence.name == "accel"


def test_a_constant_that_could_not_be_written_down_is_refused() -> None:
    assert b.power(2, 1000) is b.const(2**1000)
    long = b.power(b.power(2, 1000), 12)
    assert len(repr(long)) > 3000
    makers: list[Callable[[], Expr]] = [
        lambda: b.power(b.power(2, 1000), 1000),
        lambda: b.power(b.power(Fraction(1, 3), 1000), 60),
        lambda: b.mul(long, long),
        lambda: b.add(*(b.power(prime, -900) for prime in (7, 11, 13, 17, 19))),
    ]
    for make in makers:
        with pytest.raises(TypeClash, match="bits"):
            make()


def test_what_is_no_declaration_is_said() -> None:
    with pytest.raises(TypeClash, match=r"the state 'x' is declared by 'real'; declarations are vn\.real\(lo, hi\)"):
        variables_of("x", "real")  # type: ignore[arg-type]
