"""numpy's functions on expressions mean what they mean on numbers, or name what there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vernal as vn
from vernal.interpret.concrete import evaluate
from vernal.model import build
from vernal.model.arrays import ExprArray
from vernal.model.numpy_functions import ELEMENTWISE

POINTS = np.array([0.25, 0.5, 1.0, 2.0, 3.5])
TRUTHS = np.array([True, False, True])
WHOLE = np.array([-3.0, 0, 5])
x: Any = build.var("x")  # numpy's types know nothing of expressions
n: Any = build.var("n", vn.integer().sort)
p: Any = build.var("p", vn.boolean().sort)
pair: Any = ExprArray([x, 2 * x])
ONE_NUMBER = ["square", "negative", "absolute", "sign", "floor", "arctan", "sin", "cos", "tan", "tanh", "exp", "expm1"]
ONE_NUMBER += ["log", "log1p", "sqrt"]
TWO_NUMBERS = ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2"]
TWO_NUMBERS += ["less", "less_equal", "greater", "greater_equal"]


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_functions_of_one_number(name: str) -> None:
    function = getattr(np, name)
    np.testing.assert_allclose(evaluate([function(x)], {x: POINTS})[0], function(POINTS))


@pytest.mark.parametrize("name", TWO_NUMBERS)
def test_functions_of_two_numbers_and_their_order(name: str) -> None:
    function = getattr(np, name)
    np.testing.assert_allclose(evaluate([function(x, 2)], {x: POINTS})[0], function(POINTS, 2))
    if name != "power":  # exponents are numbers
        np.testing.assert_allclose(evaluate([function(np.float64(2), x)], {x: POINTS})[0], function(2, POINTS))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_functions_of_integers(name: str) -> None:
    function = getattr(np, name)
    np.testing.assert_array_equal(evaluate([function(n, 3)], {n: WHOLE})[0], function(WHOLE, 3))


@pytest.mark.parametrize("name", ["logical_and", "bitwise_and", "logical_or", "bitwise_or", "logical_not", "invert"])
def test_functions_of_truth_values(name: str) -> None:
    function = getattr(np, name)
    others = () if name in ("logical_not", "invert") else (p,)
    np.testing.assert_array_equal(
        evaluate([function(p, *others)], {p: TRUTHS})[0], function(TRUTHS, *[TRUTHS for _ in others])
    )


def test_clip_and_where() -> None:
    made = [np.clip(x, 0.5, 2), np.where(x > 1, x, 0)]
    clipped, chosen = evaluate(made, {x: POINTS})
    np.testing.assert_array_equal(clipped, np.clip(POINTS, 0.5, 2))
    np.testing.assert_array_equal(chosen, np.where(POINTS > 1, POINTS, 0))


def test_every_function_of_the_table_is_tried() -> None:
    tried = {*ONE_NUMBER, *TWO_NUMBERS, "floor_divide", "remainder", "clip", "where"}
    assert set(ELEMENTWISE) - tried == {
        "logical_and", "bitwise_and", "logical_or", "bitwise_or", "logical_not", "invert"
    }  # fmt: skip


def test_arrays_go_component_by_component() -> None:
    for made, wanted in [
        (np.sin(pair), [np.sin(POINTS), np.sin(2 * POINTS)]),
        (np.array([3.0, 4.0]) * pair, [3 * POINTS, 8 * POINTS]),
        (np.array([3.0, 4.0]) * x, [3 * POINTS, 4 * POINTS]),
        (np.array([[1.0, 2.0], [0.0, 1.0]]) @ pair, [5 * POINTS, 2 * POINTS]),
        ([np.sum(pair), np.max(pair)], [3 * POINTS, 2 * POINTS]),
        ([np.dot([1, 1], pair), np.array([1, 1]) @ pair], [3 * POINTS, 3 * POINTS]),
    ]:
        np.testing.assert_allclose(evaluate(list(made), {x: POINTS}), wanted)


@pytest.mark.parametrize(
    ("tried", "message"),
    [
        (lambda: np.cbrt(x), r"np\.cbrt does not take expressions .* np\.sqrt"),
        (lambda: np.add.reduce(x), r"np\.add\.reduce does not take"),
        (lambda: np.clip(x, 0, 1, out=np.zeros(1)), "takes no out"),
        (lambda: np.float64(1) == x, r"vn\.eq\(a, b\)"),
        (lambda: np.maximum(pair, np.zeros(3)), "2 and 3 components"),
        (lambda: math.sin(x), r"vn\.sin"),
        (lambda: max(x, 0), r"vn\.maximum"),
    ],
)
def test_what_has_no_counterpart_says_so(tried: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tried()
