"""The larger policies: they play well, their tasks load, and their counterexamples are walked again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.larger.__main__ import HERE, ladders
from benchmarks.larger.policies import COURSES, NAMES
from benchmarks.measure import AUTO
from benchmarks.witnesses import witness
from examples.playing import Policy, play
from vernal.engines.check import ask, parse_formula
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.formats.task.blueprint import load
from vernal.run.budget import Budget

pytest.importorskip("onnxruntime", reason="policies are played by onnxruntime (extra onnxruntime)")

KEPT = [name for name in NAMES if name.endswith("t64")]  # the others are too large for the repository


@pytest.mark.parametrize("name", KEPT)
def test_a_policy_plays_as_well_as_is_asked_of_it(name: str) -> None:
    course = COURSES[name.split("_")[0]]
    lesson = replace(course.lesson, task=HERE / f"{name}.toml")
    returns, _ = play(lesson, Policy(HERE / f"{name}.onnx"), n=5)
    assert returns.mean() >= course.least


def test_the_same_horizons_are_asked_as_of_the_smaller_policies() -> None:
    asked = ladders(NAMES, (AUTO,))
    assert {ladder.rungs[-1] for ladder in asked} == {10}
    assert {ladder.label[0] for ladder in asked} == set(NAMES)
    for ladder in asked:
        if ladder.label[0] in KEPT:
            assert ladder.name in load(ladder.file, **ladder.fixed, **{ladder.rung: 4}).properties


def test_the_teacher_is_sampled_within_its_lesson() -> None:
    for course in COURSES.values():
        seen, wanted = course.sample(np.random.default_rng(0), 50)
        (spans,) = course.lesson.starts
        for column, (name, scale) in zip(seen.T, course.scale.items(), strict=True):
            low, high = spans[name]
            assert ((low * scale - 1e-9 <= column) & (column <= high * scale + 1e-9)).all()
        assert wanted.shape[0] == 50


@pytest.mark.parametrize("name", KEPT)
def test_a_short_claim_holds_and_a_false_one_has_a_counterexample(name: str) -> None:
    task = load(HERE / f"{name}.toml")
    short = parse_formula(task, "G[0,2] (abs(theta) < 0.2)")
    assert ask(task, short, None, "auto", Budget(timeout=60)).verdict is HOLDS
    false = parse_formula(task, "G[0,2] (theta < 0.005)")
    result = ask(task, false, None, "auto", Budget(timeout=60))
    assert result.verdict is VIOLATED
    assert witness(task.system, false, result.trace).agrees


def test_a_wide_box_is_proven_since_most_winners_do_not_matter() -> None:
    task = load(HERE / "lander_t64.toml", k=10)
    asked = parse_formula(task, "X[8] (abs(theta) < pi / 10)")
    result = ask(task, asked, None, "paths", Budget(timeout=240))
    assert result.verdict is HOLDS
    assert int(result.statistics["foreseen"]) > 0
