"""Random flows with close claims: no engine is wrong, by what simulation knows. The large run is a benchmark."""

from __future__ import annotations

from functools import cache

import pytest

from tests.flow_cases import FLOW_ENGINES as ENGINES
from tests.flow_judge import FlowJudge
from tests.wild_flows import flow_case
from vernal.engines.check import check
from vernal.logic.task import Task

SEEDS = range(100, 104)


@cache
def judge(seed: int) -> FlowJudge:
    return FlowJudge(flow_case(seed), runs=100, steps=100)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_engine_is_wrong_about_a_flow(seed: int, engine: str) -> None:
    case = judge(seed).case
    (result,) = check(Task(case.flow, {"claim": case.formula}), engine=engine, timeout=1).values()
    assert judge(seed).problem(result) is None, case
