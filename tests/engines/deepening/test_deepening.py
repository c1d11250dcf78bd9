"""The engine `deepening`: what finitely many steps decide of formulas without a bound, and nothing else."""

from __future__ import annotations

import random

import pytest

from tests.cases import read
from tests.endless import DOWN, HALVING, RAMP, SQUASH, WALK
from tests.engines.endless_check import agreement
from tests.engines.test_truth import check_evidence
from tests.portion import seeds, some
from vernal.engines.bounds.engine import Bounds
from vernal.engines.check import ask, asked_of, parse_formula
from vernal.engines.deepening.engine import Deepening
from vernal.engines.options import DepthOptions
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.question import Question
from vernal.reduce.growing_bounds import GrowingDepth
from vernal.run.budget import Budget


def asked(model: str, text: str, depth: int = 100) -> Result:
    task = read(model)
    question = parse_formula(task, text)
    result = ask(task, question, None, "deepening", Budget(timeout=30), {"depth": depth})
    check_evidence(task.system, question, result)
    return result


def test_it_says_how_far_a_claim_is_proven() -> None:
    result = asked(HALVING, "G (x <= 1)", depth=37)
    assert result.verdict is UNKNOWN
    assert result.proven_steps == 37
    assert result.statistics["depth"] == 37


def test_what_is_inside_takes_steps_of_its_own() -> None:
    assert asked(HALVING, "G (x > 2 | X[5] (x <= 1))", depth=30).proven_steps == 25


def test_a_claim_of_some_path_is_proven_up_to_no_step() -> None:
    assert asked(WALK, "EG (x > -1)", depth=10).proven_steps is None


def test_the_depth_bounds_the_search() -> None:
    assert asked(RAMP, "F (x > 5)", depth=10).verdict is UNKNOWN
    deep = asked(RAMP, "F (x > 5)", depth=11)
    assert deep.verdict is HOLDS
    assert str(deep.reach) == "for all time"
    assert deep.statistics["method"] == "a few exact sets"


def test_a_walk_does_each_step_once() -> None:
    """The work of a deeper walk that ends at the same step is the same."""
    few, many = (asked(RAMP, "F (x > 5)", depth=depth).statistics["pieces"] for depth in (20, 2000))
    assert few == many


def test_a_bad_prefix_ends_where_it_is_bad() -> None:
    result = asked(RAMP, "G (x < 5)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert len(result.trace) == 9  # 1 and eight steps of a half


def test_the_engine_for_bounded_questions_can_be_chosen() -> None:
    task = read(SQUASH)
    question = Question(task.system, parse_formula(task, "EX EF (x < 0.77)"))
    result = asked_of(Deepening(DepthOptions(4), [Bounds()]), question, Budget(timeout=30))
    assert result.verdict is HOLDS
    assert result.engine == "deepening"
    assert result.statistics["method"] == "bounds that grow"


def test_bounds_grow_up_to_the_depth() -> None:
    task = read(DOWN)
    question = Question(task.system, parse_formula(task, "F (n == 0)"))
    assert [one.question.claim.horizon for one in GrowingDepth(11).apply(question, Budget())] == [1, 2, 4, 8, 11]


@pytest.mark.parametrize("depth", [0, -3, True, "ten"])
def test_a_depth_is_a_number_of_steps(depth: object) -> None:
    with pytest.raises(InputError, match="depth"):
        DepthOptions(depth)  # type: ignore[arg-type]


def test_random_finite_systems_agree_with_a_naive_checker() -> None:
    assert agreement("deepening", seeds(35), {"depth": 20}, timeout=0.3) > some(35) / 4


def test_random_affine_loops_agree_with_their_closed_form() -> None:
    """x' = a x + c: monotone, so F and G of a threshold are known from the start, the limit and the sign of a - 1."""
    decided = 0
    for seed in seeds(30):
        rng = random.Random(seed)
        a, c, start = rng.choice([0.5, 1, 1.5]), rng.randint(-2, 2), rng.randint(-3, 3)
        level = rng.randint(-8, 8) + 0.3
        model = f'[state]\nx = "real"\n[init]\nx = {start}\n[environment.next]\nx = "{a}*x + {c}"\n'
        values = [float(start)]
        for _ in range(200):
            values.append(min(max(a * values[-1] + c, -1e9), 1e9))
        for text, truth in ((f"F (x > {level})", max(values) > level), (f"G (x < {level})", max(values) < level)):
            verdict = asked(model, text, depth=60).verdict
            if verdict is not UNKNOWN:
                decided += 1
                assert (verdict is HOLDS) == truth, (model, text)
    assert decided > some(30)
