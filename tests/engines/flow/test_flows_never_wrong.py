"""Random flows with close claims: no engine is wrong, by what simulation knows. The large run is a benchmark."""

from __future__ import annotations

import pytest

from tests.flow_judge import FlowJudge
from tests.wild_flows import flow_case
from vernal.engines.check import check
from vernal.logic.task import Task

ENGINES = ("falsify",)
SEEDS = range(100, 104)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_engine_is_wrong_about_a_flow(seed: int, engine: str) -> None:
    case = flow_case(seed)
    (result,) = check(Task(case.flow, {"claim": case.formula}), engine=engine, timeout=2).values()
    assert FlowJudge(case, runs=100, steps=100).problem(result) is None, case
