"""Claims that hold with no room to spare are decided; those beside them that do not hold are not called true."""

from __future__ import annotations

import pytest

from tests.cases import read
from vernal.engines.check import ask, parse_formula
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.run.budget import Budget

SATURATED = (
    '[state]\nx = "real"\n[init]\nx = "[-1, 0.5]"\n[environment.next]\nx = "clip(x + 0.2 + 0.01*sin(x), -1, 0.6)"\n'
)


def at(x: str, y: str = "0", where: str = "") -> str:
    """A system that stays where it starts."""
    constraint = f'where = ["{where}"]\n' if where else ""
    start = f'[init]\nx = "{x}"\ny = "{y}"\n{constraint}'
    return f'[state]\nx = "real"\ny = "real"\n{start}[environment.next]\nx = "x"\ny = "y"\n'


def step(x: str, after: str) -> str:
    return f'[state]\nx = "real"\n[init]\nx = "{x}"\n[environment.next]\nx = "{after}"\n'


HOLDING = [
    (SATURATED, "G[0,10] (x <= 0.6)"),
    (SATURATED, "G (x <= 0.6)"),
    (SATURATED, "G[0,10] (x <= 0.6 & x > -1.1)"),
    (at("[-100, 100]"), "sigmoid(x) < 1"),
    (at("[-100, 100]"), "tanh(x) < 1"),
    (at("[-10000, 10]"), "exp(x) > 0"),
    (at("[-100, 100]"), "2*sigmoid(x) - 1 < 1 & max(tanh(x), -0.5) < 1"),
    (at("[-1, 1]"), "x*x - x^2 == 0"),
    (at("[1, 2]"), "x/x == 1"),
    (at("[-1, 1]"), "abs(x) - x*x >= 0"),
    (at("[-1, 1]", "[-1, 1]"), "(x + y)^2 - x^2 - y^2 - 2*x*y == 0"),
    (at("[-1, 1]", "[-1, 1]", "x^2 + y^2 <= 1"), "x + y <= 1.4143"),
    (step("[0, 1]", "min(x + sin(x), 0.1)"), "X[1] (x <= 0.1)"),
    (step("[0, 1]", "max(x*x - 0.3, 0.1)"), "G[1,5] (x >= 0.1)"),
]

FAILING = [
    (SATURATED, "G[0,10] (x < 0.6)"),
    (SATURATED, "G[0,10] (x <= 0.59)"),
    (at("[-100, 100]"), "tanh(x) < 0.99"),
    (at("[-1, 1]"), "x*x - x^3 == 0"),
    (at("[1, 2]"), "x/x > 1"),
    (at("[-1, 1.001]"), "abs(x) - x*x >= 0"),
    (step("[0, 1]", "max(x*x - 0.3, 0.1)"), "G[1,5] (x > 0.1)"),
]


def asked(model: str, formula: str) -> Result:
    task = read(model)
    return ask(task, parse_formula(task, formula), None, "auto", Budget(timeout=60.0))


@pytest.mark.parametrize(("model", "formula"), HOLDING)
def test_a_claim_without_room_holds(model: str, formula: str) -> None:
    assert asked(model, formula).verdict is HOLDS


@pytest.mark.parametrize(("model", "formula"), FAILING)
def test_a_claim_a_little_stronger_fails(model: str, formula: str) -> None:
    assert asked(model, formula).verdict is VIOLATED


def test_what_was_settled_is_said() -> None:
    result = asked(SATURATED, "G[0,10] (x <= 0.6)")
    assert result.engine == "ends"
    assert "the operators of the model alone say: x <= 0.6 is always true" in result.notes


def test_an_undefined_value_may_be_anything() -> None:
    """The square root of a negative number is undefined, so that it is not negative is not proven."""
    assert asked(at("[-1, 1]"), "sqrt(x) >= 0").verdict is not HOLDS
