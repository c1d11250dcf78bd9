"""Common work for many questions: what it knows is right, it ends in time, and it is given up where it is in vain."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests import systems
from vernal.engines import question_batches
from vernal.engines.bounds.question_batch import known_by_bounds
from vernal.engines.check import asked_of, find_engine
from vernal.engines.question_batches import FIRST_BATCH, MAX_BATCH, CommonWork, known_together
from vernal.engines.split.question_batch import Decided
from vernal.errors import Stopped
from vernal.evidence.knowledge import Counterexample, Proof
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr, Function
from vernal.model.system import Init, Span, System
from vernal.run.budget import Budget

X, Y = build.var("x"), build.var("y")


def spring(*, bent: bool) -> System:
    """A point on a spring, which decides by its place where to push."""
    pull: Expr = build.apply(Function.SIN, X) if bent else X
    push = build.if_(build.compare("<", X, build.const(0)), build.const(Fraction(1, 10)), build.const(Fraction(-1, 10)))
    half, tenth = build.const(Fraction(1, 2)), build.const(Fraction(1, 10))
    return systems.make({"x": 0, "y": 0}, {"x": X + tenth * Y, "y": Y - half * pull + push})


def below(limit: Fraction, steps: int) -> Formula:
    return Always(Atom(build.compare("<", X, build.const(limit))), Bound(Fraction(0), Fraction(steps)))


def cells(system: System, formula: Formula, count: int = 6) -> list[Question]:
    """A grid of boxes around the origin, each a question of its own."""
    asked, width = Question(system, formula), Fraction(4, count)
    ends = [(-2 + width * i, -2 + width * (i + 1)) for i in range(count)]
    return [asked.starting(Init({"x": Span(*a), "y": Span(*b)})) for a in ends for b in ends]


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize(("engine", "verdicts"), [("auto", {HOLDS}), ("bounds", {HOLDS, VIOLATED})])
def test_what_is_known_together_is_what_each_is_told_alone(
    bent: bool, steps: int, engine: str, verdicts: set[Verdict]
) -> None:
    questions = cells(spring(bent=bent), below(Fraction(1), steps))
    found = known_together(questions, Budget(20), engine)
    alone = {number: asked_of(find_engine("auto"), questions[number], Budget(20)) for number in found}
    kinds = {number: HOLDS if isinstance(one.known, Proof) else VIOLATED for number, one in found.items()}
    assert kinds == {number: result.verdict for number, result in alone.items()}
    assert set(kinds.values()) == verdicts
    assert len(found) > len(questions) // 2


@pytest.mark.parametrize("method", [Linear, Plain])
def test_bounds_of_many_sets_are_those_of_each(method: type[Linear]) -> None:
    questions = cells(spring(bent=True), below(Fraction(3, 2), 2))
    found = known_by_bounds(questions, Budget(20), method)
    each = {number: known_by_bounds([question], Budget(20), method) for number, question in enumerate(questions)}
    assert sorted(found) == [number for number, known in each.items() if known]
    for number, known in found.items():
        other = each[number][0]
        assert type(known) is type(other)
        if isinstance(known, Proof) and isinstance(other, Proof):
            assert known.margin == pytest.approx(other.margin)
            assert (known.assurance, known.statistics) == (other.assurance, other.statistics)
        else:
            assert isinstance(known, Counterexample)


def test_nothing_is_said_of_another_system_or_claim() -> None:
    """Questions that differ in more than where they start are not explored as one."""
    first, second = cells(spring(bent=False), below(Fraction(3, 2), 2)), cells(spring(bent=True), below(Fraction(1), 2))
    mixed = [question for pair in zip(first, second, strict=True) for question in pair]
    found = known_together(mixed, Budget(20))
    for number, one in found.items():
        expected = asked_of(find_engine("auto"), mixed[number], Budget(20)).verdict
        assert (HOLDS if isinstance(one.known, Proof) else VIOLATED) is expected


# The pace -------------------------------------------------------------------------------------------------------------


def test_more_are_asked_together_as_long_as_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = cells(spring(bent=False), below(Fraction(3, 2), 1))
    decided = known_together(questions, Budget(20))
    limits: list[float] = []

    def known(asked: object, budget: Budget, engine: str) -> dict[int, Decided]:
        assert budget.timeout is not None
        limits.append(budget.timeout)
        return answers.pop(0)

    answers = [decided, decided, {}, {}, decided]
    monkeypatch.setattr(question_batches, "known_together", known)
    work, sizes = CommonWork("auto"), []
    for _ in range(5):
        work.ask(questions, Budget())
        sizes.append(work.take())
    assert sizes == [FIRST_BATCH, 2 * FIRST_BATCH, MAX_BATCH, MAX_BATCH, MAX_BATCH]
    assert [limit / limits[0] for limit in limits] == pytest.approx([1, 1, 1, 1 / 2, 1 / 4])


def test_common_work_has_a_share_of_the_time_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float | None] = []

    def known(asked: object, budget: Budget, engine: str) -> dict[int, Decided]:
        given.append(budget.timeout)
        raise Stopped("enough")

    monkeypatch.setattr(question_batches, "known_together", known)
    questions = cells(spring(bent=False), below(Fraction(3, 2), 1))
    common = CommonWork("auto").ask(questions, Budget(0.01))
    assert given == [pytest.approx(0.005 * len(questions))]
    assert common.result(questions[0], Budget()) is None
    assert common.seconds(questions[0]) >= 0


@pytest.mark.parametrize("work", [CommonWork("milp"), CommonWork("bounds", shared=False)])
def test_who_shares_nothing_is_asked_one_by_one(work: CommonWork) -> None:
    questions = cells(spring(bent=False), below(Fraction(3, 2), 1))
    assert work.size == 1
    assert not work.ask(questions, Budget()).found


def test_a_result_has_its_share_of_the_seconds() -> None:
    questions = cells(spring(bent=False), below(Fraction(3, 2), 1))
    common = CommonWork("auto").ask(questions, Budget())
    results = [result for question in questions if (result := common.result(question, Budget())) is not None]
    assert results
    assert all(result.seconds >= common.seconds(questions[0]) > 0 for result in results)
