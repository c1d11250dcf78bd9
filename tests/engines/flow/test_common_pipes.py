"""One flowpipe serves all claims that are asked together: their verdicts are those that each has alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import vernal as vn
from tests.cases import read
from tests.loop_clauses import CLAUSES, SECONDS, Clause, Make
from tests.portion import every, pairs
from tests.sampled_loops import Dop853, simulated
from tests.wild_samplers import TICK
from tests.wilder_samplers import WilderCase, wilder_loop
from tests.work import processor
from vernal.engines.check import ask, asked_together, parse_formula
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import Result
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.sets.flow_starts import StartBoxes
from vernal.sets.sampled.box_rounds import BoxRounds

OSCILLATOR = """
[state]
x = "real [-2, 2]"
y = "real [-2, 2]"
[init]
x = "[0.9, 1]"
y = "[0, 0.1]"
[flow]
x = "y"
y = "-x"
"""


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many boxes were followed in each round."""
    counts: list[int] = []
    follow = BoxRounds.follow

    def counted(self: BoxRounds, boxes: StartBoxes, *more: object) -> object:
        counts.append(len(boxes))
        return follow(self, boxes, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(BoxRounds, "follow", counted)
    return counts


def together(task: Task, formulas: list[str], seconds: float = 10.0) -> list[Result]:
    """What flowpipe says of several claims, which know of each other."""
    asked: list[tuple[str | None, Formula]] = [(None, parse_formula(task, one)) for one in formulas]
    common = asked_together(task, asked)
    return [ask(task, formula, None, "flowpipe", replace(processor(seconds), together=common)) for _, formula in asked]


def alone(task: Task, formula: str, seconds: float = 10.0) -> Result:
    return ask(task, parse_formula(task, formula), None, "flowpipe", processor(seconds))


def pipe_of(result: Result) -> Flowpipe:
    assert isinstance(result.evidence, Flowpipe), result
    return result.evidence


def test_a_flow_is_followed_once(followed: list[int]) -> None:
    claims = ["G[0,2] x <= 1.2", "F[0,3] y <= -0.8", "(x >= -1.2) U[0,2] (x <= 0)", "G[1,3] (x + y >= -1.6)"]
    results = together(read(OSCILLATOR), claims)
    assert [result.verdict for result in results] == [vn.HOLDS] * 4, results
    assert followed == [1]
    lasts = [pipe_of(result).until for result in results]
    assert lasts == [2, 3, 2, 3]  # a verdict speaks of no more time than was asked about
    assert all(pipe.times.max() <= pipe.until for pipe in map(pipe_of, results))


def test_a_claim_that_looks_much_further_has_a_pipe_of_its_own(followed: list[int]) -> None:
    results = together(read(OSCILLATOR), ["G[0,1] x <= 1.2", "G[0,9] x <= 1.2", "G[0,3] y <= 1.2"])
    assert [result.verdict for result in results] == [vn.HOLDS] * 3
    assert followed == [1, 1]  # and the third is served by it


def test_open_parts_of_another_claims_pipe_are_cut(followed: list[int]) -> None:
    """From the corner (1, 0.1) x gets to 1.00499; the box is cut for the second claim, and that serves the third."""
    results = together(read(OSCILLATOR), ["G[0,2] x <= 1.3", "G[0,2] x <= 1.006", "G[0,2] x <= 1.0061"])
    assert [result.verdict for result in results] == [vn.HOLDS] * 3
    assert followed[0] == 1
    only = list(followed)
    assert len(only) > 1
    followed.clear()
    assert alone(read(OSCILLATOR), "G[0,2] x <= 1.006").verdict is vn.HOLDS
    assert sum(followed) == sum(only)  # nothing was followed for the first or the third alone
    covered = pipe_of(results[1]).starts
    assert np.isclose(np.prod(covered[:, 1] - covered[:, 0], axis=1).sum(), 0.01)


def test_what_fails_for_one_is_shown_for_another() -> None:
    results = together(read(OSCILLATOR), ["G[0,2] x <= 1.3", "G[0,2] x >= -0.3", "F[0,2] x >= 1.2"])
    assert [result.verdict for result in results] == [vn.HOLDS, vn.VIOLATED, vn.VIOLATED]


def _by_loop() -> dict[Make, list[Clause]]:
    found: dict[Make, list[Clause]] = defaultdict(list)
    for clause in CLAUSES:
        if clause.time == SECONDS:
            found[clause.make].append(clause)
    return {make: clauses for make, clauses in found.items() if len(clauses) > 1}


def _name(given: Make | bool) -> str:
    return str(getattr(given, "__name__", given))


@pytest.mark.parametrize(("make", "turned"), pairs(2, _by_loop(), [False, True]), ids=_name)
def test_clauses_of_loops_keep_their_truth(make: Make, turned: bool) -> None:
    """Jumps at the ends of windows, delays, ends of paths: in the order of the table, and in the other one."""
    clauses = _by_loop()[make][:: -1 if turned else 1]
    task = Task(make())
    for clause, result in zip(clauses, together(task, [one.formula for one in clauses]), strict=True):
        assert result.verdict in {clause.verdict, vn.UNKNOWN}, (clause.why, result)
        if result.verdict is vn.UNKNOWN:
            assert alone(task, clause.formula).verdict is vn.UNKNOWN, clause


def _claims(case: WilderCase) -> list[str]:
    """The claims of a few loops, which look at different times, asked of this one."""
    return [case.formula, *(wilder_loop(case.seed + more, True, Dop853).formula for more in (1, 2, 3))]


@pytest.mark.parametrize("seed", every(8, range(700, 724)))
def test_no_claim_of_a_random_loop_is_answered_otherwise_than_alone(seed: int) -> None:
    case = wilder_loop(seed, True, Dop853)
    task = Task(case.make().system)
    claims = [one for one in _claims(case) if "t " not in one]
    for claim, result in zip(claims, together(task, claims, 0.3), strict=True):
        assert {result.verdict, alone(task, claim, 0.3).verdict} != {vn.HOLDS, vn.VIOLATED}, claim


@pytest.mark.parametrize("seed", every(5, range(40, 60)))
def test_simulated_paths_are_in_the_pipe_that_serves_a_shorter_claim(seed: int) -> None:
    case = wilder_loop(seed, False, Dop853)
    task = Task(case.make().system)
    longer, shorter = "G[0,1] x <= 5.9", "G[0,0.7] x <= 5.9"
    results = together(task, [longer, shorter])
    if results[1].verdict is not vn.HOLDS:
        pytest.skip("x gets beyond 5.9 from some state")
    pipe = pipe_of(results[1])
    assert pipe.until == pytest.approx(0.7)
    x, y = (pipe.variables.index(name) for name in ("x", "y"))
    for first in case.make().corners:
        for time, now in simulated(case.make(), first, Fraction(7, 10), TICK, Dop853()):
            there = (pipe.times[:, 0] <= time + 1e-9) & (time - 1e-9 <= pipe.times[:, 1])
            low, high = pipe.lower[there][:, [x, y]] - 1e-6, pipe.upper[there][:, [x, y]] + 1e-6
            assert ((low <= [now["x"], now["y"]]) & ([now["x"], now["y"]] <= high)).all(axis=1).any(), (first, time)
