"""What type checkers know of the public surface: mypy reads the `assert_type`s, and the values are checked too."""

from __future__ import annotations

from typing import assert_type

import pytest

import vernal as vn
from vernal.logic.formula import Always, Atom
from vernal.logic.task import Task

WALK = vn.System("walk", state={"x": vn.real()}, init={"x": 0}, step=lambda s: {"x": s.x + 1})
SMALL = Always(Atom(WALK.state[0].var <= 0))


def test_a_formula_has_one_result() -> None:
    by_text = vn.check(WALK, "G[0,1] (x <= 0)")
    assert_type(by_text, vn.Result)
    by_value = vn.check(WALK, SMALL, engine="falsify")
    assert_type(by_value, vn.Result)
    assert_type(by_value.verdict, vn.Verdict)
    assert (by_text.verdict, by_value.verdict) == (vn.VIOLATED, vn.VIOLATED)


def test_properties_have_results_by_name() -> None:
    task = Task(WALK, {"small": SMALL})
    every = vn.check(task)
    assert_type(every, dict[str, vn.Result])
    named = vn.check(task, property=["small", "in_range"])
    assert_type(named, dict[str, vn.Result])
    assert (list(every), list(named)) == (["small"], ["small", "in_range"])


def test_a_formula_and_a_name_are_one_too_many() -> None:
    with pytest.raises(vn.InputError, match="not both"):
        vn.check(Task(WALK, {"small": SMALL}), "G x <= 0", property="small")  # type: ignore[call-overload]


def test_a_system_is_a_type() -> None:
    assert_type(WALK, vn.System)
    assert_type(Task(WALK).system, vn.System)
    assert isinstance(WALK, vn.System)


def test_a_result_has_no_truth_value() -> None:
    """`assert vn.check(...)` would pass for a violated claim."""
    result = vn.check(WALK, "G[0,1] (x <= 0)")
    with pytest.raises(TypeError, match=r"compare its verdict: result\.verdict is vn\.HOLDS"):
        assert result


def test_a_verdict_is_equal_to_its_word() -> None:
    result = vn.check(WALK, "G[0,1] (x <= 0)")
    assert result.verdict == "violated"
    assert f"{result.verdict}" == str(vn.VIOLATED) == "violated"
    assert vn.Verdict("holds") is vn.HOLDS
    assert vn.HOLDS != "violated"
