"""Lassos through irrational states, found by Newton's method and proven by interval Newton."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.cases import read
from tests.engines.test_truth import check_evidence
from vernal.engines.check import ask, parse_formula
from vernal.engines.lasso.newton import _pivots, has_irrational_loops
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.evidence.trace import Enclosure, TraceNumber, components
from vernal.run.budget import Budget

METHOD = "a periodic point"


def model(init: dict[str, str], **following: str) -> str:
    state = "".join(f'{name} = "real"\n' for name in init)
    starts = "".join(f'{name} = "{start}"\n' for name, start in init.items())
    steps = "".join(f'{name} = "{step}"\n' for name, step in following.items())
    return f"[state]\n{state}[init]\n{starts}[environment.next]\n{steps}"


def asked(text: str, formula: str, engine: str = "lasso") -> Result:
    task = read(text)
    question = parse_formula(task, formula)
    options = {"depth": 40}
    result = ask(task, question, None, engine, Budget(timeout=30), options)
    check_evidence(task.system, question, result)
    return result


def middle(value: TraceNumber) -> float:
    return float(value.middle if isinstance(value, Enclosure) else value)


def states(result: Result, name: str = "x") -> list[float]:
    assert result.trace is not None
    return [middle(item) for step in result.trace.steps for item in components(step.state[name])]


LOGISTIC = model({"x": "[0.5, 0.6]"}, x="3.2*x*(1 - x)")
NEWTON = model({"x": "[1, 2]"}, x="(x + 2/x)/2")
COSINE = model({"x": "[0, 1]"}, x="cos(x)")
PENDULUM = model({"a": "[3, 3.3]", "v": "[-0.1, 0.1]"}, a="a + 0.1*v", v="v + 0.1*sin(a) - 0.01*v")
HALF_TURN = model({"x": "[0, 3]"}, x="pi - x/2")


@pytest.mark.parametrize(
    ("text", "formula", "first"),
    [
        (NEWTON, "F (x > 1.8)", math.sqrt(2)),
        (COSINE, "F (x > 0.8)", 0.7390851332151607),
        (COSINE, "F (x <= 0.739085133215160641655312087673873 )", 0.7390851332151607),  # it lies a little above
        (HALF_TURN, "F (x > 2.5)", 2 * math.pi / 3),
        (model({"x": "[0.1, 4]"}, x="exp(-x)"), "F (x > 0.6)", 0.5671432904097838),
        (model({"x": "[1, 3]"}, x="sqrt(x + 1)"), "F (x > 1.7)", (1 + math.sqrt(5)) / 2),
    ],
)
def test_fixpoints(text: str, formula: str, first: float) -> None:
    result = asked(text, formula)
    assert result.verdict is VIOLATED
    assert result.statistics["method"] == METHOD
    assert str(result.assurance) == "rigorous"
    assert math.isclose(states(result)[0], first, rel_tol=1e-15)


def test_the_cycle_of_the_logistic_map() -> None:
    result = asked(LOGISTIC, "F G (x > 0.6)")
    assert result.verdict is VIOLATED
    root = math.sqrt(0.2 * 4.2)
    assert np.allclose(states(result), [(4.2 - root) / 6.4, (4.2 + root) / 6.4], rtol=1e-15)
    assert asked(LOGISTIC, "F (x < 0.55 & x > 0.52)").verdict is VIOLATED


def test_the_upright_pendulum_stands() -> None:
    result = asked(PENDULUM, "F (a < 3)")
    assert result.verdict is VIOLATED
    assert math.isclose(states(result, "a")[0], math.pi)
    assert abs(states(result, "v")[0]) < 1e-20


def test_a_rational_point_is_given_exactly() -> None:
    """Of x' = 2.5 x (1 - x) it is 3 / 5, of x' = 3.2 x (1 - x) 11 / 16, which no run stays at."""
    for text, point in ((LOGISTIC.replace("3.2", "2.5"), Fraction(3, 5)), (LOGISTIC, Fraction(11, 16))):
        result = asked(text.replace("[0.5, 0.6]", "[0.55, 0.7]"), "F (x > 0.75)")
        assert result.trace is not None
        assert [step.state["x"] for step in result.trace.steps] == [point]
        assert str(result.assurance) == "exact"


def test_disturbances_are_solved_for_where_the_start_is_one_state() -> None:
    result = asked(model({"x": "0.1"}, x="cos(x) + between(-0.5, 0.5)"), "F (x > 1.2)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.steps[0].state["x"] == Fraction(1, 10)
    drawn = [value for step in result.trace.steps for value in step.disturbances.values()]
    assert any(isinstance(value, Enclosure) for value in drawn)


def test_a_witness_from_one_state() -> None:
    result = asked(model({"x": "0.1"}, x="cos(x) + between(-1, 1)"), "EG (x < 0.5)")
    assert result.verdict is HOLDS
    assert result.trace is not None
    assert result.trace.kind == "lasso"


def test_what_is_kept_as_it_is_is_no_unknown() -> None:
    result = asked(model({"x": "[0, 1]", "p": "[0.9, 1]"}, x="p*cos(x)", p="p"), "F (x > 0.8)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert isinstance(result.trace.steps[0].state["p"], Fraction)
    assert isinstance(result.trace.steps[0].state["x"], Enclosure)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        (COSINE, "F (x < 0.74)"),  # every path comes near the fixpoint
        (COSINE, "F (x >= 0.73908513321516064165)"),  # the fixpoint has this property
        (NEWTON, "F G (x < 1.42)"),
        (LOGISTIC, "G F (x > 0.6)"),  # whatever returns is above 0.6 at times
        (model({"x": "[0, 0.7]"}, x="cos(x)"), "F (x > 0.7)"),  # the fixpoint is not initial
        (model({"x": "[0, 1]"}, x="x*x*x/3 + x + 0.01"), "F (x > 5)"),  # nothing returns
    ],
)
def test_what_is_true_is_not_refuted(text: str, formula: str) -> None:
    assert asked(text, formula).verdict is UNKNOWN


def test_random_maps_return_where_they_are_said_to() -> None:
    """x' = a sin(b x + c) takes an interval into itself, so there is a fixpoint; what is found comes back in floats."""
    rng = random.Random(3)
    for _ in range(6):
        a, b, c = (round(rng.uniform(0.5, 2), 2) for _ in range(3))
        result = asked(model({"x": "[-2, 2]"}, x=f"{a}*sin({b}*x + {c})"), "F (x > 3)")
        assert result.trace is not None
        path = states(result)
        assert result.trace.loop is not None
        expected = path[result.trace.loop]
        assert math.isclose(a * math.sin(b * path[-1] + c), expected, abs_tol=1e-9)


def test_auto_finds_them_and_the_reports_say_so() -> None:
    result = asked(COSINE, "F (x > 0.9)", "auto")
    assert result.verdict is VIOLATED


# Parts ----------------------------------------------------------------------------------------------------------------


def test_affine_loops_close_at_rationals() -> None:
    assert not has_irrational_loops(read(model({"x": "[0, 1]"}, x="x/2 + 1/3")).system)
    assert has_irrational_loops(read(HALF_TURN).system)
    assert has_irrational_loops(read(COSINE).system)


def test_pivots_are_independent_columns() -> None:
    assert _pivots(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0]])) == [1, 2]
    assert _pivots(np.array([[1.0, 2.0], [2.0, 4.0]])) == [1]
    assert _pivots(np.zeros((2, 2))) == []
