"""The engine `induction`: claims that steps keep, from any state; and none that is false."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.available import is_here
from tests.cases import read
from tests.endless import CLIPPED, HALVING, LAGGED, MODULO, RAMP, SWITCH, TALLY, THERMOSTAT
from tests.engines.endless_check import agreement
from tests.engines.test_truth import check_evidence
from tests.portion import seeds, some
from vernal.engines.bounds.engine import Bounds
from vernal.engines.check import ask, asked_of, parse_formula
from vernal.engines.induction.engine import Induction
from vernal.engines.induction.implied_ends import implied_ends
from vernal.engines.induction.step import InductionStep, step_formula
from vernal.engines.options import InductionOptions
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.interpret.ends import PartialEnds
from vernal.logic.claim import Claim, always
from vernal.logic.question import Question
from vernal.model.tick import idle
from vernal.reduce.invariant_ranges import lasting_ends
from vernal.run.budget import Budget

solver = pytest.mark.skipif(not is_here("smt"), reason="pip install 'vernal[smt]'")


def between(low: int | None, high: int | None) -> PartialEnds:
    return None if low is None else Fraction(low), None if high is None else Fraction(high)


def asked(model: str, text: str, depth: int = 8) -> Result:
    task = read(model)
    question = parse_formula(task, text)
    result = ask(task, question, None, "induction", Budget(timeout=20), {"depth": depth})
    check_evidence(task.system, question, result)
    return result


@pytest.mark.parametrize(
    ("model", "text", "k"),
    [
        (HALVING, "G (x <= 1)", 1),
        (LAGGED, "G (x <= 1)", 2),
        (SWITCH, "G !a", 3),
        (SWITCH, "G (!a & !b)", 2),
        (SWITCH, "G !a & G !b & G !c", 1),
        (CLIPPED, "AG (x <= 2)", 1),
        (HALVING, "G[3,] (abs(x) <= 0.125)", 1),
    ],
)
def test_how_many_positions_it_takes(model: str, text: str, k: int) -> None:
    result = asked(model, text)
    assert result.verdict is HOLDS
    assert result.statistics["k"] == k
    assert str(result.reach) == "for all time"
    if k > 1:
        assert asked(model, text, depth=k - 1).verdict is UNKNOWN


def test_a_claim_about_several_positions() -> None:
    assert asked(HALVING, "G (x > 0.5 -> X (x <= 0.5))").verdict is HOLDS
    assert asked(RAMP, "G (x > 3 -> X (x > 3.4))").verdict is HOLDS


def test_what_is_not_kept_is_never_proven() -> None:
    assert asked(RAMP, "G (x <= 100)").verdict is UNKNOWN  # it fails, but not soon
    assert asked(RAMP, "G (x <= 2)").verdict is VIOLATED
    assert asked(MODULO, "G (n != 4)").verdict is VIOLATED


def test_it_says_how_far_a_claim_is_proven() -> None:
    assert asked(RAMP, "G (x <= 100)", depth=5).proven_steps == 4


def test_what_would_prove_a_claim_does_not_refute_it() -> None:
    result = asked(HALVING, "(x < 1) W (x == 1)")
    assert result.verdict is UNKNOWN
    assert result.reason == "G (x < 1), which would prove it, is false"
    assert asked(RAMP, "(x <= 100) W (x > 99.8)", depth=3).proven_steps is None


@pytest.mark.parametrize("text", ["F (x > 1)", "AG EF (x <= 1)", "G F (x > 1)", "x <= 1", "G[0,3] (x <= 1)"])
def test_other_claims_are_not_for_it(text: str) -> None:
    result = asked(HALVING, text)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert "not supported" in result.reason


def test_a_declared_range_is_not_taken_for_granted() -> None:
    """Inside [0, 1] a step of 0.1 keeps x below 1.2; but the range is left."""
    model = '[state]\nx = "real [0, 1]"\n[init]\nx = 0\n[environment.next]\nx = "x + 0.1"\n'
    assert asked(model, "G (x <= 1.2)").verdict is not HOLDS
    assert lasting_ends(read(model).system, idle) == {read(model).system.step.state[0]: between(0, None)}


def test_the_assurance_is_the_least_of_the_parts() -> None:
    task = read(HALVING)
    question = Question(task.system, parse_formula(task, "G (x <= 1)"))
    result = asked_of(Induction(InductionOptions(), [Bounds()], [Bounds()]), question, Budget())
    assert result.assurance is Assurance.RIGOROUS


@solver
def test_states_without_bounds_are_for_a_solver() -> None:
    result = asked(TALLY, "G (n >= 0)")
    assert result.verdict is HOLDS
    assert result.assurance is Assurance.SOLVER
    assert result.statistics["method"] == "step by z3"


@solver
def test_positions_that_differ() -> None:
    """From 1 the tally may stay at 1 for ever, and then go on to 3; a shortest path does not stay."""
    assert asked(TALLY, "G (n != 3)").statistics["k"] == 2
    assert asked(TALLY, "G[1,] (n != 3)").verdict is UNKNOWN  # a shorter path might fail before the claim begins
    assert asked(THERMOSTAT, "G (T < 24)").verdict is HOLDS


# Parts ----------------------------------------------------------------------------------------------------------------


def test_lasting_ends_grow_to_what_is_never_left() -> None:
    task = read('[state]\nx = "real"\ny = "real"\n[init]\nx = "[0, 1]"\ny = 0\n[environment.next]\n'
                'x = "clip(x + y, -1, 2)"\ny = "y + abs(x)"\n')  # fmt: skip
    x, y = task.system.step.state
    assert lasting_ends(task.system, idle) == {x: between(0, 2), y: between(0, None)}


def test_a_declared_range_helps_where_it_is_kept() -> None:
    text = '[state]\nx = "real{}"\n[init]\nx = "[-1, 1]"\n[environment.next]\nx = "0.5*x + between(-1, 1)"\n'
    plain, ranged = read(text.format("")).system, read(text.format(" [-2, 2]")).system
    assert lasting_ends(plain, idle)[plain.step.state[0]] == between(None, None)
    assert lasting_ends(ranged, idle)[ranged.step.state[0]] == between(-2, 2)


def test_a_claim_implies_ends() -> None:
    task = read(LAGGED)
    x, y = task.system.step.state
    assert implied_ends(parse_formula(task, "x <= 1 & !(x < -2) & abs(y) < 3")) == {
        x: between(-2, 1),
        y: between(-3, 3),
    }
    assert implied_ends(parse_formula(task, "x == 2")) == {x: between(2, 2)}
    assert implied_ends(parse_formula(task, "x <= 1 | x == 2")) == {}
    assert implied_ends(parse_formula(task, "x != 2 & -y <= 3 & x + y <= 3")) == {y: between(-3, None)}


def test_variables_that_do_not_matter_are_not_looked_at() -> None:
    task = read('[state]\nx = "real"\nt = "real"\n[init]\nx = "[0, 1]"\nt = 0\n[environment.next]\n'
                'x = "0.5*x"\nt = "t + 1"\n')  # fmt: skip
    question = Question(task.system, parse_formula(task, "G (x <= 1)"))
    claimed = always(question.claim.linear)
    assert claimed is not None
    step = InductionStep(question, claimed.arg, Budget())
    assert [var.name for var in step.needed] == ["x"]
    assert step.anywhere is not None


def test_the_step_is_a_bounded_formula() -> None:
    task = read(HALVING)
    assert str(step_formula(parse_formula(task, "x <= 1"), 3)) == "G[0,2] (x <= 1) -> G[3,3] (x <= 1)"
    assert always(Claim(parse_formula(task, "G (x <= 1) & G[1,] (x <= 2)")).linear) is None


# Never wrong ----------------------------------------------------------------------------------------------------------


def test_random_finite_systems_agree_with_a_naive_checker() -> None:
    assert agreement("induction", range(250), {"depth": 3}, timeout=0.3) > 6


def test_random_affine_loops_agree_with_their_closed_form() -> None:
    """x' = a x + c from an interval: G (x <= level) is known from the iterates of both ends."""
    decided = 0
    for seed in seeds(60):
        rng = random.Random(seed)
        a, c = Fraction(rng.randint(-14, 14), 10), Fraction(rng.randint(-20, 20), 10)
        low = Fraction(rng.randint(-30, 20), 10)
        high, level = low + Fraction(rng.randint(0, 30), 10), Fraction(rng.randint(-10, 50), 10)
        model = (
            f'[state]\nx = "real"\n[init]\nx = "[{float(low)}, {float(high)}]"\n'
            f'[environment.next]\nx = "{float(a)}*x + {float(c)}"\n'
        )
        ends, greatest = (low, high), high
        for _ in range(120):
            ends = (a * ends[0] + c, a * ends[1] + c)
            greatest = max(greatest, *ends)
        verdict = asked(model, f"G (x <= {float(level)})", depth=3).verdict
        if verdict is not UNKNOWN:
            decided += 1
            assert (verdict is HOLDS) == (greatest <= level), model
    assert decided > some(60) / 3
