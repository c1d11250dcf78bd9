"""The vacuum robot: 13,824 states in seconds, and smaller floors against the naive checker."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.explicit import crossing, vacuum
from examples.vacuum.make import HERE, SIZE, task, write_network
from tests.explicit_oracle import FiniteOracle
from vernal.engines.check import ask, check, parse_formula
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.run.budget import Budget


def answer(asked: Task, text: str, engine: str = "explicit", timeout: float = 60) -> Result:
    return ask(asked, parse_formula(asked, text), None, engine, Budget(timeout=timeout))


def test_the_files_are_those_that_make_writes(tmp_path: Path) -> None:
    write_network(tmp_path / "vacuum.onnx")
    assert (tmp_path / "vacuum.onnx").read_bytes() == (HERE / "vacuum.onnx").read_bytes()
    assert task(*SIZE) == (HERE / "vacuum.toml").read_text()


@pytest.mark.parametrize("engine", ["auto", "explicit"])
def test_three_by_three_cells(engine: str) -> None:
    results = check(load(HERE / "vacuum.toml"), engine=engine, timeout=60)
    assert {name: result.verdict for name, result in results.items()} == {
        "can_clean": HOLDS,
        "will_clean": VIOLATED,
        "soon_clean": VIOLATED,
        "stays_clean": HOLDS,
    }
    assert {result.statistics["states"] for result in results.values()} == {13_824}
    lasso = results["will_clean"].trace
    assert lasso is not None
    assert lasso.loop == 0
    assert verify(lasso.system, lasso).accepted


@pytest.mark.parametrize("text", ["AG EF clean", "F clean", "F[0,4] clean", "AF EG clean", "G F (robot == CLEAN)"])
def test_two_by_one_cells_agree_with_the_naive_checker(text: str) -> None:
    small = vacuum(2, 1)
    result = answer(small, text)
    asked = parse_formula(small, text)
    assert (result.verdict is HOLDS) == FiniteOracle(small.system, asked).holds()
    if result.trace is not None and result.verdict is VIOLATED:
        assert confirm.truth(result.trace, asked) is False


def test_two_robots_can_arrive_but_may_slip_for_ever() -> None:
    grid = crossing(4)
    arrived = "(x == 3 & y == 3 & u == 0 & v == 0)"
    assert answer(grid, f"AG EF {arrived}").verdict is HOLDS
    result = answer(grid, f"F {arrived}")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert (len(result.trace), result.trace.loop) == (1, 0)
