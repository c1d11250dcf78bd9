"""Several questions share one limit of time: none starves the next, and what is left is used."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

import vernal as vn
from tests.systems import counter
from vernal.engines import weaker_claims
from vernal.engines.answers import NOTE_SECONDS, answered
from vernal.engines.check import parse_formula
from vernal.engines.time_shares import FairShares
from vernal.errors import Stopped
from vernal.evidence.knowledge import Open
from vernal.evidence.result import HOLDS, UNKNOWN, Result
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.run.budget import Budget


class Hours:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Questions:
    """Questions that need some seconds each, and take what they are given if that is less."""

    def __init__(self, needs: Sequence[float], timeout: float | None) -> None:
        self.clock = Hours()
        self.given: list[tuple[int, float]] = []
        asks = [partial(self.ask, number, need) for number, need in enumerate(needs)]
        self.several = FairShares(asks, Budget(timeout, started=0.0, clock=self.clock))

    def ask(self, number: int, need: float, part: Budget) -> Result:
        self.given.append((number, round(part.left, 6)))
        self.clock.now += min(need, part.left)
        decided = part.left > 0
        return Result(f"p{number}", HOLDS if decided else UNKNOWN, "test", seconds=min(need, 1.0))

    def verdicts(self) -> list[str]:
        return [result.verdict.value for result in self.several]


def test_none_starves_the_next() -> None:
    asked = Questions([1000, 1, 1], 30)
    assert asked.verdicts() == ["unknown", "holds", "holds"]
    assert asked.given[:3] == [(0, 10), (1, 10), (2, 19)]


def test_what_is_left_over_goes_to_the_one_that_was_cut_short() -> None:
    asked = Questions([15, 1, 1], 30)
    assert asked.verdicts() == ["holds", "holds", "holds"]
    assert asked.given == [(0, 10), (1, 10), (2, 19), (0, 18)]


def test_one_question_has_all_of_the_time() -> None:
    asked = Questions([1000], 30)
    assert asked.verdicts() == ["unknown"]
    assert asked.given == [(0, 30)]


def test_without_a_limit_each_is_asked_once() -> None:
    asked = Questions([5, 5], None)
    assert asked.verdicts() == ["holds", "holds"]
    assert [number for number, _ in asked.given] == [0, 1]


def test_results_come_in_order_and_as_soon_as_they_are_final() -> None:
    asked = Questions([1, 1000, 1], 30)
    results = iter(asked.several)
    assert (next(results).formula, len(asked.given)) == ("p0", 1)
    assert [result.formula for result in results] == ["p1", "p2"]


HARD_THEN_EASY = """
vernal = 1
name = "chaos"
[state]
x = "real"
[init]
x = "[0.2, 0.3]"
[environment.next]
x = "4 * x * (1 - x)"
[properties]
hard = "G (x < 0.99999999 | x > 1)"
easy = "G[0,1] (x <= 1)"
"""


@pytest.mark.parametrize("engine", ["auto", "deepening"])
def test_a_hard_property_leaves_time_for_an_easy_one(engine: str, tmp_path: Path) -> None:
    """A chaotic map comes as close to 1 as one likes, but nobody shows that in a second."""
    file = tmp_path / "chaos.toml"
    file.write_text(HARD_THEN_EASY)
    results = vn.check(vn.load(file), timeout=2, engine=engine)
    assert results["easy"].verdict is HOLDS
    assert list(results) == ["hard", "easy"]


def test_notes_after_the_limit_have_one_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty questions whose time is over, each with a bound of its margin still to be found: for one there is time."""
    clock = Hours()
    looked: list[float] = []

    def bounding(*given: object) -> NoReturn:
        looked.append(clock.now)
        clock.now += NOTE_SECONDS
        raise Stopped("over")

    monkeypatch.setattr(weaker_claims, "Levels", bounding)
    system = counter()
    question = Question(system, parse_formula(Task(system), "G[0,5] (x < 5)"))
    whole = Budget(1.0, started=0.0, clock=clock)
    part = whole.part(0.01)
    clock.now = 1.0
    for _ in range(20):
        assert answered(question, Open(engine="test", reason="timeout"), part).verdict is UNKNOWN
    assert looked == [1.0]
