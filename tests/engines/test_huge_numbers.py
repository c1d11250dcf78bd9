"""Numbers beyond all floats: every engine answers truthfully or leaves the question open, and no warning is shown."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import pytest

import vernal as vn
from tests.available import engines_of_steps

TASK = """vernal = 1
[parameters]
low = 0
high = 1
factor = 1
limit = 1
k = 3
[state]
x = "real"
[init]
x = "[low, high]"
[environment.next]
x = "x * factor"
[properties]
kept = "G[0,k] (x <= limit)"
"""
VIOLATED: dict[str, dict[str, str | int]] = {
    "products": {"high": "1e300", "factor": "1e300", "limit": "1e308"},
    "widths": {"low": "-1e308", "high": "1e308", "factor": 2, "limit": "1e307"},
    "limits": {"low": 1, "high": 1, "factor": "1e100", "limit": "1e299"},
    "tiny limits": {"factor": "1e-200", "limit": "1e-390"},
}


@pytest.mark.parametrize("engine", [entry.name for entry in engines_of_steps()])
@pytest.mark.parametrize("name", VIOLATED)
def test_an_engine_survives_huge_numbers(engine: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    file.write_text(TASK)
    task = vn.load(file, dict(VIOLATED[name]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = vn.check(task, property="kept", engine=engine, timeout=1)["kept"]
    assert result.verdict is not vn.HOLDS
    if result.verdict is vn.VIOLATED:
        assert result.trace is not None
        last = result.trace.steps[-1].state["x"]
        assert isinstance(last, Fraction)
        assert last > Fraction(VIOLATED[name]["limit"])
