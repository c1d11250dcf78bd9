"""Random finite systems: explicit and every other engine against a naive checker, and that one against brute force."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.available import engines_of_steps, is_here
from tests.brute import Brute, TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import graph_formula, graph_loop
from tests.judge import Judge, instance
from tests.loops import closed_loop, formula
from tests.portion import some
from tests.work import processor
from vernal.engines.check import ask
from vernal.evidence.result import UNKNOWN
from vernal.logic.task import Task
from vernal.run.budget import Budget

NAMES = [entry.name for entry in engines_of_steps() if is_here(entry.name)]
judged_graph = cache(lambda seed: Judge(instance(seed, "graphs")))  # what it knows is the same for every engine
GRAPHS = some(12)
FEW = 5  # questions that the other engines are asked


@pytest.mark.parametrize("part", range(3))
def test_explicit_decides_finite_systems_and_is_right(part: int) -> None:
    judged = 0
    for seed in range(GRAPHS * part, GRAPHS * (part + 1)):
        question = instance(seed, "graphs")
        result = ask(Task(question.system), question.formula, None, "explicit", Budget(timeout=20))
        assert result.verdict is not UNKNOWN, f"{question}: {result.reason}"
        judge = Judge(question)
        assert not list(judge.problems({"explicit": result})), question
        judged += not judge.skipped
    assert judged > GRAPHS / 2, "an oracle that skips everything tests nothing"


@pytest.mark.parametrize("engine", [name for name in NAMES if name != "explicit"])
def test_no_other_engine_disagrees(engine: str) -> None:
    for seed in range(1000, 1000 + FEW):
        judge = judged_graph(seed)
        question = judge.question
        result = ask(Task(question.system), question.formula, None, engine, processor(0.3))
        assert not list(judge.problems({engine: result})), question


def test_the_oracle_agrees_with_brute_force_on_what_is_bounded() -> None:
    agreed = 0
    for seed in range(14):
        rng = random.Random(seed)
        system = graph_loop(rng)
        asked = formula(rng, system)
        try:
            expected = Brute(FiniteOracle(system, asked, 3_000).brute.system, asked, 3_000).holds(asked)
            assert FiniteOracle(system, asked, 3_000).holds() == expected, seed
            agreed += 1
        except (TooLarge, ValueUndefined):
            continue
    assert agreed > 6


def test_formulas_and_systems_are_of_every_kind() -> None:
    kinds = [graph_formula(random.Random(seed), closed_loop(random.Random(seed))) for seed in range(200)]
    assert {type(one).__name__ for one in kinds} >= {"Always", "Eventually", "Until", "Release", "Weak", "Next", "Not"}
    systems = [graph_loop(random.Random(seed)) for seed in range(200)]
    assert any(system.slots for system in systems)
    assert any(system.lets for system in systems)
    assert any(len(system.agents) == 2 for system in systems)
