"""What an invariant excludes never comes; and unions of boxes that are the same in fewer boxes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import vernal as vn
from tests.systems import make
from vernal.engines.check import asked_of, check, parse_formula
from vernal.engines.invariants.engine import Invariants
from vernal.evidence.kinds import Tree
from vernal.evidence.result import UNKNOWN, VIOLATED, Verdict
from vernal.formats.task.blueprint import load
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, labelled
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.run.budget import Budget
from vernal.sets.cells.cell_partition import merged, needed
from vernal.sets.cells.coverage import Coverage

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("F (x > 1.5)", VIOLATED),
        ("(x <= 1) U (x > 1.5)", VIOLATED),
        ("AF (x > 1.5)", VIOLATED),
        ("F (x < 0.1)", UNKNOWN),  # it comes
        ("G F (x > 1.5)", UNKNOWN),  # not supported
    ],
)
def test_what_an_invariant_excludes_never_comes(formula: str, verdict: Verdict) -> None:
    """x' = x / 2 stays below 1 on every path, so what needs more fails from every initial state."""
    system = make({"x": (0, 1)}, {"x": build.var("x") * Fraction(1, 2)})
    asked = Question(system, parse_formula(Task(system), formula))
    result = asked_of(Invariants(), asked, Budget(timeout=20))
    assert result.verdict is verdict
    if verdict is VIOLATED:
        assert isinstance(result.evidence, Tree)
        assert "every path from this state keeps" in result.evidence.excluded_by
        assert result.evidence.invariant is not None


def test_where_there_may_be_no_path_nothing_is_refuted() -> None:
    """1 / x is undefined at 0, which the invariant of x cannot exclude: no path has to follow from there."""
    x = build.var("x")
    system = make({"x": (0, 1), "y": 0}, {"x": x * Fraction(1, 2), "y": build.div(1, x)})
    result = asked_of(Invariants(), Question(system, parse_formula(Task(system), "F (x > 1.5)")), Budget(timeout=20))
    assert result.verdict is UNKNOWN
    assert "undefined" in (result.reason or "")


def test_no_initial_state_is_no_violation() -> None:
    x = build.var("x")
    system = make({"x": (0, 1)}, {"x": x * Fraction(1, 2)}, where=[build.compare("<", x, build.const(-1))])
    asked = Question(system, parse_formula(Task(system), "F (x > 1.5)"))
    assert asked_of(Invariants(), asked, Budget(timeout=20)).verdict is not VIOLATED


def test_a_union_in_fewer_boxes_is_the_same_union() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3):
        for _ in range(20):
            count = int(rng.integers(1, 25))
            low = rng.integers(0, 6, (count, n)).astype(float)
            labels = rng.integers(0, 2, (count, 1))
            cells = labelled(Template(np.eye(n)), low, low + rng.integers(1, 4, (count, n)), labels)
            fewer = merged(needed(cells, np.zeros(n, bool)))
            points = rng.uniform(0, 9, (200, n))
            assert len(fewer) <= len(cells)
            for label in (0, 1):
                assert (_inside(cells, points, label) == _inside(fewer, points, label)).all()


@pytest.mark.parametrize("n", [5, 12, 20])
def test_boxes_of_many_components_are_not_counted_out(n: int) -> None:
    """A table of what is filled has an entry for every combination of ends: there is none where that is very many."""
    low = np.array([[0.0] * n, [0.5] * n])
    cells = labelled(Template(np.eye(n)), low, low + np.array([[2.0], [1.0]]), np.zeros((2, 1), np.int64))
    found = Coverage(cells, np.zeros(n, bool)).holds(cells)
    assert found.tolist() == [n == 5] * 2


def _inside(cells: TemplateSets, points: Floats, label: int) -> NDArray[np.bool_]:
    held = ((points[:, None] >= cells.lower) & (points[:, None] <= cells.upper)).all(axis=2)
    return np.asarray((held & (cells.labels[:, 0] == label)).any(axis=1))


def test_what_excludes_a_claim_is_checked_again(tmp_path: Path) -> None:
    """The file has the state and the invariant, and other code confirms both."""
    task, file = load(ROOT / "benchmarks/forever/systems/contracting.toml"), tmp_path / "never.json"
    result = check(task, "F (x > 1.5)", engine="invariants", timeout=30)
    assert result.verdict is VIOLATED
    vn.write_evidence(task, result, file)
    assert vn.replay(file).judgement == "accepted"
