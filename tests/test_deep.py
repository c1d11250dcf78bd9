"""Depth and length do not matter: no pass over a graph recurses."""

from __future__ import annotations

import pytest

from tests.cases import read
from vernal.engines.check import check
from vernal.evidence.result import HOLDS, VIOLATED

TERMS = 3_000  # three times as many as Python recurses deep
LONG_SUM = " + ".join(f"{k} * x" for k in range(1, TERMS + 1))
MINUS = "-" * 1000


def model(following: str) -> str:
    return f'[state]\nx = "real"\n[init]\nx = "[0, 1]"\n[environment.next]\nx = "{following}"\n'


@pytest.mark.parametrize("engine", ["bounds", "falsify", "auto"])
def test_a_sum_of_three_thousand_terms(engine: str) -> None:
    total = TERMS * (TERMS + 1) // 2
    if engine != "bounds":
        assert check(read(model(LONG_SUM)), f"X (x < {total})", engine=engine).verdict is VIOLATED
    if engine != "falsify":
        assert check(read(model(LONG_SUM)), f"X (x <= {total})", engine=engine).verdict is HOLDS


@pytest.mark.parametrize("engine", ["bounds", "falsify", "auto"])
def test_a_thousand_minus_signs(engine: str) -> None:
    if engine != "bounds":
        assert check(read(model(MINUS + "x")), "X (x < 1)", engine=engine).verdict is VIOLATED
    if engine != "falsify":
        assert check(read(model(MINUS + "x")), "G[0,10] (x <= 1)", engine=engine).verdict is HOLDS


def test_many_unrolled_steps() -> None:
    result = check(read(model("0.9 * x + 0.1")), "G[0,200] (x <= 1)", engine="bounds")
    assert result.verdict is HOLDS
