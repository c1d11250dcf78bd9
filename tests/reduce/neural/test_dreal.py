"""The script for dReal: what it says, checked by Z3 where there are only polynomials, and how its answer is read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.reduce.neural.fields import SIX, fitted, flow, region_of
from vernal.errors import VernalError
from vernal.model.functions import sigmoid
from vernal.reduce.neural.dreal import dreal_confirms, dreal_query

LINEAR = (np.eye(1),), (np.zeros(1),)


@pytest.mark.parametrize("name", SIX)
def test_a_script_has_a_line_for_every_name(name: str) -> None:
    field = SIX[name]
    query = dreal_query(field, *fitted(field, (4,)), *region_of(field), np.ones(len(field.state)))
    assert query.count("(") == query.count(")")
    assert query.count("(declare-fun ") >= len(field.state)
    assert query.splitlines()[-2:] == ["(check-sat)", "(exit)"]
    assert ("(sin " in query) == (name in ("steam", "exponential"))


def test_a_function_of_its_own() -> None:
    query = dreal_query(flow({"x": (0, 1)}, lambda x: [sigmoid(x)]), *LINEAR, np.zeros(1), np.ones(1), np.ones(1))
    assert "(/ 1.0 (+ 1.0 (exp (- " in query


@pytest.mark.parametrize(("error", "answer"), [(0.2499, "sat"), (0.2501, "unsat")])
def test_the_question_is_the_right_one(error: float, answer: str) -> None:
    """x - x^2 is at most 1/4 on [0, 1]."""
    z3 = pytest.importorskip("z3")
    field = flow({"x": (0, 1)}, lambda x: [x**2])
    query = dreal_query(field, *LINEAR, np.zeros(1), np.ones(1), np.array([error]))
    solver = z3.Solver()
    solver.from_string(query.replace("(check-sat)\n(exit)\n", ""))
    assert str(solver.check()) == answer


def fake(folder: Path, body: str) -> None:
    file = folder / "dreal"
    file.write_text(
        f"#!{sys.executable}\nimport sys, time\ntext = open(sys.argv[1]).read()\n{body}\n", encoding="utf-8"
    )
    file.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake program is a script")
@pytest.mark.parametrize(
    ("body", "confirmed"),
    [
        ("print('unsat' if 'check-sat' in text else 'lost')", True),
        ("print('delta-sat with delta = 0.001')", False),
        ("print('unsat'); sys.exit(1)", False),
        ("time.sleep(30)", False),
    ],
)
def test_only_unsat_confirms(body: str, confirmed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, body)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dreal_confirms("(check-sat)", timeout=30.0 if confirmed else 2.0) == confirmed


def test_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VernalError, match="no dreal"):
        dreal_confirms("(check-sat)")
