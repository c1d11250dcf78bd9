"""The plants of our own are read, one is proven in one piece, and the judge of flowpipes sees what is outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vernal as vn
from benchmarks.loop_tables import Problem, asked
from benchmarks.pipe_judge import PipeJudge
from benchmarks.plants.__main__ import HERE, PROBLEMS
from benchmarks.plants.train import LESSONS
from tests.sampled_loops import LOOPS, Dop853, simulated
from tests.wild_samplers import HORIZON, TICK
from vernal.engines.check import question_of
from vernal.evidence.flowpipe import Flowpipe
from vernal.simulate.timed_targets import TimedTarget
from vernal.simulate.trajectories import simulate_flow


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem}-{problem.claim}")
def test_problems_are_read(problem: Problem) -> None:
    task = problem.task()
    assert problem.claim in task.properties
    assert task.model.grid is not None
    (agent,) = task.model.agents
    assert len(agent.observe) == len(LESSONS[problem.name].reach)


def test_every_file_is_a_problem_and_every_network_has_a_lesson() -> None:
    assert {path.stem for path in HERE.glob("*.toml")} == {problem.name for problem in PROBLEMS} == set(LESSONS)
    assert {path.stem for path in HERE.glob("*.onnx")} == set(LESSONS)


@pytest.mark.parametrize("name", sorted({problem.name for problem in PROBLEMS}))
def test_simulated_paths_keep_what_holds_and_some_break_what_fails(name: str) -> None:
    for problem in (one for one in PROBLEMS if one.name == name):
        task = problem.task()
        question = question_of(task, task.properties[problem.claim], problem.claim)
        target = TimedTarget(question)
        last = question.claim.last_time
        runs = simulate_flow(question.model, 50, last, np.random.default_rng(0), corners=True)
        assert (float(target.margins(runs).min()) > 0) is problem.is_true


def test_the_double_pendulum_is_proven_in_one_piece() -> None:
    (problem,) = (one for one in PROBLEMS if one.name == "double_pendulum" and one.is_true)
    result, _ = asked(problem, 60)
    assert result.verdict is vn.HOLDS
    pipe = result.evidence
    assert isinstance(pipe, Flowpipe)
    task = problem.task()
    flow = question_of(task, task.properties[problem.claim], problem.claim).model
    runs = simulate_flow(flow, 200, 1, np.random.default_rng(0), corners=True)
    assert not PipeJudge(pipe).outside(runs).any()
    sets = replace(pipe.sets, upper=pipe.upper - 0.25 * (pipe.upper - pipe.lower))
    assert PipeJudge(replace(pipe, sets=sets)).outside(runs).mean() > 0.2
    later = replace(pipe, times=pipe.times * 1.2)
    assert PipeJudge(later).outside(runs).any()


@pytest.mark.parametrize("name", LOOPS)
def test_two_simulations_agree(name: str) -> None:
    loop = LOOPS[name]()
    for first in loop.corners[:2]:
        ours, scipys = (simulated(loop, first, HORIZON, TICK, flowing) for flowing in (None, Dop853()))
        assert [time for time, _ in ours] == [time for time, _ in scipys]
        for (_, one), (_, other) in zip(ours, scipys, strict=True):
            assert one == pytest.approx(other, abs=1e-8)
