"""Abstractions compared with those that every concrete state yields: the same cells, transitions and unsafe cells."""

from __future__ import annotations

from itertools import product

import pytest

from tests.planning_answers import DEFAULT, MANNERS, contains, drawn, explored, mistakes
from tests.planning_loops import PlanningCase, transfer_case
from tests.portion import seeds
from vernal.engines.options import Precision, PredicateOptions
from vernal.model.expr import Expr


def agrees(case: PlanningCase, predicates: tuple[Expr, ...], options: PredicateOptions = DEFAULT) -> bool:
    """Whether the abstraction is that of the states, and nothing is open."""
    found = explored(case, predicates, options)
    return not found.open_ones and found.answer == case.oracle.abstraction(predicates)


@pytest.mark.parametrize("seed", seeds(20))
def test_the_abstraction_is_the_one_of_the_states(seed: int) -> None:
    case = drawn(seed)
    for predicates in ((), case.predicates[:2], case.predicates, case.finest):
        assert agrees(case, predicates)


@pytest.mark.parametrize("seed", seeds(6, 3))
def test_no_manner_of_searching_is_wrong_about_totals(seed: int) -> None:
    assert not list(mistakes(drawn(seed, transfer_case), seed))


def test_tests_without_any_work_are_left_open_and_nothing_is_missing() -> None:
    left_open = 0
    for seed in range(8):
        case = drawn(seed, transfer_case)
        found = explored(case, case.predicates, manner=MANNERS["starved"])
        left_open += found.open_ones
        assert contains(found.answer, case.oracle.abstraction(case.predicates))
    assert left_open > 0


def test_an_empty_box_is_not_taken_for_an_equal_question() -> None:
    """What was left of contradictory conditions once looked like a question without any, which has an answer."""
    case = drawn(5129)
    assert agrees(case, case.predicates)


@pytest.mark.parametrize(("selection", "applicability"), list(product(Precision, repeat=2)))
def test_tests_that_save_others_change_nothing(selection: Precision, applicability: Precision) -> None:
    for seed in range(4):
        case = drawn(100 + seed)
        assert agrees(case, case.predicates, PredicateOptions(selection, applicability))
