"""Comparisons with extremes mean the same when they are divided."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import vernal as vn
from vernal.engines.check import parse_formula
from vernal.interpret import concrete
from vernal.logic.compared_extremes import apart
from vernal.logic.formula import And, Atom, Formula, Or
from vernal.logic.margin import atom_margin
from vernal.logic.normal import atoms, fold
from vernal.logic.task import Task
from vernal.model import expr as e
from vernal.model.expr import Expr

TEXTS = [
    "abs(x - 2*y) <= 1",
    "abs(x) >= 1/2",
    "-abs(x) < y",
    "x < -abs(y)",
    "max(x, y, 0) <= 1",
    "x + y < max(x, 1)",
    "min(x, -y) < 1/2",
    "1/2 <= min(x, max(y, -x))",
    "max(abs(x), abs(y - 1)) <= 1",
    "clip(x, -1, y) <= y",
]
FLOW = vn.Flow(
    state={"x": vn.real(-2, 2), "y": vn.real(-2, 2)}, init={"x": 0, "y": 0}, rates=lambda s: {"x": 0, "y": 0}
)


def least(formula: Formula, values: dict[Expr, np.ndarray[Any, Any]]) -> float:
    """The margin of a formula of comparisons, at a state."""

    def own(node: Formula, args: tuple[float, ...]) -> float:
        match node:
            case Atom(expr):
                margin = atom_margin(expr)
                assert isinstance(margin, Expr)
                return float(concrete.evaluate([margin], values)[0][0])
            case And():
                return min(args)
        assert isinstance(node, Or)
        return max(args)

    return fold(formula, own)


@pytest.mark.parametrize("text", TEXTS)
def test_margins_stay_what_they_are(text: str) -> None:
    whole = parse_formula(Task(FLOW), text)
    divided = apart(whole)
    x, y = FLOW.vars
    for first, second in product((-1.5, -0.5, 0.0, 0.25, 1.0), repeat=2):
        values: dict[Expr, np.ndarray[Any, Any]] = {x: np.array([first]), y: np.array([second])}
        assert least(whole, values) == pytest.approx(least(divided, values)), (first, second)
    inner = (node for atom in atoms(divided) for node in (atom.args if isinstance(atom, e.Compare) else ()))
    assert not any(isinstance(node, e.Abs | e.Max | e.Min) for node in inner)


def test_directions_are_those_within_an_absolute_value() -> None:
    """x' = y, y' = -x: the box around a turning set is wide, x - y on it is not."""
    turning = vn.Flow(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9)},
        init={"x": 1, "y": vn.interval(0, "0.5")},
        rates=lambda s: {"x": s.x + s.y, "y": s.x + s.y},
    )
    result = vn.check(turning, "G[0,1] (abs(x - y) <= 1.001)", engine="flowpipe", timeout=20)
    assert result.verdict is vn.HOLDS
    assert result.margin is not None
    assert result.margin <= 0.001
