"""Bound after bound: the answers are those of the whole question, and come as soon as they can."""

from __future__ import annotations

import random

import pytest

from tests.available import is_here
from tests.brute import Brute
from tests.cases import STILL, TENTH, TWO_COINS, read
from tests.engines.test_truth import check_evidence
from tests.loops import closed_loop, formula
from tests.portion import seeds
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.question import Question
from vernal.run.budget import Budget

ENGINES = [
    "milp",
    pytest.param("smt", marks=pytest.mark.skipif(not is_here("smt"), reason="pip install 'vernal[smt]'")),
]


def asked(engine: str, model: str, text: str, deepen: bool = True) -> Result:
    task = read(model)
    question = parse_formula(task, text)
    result = ask(task, question, None, engine, Budget(timeout=30), {"deepen": deepen})
    check_evidence(task.system, question, result)
    return result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("model", "text", "verdict", "bound"),
    [
        (TENTH, "F[0,30] (x >= 0.3)", HOLDS, "[0,3]"),
        (TENTH, "(x < 0.5) U[0,30] (x >= 0.3)", HOLDS, "[0,3]"),
        (TENTH, "(x < 0.2) U[0,30] (x >= 0.3)", VIOLATED, "[0,2]"),
        (TENTH, "A[x < 0.2 U[1,30] x >= 0.3]", VIOLATED, "[1,2]"),
        (TENTH, "G[2,30] (x <= 0.5)", VIOLATED, "[2,6]"),
        (TENTH, "(x > 5) R[0,30] (x <= 0.4)", VIOLATED, "[0,5]"),
        (TWO_COINS, "(x < 3) W[0,30] (x > 5) & true", HOLDS, None),
        (STILL, "G[0,3] (x <= 1)", HOLDS, None),
        (STILL, "F[0,3] (x > 0)", VIOLATED, None),
    ],
)
def test_a_claim_is_decided_by_the_first_bound_that_can(
    engine: str, model: str, text: str, verdict: object, bound: str | None
) -> None:
    result = asked(engine, model, text)
    assert result.verdict is verdict
    assert [note for note in result.notes if "bound" in note] == ([f"decided with the bound {bound}"] if bound else [])
    if verdict is HOLDS:
        assert result.scope == asked(engine, model, text, deepen=False).scope


@pytest.mark.parametrize("engine", ENGINES)
def test_verdicts_are_those_of_brute_force(engine: str) -> None:
    decided = 0
    for seed in seeds(60):
        rng = random.Random(3000 + seed)
        system = closed_loop(rng)
        question = formula(rng, system)
        result = asked_of(find_engine(engine, {"deepen": True}), Question(system, question), Budget(timeout=30))
        if result.verdict is not UNKNOWN:
            decided += 1
            assert (result.verdict is HOLDS) == Brute(system).holds(question), f"seed {seed}: {question}"
            assert result.formula == str(question)
            check_evidence(system, question, result)
    assert decided > len(seeds(60)) // 6
