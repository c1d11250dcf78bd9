"""Numbers beyond floating point: what overflows is no bound, and nothing is claimed from it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks.never_wrong import MORE, SETUPS, Run
from tests.available import is_here
from tests.judge import instance
from tests.systems import make
from vernal.engines.check import ask, parse_formula
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model.system import System
from vernal.run.budget import Budget

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
@pytest.mark.parametrize(("claim", "true"), [("AX[1040] (x < 0)", VIOLATED), ("AX[1040] (z < 0)", VIOLATED)])
def test_a_doubling_beside_a_random_walk(name: str, claim: str, true: Verdict) -> None:
    """After 1,024 steps the one has no float any more, and the other still has all of its values."""
    system = make({"x": (0, 1), "z": 1}, {"x": X + b.between(-1, 1), "z": 2 * Z})
    assert verdict(name, system, claim, timeout=5) in (true, UNKNOWN)


@pytest.mark.parametrize("seed", range(24))
def test_huge_loops(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A few of the loops that `benchmarks.never_wrong --family huge` asks thousands of; none may raise either."""
    run = Run(NAMES, timeout=3)
    run.ask(instance(seed, "huge"))
    assert all(column.wrong == 0 for column in run.columns.values()), capsys.readouterr().out
