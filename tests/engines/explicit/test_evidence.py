"""What explicit shows: shortest traces, lassos that close, trees and witnesses."""

from __future__ import annotations

import pytest

from tests.cases import COUNTER, SIGNALS, TEN, TWO_COINS, WALK, read
from vernal.engines.check import ask, parse_formula
from vernal.evidence import confirm
from vernal.evidence.kinds import Tree
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, VIOLATED, Assurance, Result
from vernal.evidence.trace import Trace
from vernal.run.budget import Budget


def answer(model: str, formula: str) -> Result:
    task = read(model)
    return ask(task, parse_formula(task, formula), None, "explicit", Budget(timeout=20))


def path(result: Result) -> list[int]:
    assert result.trace is not None
    return [int(next(iter(step.state.values()))) for step in result.trace.steps]


def test_a_bad_prefix_is_shortest() -> None:
    assert path(answer(WALK, "G (n > 0)")) == [2, 1, 0]
    assert path(answer(TEN, "G (n < 4)")) == [0, 1, 2, 3, 4]
    assert path(answer(TWO_COINS, "X X (x != 1)"))[2] == 1


def test_a_lasso_closes_exactly_and_shows_its_verdict() -> None:
    result = answer(SIGNALS, "G F (light == GREEN)")
    assert isinstance(result.evidence, Trace)
    assert result.evidence.kind == "lasso"
    assert verify(result.evidence.system, result.evidence).accepted
    assert (len(result.evidence), result.evidence.loop) == (1, 0), "red, and red again"
    ring = answer(TEN, "F G (n > 0)")
    assert ring.trace is not None
    assert (path(ring), ring.trace.loop) == (list(range(10)), 0)


def test_a_path_that_ends_is_evidence_too() -> None:
    result = answer(COUNTER, "G F X true")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.complete
    assert path(result) == [0, 1, 2, 3]


def test_no_single_path_refutes_an_existential_claim() -> None:
    result = answer(SIGNALS, "EG (light == GREEN)")
    assert isinstance(result.evidence, Tree)
    assert "positions" in result.evidence.excluded_by
    assert result.assurance is Assurance.EXACT


@pytest.mark.parametrize(("formula", "kind"), [("EF (n == 0)", "trace"), ("EG (n > 0)", "lasso")])
def test_a_claim_of_some_path_has_a_witness(formula: str, kind: str) -> None:
    result = answer(WALK, formula)
    assert result.verdict is HOLDS
    assert result.trace is not None
    assert result.trace.kind == kind
    assert confirm.truth(result.trace, parse_formula(read(WALK), formula)) is True


def test_a_fair_lasso_goes_through_everything_it_promises() -> None:
    """Green and red, waiting and not, each again and again."""
    formula = "!(G F (light == GREEN) & G F (light == RED) & G F waiting & G F !waiting)"
    result = answer(SIGNALS, formula)
    assert result.trace is not None
    loop = result.trace.steps[result.trace.loop :]
    assert {int(step.state["light"]) for step in loop} == {0, 1}
    assert {int(step.state["waiting"]) for step in loop} == {0, 1}


@pytest.mark.parametrize(
    ("model", "formula", "margin"),
    [
        (TEN, "G[0,5] (n <= 7)", 2.0),
        (TEN, "AG[2,5] (n <= 7)", 2.0),
        (TEN, "X[3] (n >= 1)", 2.0),
        (TWO_COINS, "G[0,5] (x <= 2)", 0.0),
        (WALK, "EX[2] (n <= 1)", 1.0),
    ],
)
def test_bounded_claims_of_single_positions_have_a_margin(model: str, formula: str, margin: float) -> None:
    result = answer(model, formula)
    assert (result.verdict, result.margin) == (HOLDS, margin)


def test_statistics_say_what_was_looked_at() -> None:
    found = answer(TEN, "G F (n == 3)").statistics
    assert (found["states"], found["transitions"], found["depth"]) == (10, 10, 9)
    assert found["states_per_second"]
