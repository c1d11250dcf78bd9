"""Claims that hold with no room to spare are decided; those beside them that do not hold are not called true."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

import vernal as vn
from tests.cases import read
from vernal.engines.check import ask, asked_of, parse_formula
from vernal.engines.weaker_claims import best_margin, in_words
from vernal.evidence.knowledge import Known, Open
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.logic.question import Question
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


def asked(model: str, formula: str, engine: str = "auto") -> Result:
    task = read(model)
    return ask(task, parse_formula(task, formula), None, engine, Budget(timeout=60.0))


@pytest.mark.parametrize(("model", "formula"), HOLDING)
def test_a_claim_without_room_holds(model: str, formula: str) -> None:
    assert asked(model, formula).verdict is HOLDS


@pytest.mark.parametrize(("model", "formula"), FAILING)
def test_a_claim_a_little_stronger_fails(model: str, formula: str) -> None:
    assert asked(model, formula).verdict is VIOLATED


def test_what_is_open_is_proven_as_far_as_it_is() -> None:
    """`d >= 17.3 is proven, d >= 17.8 was asked`, where the least value over all starts is 17.4 or so."""
    model = (
        '[state]\nd = "real"\nv = "real"\n[init]\nd = "[20, 21]"\nv = "[0.9, 1]"\n[environment.next]\n'
        'd = "d - v*0.5 - 0.02*sin(d*v)"\nv = "v*(1 + 0.01*cos(d))"\n'
    )
    task = read(model)
    formula = parse_formula(task, "G[0,5] (d >= 17.8)")
    question = Question(task.system, formula)
    said = in_words(question, best_margin(question, Budget()))
    found = re.fullmatch(r"d >= (\S+) is proven, d >= 17.8 was asked", str(said))
    assert found is not None, said
    assert 16 < Fraction(found[1]) <= least_value([(20, 0.9), (20, 0.95), (20, 1)], 5)


def least_value(starts: list[tuple[float, float]], steps: int) -> float:
    found = []
    for d, v in starts:
        for _ in range(steps):
            d, v = d - v * 0.5 - 0.02 * math.sin(d * v), v * (1 + 0.01 * math.cos(d))
        found.append(d)
    return min(found)


class Unsure:
    """An engine that knows a part."""

    name = "unsure"

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        return Open(engine=self.name, reason="not today", margin=-0.25)


def test_the_margin_that_an_engine_knows_is_said() -> None:
    task = read(SATURATED)
    result = asked_of(Unsure(), Question(task.system, parse_formula(task, "X[2] (x < 0.5)")), Budget(timeout=1e-9))
    assert result.notes == ("x <= 0.75 is proven, x < 0.5 was asked",)


def test_what_was_settled_is_said() -> None:
    result = asked(SATURATED, "G[0,10] (x <= 0.6)")
    assert result.engine == "ends"
    assert "the operators of the model alone say: x <= 0.6 is always true" in result.notes


def test_an_undefined_value_may_be_anything() -> None:
    """The square root of a negative number is undefined, so that it is not negative is not proven."""
    for engine in ("ends", "bounds"):
        assert asked(at("[-1, 1]"), "sqrt(x) >= 0", engine).verdict is not HOLDS


def test_the_margin_of_what_is_left_of_a_claim_is_none_of_the_claim() -> None:
    """That x is at most 0.6 has no room at all, however much the rest has."""
    system = vn.System(
        state={"x": vn.real(), "y": vn.real()},
        init={"x": vn.interval(0, 0.5), "y": vn.interval(0, 1)},
        step=lambda s: {"x": vn.clip(1.5 * s.x, -1, "0.6"), "y": s.y + s.x - s.x},
    )
    result = vn.check(system, "G[0,5] (x <= 0.6 & y <= 5)")
    assert result.verdict is vn.HOLDS
    assert result.margin in (None, 0.0)
