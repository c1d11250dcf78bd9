"""Where expressions are defined, against what is known of them on paper, and against values at random points."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vernal.interpret.concrete import evaluate
from vernal.logic.elaboration import Scope, expression
from vernal.model import build
from vernal.model.expr import Expr, Function
from vernal.model.initial import Ends
from vernal.model.traits import FUNCTIONS
from vernal.sets.operator_domains import first_gap

X, Y = build.var("x"), build.var("y")
UNIT: tuple[Ends, Ends] = ((Fraction(-1), Fraction(1)), (Fraction(-1), Fraction(1)))

DEFINED = [
    "x + y",
    "sqrt(x + 1)",  # zero at the edge
    "sqrt(x^2 + y^2)",
    "(x^2)^(1/3) - x",
    "1 / (x^2 + y^2 + 0.01)",  # intervals of the whole region say enough
    "1 / (2 + x*y)",
    "1 / (x*y - x + 2.1)",  # needs boxes to be halved
    "log(x + 1.001)",
    "log1p(x / 2)",
    "expm1(x)",
    "tan(1.5*x)",
    "exp(x) / (1 + x^2)",
    "x^(-2 + 2)",
    "sqrt(sqrt(x + 1) + y + 1)",
    "atan2(y, x + 1.5)",
    "1 / exp(x)",
    "sqrt(x^2 - 2*x*y + y^2 + 0.001)",  # intervals alone do not see it
    "1 / (sign(x) + 1.5)",  # jumps past zero
]
UNDEFINED = [  # with a state at which it shows
    "log1p(x)",
    "log1p(2*x) - 3",
    "sqrt(x)",
    "sqrt(x - 2)",
    "1 / x",
    "1 / x^2",  # no change of sign, but a point
    "1 / (x - y)",
    "1 / (x - 0.3)",  # no float is the zero: a change of sign
    "y / (x^2 + y^2)",
    "log(x + 1)",
    "x^(-1/2)",
    "(x + y)^0.3",
    "tan(2*x)",
    "x / (y - 1)",
    "1 / sqrt(x + 1)",
    "atan2(y, x)",
    "sqrt(sqrt(x + 1) - 1)",
]
TOO_HARD = ["sqrt(x^2 - 2*x*y + y^2)"]  # never negative, which bounds do not see


def read(text: str) -> Expr:
    return expression(text, Scope({"x": X, "y": Y}))


@pytest.mark.parametrize("text", DEFINED)
def test_what_is_defined_is_shown_to_be(text: str) -> None:
    assert first_gap([read(text)], (X, Y), UNIT) is None


@pytest.mark.parametrize("text", UNDEFINED)
def test_what_is_undefined_somewhere_is_known_to_be(text: str) -> None:
    gap = first_gap([read(text)], (X, Y), UNIT)
    assert gap is not None
    assert gap.certain
    assert all(-1 <= value <= 1 for _, value in gap.near)


@pytest.mark.parametrize("text", TOO_HARD)
def test_what_is_not_known_is_not_called_undefined(text: str) -> None:
    gap = first_gap([read(text)], (X, Y), UNIT)
    assert gap is not None
    assert not gap.certain


@pytest.mark.parametrize("text", [*DEFINED, *TOO_HARD])
def test_no_random_point_is_undefined(text: str) -> None:
    """The lists above are right themselves."""
    points = np.random.default_rng(0).uniform(-1, 1, (2, 1000))
    with np.errstate(all="ignore"):
        (values,) = evaluate([read(text)], {X: points[0], Y: points[1]})
    assert np.isfinite(values).mean() > 0.4  # rounding may make a number just below zero of x^2 - 2 x y + y^2
    assert text in TOO_HARD or np.isfinite(values).all()


def test_the_state_that_is_named_is_one() -> None:
    gap = first_gap([read("sqrt(x + y)")], (X, Y), UNIT)
    assert gap is not None
    assert sum(value for _, value in gap.near) < 0


def test_disturbances_have_all_their_values() -> None:
    noise = build.between(-1, 1)
    assert first_gap([1 / (X + noise + 3)], (X, Y), UNIT) is None
    gap = first_gap([1 / (X + noise + Fraction(3, 2))], (X, Y), UNIT)
    assert gap is not None
    assert first_gap([build.between(-1 * X, X)], (X, Y), UNIT) is None  # whichever end is the lower


def test_a_branch_that_is_not_taken_is_not_called_undefined() -> None:
    gap = first_gap([read("if(x > 0, sqrt(x), 0)")], (X, Y), UNIT)
    assert gap is not None
    assert not gap.certain


def test_a_constant_that_is_undefined() -> None:
    gap = first_gap([1 / build.apply(Function.SIN, build.const(0))], (X, Y), UNIT)
    assert gap is not None
    assert gap.near == ()
    assert "every state" in str(gap)


def test_ends_that_are_no_floats() -> None:
    """A region is enclosed by floats; a root at its very end is then not decided, and not called undefined."""
    third: tuple[Ends, ...] = ((Fraction(1, 3), Fraction(1)),)
    gap = first_gap([read("sqrt(x - 1/3)")], (X,), third)
    assert gap is None or not gap.certain
    assert first_gap([read("sqrt(x - 0.333)")], (X,), third) is None


@pytest.mark.parametrize("function", list(Function), ids=lambda function: function.value)
def test_what_the_traits_call_partial_is_undefined_somewhere(function: Function) -> None:
    gap = first_gap([build.apply(function, X)], [X], [(Fraction(-2), Fraction(2))])
    assert (gap is None) is FUNCTIONS[function].total


def test_a_square_over_a_region_whose_ends_are_no_floats() -> None:
    """Linear bounds are a rounding below zero there, and intervals say that no square is negative."""
    root = read("((-2*y - x/2)^2)^(1/3)")
    ends = (Fraction(-2), Fraction(3)), (Fraction(-3), Fraction(5, 3))
    assert first_gap([root], (X, Y), ends) is None
