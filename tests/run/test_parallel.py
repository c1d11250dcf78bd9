"""However the work is divided, the verdict is the same: the table of ground truth, cut into parts and by a pool."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.cases import CASES, Case, read
from tests.loops import disturbed_loop, formula
from tests.portion import every
from tests.run.samples import CORRIDOR, corridor
from tests.systems import make
from vernal.cli.main import main
from vernal.engines.answers import answer
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.engines.initial_parts import attempt_parts
from vernal.engines.outcomes import known_of, to_data
from vernal.engines.paths.engine import Paths
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof, Statistics
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance
from vernal.evidence.result_data import result_data, result_of
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.initial import Box
from vernal.model.system import Span
from vernal.reduce.initial_cover import MIN_PARTS, combined, divided, slices
from vernal.run.budget import Budget
from vernal.run.executor import METHOD, Finished
from vernal.sets.initial_boxes import initial_boxes

ENGINES: list[tuple[str, dict[str, str]]] = [("paths", {}), ("milp", {"encoding": "compositional"})]


@pytest.mark.parametrize(("engine", "options"), ENGINES, ids=["paths", "milp"])
def test_a_pool_is_not_wrong(engine: str, options: dict[str, str]) -> None:
    for case in CASES[::12]:
        asked = parse_formula(case.task, case.formula)
        alone = ask(case.task, asked, None, engine, Budget(timeout=60), options)
        result = ask(case.task, asked, None, engine, Budget(timeout=60, workers=2), options)
        assert result.verdict is alone.verdict, case
        assert result.verdict in {case.expected, UNKNOWN}, case
        assert (result.margin, result.vacuous) == (alone.margin, alone.vacuous) or result.verdict is VIOLATED, case


PARTED = ("EF[0,4] (x > 1)", "EX (x == 1)", "AX (x == 0) | AX (x > 0)", "X[2] (z > 0)")  # left to exact arithmetic
CORRIDOR_TASK = read(CORRIDOR[CORRIDOR.index("[parameters]") :])
SAME = [
    *[("paths", case.task, case.formula) for case in CASES if case.formula in PARTED],
    ("paths", CORRIDOR_TASK, "AX[2] (x <= 11 & EX (x == x))"),
    ("milp", CORRIDOR_TASK, "AX[2] !(x - y > 1 & y - x > 1)"),
    ("milp", CORRIDOR_TASK, "AX[2] !(x > 11.9 & y < 1)"),
]


@pytest.mark.parametrize(("engine", "task", "asked"), every(2, SAME))
def test_new_processes_answer_as_forked_ones_do(
    engine: str, task: Task, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdict, notes, margin, trace: whether a worker inherits its sub-problems or is sent them."""
    results = []
    for method in ("fork", "spawn"):
        monkeypatch.setenv(METHOD, method)
        options = {"encoding": "compositional"} if engine == "milp" else {}
        result = ask(task, parse_formula(task, asked), None, engine, Budget(timeout=100, workers=2), options)
        assert result.statistics.keys() & {"parts", "programs"}
        results.append(replace(result, seconds=0.0, statistics={}))
    assert results[0] == results[1]
    assert results[0].verdict is not UNKNOWN


def test_the_command_line_answers_the_same_by_new_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--json", "-", "--set", "k=2", "--engine", "milp", "--encoding", "compositional", "--workers", "2"]
    asked = ["check", str(corridor(tmp_path)), *options]

    def run(method: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vernal", *asked]
        return subprocess.run(command, env={**os.environ, METHOD: method}, capture_output=True, text=True)

    said = []
    for method in ("fork", "spawn"):
        (result,) = json.loads(run(method).stdout)["results"]
        assert result["statistics"]["programs"] == 9
        said.append({name: value for name, value in result.items() if name not in ("seconds", "statistics")})
    assert said[0] == said[1]
    monkeypatch.setenv(METHOD, "thread")
    assert main(asked) == 2
    assert "VERNAL_START_METHOD is 'thread'" in capsys.readouterr().err


def by_paths(question: Question, budget: Budget) -> Known:
    return Paths().attempt(question, budget)


@pytest.mark.parametrize("case", CASES[5::8], ids=str)
def test_parts_are_not_wrong(case: Case) -> None:
    question = Question(case.task.system, parse_formula(case.task, case.formula))
    engine = Paths()
    whole = asked_of(engine, question, Budget(timeout=60))
    parts = answer(question, attempt_parts(question, Budget(timeout=60), engine.name, by_paths), Budget())
    assert parts.verdict in {case.expected, UNKNOWN}, case.why
    if whole.verdict is not UNKNOWN:
        assert parts.verdict is whole.verdict, parts.reason
        assert parts.vacuous == whole.vacuous


def test_results_survive_the_way_back() -> None:
    """As JSON and back, trace and all; what comes back is replayed."""
    seen = set()
    for seed in range(25):
        rng = random.Random(seed)
        system = disturbed_loop(rng)
        question = Question(system, formula(rng, system))
        known = find_engine("paths").attempt(question, Budget(timeout=1))
        data = json.loads(json.dumps(to_data(known, system), allow_nan=False))
        back = known_of(Finished("one", data), question, known.engine)
        assert back == (replace(known, margin=data["margin"]) if isinstance(known, Proof) else known), f"seed {seed}"
        result = answer(question, known, Budget())
        again = result_of(json.loads(json.dumps(result_data(result, system), allow_nan=False)), question)
        assert again == result, f"seed {seed}"
        seen.add(result.verdict)
    assert {HOLDS, VIOLATED} <= seen


def test_a_lost_part_leaves_the_whole_unknown() -> None:
    question = Question(CASES[0].task.system, parse_formula(CASES[0].task, CASES[0].formula))
    lost = known_of(Finished("one", None, "its worker was killed (signal 9)"), question, "paths")
    both = combined([proof(1.0), lost])
    assert isinstance(both, Open)
    assert "killed" in both.reason


def proof(margin: float | None) -> Proof:
    statistics: Statistics = {"pieces": 2, "mode": "x"}
    grade = Assurance.RIGOROUS
    return Proof(engine="paths", direction=Direction.OVER, assurance=grade, margin=margin, statistics=statistics)


def test_of_parts_that_hold_the_least_margin_counts() -> None:
    parts = [proof(margin) for margin in (3.0, 1.0, 2.0)]
    whole = combined(parts)
    assert isinstance(whole, Proof)
    assert (whole.margin, whole.statistics) == (1.0, {"pieces": 6, "mode": "x"})
    unmeasured = combined([*parts, proof(None)])
    assert isinstance(unmeasured, Proof)
    assert unmeasured.margin is None


def waiting(question: Question, budget: Budget) -> Open:
    """An engine that is stopped by the time, having proven the more steps the smaller its starts are."""
    while budget.left > 0:
        time.sleep(0.01)
    start = question.system.init.starts["x"]
    assert isinstance(start, Span)
    return Open(engine="paths", reason="timeout", proven_steps=9 - int(start.upper))


def test_of_parts_that_stay_open_the_least_margin_counts() -> None:
    near, far, unmeasured = (Open(engine="paths", reason="loose", margin=margin) for margin in (-0.5, -2.0, None))
    cases: list[tuple[list[Known], float | None]]
    cases = [([near, far], -2.0), ([near, proof(1.0)], -0.5), ([near, unmeasured], None)]
    for parts, margin in cases:
        whole = combined(parts)
        assert isinstance(whole, Open)
        assert whole.margin == margin


def test_when_the_time_is_up_what_all_parts_have_proven_is_said() -> None:
    task = Task(make({"x": (0, 4)}, {"x": build.var("x") * 1}))
    question = Question(task.system, parse_formula(task, "G[0,9] x <= 4"))
    known = attempt_parts(question, Budget(timeout=3, workers=4), "paths", waiting)
    assert isinstance(known, Open)
    assert known.proven_steps == 5
    assert known.statistics["parts"] == 4


def test_of_parts_that_nobody_began_nothing_is_proven() -> None:
    task = Task(make({"x": (0, 4)}, {"x": build.var("x") * 1}))
    question = Question(task.system, parse_formula(task, "G[0,9] x <= 4"))
    known = attempt_parts(question, Budget(timeout=0.3, workers=2), "paths", waiting)
    assert isinstance(known, Open)
    assert known.proven_steps is None


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_in_exact_arithmetic_it_says_what_the_batches_have_proven(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Margin zero is met at step 3: up to there bounds are enough."""
    x = build.var("x")
    task = Task(make({"x": (0, Fraction(1, 10))}, {"x": build.minimum(x + Fraction(1, 10), Fraction(4, 10))}))

    def full(question: Question, budget: Budget, engine: str) -> Known:
        raise Stopped("memory beyond 1 GiB")

    monkeypatch.setattr("vernal.sets.exact.exact_search.decide", full)
    asked = parse_formula(task, "AG[0,5] x <= 0.4")
    result = ask(task, asked, None, "paths", Budget(timeout=60, workers=workers))
    assert (result.verdict, result.reason, result.proven_steps) == (UNKNOWN, "memory beyond 1 GiB", 2)


def test_slices_cover_the_box() -> None:
    x, y = build.var("x"), build.var("y")
    box = Box({x: ((Fraction(0), Fraction(1)),), y: ((Fraction(100), Fraction(103)),)})
    cut = slices(box, 4)
    assert [part.ends[x] for part in cut] == [((Fraction(i, 4), Fraction(i + 1, 4)),) for i in range(4)]
    assert all(part.ends[y] == box.ends[y] for part in cut)
    point = Box({x: ((Fraction(1), Fraction(1)),)})
    assert slices(point, 4) == [point]


def test_parts_have_the_same_names_in_every_run() -> None:
    for case in CASES:
        task: Task = case.task
        names = [key for key, _ in divided(task.system)]
        assert names == [key for key, _ in divided(task.system)]
        assert len(set(names)) == len(names) <= max(2 * MIN_PARTS, len(initial_boxes(task.system).boxes))


def test_parts_proven_in_opposite_directions_prove_nothing_together() -> None:
    """One more proof must not make an under-approximation look like an over-approximation."""
    over, under, exact = (replace(proof(1.0), direction=d) for d in (Direction.OVER, Direction.UNDER, Direction.EXACT))
    assert isinstance(combined([over, under]), Open)
    for parts, direction in (([exact, over], Direction.OVER), ([exact, under], Direction.UNDER)):
        whole = combined(parts)
        assert isinstance(whole, Proof)
        assert whole.direction is direction
