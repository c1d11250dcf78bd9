"""Many initial sets at once get the answers they get one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests import systems
from vernal.engines.check import asked_of
from vernal.engines.paths import many_starts
from vernal.engines.paths.engine import Paths
from vernal.engines.paths.many_starts import Sieve, kept_together
from vernal.engines.question_batches import check_questions
from vernal.errors import Stopped
from vernal.evidence.knowledge import Proof
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.system import Init, OneOf, Span, System
from vernal.run.budget import Budget

X = build.var("x")


def walker() -> System:
    """A number that moves by -1, 0 or 1."""
    return systems.make({"x": 0}, {"x": X + build.choose(-1, 0, 1, name="move")})


def below(limit: int, steps: int) -> Formula:
    return Always(Atom(build.compare("<", X, build.const(limit))), Bound(Fraction(0), Fraction(steps)))


def starts(*sets: tuple[int, int] | set[int]) -> list[Init]:
    made = [OneOf(tuple(map(Fraction, s))) if isinstance(s, set) else Span(*map(Fraction, s)) for s in sets]
    return [Init({"x": one}) for one in made]


def together(sets: list[Init], formula: Formula) -> list[Result]:
    return check_questions([Question(walker(), formula).starting(init) for init in sets], Paths(), Budget())


def test_each_set_has_the_answer_it_has_alone() -> None:
    sets = starts((0, 1), (5, 6), (6, 7), {1, 6}, {-3}, (6, 6), (-2, 5))
    found = together(sets, below(10, 3))
    alone = [asked_of(Paths(), Question(walker().starting(init), below(10, 3)), Budget()) for init in sets]
    assert [result.verdict for result in found] == [result.verdict for result in alone]
    assert {result.verdict for result in found} == {HOLDS, VIOLATED}


def test_each_has_its_own_margin_and_pieces() -> None:
    """The third is the second once more: they are explored as one."""
    questions = [Question(walker(), below(10, 3)).starting(init) for init in starts((0, 1), (5, 6), (5, 6))]
    found = kept_together(questions, Budget())
    alone = asked_of(Paths(), questions[0], Budget())
    margins = [proof.margin for proof in found.values() if isinstance(proof, Proof)]
    assert margins == [pytest.approx(6), pytest.approx(1), pytest.approx(1)]
    assert alone.margin == pytest.approx(6)
    assert found[0].statistics["pieces"] == alone.statistics["pieces"]


def test_sets_that_touch_stay_apart() -> None:
    """A suspicion in one of them says nothing of its neighbour."""
    questions = [Question(walker(), below(10, 3)).starting(init) for init in starts((4, 5), (5, 6), (6, 7), (7, 8))]
    assert sorted(kept_together(questions, Budget())) == [0, 1]


def test_constraints_are_asked_one_by_one() -> None:
    where = (build.compare("<", X, build.const(6)),)
    sets = [Init({"x": Span(Fraction(0), Fraction(9))}, where), *starts((0, 1))]
    found = together(sets, below(10, 4))
    assert [result.verdict for result in found] == [HOLDS, HOLDS]


def test_nothing_is_lost_where_the_common_exploration_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> Sieve:
        raise Stopped("enough")

    monkeypatch.setattr(many_starts, "sift", stopped)
    found = together(starts((0, 1), (9, 9)), below(10, 1))
    assert [result.verdict for result in found] == [HOLDS, VIOLATED]


def test_a_box_that_is_given_up_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round may leave a box open without a suspicion, because it has too many pieces."""
    seen = many_starts.sift

    def gives_up(*args: Any) -> Sieve:
        sieve = seen(*args)
        sieve.space.round.open[:] = True
        return sieve

    monkeypatch.setattr(many_starts, "sift", gives_up)
    questions = [Question(walker(), below(10, 3)).starting(init) for init in starts((0, 1), (5, 6))]
    assert kept_together(questions, Budget()) == {}
