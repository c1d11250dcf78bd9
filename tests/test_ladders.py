"""The benchmarks of agents with memory: they run, they stop where they say, and they notice what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import ladder, witnesses
from benchmarks.lander import __main__ as lander
from benchmarks.measure import AUTO, Measured, Method, measure_task
from benchmarks.pendulum_rnn import __main__ as pendulum
from benchmarks.spread import __main__ as spread
from benchmarks.witnesses import Witnessed, witness
from examples.playing import Policy
from tests.solvers.programs import milp
from vernal.engines.options import Unroll
from vernal.engines.programs.program import eased
from vernal.evidence.trace import Trace
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.solvers.base import SolveStatus

pytest.importorskip("onnxruntime", reason="traces are compared with onnxruntime (extra onnxruntime)")

MILP = ladder.RECURSIVE


@pytest.mark.parametrize(
    ("main", "to", "asked"),
    [(pendulum.main, 1, "X[n] (theta"), (lander.main, 1, "X[t] (abs(theta) < eps)"), (spread.main, 0, "stability")],
    ids=["pendulum", "lander", "spread"],
)
def test_a_short_run_prints_its_tables(
    main: Callable[[Sequence[str]], int], to: int, asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--cap", "2", "--to", str(to), "--total", "0.2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(asked)
    assert "| auto" in said
    assert "times faster" in said
    assert "no two methods contradict each other" in said
    if main is not pendulum.main:
        assert "all replayed, largest difference of scores with onnxruntime" in said


def test_unrolled_policies_make_larger_programs() -> None:
    sizes = [[int(part) for part in pendulum.size(4, True, unroll, 20).split(" / ")] for unroll in ladder.UNROLLINGS]
    assert sizes[0] < sizes[1] < sizes[2]
    assert pendulum.size(1, True, Unroll.RECURSIVE, 20) == "0"
    assert pendulum.size(4, True, Unroll.IOS, 0) == "?"


# Ladders --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told(ladder.Ladder):
    """A ladder whose cells say what a test wants them to say: method, rung -> verdict."""

    verdicts: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[str, int]] = field(default_factory=list)

    def cell(self, method: Method, rung: int, cap: float, clock: object = None) -> ladder.Cell:
        self.seen.append((method.name, rung))
        mark = self.verdicts[method.name][rung]
        verdict = {"T": "holds", "F": "violated"}.get(mark, "unknown")
        reason = "timeout after 1 s" if mark == "t" else None
        measured = Measured(verdict, 0.5, processor=0.5, reason=reason)
        return ladder.Cell(measured, Witnessed(True) if mark == "F" else None)


def told(ours: str, theirs: str) -> Told:
    marks = {AUTO.name: ours, MILP.name: theirs}
    return Told(("here",), Path("nowhere"), "p", "t", range(len(ours)), (AUTO, MILP), verdicts=marks)


def test_a_baseline_is_not_asked_again_after_its_first_timeout_and_ours_is() -> None:
    asked = told("TtTF", "T?tT")
    rows = ladder.climb([asked], ladder.Limits(1))
    assert [set(row.cells) for row in rows] == [{"auto", MILP.name}] * 3 + [{"auto"}]
    assert asked.seen == [
        ("auto", 0),
        (MILP.name, 0),
        ("auto", 1),
        (MILP.name, 1),
        ("auto", 2),
        (MILP.name, 2),
        ("auto", 3),
    ]


def test_low_rungs_come_first_and_only_ours_is_asked_when_time_is_over() -> None:
    first, second = told("TTT", "TTT"), told("TT", "TT")
    rows = ladder.climb([first, second], ladder.Limits(1, until=0))
    assert [(row.ladder, row.rung) for row in rows] == [(first, 0), (first, 1), (first, 2), (second, 0), (second, 1)]
    assert {name for name, _ in (*first.seen, *second.seen)} == {"auto"}
    assert len(ladder.climb([first], ladder.Limits(1, to=1))) == 2


def test_a_contradiction_is_an_error() -> None:
    said: list[str] = []
    assert ladder.run(("case", "t"), [told("TT", "TT")], ladder.Limits(1), said.append) == 0
    assert ladder.run(("case", "t"), [told("TT", "TF")], ladder.Limits(1), said.append) == 1
    assert "CONTRADICTION: ('here',) 1" in said[-1]


def test_where_ours_is_undecided_no_ratio_is_printed() -> None:
    rows = ladder.climb([told("Tt", "TF")], ladder.Limits(1))
    assert "ours is undecided" in ladder.ratios_table(("case", "t"), rows)


# Witnesses ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaning() -> tuple[Task, Trace]:
    """Two steps of the lander from the wide box, which lean too far."""
    task = load(lander.FILE, t=2, d=30, k=10)
    trace = measure_task(task, "upright", AUTO, 10).trace
    assert trace is not None
    return task, trace


def test_a_counterexample_is_walked_again_and_scored(leaning: tuple[Task, Trace]) -> None:
    task, trace = leaning
    found = witness(task.system, task.properties["upright"], trace)
    assert found.agrees
    assert 0 < found.difference < 1e-5
    assert witnesses.summary([found]).startswith("1 violated cells, all replayed")


def test_what_is_no_counterexample_is_noticed(leaning: tuple[Task, Trace]) -> None:
    task, trace = leaning
    formula = task.properties["upright"]
    first = trace.steps[0]
    actions = {"engine": Fraction(0 if first.actions["engine"] == 1 else 1)}
    edited = replace(trace, steps=(replace(first, actions=actions), *trace.steps[1:]))
    assert not witness(task.system, formula, edited).replayed
    assert not witness(task.system, formula, None).replayed
    upright = load(lander.FILE, t=2, d=2, k=10).properties["upright"]  # a path of the system that refutes nothing
    assert not witness(task.system, upright, trace).replayed
    assert "ONLY 0 REPLAYED" in witnesses.summary([Witnessed(False)])


def test_scores_that_differ_are_noticed(leaning: tuple[Task, Trace], monkeypatch: pytest.MonkeyPatch) -> None:
    class Shifted(Policy):
        def __call__(self, seen: Any, memory: Any = None) -> Any:
            outputs, after = super().__call__(seen, memory)
            return outputs + 0.001, after

    monkeypatch.setattr(witnesses, "Policy", Shifted)
    task, trace = leaning
    found = witness(task.system, task.properties["upright"], trace)
    assert found.replayed
    assert found.same_actions
    assert not found.agrees


def test_a_baseline_believes_its_solver_at_once() -> None:
    """Of an infeasible program the second question, with room, is not solved again; the next program is."""
    solver = ladder.AskedOnce()
    impossible, possible = (milp([1.0], [([1.0], -np.inf, limit)], lower=0.0, upper=1.0) for limit in (-1.0, 1.0))
    assert solver.solve(impossible).said != "asked once"
    assert solver.solve(eased(impossible)).said == "asked once"
    assert solver.solve(eased(impossible)).said != "asked once"
    assert solver.solve(possible).status is SolveStatus.OPTIMAL
    assert solver.solve(eased(possible)).status is SolveStatus.OPTIMAL
