"""The operators of a step have exactly its transitions: compared with brute force on the states that are reached."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from tests.brute import Brute, State, TooLarge, ValueUndefined
from tests.explicit_oracle import listed
from tests.graph_loops import SMALL, graph_loop
from tests.planning_answers import drawn
from tests.planning_loops import noisy_case, planning_case
from tests.portion import seeds
from vernal.errors import Stopped
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.model import build
from vernal.model.expr import Argmax, Expr
from vernal.model.sorts import INT
from vernal.model.system import Init, OneOf, System, Variable
from vernal.reduce import operators as reduction
from vernal.reduce.operators import NoOperators, StepOperator, operators, ways_to_fail
from vernal.run.budget import Budget

MAX_STATES = 60


def _after(system: System, operator: StepOperator, state: State) -> State | None:
    """Where an operator leads from a state; None where it does not exist there."""
    values: dict[Expr, Given] = dict(zip(system.step.state, state, strict=True))
    conditions = [operator.guard, *operator.comparisons]
    if not all(exact.evaluate(conditions, values)):
        return None
    for node, winner in operator.winners:
        (scores,) = exact.evaluate([node.args[0]], values)
        assert isinstance(scores, tuple)
        numbers = [score for score in scores if isinstance(score, Fraction)]
        if numbers[winner] < max(numbers):
            return None
    changed = dict(zip(operator.updates, exact.evaluate(list(operator.updates.values()), values), strict=True))
    return tuple(_rational(changed.get(var, old)) for var, old in zip(system.step.state, state, strict=True))


def _rational(value: object) -> Fraction:
    assert isinstance(value, Fraction | bool)
    return Fraction(value)


def _compare(system: System) -> int:
    system = listed(system)
    found = operators(system.step)
    brute = Brute(system, None, 20_000)
    size = len(system.state)
    seen: set[State] = set()
    waiting = [position[:size] for position in brute.starts()]
    while waiting and len(seen) < MAX_STATES:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        expected = {after[:size] for position in brute.positions(state) for after in brute.successors(position)}
        made = {after for operator in found if (after := _after(system, operator, state)) is not None}
        assert made == expected
        waiting.extend(made)
    return len(seen)


@pytest.mark.parametrize("seed", seeds(60))
def test_random_finite_systems(seed: int) -> None:
    try:
        _compare(graph_loop(random.Random(seed), SMALL))
    except (NoOperators, TooLarge, ValueUndefined) as reason:
        pytest.skip(str(reason) or type(reason).__name__)


@pytest.mark.parametrize("seed", seeds(60))
def test_random_planning_systems(seed: int) -> None:
    try:
        _compare(planning_case(random.Random(seed)).system)
    except TooLarge:
        pytest.skip("too large")


@pytest.mark.parametrize("seed", seeds(12))
def test_policies_that_see_draws(seed: int) -> None:
    try:
        _compare(drawn(seed, noisy_case).system)
    except TooLarge:
        pytest.skip("too large")


@pytest.mark.parametrize("seed", seeds(20))
def test_planning_systems_have_small_operators(seed: int) -> None:
    """Guards mention no network and no decision; a silent operator does not look at the policy's action."""
    for operator in operators(planning_case(random.Random(seed)).system.step):
        assert len(operator.winners) <= 1
        assert all(isinstance(node, Argmax) for node, _ in operator.winners)


def test_an_unused_policy_selects_nothing() -> None:
    case = planning_case(random.Random(5)).system
    still = System("still", case.state, case.init, {}, case.agents)
    (only,) = operators(still.step)
    assert (only.guard, dict(only.updates), only.winners) == (build.TRUE, {}, ())


def test_intervals_have_no_operators() -> None:
    x = Variable("x", INT, Fraction(0), Fraction(3))
    value = build.if_(build.between(0, 1) <= build.const(Fraction(1, 2)), build.const(0), build.const(1))
    with pytest.raises(NoOperators, match="interval"):
        operators(System("drawn", (x,), Init({"x": OneOf((Fraction(0),))}), {"x": value}).step)
    with pytest.raises(NoOperators, match="interval"):
        ways_to_fail(value <= 0)


def _coins(count: int) -> System:
    """A step that tosses so many coins: two ways for each, all of them combined."""
    state = tuple(Variable(f"x{number}", INT, Fraction(0), Fraction(1)) for number in range(count))
    first = Init({one.name: OneOf((Fraction(0),)) for one in state})
    return System("coins", state, first, {one.name: build.choose(0, 1, name=f"coin {one.name}") for one in state})


@pytest.mark.parametrize("count", [5, 40])
def test_too_many_combinations_are_refused_before_they_are_built(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[None] = []
    monkeypatch.setattr(reduction, "MAX_OPERATORS", 20)
    with pytest.raises(NoOperators, match="more than 20 combinations"):
        operators(_coins(count).step, lambda: built.append(None))
    assert len(built) <= 2 + 4 + 8 + 16 + 21


def test_a_limit_ends_the_combining() -> None:
    budget = Budget(timeout=25, clock=itertools.count().__next__, started=0)
    with pytest.raises(Stopped):
        operators(_coins(40).step, budget.check)
