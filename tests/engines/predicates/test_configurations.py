"""Recorded tests replayed in every configuration: the same answers, as far as a configuration can tell."""

from __future__ import annotations

import pytest

from tests.available import is_here
from tests.planning_answers import drawn
from vernal.engines.options import PredicateOptions
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.configurations import Configuration, RecordedTest, RecordedTestAnswerer
from vernal.engines.predicates.model import OperatorModel
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.model import build
from vernal.run.budget import Budget
from vernal.solvers import registry

MAX_TESTS = 12  # of one system


def recorded(seed: int) -> tuple[OperatorModel, list[RecordedTest]]:
    """The tests of a random abstraction."""
    case, budget, tests = drawn(seed), Budget(60), []
    model = OperatorModel(case.system, build.negate(case.unsafe))
    policy = PolicyBounds(model.variables, model.judge, budget.check)
    search = WitnessSearch(model.judge, policy, budget, recorder=lambda *test: tests.append(RecordedTest(*test)))
    Abstraction(model, case.predicates[:3], search, PredicateOptions(), budget).explore()
    return model, [test for test in tests if test.question.selection is not None][:MAX_TESTS]


@pytest.mark.parametrize("configuration", Configuration)
def test_every_configuration_agrees(configuration: Configuration) -> None:
    if "solver" in configuration and not is_here("smt"):
        pytest.skip("pip install 'vernal[smt]'")
    solver = registry.find_smt() if "solver" in configuration else None
    known = 0
    for seed in range(700, 706):
        model, tests = recorded(seed)
        answerer = RecordedTestAnswerer(model, configuration, Budget(60), solver)
        for test in tests:
            answer = answerer.answer(test)
            assert answer in {test.answer, Existence.OPEN}
            known += answer != Existence.OPEN
    assert known > 0


def test_only_the_relaxed_configuration_leaves_tests_open() -> None:
    model, tests = recorded(701)
    assert tests
    answers = {RecordedTestAnswerer(model, Configuration.BRANCHING, Budget(60)).answer(test) for test in tests}
    assert Existence.OPEN not in answers
