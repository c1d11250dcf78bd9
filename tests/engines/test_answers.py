"""What is known becomes a verdict only as far as its direction allows; and every verdict says the same of ranges."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.cases import CLIPPED, COUNTER, RANGED, STILL, read
from vernal.engines.answers import answer
from vernal.engines.check import parse_formula
from vernal.evidence.belief import OF_STATES, believed
from vernal.evidence.knowledge import Counterexample, FailingState, Open, Proof, Subject
from vernal.evidence.replay import run
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.declared_ranges import possible_exits

EVERY, SOME, MIXED, STATES = "G[0,2] (x >= 0)", "EX (x >= 0)", "AG[0,1] EX (x >= 0)", "AX (x >= 1) | AX (x <= 1)"


def question(formula: str, model: str = STILL) -> Question:
    task = read(model)
    return Question(task.system, parse_formula(task, formula))


def proof(direction: Direction, subject: Subject = Subject.STATES) -> Proof:
    return Proof(engine="test", direction=direction, subject=subject, assurance=Assurance.RIGOROUS)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    ("formula", "enough"),
    [
        (EVERY, {Direction.EXACT, Direction.OVER, Direction.TWO_SIDED}),
        (SOME, {Direction.EXACT, Direction.UNDER, Direction.TWO_SIDED}),
        (MIXED, {Direction.EXACT, Direction.TWO_SIDED}),
        ("x >= 0", set(Direction)),
    ],
)
def test_a_proof_holds_only_in_a_direction_that_may_prove(
    formula: str, enough: set[Direction], direction: Direction
) -> None:
    result = answer(question(formula), proof(direction), Budget())
    assert (result.verdict is HOLDS) == (direction in enough)
    assert result.verdict in {HOLDS, UNKNOWN}


def test_that_every_path_keeps_it_is_not_enough_for_a_claim_of_states() -> None:
    found = believed(question(STATES).claim, proof(Direction.EXACT, Subject.PATHS))
    assert isinstance(found, Open)
    assert found.reason == OF_STATES


def test_a_counterexample_has_to_refute_the_claim() -> None:
    asked = question("G[0,2] (x <= 0.5)")
    for first, verdict in ((Fraction(1), VIOLATED), (Fraction(0), UNKNOWN)):
        trace = run(asked.system, {"x": first}, [{}], 0)
        assert answer(asked, Counterexample(engine="test", trace=trace), Budget()).verdict is verdict


def test_one_path_does_not_refute_a_claim_of_some_path() -> None:
    asked = question("EX (x > 2)")
    trace = run(asked.system, {"x": Fraction(1)}, [{}] * 2, 1)
    assert answer(asked, Counterexample(engine="test", trace=trace), Budget()).verdict is UNKNOWN
    alone = Counterexample(engine="test", trace=trace, direction=Direction.EXACT)
    assert answer(asked, alone, Budget()).verdict is VIOLATED


@pytest.mark.parametrize("direction", Direction)
def test_a_failing_state_needs_a_direction_that_may_refute(direction: Direction) -> None:
    asked = question(SOME)
    trace = run(asked.system, {"x": Fraction(1)}, [{}], 0)
    known = FailingState(
        engine="test", trace=trace, direction=direction, assurance=Assurance.SOLVER, excluded_by="somebody"
    )
    result = answer(asked, known, Budget())
    assert (result.verdict is VIOLATED) == (direction not in (Direction.UNDER, Direction.NEITHER))


# Ranges ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "steps", "exits"),
    [
        (RANGED, 0, {}),
        (RANGED, 3, {"x": 1}),
        (CLIPPED, 100, {}),
        (COUNTER, 50, {}),
        (RANGED.replace('"x + 1"', '"0.5*x"'), 40_000, {}),
        (RANGED.replace('"x + 1"', '"1.5*x"'), 40_000, {"x": 1}),
        (RANGED.replace('"x + 1"', '"x + 0.001"').replace("[0, 1]", "[0, 2]", 1), 1_500, {"x": 1_001}),
    ],
)
def test_ranges_that_may_be_left(model: str, steps: int, exits: dict[str, int]) -> None:
    assert possible_exits(read(model).system, steps, Budget()) == exits
