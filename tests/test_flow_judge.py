"""The judge of answers about flows: it accuses planted lies, and nobody else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from benchmarks import never_wrong_flows
from tests.flow_judge import FlowJudge, cut_near_edge, robustness
from tests.flow_runs import FlowRuns, Integrator, simulated
from tests.report import flow_samples as samples
from tests.wild_flows import KINDS, FlowCase, flow_case
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.flow import Flow
from vernal.model.initial import Init, OneOf

x = samples.X
DECAY = samples.flow("decay", {"x": -x}, {"x": "-1 2"}, {"x": "0.5 1"})
TO_ONE = Bound(Fraction(0), Fraction(1))
drawn = cache(flow_case)


def case(formula: Formula, flow: Flow = DECAY) -> FlowJudge:
    return FlowJudge(FlowCase(0, "polynomial", flow, formula), runs=200, steps=100)


def answer(verdict: str, **given: object) -> Result:
    return Result("claim", {"holds": HOLDS, "violated": VIOLATED}.get(verdict, UNKNOWN), "lie", **given)  # type: ignore[arg-type]


def test_runs_are_solutions() -> None:
    made = Integrator(DECAY, 1.0, 50).run(np.array([[1.0], [0.5]]), np.zeros((50, 2, 0)))
    assert made.states[:, -1, 0] == pytest.approx(np.exp(-1) * np.array([1.0, 0.5]), rel=1e-8)


def test_runs_end_where_they_leave_the_region() -> None:
    grow = samples.flow("grow", {"x": build.const(1)}, {"x": "0 1"}, {"x": "0.5 0.5"})
    made = simulated(grow, 1.0, runs=3, steps=100)
    assert made.inside[:, :51].all()
    assert not made.inside[:, 51:].any()
    cut = cut_near_edge(grow, made)
    assert not cut.inside[:, 50:].any()  # at the very edge
    at_edge = grow.starting(Init({"x": OneOf((Fraction(0),))}))
    assert cut_near_edge(at_edge, simulated(at_edge, 0.5, runs=1, steps=10)).inside.all()


@pytest.mark.parametrize(
    ("formula", "true"),
    [
        (Always(Atom(x <= Fraction(101, 100)), TO_ONE), True),
        (Always(Atom(x >= Fraction(1, 5)), TO_ONE), False),
        (Eventually(Atom(x <= Fraction(2, 5)), TO_ONE), True),
        (Eventually(Atom(x <= Fraction(3, 10)), TO_ONE), False),
        (And((samples.never(x > 2, "1"), samples.some_time(x >= 1, "1"))), False),
        (Atom(x >= Fraction(1, 2)), True),
        (Atom(x > Fraction(3, 5)), False),
    ],
)
def test_a_claim_that_is_false_of_a_trajectory_may_not_hold(formula: Formula, true: bool) -> None:
    judge = case(formula)
    assert judge.is_unsafe is not true
    assert (judge.problem(answer("holds")) is None) is true
    assert judge.problem(answer("unknown")) is None


def test_what_floats_cannot_tell_accuses_nobody() -> None:
    edge = Fraction(float(np.exp(-1) / 2))
    assert not case(Always(Atom(x >= edge), TO_ONE)).is_unsafe
    assert not case(Eventually(Atom(x <= edge * 2), TO_ONE)).is_unsafe


def test_between_samples_a_goal_may_be_met() -> None:
    times = np.array([0.0, 0.5, 1.0])
    runs = FlowRuns(times, np.array([[[0.0], [1.0], [0.0]]]))
    ((low,), (high,)) = robustness(DECAY, Eventually(Atom(x >= Fraction(11, 10)), TO_ONE), runs)
    assert (low, high) == pytest.approx((-0.1, 0.9))


def test_a_pipe_that_loses_a_trajectory_is_found() -> None:
    judge = case(samples.never(x > 2, "1"))
    pipe = samples.pipe(DECAY, 1.0, 10, growth=0.05)
    assert judge.problem(answer("holds", evidence=pipe)) is None
    fallen = np.where(pipe.times[:, 1:] > 0.9, pipe.upper - 0.2, pipe.upper)
    late = replace(pipe, sets=replace(pipe.sets, upper=fallen))
    assert "outside the flowpipe" in (judge.problem(answer("holds", evidence=late)) or "")
    gap = replace(pipe, times=pipe.times + np.array([0.0, -0.05]))
    assert "outside the flowpipe" in (judge.problem(answer("unknown", evidence=gap)) or "")


def test_a_pipe_that_says_that_all_stay_inside_is_checked() -> None:
    grow = samples.flow("grow", {"x": build.const(1)}, {"x": "0 1"}, {"x": "0.5 0.6"})
    judge = case(samples.never(x > 2, "1"), grow)
    pipe = samples.pipe(grow, 1.0, 10, growth=0.05)
    assert "leaves the region before 1" in (judge.problem(answer("holds", evidence=pipe)) or "")
    assert judge.problem(answer("holds", evidence=replace(pipe, inside_until=0.4))) is None


def test_engines_may_not_contradict_each_other() -> None:
    judge = case(samples.never(x > 2, "1"))
    found = dict(judge.problems({"a": answer("holds"), "b": answer("violated"), "c": answer("unknown")}))
    assert found == {"a": "holds, and another engine says the contrary", "b": "violated, without a trajectory"}


@pytest.mark.parametrize("seed", range(3))
def test_random_cases_are_the_same_for_the_same_seed(seed: int) -> None:
    first, again = flow_case(seed), flow_case(seed)
    assert str(first) == str(again)
    one, other = (simulated(case.flow, 0.5, runs=5, steps=20).states for case in (first, again))
    assert np.array_equal(one, other, equal_nan=True)


def test_random_cases_are_of_all_kinds_and_of_either_truth() -> None:
    cases = [drawn(seed) for seed in range(25)]
    assert {one.kind for one in cases} == set(KINDS)
    assert {len(one.flow.state) for one in cases} == {1, 2, 3}
    truths = [FlowJudge(one, runs=30, steps=50).is_unsafe for one in cases]
    assert 4 <= sum(truths) <= 21


def test_the_benchmark_counts_the_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def said(task: Task, *, property: str, engine: str, timeout: float) -> dict[str, Result]:
        if engine == "fails":
            raise RuntimeError("broken")
        return {property: answer("holds" if engine == "liar" else "unknown")}

    monkeypatch.setattr("vernal.check", said)
    first = next(seed for seed in range(50) if FlowJudge(drawn(seed), runs=50, steps=60).is_unsafe)
    asked = ["--instances", "1", "--runs", "50", "--seed", str(first), "--engines"]
    assert never_wrong_flows.main([*asked, "honest"]) == 0
    assert never_wrong_flows.main([*asked, "honest", "liar", "fails"]) == 1
    printed = capsys.readouterr().out
    assert "WRONG liar" in printed
    assert "FAILED fails" in printed
    assert "WRONG honest" not in printed
