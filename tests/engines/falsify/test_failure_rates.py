"""Properties on simulated runs: judged as the reference judges each run, and confirmed exactly."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import vernal as vn
from tests.loops import closed_loop, disturbed_loop, formula
from tests.portion import seeds
from tests.run.test_budget import Hours
from tests.systems import countdown, counter, make, wanderer
from vernal.engines.check import parse_formula
from vernal.engines.falsify import simulation
from vernal.engines.falsify.failure_rates import PathJudge, RunJudge, RunShare, share_of, truth_on_runs
from vernal.engines.falsify.simulation import simulate
from vernal.errors import InputError, Stopped
from vernal.evidence.confirm import truth
from vernal.logic.claim import claim_of
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.simulate.runs import Runs
from vernal.simulate.runs import simulate as run


def runs_of(system: System, count: int = 200, steps: int = 10) -> Runs:
    with np.errstate(all="ignore"):
        return run(system, count, steps, np.random.default_rng(1))


def asked(system: System, text: str) -> Formula:
    return parse_formula(Task(system), text)


def judge_of(system: System, claimed: Formula) -> PathJudge:
    return PathJudge(Question(system, claimed))


@pytest.mark.parametrize(
    ("text", "failing", "keeping"),
    [
        ("G[0,10] (x <= 1)", 0, 200),
        ("G[0,10] (x < 0.95)", 200, 0),
        ("G (x <= 1)", 0, 0),  # too short to tell
        ("G (x < 0.5)", 200, 0),
        ("F (x > 0.5)", 0, 200),
        ("F[0,20] (x > 1.5)", 0, 0),
        ("F[0,9] (x > 0.95)", 200, 0),
        ("AX[3] (x > 0.2)", 0, 200),
    ],
)
def test_shares_of_a_counter(text: str, failing: int, keeping: int) -> None:
    share = share_of(judge_of(counter(), asked(counter(), text)), runs_of(counter()), Budget())
    assert (len(share.failing), share.keeping) == (failing, keeping)
    assert (share.trace is not None) == bool(failing)


def test_claims_of_some_path_are_not_for_runs() -> None:
    share = share_of(judge_of(counter(), asked(counter(), "EF (x > 5)")), runs_of(counter()), Budget())
    assert not share.counts
    assert share.failing == ()


def test_paths_that_end_are_judged_whole() -> None:
    system = countdown()
    share = share_of(judge_of(system, asked(system, "F (n == -1)")), runs_of(system), Budget())
    assert share.share == 1  # every path ends before
    assert share.trace is not None
    assert share.trace.complete


def test_undefined_atoms_decide_nothing() -> None:
    system = make({"x": (-1, 1)}, {"x": build.var("x")})
    share = share_of(judge_of(system, asked(system, "G[0,2] (sqrt(x) >= 0)")), runs_of(system, steps=2), Budget())
    assert share.failing == ()
    assert 0 < share.keeping < 200


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("loop", [closed_loop, disturbed_loop])
def test_every_confirmed_path_breaks_the_formula(loop: object, seed: int) -> None:
    rng = random.Random(seed)
    system: System = loop(rng)  # type: ignore[operator]
    claimed = formula(rng, system)
    share = share_of(judge_of(system, claimed), runs_of(system, 50, 6), Budget())
    if share.trace is not None:
        path = claim_of(claimed).linear
        assert path is not None
        assert truth(share.trace, path) is False


def test_equal_runs_are_judged_alike() -> None:
    system = wanderer()
    runs = runs_of(system, 300, 6)
    known = truth_on_runs(runs, asked(system, "G[0,6] (x <= 5)"))
    highest = runs.state["x"].max(axis=1)
    assert known == [bool(high <= 5) for high in highest]


def test_a_simulation_knows_its_properties() -> None:
    system = wanderer()
    task = Task(system, {"low": asked(system, "G[0,6] (x <= 5)"), "there": asked(system, "EF (x > 5)")})
    made = simulate(task, 100, 6, seed=3)
    assert len(made) == 100
    assert made.state["x"].shape == (100, 7)
    assert 0 < made.shares["low"].share < 1
    assert "low fails on" in repr(made)
    assert repr(simulate(counter(), 5, 2)) == "<Simulation of 5 runs, 2 steps>"
    assert vn.simulate is simulate


@pytest.mark.parametrize("judged", [0, 1, 3])
def test_what_there_is_no_time_for_is_said_to_be_not_judged(judged: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every judgement takes a second of the clock; the runs are there all the same."""
    clock = Hours()

    def slow(judge: RunJudge, runs: Runs, budget: Budget) -> RunShare:
        clock.now += 1
        return share_of(judge, runs, budget)

    monkeypatch.setattr(simulation, "share_of", slow)
    system = counter()
    task = Task(system, {f"p{number}": asked(system, f"G[0,5] (x < {number})") for number in range(1, 6)})
    made = simulation.simulated(task, simulation.RunsAsked(10, 5), Budget(judged + 0.5, started=0, clock=clock))
    reasons = [share.reason for share in made.shares.values()]
    assert reasons == [None] * judged + [f"timeout after {judged + 0.5:g} s"] * (5 - judged)
    assert made.state["x"].shape == (10, 6)


def test_runs_that_are_not_finished_in_time_are_none() -> None:
    for looks in (0, 3, 7):
        budget = Budget(looks, started=-1, clock=itertools.count().__next__)
        with pytest.raises(Stopped, match="timeout"):
            simulation.simulated(Task(counter()), simulation.RunsAsked(10, 20), budget)


@pytest.mark.parametrize("given", [{"runs": 0}, {"steps": -1}, {"seed": -1}, {"runs": 10**9}])
def test_senseless_simulations_are_refused(given: dict[str, int]) -> None:
    with pytest.raises(InputError):
        simulate(counter(), **given)
