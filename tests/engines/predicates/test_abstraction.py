"""Abstractions compared with those that every concrete state yields: the same cells, transitions and unsafe cells."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import pytest

from tests.planning_loops import PlanningCase, planning_case
from tests.planning_oracle import AbstractAnswer, PlanningOracle, number_of_states
from vernal.engines.options import Precision, PredicateOptions
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.model import OperatorModel
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.witnesses import WitnessSearch
from vernal.model import build
from vernal.model.expr import Expr
from vernal.run.budget import Budget

MAX_STATES = 60
DEFAULT = PredicateOptions()


def abstraction(case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions = DEFAULT) -> Abstraction:
    budget = Budget(60)
    model = OperatorModel(case.system, build.negate(case.unsafe))
    search = WitnessSearch(model.judge, PolicyBounds(model.variables, model.judge, budget.check), budget)
    return Abstraction(model, predicates, search, options, budget)


def explored(case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions = DEFAULT) -> AbstractAnswer:
    made = abstraction(case, predicates, options)
    graph = made.explore()
    assert not graph.open_starts
    assert all(transition.state is not None for transition in graph.transitions.values())
    cells = [tuple(bool(value) for value in values) for values in made.cells.values]
    return AbstractAnswer(
        frozenset(cells[number] for number in graph.starts),
        frozenset(cells),
        frozenset((cells[one], cells[other]) for one, other in graph.transitions),
        frozenset(cells[number] for number in graph.unsafe),
    )


def drawn(seed: int) -> PlanningCase:
    """A random case small enough to look at all its states."""
    rng = random.Random(seed)
    while True:
        case = planning_case(rng)
        if number_of_states(case.system) <= MAX_STATES:
            return case


@pytest.mark.parametrize("seed", range(40))
def test_the_abstraction_is_the_one_of_the_states(seed: int) -> None:
    case = drawn(seed)
    oracle = PlanningOracle(case.system, case.unsafe)
    for predicates in ((), case.predicates[:2], case.predicates, case.finest):
        assert explored(case, predicates) == oracle.abstraction(predicates)


def test_an_empty_box_is_not_taken_for_an_equal_question() -> None:
    """What was left of contradictory conditions once looked like a question without any, which has an answer."""
    case = drawn(5129)
    assert explored(case, case.predicates) == PlanningOracle(case.system, case.unsafe).abstraction(case.predicates)


@pytest.mark.parametrize(("selection", "applicability"), list(product(Precision, repeat=2)))
def test_tests_that_save_others_change_nothing(selection: Precision, applicability: Precision) -> None:
    for seed in range(4):
        case = drawn(100 + seed)
        made = explored(case, case.predicates, PredicateOptions(selection, applicability))
        assert made == PlanningOracle(case.system, case.unsafe).abstraction(case.predicates)
