"""An engine that ends in an error of its own is a note in the answer of `auto`, and no answer of all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from tests.cases import read
from tests.flow_cases import DECAY
from vernal.cli.main import main
from vernal.engines import base
from vernal.engines.bounds.engine import Bounds
from vernal.engines.check import parse_formula
from vernal.engines.falsify.engine import Falsify
from vernal.engines.flow.direct import DirectFlowpipe
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, UNKNOWN, EngineFailure
from vernal.evidence.result_data import result_data, result_of
from vernal.logic.question import Question

STEPS = """
[state]
x = "real [-2, 2]"
[init]
x = "[0.5, 1]"
[environment.next]
x = "0.9*x"
"""
Break = Callable[..., None]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Lets engines fail."""

    def fail(*engines: type[Any], error: Exception | None = None) -> None:
        def attempt(self: Any, question: Any, budget: Any) -> Any:
            raise error or LookupError("a table without an entry")

        for engine in engines:
            monkeypatch.setattr(engine, "attempt", attempt)

    return fail


@pytest.mark.swallows
@pytest.mark.parametrize("claim", ["G[0,5] (x <= 1.5)", "G (x <= 1.5)", "F (x < 0.1)", "EF (x < 0.4)"])
def test_others_go_on_where_an_engine_of_systems_fails(claim: str, broken: Break) -> None:
    broken(Falsify)
    result = vn.check(read(STEPS), claim, timeout=30)
    assert result.verdict is HOLDS, result.reason
    assert {one.exception for one in result.failed} <= {"LookupError"}
    assert all(str(one) in result.notes for one in result.failed)


@pytest.mark.swallows
def test_others_go_on_where_an_engine_of_flows_fails(broken: Break) -> None:
    broken(Falsify)
    result = vn.check(read(DECAY), "G[0,2] (x <= 1.5)")
    assert result.verdict is HOLDS
    assert result.failed == (EngineFailure("falsify", "LookupError"),)


@pytest.mark.swallows
def test_where_nobody_else_knows_it_is_the_reason(broken: Break) -> None:
    broken(DirectFlowpipe, Falsify)
    result = vn.check(read(DECAY), "G[0,2] (x <= 1)", timeout=0.5)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert "flowpipe: it failed (LookupError)" in result.reason
    assert {one.engine for one in result.failed} == {"falsify", "flowpipe"}


@pytest.mark.swallows
def test_the_document_names_it(broken: Break, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken(Falsify, error=AssertionError())
    task = tmp_path / "steps.toml"
    task.write_text(f'vernal = 1\nname = "steps"\n{STEPS}', encoding="utf-8")
    assert main(["check", str(task), "--spec", "G[0,5] (x <= 1.5)", "--json", str(tmp_path / "made.json")]) == 0
    (result,) = json.loads((tmp_path / "made.json").read_text())["results"]
    assert result["failed"] == [{"engine": "falsify", "exception": "AssertionError"}]
    assert "the engine falsify failed (AssertionError)" in capsys.readouterr().out


@pytest.mark.swallows
def test_it_travels(broken: Break) -> None:
    broken(Falsify)
    task = read(STEPS)
    result = vn.check(task, "G[0,5] (x <= 1.5)")
    assert result.failed
    asked = Question(task.system, parse_formula(task, result.formula))
    assert result_of(json.loads(json.dumps(result_data(result, task.system))), asked).failed == result.failed


@pytest.mark.swallows
def test_an_engine_that_is_asked_by_name_fails_as_ever(broken: Break) -> None:
    broken(Bounds)
    with pytest.raises(LookupError):
        vn.check(read(STEPS), "G[0,5] (x <= 1.5)", engine="bounds")


@pytest.mark.swallows
def test_bad_input_is_no_failure_of_an_engine(broken: Break) -> None:
    broken(Falsify, error=InputError("not this one"))
    with pytest.raises(InputError):
        vn.check(read(STEPS), "G[0,5] (x <= 1.5)")


def test_elsewhere_in_the_tests_it_is_raised() -> None:
    """So that no test passes over a bug that `auto` went around."""
    with pytest.raises(ZeroDivisionError):
        base.broken("some", ZeroDivisionError())
