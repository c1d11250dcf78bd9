"""Numbers beyond floating point: what overflows is no bound, and nothing is claimed from it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.never_wrong import MORE, SETUPS, Run
from tests.available import is_here
from tests.judge import instance
from tests.portion import seeds
from tests.systems import make
from vernal.engines.check import ask, parse_formula
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.evidence.trace_values import write_number
from vernal.interpret.geometry.directions import Template
from vernal.interpret.interval import evaluate
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.milp.rows import ColumnForm, Sheet, Unsuitable
from vernal.interpret.value_sets import Range, Truth
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model.expr import Matrix
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.pieces.batches import bounded
from vernal.sets.pieces.decisions import mask_of
from vernal.sets.regions.regions import regions, tightened

X, Y, Z = b.var("x"), b.var("y"), b.var("z")
EVERY = SETUPS | MORE
NAMES = ["falsify", "bounds", "paths", "milp monolithic highs", "milp compositional highs", "auto"]
SMT = pytest.param("smt", marks=pytest.mark.skipif(not is_here("smt"), reason="z3 is not installed"))


def power(exponent: int) -> Fraction:
    return Fraction(10) ** exponent


def verdict(name: str, system: System, claim: str, timeout: float = 20) -> Verdict:
    """What an engine says, its trace checked."""
    engine, options = EVERY[name]
    task = Task(system)
    result = ask(task, parse_formula(task, claim), None, engine, Budget(timeout=timeout), options)
    assert result.trace is None or verify(system, result.trace).accepted
    return result.verdict


STEEP = make({"x": (0, 1)}, {"x": X + power(308) * b.between(-1, 2)})
FAR_END = make({"x": 0, "y": 0}, {"x": Y - X, "y": b.clip(b.between(0, 1), -power(300), Fraction("1.5"))})
BEYOND = make({"x": (0, power(400))}, {"x": X / power(400) + b.between(0, 1)})
TINY = make({"x": (0, power(308))}, {"x": X * power(-310) * power(-14) + b.between(0, 1) * 0})
CANCELLED = make({"x": (0, 1)}, {"x": (X + power(308)) * 3 - 3 * power(308) + b.between(0, 1)})


@pytest.mark.parametrize("name", [*NAMES, SMT])
@pytest.mark.parametrize(
    ("system", "claim", "true"),
    [
        (STEEP, "AX[2] (x > 5 | x < -5)", VIOLATED),  # both draws may be 0
        (STEEP, "AX[2] (x > 5 | x <= 5)", HOLDS),
        (STEEP, "AX[3] (x < 1e309)", HOLDS),
        (FAR_END, "AX[3] (x < -1000)", VIOLATED),
        (FAR_END, "AX[3] (x >= -1 & x <= 1)", HOLDS),
        (BEYOND, "AX[2] (x > 3)", VIOLATED),
        (BEYOND, "AX[2] (x <= 2)", HOLDS),
        (TINY, "AX[1] (x <= 0)", VIOLATED),
        (TINY, "AX[2] (x >= 0)", HOLDS),
        (CANCELLED, "AX[2] (x < 0)", VIOLATED),
        (CANCELLED, "AX[2] (x > 13)", VIOLATED),
    ],
)
def test_an_overflow_is_no_bound(name: str, system: System, claim: str, true: Verdict) -> None:
    assert verdict(name, system, claim) in (true, UNKNOWN)


def test_an_end_that_is_never_reached_spoils_nothing() -> None:
    """The far end of a clip has a size that no bound on the result has to pay for."""
    assert verdict("paths", FAR_END, "AX[3] (x >= -1.1 & x <= 1.1)") is HOLDS
    assert verdict("bounds", FAR_END, "AX[3] (x >= -1.1 & x <= 1.1)") is HOLDS
    assert verdict("auto", FAR_END, "AX[3] (x < -1000)") is VIOLATED


@pytest.mark.parametrize("name", ["bounds", "paths", "auto"])
@pytest.mark.parametrize(("claim", "true"), [("AX[20] (x < 0)", VIOLATED), ("AX[20] (z < 0)", VIOLATED)])
def test_growth_beside_a_random_walk(name: str, claim: str, true: Verdict) -> None:
    """After 16 steps the one has no float any more, and the other still has all of its values."""
    system = make({"x": (0, 1), "z": 1}, {"x": X + b.between(-1, 1), "z": 2**64 * Z})
    assert verdict(name, system, claim, timeout=5) in (true, UNKNOWN)


# Sets, where they are made --------------------------------------------------------------------------------------------


def test_a_region_whose_ends_overflowed_is_not_empty() -> None:
    nan, inf = np.nan, np.inf
    lower, upper = np.array([[nan, 0.0], [inf, 0.0], [2.0, 0.0]]), np.array([[nan, 1.0], [3.0, 1.0], [1.0, 1.0]])
    made = tightened(regions(Template(np.eye(2)), lower, upper, np.arange(3)))
    assert made.trail.tolist() == [0, 1]  # only the last is empty: its ends are numbers, in the wrong order
    assert made.lower[:, 0].tolist() == [-inf, -inf]
    assert made.upper[:, 0].tolist() == [inf, 3.0]


def test_a_piece_whose_numbers_overflowed_may_be_anywhere() -> None:
    A, c = np.array([[[1.0], [np.inf]]]), np.array([[0.0, 1.0], [np.nan, 1.0]])
    made = bounded(np.zeros((2, 1)), np.ones((2, 1)), A, c, np.zeros((2, 2)), np.arange(2))
    low, high = made.ranges()
    assert np.isneginf(low).tolist() == np.isposinf(high).tolist() == [[False, True], [True, True]]


def test_a_sum_whose_parts_cancel_beyond_floats_has_no_bound() -> None:
    """1e308 + 1e308 - 1.9e308 is a float, but not every order of adding up comes there."""
    node = b.affine(b.var("v", shape=(3,)), Matrix(np.ones((1, 3))), Matrix(np.zeros(1)))
    point = np.array([[1e308, 1e308, -1.9e308]])
    box = {node.args[0]: Range(point, point)}
    (plain,) = evaluate([node], box)
    assert isinstance(plain, Range)
    for found in (plain, Linear(box).range(node)):
        assert found.lower.item() <= 1e307 <= found.upper.item()


def test_what_cannot_win_is_not_paid_for() -> None:
    clipped = b.clip(X, -power(300), power(300))
    found = Linear({X: (np.array([0.0]), np.array([1.0]))}).range(clipped - X)
    assert abs(found.lower.item()) < 1e-12
    assert abs(found.upper.item()) < 1e-12


def test_bounds_that_contradict_each_other_exclude_nothing() -> None:
    linear = Linear({X: (np.array([0.0]), np.array([1.0]))})
    linear.values[X > 0] = Truth(np.array([[True]]), np.array([[False]]))
    assert mask_of(linear, X > 0).tolist() == [[True, True]]


def test_a_row_beyond_floats_is_refused() -> None:
    sheet = Sheet()
    with pytest.raises(Unsuitable, match="numerics"):
        sheet.at_most(ColumnForm({sheet.margin: np.inf}, 0.0))


def test_a_number_of_many_digits_is_written() -> None:
    assert write_number(1 + power(-5000)) == 1.0
    assert write_number(1 + power(-5000), full=True) == 1.0


# Random loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(24))
def test_huge_loops(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A few of the loops that `benchmarks.never_wrong --family huge` asks thousands of; none may raise either."""
    run = Run(NAMES, timeout=1)
    run.ask(instance(seed, "huge"))
    assert all(column.wrong == 0 for column in run.columns.values()), capsys.readouterr().out
