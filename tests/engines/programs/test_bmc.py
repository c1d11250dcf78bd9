"""Bounded model checking: shortest paths, what is excluded, and never a word that brute force contradicts."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

pytest.importorskip("z3", reason="pip install 'vernal[smt]'")

from tests.cases import read
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, graph_loop
from tests.loops import condition
from tests.planning_loops import planning_case
from tests.reduce.test_chains import policy_loop
from vernal.engines.check import asked_of, parse_formula
from vernal.engines.options import BmcOptions
from vernal.engines.programs.bmc import Bmc
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.formula import ALL_TIME, Always, Atom, Bound, Not
from vernal.logic.question import Question
from vernal.run.budget import Budget

COUNTER = """
[state]
n = "int [0, 99]"
lamp = "enum {RED, GREEN, BLUE}"
[init]
n = "[0, 3]"
where = ["n != 2"]
lamp = "RED"
[environment]
enabled = "n < 9"
[environment.next]
n = "n + choose(1, 2 when lamp == BLUE)"
lamp = "match(lamp, RED: GREEN, GREEN: BLUE, BLUE: RED)"
"""


def asked(model: str, text: str, depth: int = 20) -> Result:
    task = read(model)
    return asked_of(Bmc(BmcOptions(depth)), Question(task.system, parse_formula(task, text)), Budget(timeout=30))


@pytest.mark.parametrize(
    ("text", "step"), [("G (n <= 2)", 0), ("G (n <= 3)", 1), ("G (n <= 6)", 3), ("AG[0,9] (n != 8)", 4)]
)
def test_the_first_length_at_which_it_fails(text: str, step: int) -> None:
    result = asked(COUNTER, text)
    assert result.verdict is VIOLATED
    assert result.step == step


def test_what_has_a_last_step_is_proven() -> None:
    assert asked(COUNTER, "G[0,3] (n <= 7)").verdict is HOLDS
    result = asked(COUNTER, "G (n <= 10)", depth=4)
    assert result.verdict is UNKNOWN
    assert "no path of at most 4 steps" in str(result.reason)


def test_that_no_path_is_longer_proves_it_for_all_time() -> None:
    """A step leads to labels that no guard allows any more."""
    model = COUNTER.replace('enabled = "n < 9"', 'enabled = "lamp == RED"')
    assert asked(model, "G (n <= 4)").verdict is HOLDS


def test_other_claims_are_refused() -> None:
    assert "claims that a condition is kept" in str(asked(COUNTER, "F (n > 3)").reason)


@pytest.mark.parametrize("seed", range(12))
def test_planning_models_agree_with_brute_force(seed: int) -> None:
    case = planning_case(random.Random(seed))
    for bound in (ALL_TIME, Bound(Fraction(0), Fraction(2))):
        compare(Question(case.system, Always(Not(Atom(case.unsafe)), bound)))


@pytest.mark.parametrize("seed", range(25))
def test_policies_and_choices_agree_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    system = policy_loop(rng, starts=3) if seed % 2 else graph_loop(rng, SMALL)
    states = [variable.var for variable in system.state]
    broken = Atom(condition(rng, [rng.choice(states) for _ in range(2)], 1))
    compare(Question(system, Always(Not(broken), rng.choice((ALL_TIME, Bound(Fraction(0), Fraction(3)))))))


def compare(question: Question) -> None:
    result = asked_of(Bmc(BmcOptions(depth=6)), question, Budget(timeout=20))
    if result.verdict is not UNKNOWN:
        assert (result.verdict is HOLDS) == FiniteOracle(question.system, question.formula).holds(), question.formula
