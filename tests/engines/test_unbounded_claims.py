"""No engine is wrong about formulas without a bound, and each method decides what it has to."""

from __future__ import annotations

import pytest

import vernal as vn
from tests.cases import Case
from tests.contract import broken_promises
from tests.endless import ENDLESS
from tests.engines.test_truth import check_evidence
from tests.work import processor
from vernal.engines.attempts import Attempts
from vernal.engines.check import ENGINES, ask, parse_formula
from vernal.engines.options import DepthOptions
from vernal.engines.turns import Turn
from vernal.engines.unbounded_claims import endless
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import System
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


def turns_of(system: System, text: str) -> list[Turn]:
    """Who would be asked, if nobody decided anything."""
    question = Question(system, parse_formula(Task(system), text))
    return list(endless(Attempts(question, Budget(1000)), DepthOptions()))


def test_of_bounded_integers_states_and_cells_come_first_and_go_on() -> None:
    """They have turns of their own before any glance at boxes; in the rounds cells have three times as long."""
    count = vn.integer(0, 9)
    lights = vn.System(
        state={"n": count}, init={"n": 0}, step=lambda s: {"n": vn.clip(s.n + vn.choose(-1, 0, 1, name="by"), 0, 9)}
    )
    turns = turns_of(lights, "G (n <= 9)")
    names = [turn.engine.name for turn in turns]
    assert names.index("explicit") < names.index("predicates") < names.index("invariants")
    assert all(turn.waits for turn in turns if turn.engine.name in ("explicit", "predicates"))
    assert len({turn.engine for turn in turns if turn.engine.name == "explicit"}) == 1
    cells = [turn.most for turn in turns if turn.engine.name == "predicates"]
    proofs = [turn.most for turn in turns if turn.engine.name == "induction"]
    assert [cell / proof for cell, proof in zip(cells[1:], proofs[1:], strict=True)] == [3.0] * len(cells[1:])
    before = [names[place - 1] for place, name in enumerate(names) if name == "predicates"]
    assert before[1] == "induction"  # in the first round proofs are tried before cells, and in all others after them
    assert "induction" not in before[2:]


def test_of_reals_neither_is_asked() -> None:
    halving = vn.System(state={"x": vn.real(0, 1)}, init={"x": vn.interval(0, 1)}, step=lambda s: {"x": s.x / 2})
    names = {turn.engine.name for turn in turns_of(halving, "G (x <= 1)")}
    assert not names & {"explicit", "predicates"}
