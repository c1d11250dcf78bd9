"""Merged pieces come from several initial states, and none of these may be forgotten."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests import systems
from vernal.engines.check import asked_of
from vernal.engines.paths.engine import Paths
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.system import OneOf, System
from vernal.run.budget import Budget
from vernal.sets.pieces import trails

X = build.var("x")
TINY = Fraction(1, 10**10)  # less than what keeps two pieces apart


def still(*starts: Fraction | int, moves: tuple[int, ...] = (0, 0)) -> System:
    """A system that stays where it is, in many ways."""
    system = systems.make({"x": 0}, {"x": X + build.choose(*moves, name="move")})
    init = type(system.init)({"x": OneOf(tuple(Fraction(value) for value in starts))})
    return System(system.name, system.state, init, system.next)


def always(op: str, value: Fraction | int, step: int) -> Formula:
    return Always(Atom(build.compare(op, X, build.const(value))), Bound(Fraction(step), Fraction(step)))


@pytest.mark.parametrize("steps", [0, 1, 8])
@pytest.mark.parametrize("starts", [(0, TINY), (TINY, 0)])
@pytest.mark.parametrize("ancestors", [2, 20_000])
def test_starts_that_are_almost_equal_are_told_apart(
    steps: int, starts: tuple[Fraction, ...], ancestors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trails, "MAX_ANCESTORS", ancestors)
    for formula in (always("<=", 0, steps), always("==", 0, steps), always(">=", TINY, steps)):
        result = asked_of(Paths(), Question(still(*starts), formula), Budget())
        assert result.verdict is VIOLATED, formula
    for formula in (always("<=", TINY, steps), always(">=", 0, steps)):
        assert asked_of(Paths(), Question(still(*starts), formula), Budget()).verdict is HOLDS


def test_one_start_among_many_ways() -> None:
    """More ways lead to the merged piece from the first start than are ever replayed."""
    system = still(0, TINY - 1, moves=(0, 0, 0, 1))
    result = asked_of(Paths(), Question(system, always("!=", TINY, 6)), Budget())
    assert result.verdict is VIOLATED


def test_one_start_among_many_that_are_merged() -> None:
    """More starts become one piece than are ever replayed, and only the last of them fails."""
    starts = [Fraction(0), *(-TINY * k / 100 for k in range(1, 50)), TINY / 100]
    for steps in (0, 1):
        assert asked_of(Paths(), Question(still(*starts), always("<=", 0, steps)), Budget()).verdict is VIOLATED
