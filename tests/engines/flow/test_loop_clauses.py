"""What loops that sample mean, clause by clause, asked of every engine that takes them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import vernal as vn
from tests import loop_clauses
from tests.loop_clauses import CLAUSES, SAMPLES, Clause
from tests.portion import pairs
from tests.work import processor
from vernal.engines.check import ask, parse_formula, question_of
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.run.budget import Budget

ENGINES = ("auto", "flowpipe", "falsify")


@pytest.mark.parametrize(("clause", "engine"), pairs(12, CLAUSES, ENGINES), ids=str)
def test_no_engine_is_wrong_about_a_clause(clause: Clause, engine: str) -> None:
    system = clause.make()
    task, has_to = Task(system), engine == "auto" and clause.decided
    task = task.counting("samples") if clause.time == SAMPLES else task
    result = ask(task, parse_formula(task, clause.formula), None, engine, Budget(30) if has_to else processor(0.4))
    assert result.verdict in ({clause.verdict} if has_to else {clause.verdict, vn.UNKNOWN}), (clause.why, result)
    if result.verdict is vn.VIOLATED and clause.time != SAMPLES:
        question = question_of(task, parse_formula(task, clause.formula))
        assert result.trace is not None
        assert trajectory_truth(result.trace, question.formula, question.model) is False


def test_both_truths_of_every_kind_of_time_occur() -> None:
    said = {(clause.time, clause.verdict) for clause in CLAUSES}
    assert len(said) == 4


# Ranges ---------------------------------------------------------------------------------------------------------------

RANGES = [
    (loop_clauses.leaving, "G[0,2] x < 3", vn.HOLDS),  # x gets to 2.5 at 2.5 seconds
    (loop_clauses.leaving, "G[0,3] x < 3", vn.VIOLATED),
    (loop_clauses.full, "G[0,1.5] x < 3", vn.HOLDS),  # n jumps out of its range at 2
    (loop_clauses.full, "G[0,2] x < 3", vn.VIOLATED),
    (loop_clauses.chosen, "G[0,4] x < 9", vn.HOLDS),  # n is 8 at most
    (loop_clauses.chosen, "G[0,5] x < 9", vn.VIOLATED),
    (loop_clauses.ending, "G[0,5] x < 9", vn.HOLDS),  # the path ends at 2 seconds, and leaves nothing
]


@pytest.mark.parametrize(("make", "formula", "verdict"), RANGES)
def test_whether_loops_keep_their_ranges_can_be_asked(
    make: loop_clauses.Make, formula: str, verdict: vn.Verdict, tmp_path: Path
) -> None:
    task = Task(make(), {"asked": parse_formula(Task(make()), formula)})
    result = vn.check(task, property="in_range", timeout=30)["in_range"]
    assert result.verdict is verdict, result
    if verdict is vn.VIOLATED:
        vn.write_evidence(task, result, tmp_path / "left.json")
        assert vn.replay(tmp_path / "left.json", task).judgement == "accepted"


def test_ranges_are_asked_as_far_as_samples_look() -> None:
    task = Task(loop_clauses.leaving())
    asked = parse_formula(task.counting("samples"), "G[0,2] n <= 9")
    sampled = Task(loop_clauses.leaving(), {"asked": asked}, times={"asked": Time.SAMPLES})
    assert str(vn.check(sampled, property="in_range", timeout=30)["in_range"].formula).startswith("G[0,2] ")


def test_a_jump_to_anywhere_cannot_be_asked() -> None:
    task = Task(
        vn.System(
            state={"x": vn.real(1, 2)},
            init={"x": 1},
            rates=lambda s: {"x": 0},
            step=lambda s: {"x": 1 / (s.x - Fraction(3, 2))},
            every=1,
        )
    )
    with pytest.raises(vn.InputError, match="a jump of 'x' may have any value"):
        vn.check(replace(task, properties={"p": parse_formula(task, "G[0,1] x < 3")}), property="in_range")
