"""Claims that fail late: longer and longer runs, replayed exactly; and seeds one after the other."""

from __future__ import annotations

import pytest
from flint import arb, ctx

from tests.portion import every
from tests.systems import make
from vernal.engines.check import asked_of, parse_formula
from vernal.engines.falsify.long_runs import FarRuns
from vernal.engines.falsify.only_path import OnlyPath
from vernal.engines.falsify.paths import MIN_RUNS, batch_size
from vernal.engines.falsify.restarts import Reseeded
from vernal.engines.portfolio import Portfolio
from vernal.evidence.knowledge import Counterexample, Open
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.expr import Function
from vernal.model.system import System
from vernal.run.budget import Budget

X = build.var("x")


def counting() -> System:
    return make({"x": (0, 1)}, {"x": X + 1})


def asked(system: System, formula: str) -> Question:
    return Question(system, parse_formula(Task(system), formula))


@pytest.mark.parametrize("limit", every(2, [130, 777]))
def test_a_claim_that_fails_late_is_refuted_at_its_first_step(limit: int) -> None:
    question = asked(counting(), f"G (x <= {limit})")
    known = FarRuns(5000).attempt(question, Budget())
    assert isinstance(known, Counterexample)
    assert len(known.trace) - 1 in (limit, limit + 1)
    result = asked_of(Portfolio(), question, Budget(timeout=60))
    assert result.verdict is VIOLATED
    assert result.margin is not None
    assert -2 <= result.margin < 0  # by how much it fails at the end, not by how much it holds before


def test_a_late_witness_has_a_margin() -> None:
    result = asked_of(Portfolio(), asked(make({"x": 0}, {"x": X + 1}), "EF (x >= 99.5)"), Budget(timeout=60))
    assert (result.verdict, result.margin) == (HOLDS, 0.5)


def test_what_never_fails_stays_open() -> None:
    known = FarRuns(1000).attempt(asked(counting(), "G (x >= 0)"), Budget())
    assert isinstance(known, Open)
    assert "no violation found" in known.reason
    assert isinstance(FarRuns(1000).attempt(asked(counting(), "F (x < 0)"), Budget()), Open)
    assert isinstance(FarRuns(1000).attempt(asked(counting(), "EG (x > 2)"), Budget()), Open)


def test_a_run_that_fails_in_floats_only_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    """What replay does not confirm is said to be so."""
    monkeypatch.setattr("vernal.engines.falsify.long_runs.violation", lambda *given, **named: None)
    known = FarRuns(1000).attempt(asked(counting(), "G (x <= 130)"), Budget())
    assert isinstance(known, Open)
    assert "only in floating point" in known.reason


def wild() -> System:
    """x' = 3 sin x from 1: errors double at every step; it is above 2.9999 at step 209 first, and at 74 in floats."""
    return make({"x": 1}, {"x": 3 * build.apply(Function.SIN, X)})


def test_where_floats_go_astray_the_exact_path_is_followed() -> None:
    known = FarRuns(400).attempt(asked(wild(), "G (x <= 2.9999)"), Budget())
    assert isinstance(known, Counterexample)
    assert len(known.trace) - 1 == 209
    assert verify(wild(), known.trace).accepted
    position = arb(1)
    with ctx.workprec(1000):
        for at in range(1, 210):
            position = 3 * position.sin()
            assert (position > arb("2.9999")) == (at == 209)


def test_an_exact_path_that_does_not_fail_leaves_it_open() -> None:
    known = FarRuns(400).attempt(asked(wild(), "G (x <= 2.999999)"), Budget())
    assert isinstance(known, Open)
    assert "only in floating point" in known.reason or "no violation found" in known.reason


def test_only_a_system_with_one_path_has_an_only_path() -> None:
    always, budget = asked(wild(), "G (x <= 3)").claim.path, Budget()
    assert OnlyPath.of(wild(), always, budget) is not None
    assert OnlyPath.of(counting(), always, budget) is None
    drawn = make({"x": 1}, {"x": X + build.between(0, 1)})
    assert OnlyPath.of(drawn, always, budget) is None


def test_ties_alone_need_few_runs() -> None:
    winner = build.argmax(build.concat(X, -X))
    system = make({"x": 1}, {"x": build.if_(build.eq(winner, 0), X, -X)})
    assert batch_size(system, 50) == MIN_RUNS
    assert batch_size(counting(), 50) > MIN_RUNS


def test_other_seeds_end_with_the_time_or_where_nothing_varies() -> None:
    assert asked_of(Reseeded(), asked(make({"x": 1}, {"x": X}), "F (x > 2)"), Budget()).verdict is UNKNOWN
    result = asked_of(Reseeded(), asked(counting(), "G[0,5] (x >= 0)"), Budget(timeout=0.3))
    assert result.reason == "timeout after 0.3 s"
