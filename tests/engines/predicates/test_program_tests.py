"""Tests asked of mixed-integer programs: they say what a search says, and no more than they know."""

from __future__ import annotations

from functools import partial

import pytest

import vernal as vn
from tests.engines.predicates.test_configurations import recorded
from tests.planning_answers import ask, drawn, expected
from tests.planning_loops import transfer_case
from vernal.engines import composition
from vernal.engines.composition import programs
from vernal.engines.predicates import engine as predicates_engine
from vernal.engines.predicates.concrete_states import ConcreteStates
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.program_tests import ProgramTests
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import Assurance
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.run.budget import Budget


def test_programs_say_what_the_search_says() -> None:
    known = {Existence.SOME: 0, Existence.NONE: 0}
    for seed in range(700, 706):
        model, tests = recorded(seed)
        budget = Budget(60)
        states = ConcreteStates(model, PolicyBounds(model.variables, model.judge, budget.check))
        for test in tests:
            found = ProgramTests(model, budget, programs).ask(test.box, test.question)
            if found.excluded is not None:
                assert test.answer is Existence.NONE
                known[Existence.NONE] += 1
            if found.point is not None:
                assert test.answer is Existence.SOME
                assert states.satisfying(test.question, found.point[None]).all()
                known[Existence.SOME] += 1
    assert min(known.values()) > 0


class Answering:
    """An engine that knows something whatever it is asked."""

    name = "answering"

    def __init__(self, known: Known) -> None:
        self.known = known

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        return self.known


def starved(monkeypatch: pytest.MonkeyPatch, known: Known) -> None:
    """Searches may not cut boxes, and programs know this of every test."""
    monkeypatch.setattr(composition, "programs", lambda: Answering(known))
    search = partial(WitnessSearch, points=0, few_points=1, most_boxes=0)
    monkeypatch.setattr(predicates_engine, "WitnessSearch", search)


@pytest.mark.parametrize("assurance", [Assurance.SOLVER, Assurance.RIGOROUS])
def test_a_proof_rests_on_what_programs_rest_on(assurance: Assurance, monkeypatch: pytest.MonkeyPatch) -> None:
    starved(monkeypatch, Proof(engine="answering", direction=Direction.OVER, assurance=assurance))
    results = [
        ask(case, case.predicates, refine=False) for case in (drawn(seed, transfer_case) for seed in range(13, 21))
    ]
    proofs = [result for result in results if result.verdict is vn.HOLDS]
    for result in proofs:
        assert result.assurance is (assurance if result.statistics.get("tests_programs") else Assurance.RIGOROUS)
    assert any(result.statistics.get("tests_programs") for result in proofs)


def test_what_programs_leave_open_counts_as_possible_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    starved(monkeypatch, Open(engine="answering", reason="no"))
    left_open = 0
    for seed in range(6):
        case = drawn(seed, transfer_case)
        result = ask(case, case.predicates, refine=False)
        assert result.verdict in {expected(case.oracle), vn.UNKNOWN}
        undecided = int(result.statistics["undecided_transitions"])
        left_open += undecided
        assert any("count as possible" in note for note in result.notes) == (undecided > 0)
    assert left_open > 0


def test_programs_are_not_asked_where_boxes_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgramTests, "ask", lambda *given: pytest.fail("asked"))
    for seed in range(5):
        case = drawn(seed, transfer_case)
        ask(case, case.predicates)
