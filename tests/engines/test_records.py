"""Records of a journal: whatever stands in a field, it is read as what it should be or refused with its name."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from tests.cases import read
from vernal.engines.answers import answer
from vernal.engines.check import find_engine, parse_formula
from vernal.engines.outcomes import known_of, reading, to_data
from vernal.errors import InputError
from vernal.evidence.knowledge import Known
from vernal.evidence.result import Result
from vernal.evidence.result_data import result_data, result_of
from vernal.logic.question import Question
from vernal.reduce.initial_cover import combined
from vernal.report.document import document
from vernal.report.text import result_text
from vernal.run.budget import Budget
from vernal.run.executor import Finished

TASK = read('[state]\nx = "real"\n[init]\nx = "[0, 1]"\n[environment.next]\nx = "x / 2 + between(0, 0.1)"\n')
CLAIMS = ("G[0,2] (x <= 2)", "G[0,2] (x <= 0.9)", "EF[0,2] (x > 3)", "EX (x <= 1)")
ODD: list[Any] = [
    *(None, True, 3, -3, 10**400, 0.5, float("nan"), float("inf"), "x", [], ["x"], [1], [["x"]]),
    *({}, {"x": 1}, {"x": None}, {"x": 10**400}, {"x": []}, {"invariant": 1}, {"steps": [], "loop": None}),
]


def known(claim: str) -> tuple[Known, Question]:
    question = Question(TASK.system, parse_formula(TASK, claim))
    return find_engine("paths").attempt(question, Budget(timeout=20)), question


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_field_of_knowledge_is_of_its_sort_or_refused(claim: str) -> None:
    found, question = known(claim)
    data = json.loads(json.dumps(to_data(found, TASK.system)))
    assert known_of(Finished("one", data), question, "paths") == found
    for field in data:
        for value in ODD:
            _use({**data, field: value}, question, found)


def _use(data: dict[str, Any], question: Question, found: Known) -> None:
    """Read a record, put it together with another, and into words; no other error than that of the journal is one."""
    with suppress(InputError):
        again = known_of(Finished("one", data), question, "paths")
        _show(answer(question, combined([again, found]), Budget()))


def _show(result: Result) -> None:
    assert result_text(result)
    json.dumps(document(TASK, [result]), allow_nan=False)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_field_of_a_result_is_of_its_sort_or_refused(claim: str) -> None:
    found, question = known(claim)
    data = json.loads(json.dumps(result_data(answer(question, found, Budget()), TASK.system)))
    for field in data:
        for value in ODD:
            with suppress(InputError):
                with reading("one"):
                    result = result_of({**data, field: value}, question)
                _show(result)
