"""Random flows with close claims: no engine is wrong, by what simulation knows. The large run is a benchmark."""

from __future__ import annotations

from functools import cache

import pytest

from tests.flow_cases import FLOW_ENGINES as ENGINES
from tests.flow_judge import FlowJudge
from tests.wild_flows import flow_case
from tests.work import processor
from vernal.engines.check import ask
from vernal.logic.task import Task

SEEDS = (113, 123, 127, 133, 140, 149)  # four that are proven and two that are refuted, each in a moment


@cache
def judge(seed: int) -> FlowJudge:
    return FlowJudge(flow_case(seed), runs=100, steps=100)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_engine_is_wrong_about_a_flow(seed: int, engine: str) -> None:
    case = judge(seed).case
    result = ask(Task(case.flow), case.formula, None, engine, processor(0.3))
    assert judge(seed).problem(result) is None, case
