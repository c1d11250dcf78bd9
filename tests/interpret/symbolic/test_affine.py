"""Exact affine forms decide what no float can: margins of zero."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from tests.interpret.sets import abstract, boxes, items, samples
from tests.strategies import expressions
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.symbolic.affine import AffineForm, ComponentEnds, Forms, exact_range
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import enum

X, Y = build.var("x"), build.var("y")
TENTH = Fraction(1, 10)
UNIT: ComponentEnds = {X: [(Fraction(0), Fraction(1))], Y: [(Fraction(0), Fraction(1))]}


def value_of(form: AffineForm, inputs: dict[Expr, object]) -> Fraction | None:
    """A form at exact inputs."""
    total = Fraction(int(form.constant.p), int(form.constant.q))
    for (node, component), weight in form.coefficients.items():
        value = inputs.get(node)
        number = value[component] if isinstance(value, tuple) else value
        if not isinstance(number, Fraction):
            return None
        total += Fraction(int(weight.p), int(weight.q)) * number
    return total


@pytest.mark.parametrize("bounded", [False, True])
@given(data=st.data())
def test_forms_are_the_exact_values(bounded: bool, data: st.DataObject) -> None:
    """Wherever there is a form or a decided value, every exact sample agrees with it, to the last digit."""
    roots = data.draw(expressions())
    ends = data.draw(boxes())
    over = Forms(ends, Linear(abstract([ends])) if bounded else None)
    known = [over.values(root) for root in roots]
    for _ in range(3):
        results, inputs = data.draw(samples(ends, roots))
        for root, values, result in zip(roots, known, results, strict=True):
            for value, x in zip(values, items(result), strict=True):
                if isinstance(value, AffineForm) and isinstance(x, Fraction):
                    assert value_of(value, inputs) in (x, None), root
                    low, high = over.range(value)
                    assert low <= x <= high
                elif isinstance(value, bool) and isinstance(x, bool):
                    assert value == x, root
                elif isinstance(value, fmpq) and isinstance(x, Fraction):
                    assert Fraction(int(value.p), int(value.q)) == x, root


def test_ten_tenths_are_one() -> None:
    total: Expr = X
    for _ in range(10):
        total = total + TENTH
    start: ComponentEnds = {X: [(Fraction(0), Fraction(0))]}
    over = Forms(start)
    assert over.truth(total >= 1) is True
    assert over.truth(total < 1) is False
    assert over.truth(build.eq(total, 1)) is True
    linear = Linear({X: Range(np.zeros(1), np.zeros(1))})
    assert not linear.truth(total >= 1).must[0]  # floats cannot know
    assert Forms(start, linear).truth(total >= 1) is True


def test_margin_zero_of_an_interval() -> None:
    over = Forms(UNIT)
    assert over.truth(X * 3 - X * 2 <= 1) is True
    assert over.truth(X < 1) is None
    assert over.truth(X + Y - X >= 0) is True
    assert over.truth(build.eq(X - Y, 0)) is None


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (build.relu(X + 1), (1, 2)),
        (build.relu(X - 1), (0, 0)),
        (build.relu(X - Fraction(1, 2)), None),
        (build.absolute(-X), (0, 1)),
        (build.leaky_relu(-X, [TENTH]), (-TENTH, 0)),
        (build.maximum(X, X + Y), (0, 2)),
        (build.minimum(X, Y), None),
        (build.clip(X * 2 - 5, -1, 1), (-1, -1)),
        (build.floor(X / 2), (0, 0)),
        (build.floor(X), None),
        (build.sign(X + 1), (1, 1)),
        (X / 3 + Y / 3, (0, Fraction(2, 3))),
        (X * Y, None),
        (build.if_(X <= 1, X, 7), (0, 1)),
        (build.if_(X < Y, X, X), (0, 1)),
        (X - build.choose(1, 2, Fraction(1, 3)), (-2, Fraction(2, 3))),
        (X + build.between(-1, TENTH), (-1, 1 + TENTH)),
    ],
)
def test_ranges(node: Expr, expected: tuple[Fraction, Fraction] | None) -> None:
    over = Forms(UNIT)
    (form,) = over.values(node)
    if expected is None:
        assert form is None
    else:
        assert isinstance(form, AffineForm)
        assert list(exact_range(form, over.box)) == list(expected)


def test_networks_and_argmax() -> None:
    v = build.var("v", shape=(2,), role=e.Role.INPUT)
    weight, bias = e.Matrix(np.array([[1.0, 0.5], [1.0, -0.25]])), e.Matrix(np.array([0.5, 0.0]))
    scores = build.relu(build.affine(v, weight, bias))
    best = build.argmax(scores, enum("LEFT", "RIGHT"))
    ends: ComponentEnds = {v: [(Fraction(0), Fraction(1)), (Fraction(0), Fraction(1))]}
    assert Forms(ends).values(best) == (None,)  # the second score may be negative, so its phase is open
    positive: ComponentEnds = {v: [(Fraction(1), Fraction(2)), (Fraction(0), Fraction(1))]}
    assert Forms(positive).values(best) == (fmpq(0),)
    pick = build.switch(best, [Fraction(0), Fraction(1)], [v[0], 9])
    over = Forms(positive, Linear({v: Range(np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]]))}))
    (form,) = over.values(pick)
    assert isinstance(form, AffineForm)
    assert over.range(form) == (Fraction(1), Fraction(2))
    assert scores not in over.known  # bounds decided the winner, nobody computed the scores exactly


def test_a_tie_stays_open() -> None:
    assert Forms(UNIT).values(build.argmax(build.concat(X, X))) == (None,)


def test_depth_does_not_matter() -> None:
    nested: Expr = X
    for _ in range(3_000):
        nested = e.Neg((nested,), nested.sort, nested.shape)
    (form,) = Forms(UNIT).values(nested)
    assert form == AffineForm(fmpq(0), {(X, 0): fmpq(1)})
