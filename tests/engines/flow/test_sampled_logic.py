"""Claims over samples, of all paths and of some: evidence replays, and evidence of something else does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.loop_clauses import LOGIC, Clause, chosen, noisy, sawtooth
from tests.portion import every
from tests.work import processor
from vernal.engines.check import ask, parse_formula
from vernal.evidence.judgement import Judgement
from vernal.evidence.kinds import Tree
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import Result
from vernal.logic.task import Task
from vernal.model.initial import OneOf


def asked(make: vn.System, formula: str, seconds: float = 6) -> tuple[Task, Result]:
    task = Task(make).counting("samples")
    return task, ask(task, parse_formula(task, formula), None, "auto", processor(seconds))


@pytest.mark.parametrize("clause", every(2, LOGIC), ids=str)
def test_evidence_over_samples_replays(clause: Clause, tmp_path: Path) -> None:
    task, result = asked(clause.make(), clause.formula)
    assert result.verdict in {clause.verdict, vn.UNKNOWN}
    if result.evidence is None:
        return
    vn.write_evidence(task, result, tmp_path / "shown.json")
    assert vn.replay(tmp_path / "shown.json", task).judgement is Judgement.ACCEPTED


def test_a_tree_shows_nothing_of_another_claim(tmp_path: Path) -> None:
    task, result = asked(sawtooth(), "EF (x >= 0.5)")
    assert isinstance(result.evidence, Tree)
    assert isinstance(result.evidence.recurrence, RecurrentSet)
    for formula in ("EF (x <= 0.5)", "AG EF (x <= 0.5)"):
        other = replace(result, formula=formula)
        vn.write_evidence(task, other, tmp_path / "other.json")
        assert vn.replay(tmp_path / "other.json", task).judgement is not Judgement.ACCEPTED


def test_a_recurrent_set_that_is_left_shows_nothing(tmp_path: Path) -> None:
    task, result = asked(sawtooth(), "G F (x <= 0)")
    assert isinstance(result.evidence, RecurrentSet)
    moved = replace(result.evidence, boxes=result.evidence.boxes + np.array([[[1.0], [1.0]]]))
    vn.write_evidence(task, replace(result, evidence=moved), tmp_path / "moved.json")
    assert vn.replay(tmp_path / "moved.json", task).judgement is Judgement.UNDECIDED


def test_a_witness_is_one_for_its_own_action_only() -> None:
    """Noise may be 1 at the first sample, but there are other positions at which it is not."""
    for formula in ("EF[0,0] (u >= 0.5)", "EG[0,1] (u >= 0.5)"):
        _, result = asked(noisy(), formula, 3)
        assert result.verdict is not vn.HOLDS


def test_several_starts_have_no_common_witness() -> None:
    starts = {**chosen().init.starts, "n": OneOf((Fraction(0), Fraction(3)))}
    system = chosen().starting(replace(chosen().init, starts=starts))
    _, result = asked(system, "EX n == 2", 3)
    assert result.verdict is not vn.HOLDS
