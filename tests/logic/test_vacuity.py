"""Claims that are true of everything are recognised, others are not."""

from __future__ import annotations

import pytest

from tests.cases import read
from vernal.engines.check import check, parse_formula
from vernal.logic.vacuity import is_vacuous

MODEL = """
[state]
x = "real"
y = "real"
p = "bool"
light = "enum {RED, GREEN}"
[init]
x = 0
y = 0
p = true
light = "RED"
"""

VACUOUS = [
    "G[0,5] !(x > 100 & x < -100)",
    "G[0,5] (x <= 1 | x > 1)",
    "G (x < 1 | x >= 0)",
    "AG[1,3] !(2*x + y < 1 & 4*x + 2*y > 2)",
    "AX[3] (p | !p)",
    "G[0,5] !(light == RED & light == GREEN)",
    "G[0,5] !(x == 1 & x != 1)",
    "G[0,5] !(abs(x) > 2 & abs(x) < 1)",
    "G[0,5] (x - x <= 0)",
    "(x > 0) R[0,4] (y <= 2 | y > 1)",
    "F[0,3] (x < 1 | x > 0)",
]
MEANT = [
    "G[0,5] !(x > 100 | x < -100)",
    "G[0,5] (x <= 1 | x > 2)",
    "X[3] (x <= 1 | x > 1)",  # a path may end before
    "G[0,5] !(x >= 1 & x <= 1)",
    "G[0,5] !(2*x + y < 1 & 4*x - 2*y > 2)",
    "F[1,3] (x < 1 | x > 0)",
    "G[0,5] (x < 1 | y >= 1)",
    "G[0,5] p",
]


@pytest.mark.parametrize("text", VACUOUS)
def test_true_of_everything(text: str) -> None:
    assert is_vacuous(parse_formula(read(MODEL), text))


@pytest.mark.parametrize("text", MEANT)
def test_not_true_of_everything(text: str) -> None:
    assert not is_vacuous(parse_formula(read(MODEL), text))


def test_a_vacuous_claim_holds_and_says_so() -> None:
    result = check(read(MODEL), "G[0,5] !(x > 100 & x < -100)")
    assert result.verdict.value == "holds"
    assert result.vacuous
    assert "vacuous" in result.notes[0]
