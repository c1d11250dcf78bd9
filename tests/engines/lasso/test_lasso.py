"""The engine `lasso`: loops that close exactly, in state and memory, and no others."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

import vernal as vn
from tests.cases import COUNTS, HEAD, read
from tests.endless import DOUBLING, DRAUGHTY, HALVING, MODULO, PUSHED, RAMP, SETTLING, SQUASH, TURN, WALK
from tests.engines.endless_check import agreement
from tests.engines.test_truth import check_evidence
from tests.portion import seeds, some
from vernal.cli.main import main
from vernal.engines.check import ask, parse_formula
from vernal.engines.lasso.recurrences import Recurrence, hints, near_misses, periodic, recurrences, simulated
from vernal.engines.lasso.tree import LassoTree
from vernal.evidence.replay import closed, run, verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.task import Task
from vernal.model.tick import idle
from vernal.run.budget import Budget


def of_task(task: Task, text: str, timeout: float = 20) -> Result:
    question = parse_formula(task, text)
    result = ask(task, question, None, "lasso", Budget(timeout=timeout), {"depth": 40})
    check_evidence(task.system, question, result)
    return result


def asked(model: str, text: str) -> Result:
    return of_task(read(model), text)


def test_a_fixpoint_is_found_exactly() -> None:
    result = asked(SETTLING, "F (x > 1.5)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert [step.state["x"] for step in result.trace.steps] == [Fraction(5, 7)]
    assert result.trace.loop == 0
    assert result.margin is None
    assert result.statistics["method"] == "equations along a path"


def test_the_disturbances_of_a_loop_are_solved_for() -> None:
    result = asked(PUSHED, "F (x < 0.3)")
    assert result.trace is not None
    (step,) = result.trace.steps
    state, push = step.state["x"], next(iter(step.disturbances.values()))
    assert isinstance(state, Fraction)
    assert push == state / 10


def test_draws_that_close_a_loop_are_chosen() -> None:
    result = asked(WALK, "G F (x >= 2) | F G (x < 0)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.loop is not None


def test_a_loop_far_from_the_start_is_solved_along_a_run() -> None:
    result = asked(DRAUGHTY, "F (T > 22.5)")
    assert result.verdict is VIOLATED
    assert result.statistics["method"] == "equations along a run"
    assert result.trace is not None
    assert result.trace.loop is not None
    assert result.trace.loop > 5


def test_sets_that_meet_are_no_loop() -> None:
    """x' = x + 0.5 from [0, 1]: the sets of neighbouring steps intersect (003, Algorithm 3)."""
    assert asked(RAMP, "F (x >= 20)").verdict is UNKNOWN


def test_a_state_that_comes_back_without_its_memory_is_no_loop() -> None:
    """For five steps the state is 0, and the memory counts."""
    assert asked(COUNTS, "F (x >= 1)").verdict is UNKNOWN


def test_a_loop_of_state_and_memory() -> None:
    """A memory that is 1 and 0 in turn; so is the action."""
    toggle = vn.rnn([([[0]], [[-1]], [1])], [([[1]], [0])])
    system = vn.System(
        state={"x": vn.real()},
        init={"x": 0},
        agents={"pilot": vn.agent(toggle, lambda s: [s.x], "raw")},
        step=lambda s: {"x": s.pilot},
    )
    result = of_task(Task(system), "F G (x == 1)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.loop is not None
    assert {step.memory["pilot"] for step in result.trace.steps[result.trace.loop :]} == {(0,), (1,)}


def test_a_witness_from_every_initial_state() -> None:
    model = MODULO.replace("n = 0\n", 'n = "{0, 2, 4}"\n')
    result = asked(model, "EG (n <= 5)")
    assert result.verdict is HOLDS
    assert result.trace is not None
    assert result.trace.kind == "lasso"


@pytest.mark.parametrize(
    ("model", "text", "reason"),
    [
        (HALVING, "EG (x <= 1)", "infinitely many"),
        (HALVING, "AG EF (x <= 1)", "mixes"),
        (HALVING, "G (x <= 1)", "nothing is waited for"),
        (SQUASH, "F (x > 0.9 & x < 0.5)", "not piecewise linear"),
    ],
)
def test_what_it_cannot_is_said(model: str, text: str, reason: str) -> None:
    if model is SQUASH:
        model = model.replace("[-1, 1]", "[0.5, 1]")  # without 0, which stays 0 exactly
    result = asked(model, text)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert reason in result.reason


# Parts ----------------------------------------------------------------------------------------------------------------


def test_runs_that_come_back() -> None:
    runs = simulated(read(MODULO).system, 4, 12, 0, idle)
    assert Recurrence(6, 0, 0) in list(recurrences(runs))
    assert not [pair for pair in recurrences(runs) if (pair.last - pair.first) % 6]


def test_runs_that_nearly_come_back_are_hints() -> None:
    system = read(SETTLING).system
    (hint,) = hints(simulated(system, 8, 60, 0, idle))
    (ends,) = next(iter(hint.box(system, Fraction(1, 1000)).ends.values()))
    assert ends[0] < Fraction(5, 7) < ends[1]
    assert hint.period == 1
    assert hint.rounded(system, 10) == {system.step.state[0]: (Fraction(5, 7),)}
    assert not hints(simulated(read(RAMP).system, 8, 60, 0, idle))


def test_a_rational_fixpoint_of_a_nonlinear_step() -> None:
    """x' = 2.5 x (1 - x) goes to 0.6 from everywhere, and only there it stays exactly."""
    task = read('[state]\nx = "real"\n[init]\nx = "[0.15, 0.9]"\n[environment.next]\nx = "2.5*x*(1 - x)"\n')
    runs = simulated(task.system, 20, 60, 0, idle)
    found = periodic(runs, hints(runs)[0], parse_formula(task, "F (x >= 0.95)"), idle)
    assert found is not None
    assert [step.state["x"] for step in found.steps] == [Fraction(3, 5)]


def test_near_misses_have_the_same_discrete_part() -> None:
    task = read(DRAUGHTY)
    runs = simulated(task.system, 20, 60, 0, idle)
    misses = near_misses(runs, parse_formula(task, "F (T > 22.5)"), idle)
    assert misses
    assert misses == sorted(misses)
    for miss in misses:
        assert miss.first < miss.last
        assert runs.state["on"][miss.row, miss.first] == runs.state["on"][miss.row, miss.last]
    assert not near_misses(runs, parse_formula(task, "F (T > 15)"), idle)  # it comes to that at once


def test_a_tree_that_was_followed_to_the_depth_is_complete() -> None:
    task = read(RAMP)
    tree = LassoTree(task.system, parse_formula(task, "F (x > 2)"), idle, depth=10, most=1000)
    assert tree.search(1) is None
    assert tree.complete
    task = read(DOUBLING)
    tree = LassoTree(task.system, parse_formula(task, "F (x != 0.7)"), idle, depth=10, most=1000)
    assert tree.search(1) is not None


def test_a_path_is_a_lasso_only_where_it_closes() -> None:
    system = read(TURN).system
    path = run(system, {"x": Fraction(1), "y": Fraction(1, 3)}, [{}] * 5, 4)
    lasso = closed(path, 0)
    assert lasso is not None
    assert verify(system, lasso).accepted
    assert all(closed(path, loop) is None for loop in (1, 2, 3, 4))


def test_a_lasso_file_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, file = tmp_path / "turn.toml", tmp_path / "turn.trace.json"
    task.write_text(HEAD + TURN)
    options = ["--engine", "lasso", "--depth", "20", "--trace", str(file)]
    assert main(["check", str(task), "--spec", "F G (x >= 0)", *options]) == 10
    assert "for ever" in capsys.readouterr().out
    assert main(["replay", str(file)]) == 0
    file.write_text(file.read_text().replace('"loop": 0', '"loop": 1'))
    assert main(["replay", str(file)]) == 1


# Never wrong ----------------------------------------------------------------------------------------------------------


def test_random_finite_systems_agree_with_a_naive_checker() -> None:
    assert agreement("lasso", seeds(40), {"depth": 20}, timeout=0.3) > some(40) / 10


def test_random_affine_loops_agree_with_their_closed_form() -> None:
    """x' = a x + c, |a| < 1: some path stays below a level for ever if the limit is below, and the start may be."""
    decided = 0
    for seed in seeds(20):
        rng = random.Random(seed)
        a, c = Fraction(rng.randint(-9, 9), 10), Fraction(rng.randint(-20, 20), 10)
        limit = c / (1 - a)
        low = Fraction(int(limit * 10) - rng.randint(-3, 20), 10)
        high, level = low + Fraction(rng.randint(0, 30), 10), Fraction(rng.randint(-30, 30), 10)
        start = f'"[{float(low)}, {float(high)}]"'
        model = f'[state]\nx = "real"\n[init]\nx = {start}\n[environment.next]\nx = "{float(a)}*x + {float(c)}"\n'
        verdict = asked(model, f"F (x > {float(level)})").verdict
        if low <= limit <= high and limit <= level:
            assert verdict is VIOLATED, model
            decided += 1
        elif limit > level:
            assert verdict is UNKNOWN, model
    assert decided > some(20) / 10
