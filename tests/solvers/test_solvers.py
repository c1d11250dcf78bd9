"""Every installed solver: the right status, points that fit, and back in time."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.solvers.programs import INFINITE, knapsack, milp, violation
from vernal.errors import Stopped
from vernal.solvers import registry
from vernal.solvers.base import MilpProblem, MilpSolver, SolveStatus
from vernal.solvers.watch import watched

SOLVERS = registry.installed()


@pytest.fixture(params=SOLVERS)
def solver(request: pytest.FixtureRequest) -> MilpSolver:
    return registry.find(request.param)


def test_a_linear_program(solver: MilpSolver) -> None:
    outcome = solver.solve(milp([1, 1], [([1, 2], -INFINITE, 4), ([3, 1], -INFINITE, 6)]))
    assert outcome.status is SolveStatus.OPTIMAL
    assert outcome.objective == pytest.approx(2.8)
    assert outcome.point == pytest.approx([1.6, 1.2])


def test_integers_make_it_less(solver: MilpSolver) -> None:
    outcome = solver.solve(milp([1, 1], [([1, 2], -INFINITE, 4), ([3, 1], -INFINITE, 6)], integer=True))
    assert outcome.status is SolveStatus.OPTIMAL
    assert outcome.objective == pytest.approx(2)


@pytest.mark.parametrize("integer", [False, True])
def test_equations_and_two_sided_rows(solver: MilpSolver, integer: bool) -> None:
    outcome = solver.solve(milp([1, 0, 0], [([1, 1, 0], 5, 5), ([0, 1, 1], 2, 4)], integer=integer))
    assert outcome.objective == pytest.approx(5)


@pytest.mark.parametrize("integer", [False, True])
def test_infeasible_is_said_to_be(solver: MilpSolver, integer: bool) -> None:
    outcome = solver.solve(milp([1, 1], [([1, 1], 3, INFINITE), ([1, 1], -INFINITE, 2)], integer=integer))
    assert outcome.status is SolveStatus.INFEASIBLE
    assert outcome.point is None


def test_no_integer_in_between(solver: MilpSolver) -> None:
    assert solver.solve(milp([1], [([2.0], 1, 1)], integer=True)).status is SolveStatus.INFEASIBLE


def test_unbounded_is_never_infeasible(solver: MilpSolver) -> None:
    outcome = solver.solve(milp([1, 1], [([1, -1], -INFINITE, 1)], upper=INFINITE))
    assert outcome.status in (SolveStatus.UNBOUNDED, SolveStatus.INFEASIBLE_OR_UNBOUNDED)


def test_a_program_without_rows(solver: MilpSolver) -> None:
    outcome = solver.solve(milp([1, -1]))
    assert outcome.status is SolveStatus.OPTIMAL
    assert outcome.point == pytest.approx([10, 0])


def test_small_programs_agree_with_enumeration(solver: MilpSolver) -> None:
    for seed in range(8):
        problem = knapsack(8, 2, seed)
        best = max(value(problem, bits) for bits in itertools.product((0.0, 1.0), repeat=8))
        outcome = solver.solve(problem)
        assert outcome.status is SolveStatus.OPTIMAL
        assert outcome.objective == pytest.approx(best)
        assert outcome.point is not None
        assert violation(problem, outcome.point) < 1e-8


def value(problem: MilpProblem, bits: tuple[float, ...]) -> float:
    point = np.array(bits)
    return float(problem.objective @ point) if violation(problem, point) == 0 else -INFINITE


def test_a_limit_is_a_limit(solver: MilpSolver) -> None:
    outcome = solver.solve(knapsack(200, 30), time_limit=0.3)
    assert outcome.status is SolveStatus.LIMIT


def test_a_tick_ends_the_solve(solver: MilpSolver) -> None:
    """As a limit on memory does, at which the time is not up yet."""

    def full() -> None:
        raise Stopped("memory beyond 1 GiB")

    with pytest.raises(Stopped, match="memory"):
        solver.solve(knapsack(200, 30), time_limit=60, tick=full)


def test_a_target_is_enough(solver: MilpSolver) -> None:
    problem = knapsack(60, 10)
    outcome = solver.solve(problem, time_limit=20, target=100.0)
    assert outcome.status in (SolveStatus.OPTIMAL, SolveStatus.LIMIT)
    assert outcome.objective is not None
    assert outcome.objective >= 100.0


@pytest.mark.skipif("scip" not in SOLVERS, reason="pip install 'vernal[scip]'")
def test_what_scip_gives_up_on_is_an_error_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from vernal.solvers import scip

    def fail() -> None:
        raise Exception("SCIP: error in LP solver!")

    unstable = SimpleNamespace(setParam=lambda *given: None, interruptSolve=lambda: None, optimizeNogil=fail)
    monkeypatch.setattr(scip, "_model", lambda problem: (unstable, []))
    outcome = scip.Scip().solve(milp([1]))
    assert (outcome.status, outcome.said) == (SolveStatus.ERROR, "SCIP: error in LP solver!")


def test_misses_are_measured() -> None:
    problem = milp([1, 1], [([1, 1], 1, 2)], integer=True)
    assert violation(problem, np.array([1.0, 1.0])) == 0
    assert violation(problem, np.array([1.0, 1.5])) == pytest.approx(0.5)
    assert violation(problem, np.array([11.0, 0.0])) == pytest.approx(9)


# Watching -------------------------------------------------------------------------------------------------------------


def test_what_does_not_stop_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vernal.solvers.watch.OVERTIME", 0.05)
    monkeypatch.setattr("vernal.solvers.watch.STOPPING_TIME", 0.05)
    told, release = threading.Event(), threading.Event()
    assert not watched(lambda: release.wait(30), told.set, 0.0)
    assert told.is_set()
    release.set()


def test_what_listens_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vernal.solvers.watch.OVERTIME", 0.05)
    told = threading.Event()
    assert watched(lambda: told.wait(30), told.set, 0.0)


def test_an_error_of_the_library_is_an_error_here() -> None:
    def fail() -> None:
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        watched(fail, lambda: None, 1.0)


def test_an_interruption_stops_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()

    def interrupted(thread: threading.Thread, seconds: float, tick: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vernal.solvers.watch._wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        watched(lambda: told.wait(30), told.set, float("inf"))
    assert told.is_set()


def test_a_limit_stops_the_library() -> None:
    told = threading.Event()

    def full() -> None:
        raise Stopped("memory beyond 1 GiB")

    with pytest.raises(Stopped):
        watched(lambda: told.wait(30), told.set, float("inf"), full)
    assert told.is_set()


def test_quick_work_is_not_waited_for() -> None:
    done: list[float] = []
    assert watched(lambda: done.append(time.monotonic()), lambda: None, float("inf"))
    assert done


def test_a_context_of_z3_that_is_interrupted_while_it_is_made_is_silent() -> None:
    """Python deletes it all the same, and would print what goes wrong there."""
    pytest.importorskip("z3", reason="needs the extra smt")
    from vernal.solvers.z3 import Context

    Context.__new__(Context).__del__()
