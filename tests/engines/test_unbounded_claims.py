"""No engine is wrong about formulas without a bound, and each method decides what it has to."""

from __future__ import annotations

import pytest

from tests.cases import Case
from tests.contract import broken_promises
from tests.endless import ENDLESS
from tests.engines.test_truth import check_evidence
from tests.work import processor
from vernal.engines.check import ENGINES, ask, parse_formula
from vernal.logic.claim import Claim
from vernal.run.budget import Budget

NAMES = [entry.name for entry in ENGINES if entry.name in ("deepening", "lasso", "induction")]


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("case", ENDLESS, ids=str)
def test_no_engine_is_wrong(case: Case, engine: str) -> None:
    asked = parse_formula(case.task, case.formula)
    result = ask(case.task, asked, None, engine, Budget(timeout=20) if engine in case.decided_by else processor(0.05))
    assert not list(broken_promises(case, Claim(asked), result)), case.why
    check_evidence(case.task.system, asked, result)
    if engine in case.decided_by:
        assert result.verdict is case.expected, result.reason
