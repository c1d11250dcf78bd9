"""Lassos in enclosures: a box is accepted where it holds exactly one state that comes back, and nowhere else."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import vernal as vn
from tests.cases import read
from vernal.engines.check import parse_formula
from vernal.evidence import confirm
from vernal.evidence.periodic import enclosed_lasso, is_enclosed
from vernal.evidence.replay import NotAPath, verify
from vernal.evidence.trace import Choice, Enclosure, Trace, TraceStep, TraceValue
from vernal.evidence.trace_file import from_json, to_json
from vernal.model.system import System
from vernal.report.document import schema

LOGISTIC = '[state]\nx = "real"\n[init]\nx = "[0.15, 0.9]"\n[environment.next]\nx = "3.2*x*(1 - x)"\n'
R = 3.2
LOW, HIGH = ((R + 1 + side * math.sqrt((R - 3) * (R + 1))) / (2 * R) for side in (-1, 1))  # the cycle of period 2


def one(next_x: str, init: str = "[-10, 10]", rest: str = "") -> System:
    return read(f'[state]\nx = "real"\n[init]\nx = "{init}"\n{rest}[environment.next]\nx = "{next_x}"\n').system


def around(x: float | Fraction, radius: Fraction = Fraction(1, 2**20)) -> Enclosure:
    return Enclosure(Fraction(x) - radius, Fraction(x) + radius)


def lasso(system: System, *states: TraceValue, loop: int = 0) -> Trace:
    """A record of a system of one variable; positions after the first are not looked at."""
    return Trace(tuple(TraceStep({"x": state}) for state in states), loop, system=system)


def why(system: System, record: Trace) -> str:
    with pytest.raises(NotAPath) as raised:
        enclosed_lasso(system, record)
    return str(raised.value)


def test_the_cycle_of_the_logistic_map() -> None:
    system = read(LOGISTIC).system
    found = enclosed_lasso(system, lasso(system, around(LOW), Fraction(0)))
    first, second = (step.state["x"] for step in found.steps)
    assert isinstance(first, Enclosure)
    assert isinstance(second, Enclosure)
    assert first.lower < LOW < first.upper
    assert second.lower < HIGH < second.upper
    assert found.loop == 0


def test_a_first_state_that_leads_to_a_fixpoint() -> None:
    """Of x' = x^2 - 1.3, -q leads to the fixpoint q: one position before the loop."""
    q = (1 + math.sqrt(6.2)) / 2
    system = one("x*x - 1.3")
    found = enclosed_lasso(system, lasso(system, around(-q), Fraction(0), loop=1))
    second = found.steps[1].state["x"]
    assert isinstance(second, Enclosure)
    assert second.lower < q < second.upper
    assert "exactly one" in why(system, lasso(system, around(-q), Fraction(0), loop=0))


def test_no_zero_in_the_box() -> None:
    system = read(LOGISTIC).system
    assert "exactly one" in why(system, lasso(system, around(0.6), Fraction(0)))
    assert "exactly one" in why(system, lasso(system, around(LOW)))  # it is no fixpoint


def test_two_fixpoints_in_the_box() -> None:
    """x' = x^2 - 2 has the fixpoints -1 and 2."""
    system = one("x*x - 2")
    assert "exactly one" in why(system, lasso(system, Enclosure(Fraction(-2), Fraction(4))))
    enclosed_lasso(system, lasso(system, around(2)))
    enclosed_lasso(system, lasso(system, around(-1)))


def test_a_double_fixpoint_is_not_decided() -> None:
    """x' = x^2 + 1/4 touches x' = x at 1/2; a little more and there is no fixpoint at all."""
    system = one("x*x + 0.25")
    why(system, lasso(system, around(0.5)))
    why(one("x*x + 0.2500001"), lasso(system, around(0.5)))


def test_every_state_a_fixpoint_is_not_one() -> None:
    assert "does not determine" in why(one("x"), lasso(one("x"), around(1)))


def test_a_box_has_to_be_initial() -> None:
    system = one("cos(x)", "[0, 0.7390851332]")  # the fixpoint is 0.73908513321516...
    assert "not an initial value" in why(system, lasso(system, around(0.7390851332151607)))
    constrained = one("cos(x)", "[0, 1]", 'where = ["x < 0.7390851332"]\n')
    assert "init.where" in why(constrained, lasso(constrained, around(0.7390851332151607)))


def test_a_branch_has_to_be_the_same_on_the_box() -> None:
    system = one("if(x > 0.739085133, cos(x), x/2)", "[0, 1]")
    assert "not the same" in why(system, lasso(system, around(0.7390851332151607)))
    enclosed_lasso(system, lasso(system, around(0.7390851332151607, Fraction(1, 2**40))))


def test_the_fixpoint_at_a_kink() -> None:
    """x' = max(-2 x, -x / 3) has its only fixpoint at the kink."""
    system = one("max(-2*x, -x/3)")
    enclosed_lasso(system, lasso(system, around(0)))


def test_a_path_that_ends_is_no_loop() -> None:
    text = LOGISTIC.replace("[environment.next]", '[environment]\nenabled = "x < 0.7"\n[environment.next]')
    system = read(text).system
    assert "not enabled" in why(system, lasso(system, around(LOW), Fraction(0)))


COUNTED = """
[state]
x = "real"
n = "int"
up = "bool"
[init]
x = "[0, 1]"
n = 0
up = false
[environment.next]
x = "cos(x)"
n = "if(up, n - 1, n + STEP)"
up = "!up"
"""


@pytest.mark.parametrize(("step", "closes"), [("1", True), ("2", False)])
def test_the_discrete_part_returns_exactly(step: str, closes: bool) -> None:
    system = read(COUNTED.replace("STEP", step)).system
    state: dict[str, TraceValue] = {"x": around(0.7390851332151607), "n": Fraction(0), "up": Fraction(0)}
    record = Trace((TraceStep(state),) * 2, 0, system=system)
    if closes:
        assert [found.state["n"] for found in enclosed_lasso(system, record).steps] == [0, 1]
    else:
        assert "does not close exactly" in why(system, record)


def test_numbers_that_start_at_one_value_are_not_free() -> None:
    """The upright pendulum stands at (pi, 0); that v is exactly 0 no enclosure shows."""
    model = '[state]\nx = "real"\nv = "real"\n[init]\nx = "[3, 3.3]"\nv = V\n[environment.next]\n'
    model += 'x = "x + 0.1*v"\nv = "v + 0.1*sin(x)"\n'
    system = read(model.replace("V", "0")).system
    fixed = Trace((TraceStep({"x": around(math.pi), "v": Fraction(0)}),), 0, system=system)
    assert "2 numbers have to come back, and 1 are free" in why(system, fixed)
    system = read(model.replace("V", '"[-1, 1]"')).system
    enclosed_lasso(system, Trace((TraceStep({"x": around(math.pi), "v": around(0)}),), 0, system=system))


def test_disturbances_are_solved_for() -> None:
    """From 0.1 exactly, x' = cos(x) + w comes back after one more step with the right w."""
    system = one("cos(x) + between(-1, 1)", "0.1")
    (name,) = system.step.names.values()
    needed = 0.1 - math.cos(0.1)
    step = TraceStep({"x": Fraction(1, 10)}, disturbances={name: around(needed)})
    found = enclosed_lasso(system, Trace((step,), 0, system=system))
    value = found.steps[0].disturbances[name]
    assert isinstance(value, Enclosure)
    assert value.lower < needed < value.upper
    narrow = one("cos(x) + between(-0.895, 1)", "0.1")  # cos(0.1) = 0.99500...
    (name,) = narrow.step.names.values()
    step = TraceStep({"x": Fraction(1, 10)}, disturbances={name: around(needed)})
    why(narrow, Trace((step,), 0, system=narrow))


def test_choices_are_kept() -> None:
    system = one("choose(cos(x), x/2 when x > 0.9, sin(x))", "[0, 1]")
    (name,) = system.step.names.values()

    def choosing(index: int) -> Trace:
        step = TraceStep({"x": around(0.7390851332151607)}, choices={name: Choice(index, Fraction(0))})
        return Trace((step,), 0, system=system)

    enclosed_lasso(system, choosing(0))
    for index in (1, 2, 3):
        why(system, choosing(index))


def test_random_parabolas_against_signs() -> None:
    """A box that is accepted has a fixpoint: at its ends F(x) - x has different signs, in rational numbers."""
    rng = random.Random(0)
    accepted = 0
    for _ in range(150):
        a, b, c = (Fraction(rng.randint(-30, 30), 10) for _ in range(3))
        system = one(f"({a})*x*x + ({b})*x + ({c})")
        middle, radius = Fraction(rng.randint(-40, 40), 10), Fraction(1, rng.choice([2, 8, 50]))
        root = b * b - 2 * b + 1 - 4 * a * c
        if a and root >= 0 and rng.random() < 0.7:
            middle = Fraction((1 - float(b) + math.sqrt(float(root))) / (2 * float(a)))
        box = Enclosure(middle - radius, middle + radius)
        try:
            enclosed_lasso(system, lasso(system, box))
        except NotAPath:
            continue
        accepted += 1
        ends = [a * x * x + b * x + c - x for x in (box.lower, box.upper)]
        assert ends[0] * ends[1] < 0
    assert accepted > 20


# Records and files ----------------------------------------------------------------------------------------------------


def test_a_lasso_travels_as_json() -> None:
    task = read(LOGISTIC)
    system = task.system
    found = enclosed_lasso(system, lasso(system, around(LOW), Fraction(0)))
    document = json.loads(json.dumps(to_json(found, system)))
    record = from_json(document, system)
    assert is_enclosed(record)
    replayed = verify(system, record)
    assert replayed.accepted, replayed.problem
    assert replayed.trace == found
    document["steps"][1]["state"]["x"] = 0.7
    assert not verify(system, from_json(document, system)).accepted


def test_an_enclosure_of_zero_is_written_with_two_ends() -> None:
    system = one("x*x - 2*x")  # 0 stays
    found = enclosed_lasso(system, lasso(system, around(0)))
    (step,) = to_json(found, system)["steps"]
    assert set(step["state"]["x"]) == {"lower", "upper"}


def test_a_file_replays_and_an_edited_one_does_not(tmp_path: Path) -> None:
    task, file = read(LOGISTIC), tmp_path / "cycle.trace.json"
    formula = parse_formula(task, "F G (x > 0.6)")
    result = vn.check(task, formula, engine="lasso", timeout=30)
    assert str(result.assurance) == "rigorous"
    assert result.trace is not None
    assert confirm.truth(result.trace, formula) is False
    vn.write_evidence(task, result, file)
    content = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(content, schema("trace"))
    checked = vn.replay(file, task)
    assert checked.judgement == "accepted"
    assert "in enclosures" in checked.reason
    box = content["trace"]["steps"][0]["state"]["x"]
    box["lower"], box["upper"] = 0.6, 0.61
    file.write_text(json.dumps(content), encoding="utf-8")
    assert vn.replay(file, task).judgement == "rejected"
