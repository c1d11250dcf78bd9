"""No engine is wrong about random loops that sample."""

from __future__ import annotations

import pytest

import vernal as vn
from benchmarks.never_wrong_loops import wrong
from tests.portion import seeds
from tests.wild_samplers import wild_loop
from tests.wilder_samplers import wilder_loop
from vernal.engines.check import parse_formula, question_of
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.task import Task

ROUNDING = 1e-6  # of the judge


@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_wrong_about_a_wild_loop(seed: int) -> None:
    case = wild_loop(seed)
    result = vn.check(case.loop.system, case.formula, timeout=6)
    if result.verdict is vn.HOLDS:
        assert case.margin > -ROUNDING, case
    if result.verdict is vn.VIOLATED:
        task = Task(case.loop.system)
        question = question_of(task, parse_formula(task, case.formula))
        assert result.trace is not None
        assert trajectory_truth(result.trace, question.formula, question.model) is False, case


@pytest.mark.parametrize("seed", seeds(12, 3))
def test_nobody_is_wrong_about_a_wilder_loop(seed: int) -> None:
    case = wilder_loop(seed)
    result = vn.check(case.make().system, case.formula, timeout=3)
    assert not wrong(case, result), (case, result)
