"""Random questions about networks: the system is what its plain data says, Z3 agrees with points, the judge judges."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.never_wrong import Run
from tests.judge import Judge, instance
from tests.network_questions import (
    KINDS,
    MAX_NEURONS,
    ROUNDED,
    SUMS,
    DenseLayer,
    Joined,
    PlainAtom,
    PlainQuestion,
    computed,
    drawn,
    is_true,
    network_claim,
    network_graph,
    network_system,
    plain,
    truth,
)
from tests.portion import seeds
from vernal.engines.check import ask
from vernal.evidence import confirm
from vernal.evidence.replay import run
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.interpret import concrete
from vernal.logic.task import Task
from vernal.model import build
from vernal.run.budget import Budget

ONE, ZERO = Fraction(1), Fraction(0)


def absolute(claim: PlainAtom) -> PlainQuestion:
    """|x| on [-1, 1], as two ReLUs."""
    layers = (DenseLayer(((ONE,), (-ONE,)), (ZERO, ZERO)), DenseLayer(((ONE, ONE),), (ZERO,)))
    return PlainQuestion(((-ONE, ONE),), layers, "relu", claim)


@pytest.mark.parametrize(
    ("limit", "strict", "expected"),
    [(ONE, False, True), (ONE, True, False), (Fraction(99, 100), False, False), (Fraction(101, 100), True, True)],
)
def test_z3_decides_on_the_edge(limit: Fraction, strict: bool, expected: bool) -> None:
    pytest.importorskip("z3")
    assert truth(absolute(PlainAtom((ONE,), limit, strict))) is expected


def test_questions_are_the_same_for_the_same_seed_and_of_all_kinds() -> None:
    questions = [drawn(seed) for seed in range(60)]
    assert {one.kind for one in questions} == set(KINDS)
    assert {isinstance(one.claim, Joined) for one in questions} == {True, False}
    for seed, one in enumerate(questions):
        assert sum(len(layer.biases) for layer in one.layers[:-1]) <= MAX_NEURONS * SUMS.get(one.kind, 1)
        if seed < 10:
            assert drawn.__wrapped__(seed) == one


@pytest.mark.parametrize("seed", seeds(12))
def test_the_system_is_what_the_plain_data_says(seed: int) -> None:
    rng = random.Random(seed)
    system = network_system(rng)
    formula, question = network_claim(rng, system), plain(system)
    for _ in range(10):
        point = tuple(low + (high - low) * Fraction(rng.randint(0, 8), 8) for low, high in question.box)
        trace = run(system, {f"x{index}": value for index, value in enumerate(point)}, [{}], 0)
        said = confirm.truth(trace, formula, system)
        if question.kind not in ROUNDED:
            assert said is is_true(question.claim, computed(question, point))


@pytest.mark.parametrize("kind", ["grid", *ROUNDED])
def test_values_are_those_of_the_plain_data(kind: str) -> None:
    """Where no rational tells: the graph's values in floats, and those of a few lines of Python."""
    rng, found = random.Random(kind), (seed for seed in range(2000) if drawn(seed).kind == kind)
    for seed in (next(found) for _ in range(4)):
        question = drawn(seed)
        x = build.var("x", shape=(len(question.box),))
        graph = network_graph(question, x)
        points = [
            tuple(low + (high - low) * Fraction(rng.randint(0, 8), 8) for low, high in question.box) for _ in range(9)
        ]
        (made,) = concrete.evaluate([graph], {x: np.array(points, dtype=float)})
        wanted = [list(map(float, computed(question, point))) for point in points]
        np.testing.assert_allclose(made, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("seed", seeds(12))
def test_z3_and_points_agree(seed: int) -> None:
    pytest.importorskip("z3")
    question, rng = drawn(seed), random.Random(seed)
    points = [
        tuple(low + (high - low) * Fraction(rng.randint(0, 8), 8) for low, high in question.box) for _ in range(50)
    ]
    if question.kind not in ROUNDED and not all(is_true(question.claim, computed(question, point)) for point in points):
        assert truth(question) is not True


def test_no_engine_is_wrong_about_networks() -> None:
    pytest.importorskip("z3")
    asked = Run(["falsify", "bounds", "paths", "auto"], timeout=1)
    for seed in range(8):
        asked.ask(instance(seed, "networks"))
    assert all(column.wrong == 0 for column in asked.columns.values())


def test_the_judge_finds_wrong_answers_and_bounds_that_are_no_bounds() -> None:
    pytest.importorskip("z3")
    questions = (instance(seed, "networks") for seed in range(40))
    question = next(
        one for one in questions if plain(one.system).kind not in ROUNDED and truth(plain(one.system)) is False
    )
    result = ask(Task(question.system), question.formula, None, "paths", Budget(timeout=20))
    assert result.verdict is VIOLATED
    assert not list(Judge(question).problems({"paths": result}))
    held = replace(result, verdict=HOLDS, evidence=None, margin=None)
    assert [why for _, why in Judge(question).problems({"paths": held})] == ["holds, but Z3 says violated"]
    least = Judge(question).oracle.sample.least
    stopped = ask(Task(question.system), question.formula, None, "falsify", Budget(timeout=20))
    for margin, problems in ((None, 0), (least - 0.1, 0), (least + 0.1, 1)):
        unknown = replace(stopped, verdict=UNKNOWN, evidence=None, reason="timeout", margin=margin)
        found = list(Judge(question).problems({"split": unknown}))
        assert len(found) == problems, found
