"""Where formulas look. That nobody looks elsewhere is what the tests of the semantics show, of random formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.logic.formulas import P, Q, bound
from vernal.logic.formula import Always, And, Atom, Eventually, Formula, Next, Release, Until, Weak
from vernal.logic.margin import margins
from vernal.logic.semantics import evaluate_levels
from vernal.logic.spans import Window, covers, spans
from vernal.model.expr import Expr

p, q = Atom(P), Atom(Q)


@pytest.mark.parametrize(
    ("formula", "of_p", "of_q"),
    [
        (And((p, q)), (0, 0), (0, 0)),
        (And((p, Next(q, 10))), (0, 0), (10, 10)),
        (And((p, Next(And((p, q)), 3))), (0, 3), (3, 3)),
        (Until(p, q, bound(2, 5)), (0, 4), (2, 5)),
        (Release(p, q, bound(0, 0)), (0, 0), (0, 0)),
        (Weak(p, q, bound(2, 5)), (0, 5), (2, 5)),
        (Until(p, q, bound(2, None)), (0, None), (2, None)),
        (Always(And((p, Eventually(q, bound(1, 4)))), bound(2, 3)), (2, 3), (3, 7)),
    ],
)
def test_spans(formula: Formula, of_p: Window, of_q: Window) -> None:
    found = spans(formula)
    assert (found[id(p)], found[id(q)]) == (of_p, of_q)


def test_a_span_covers_its_ends() -> None:
    assert [covers((1, 3), t) for t in range(5)] == [False, True, True, True, False]
    assert covers((2, None), 10**9)


def test_nothing_else_is_asked() -> None:
    asked: list[int] = []

    def truth(atom: Expr, t: int) -> bool:
        asked.append(t)
        return True

    def margin(atom: Expr, t: int) -> NDArray[np.float64]:
        asked.append(t)
        return np.array([2.0])

    formula = And((Next(p, 10), Always(p, bound(8, 9))))
    assert evaluate_levels(formula, truth, lambda t: True, 10) is True
    assert asked == [8, 9, 10]
    asked.clear()
    assert margins(formula, margin, 11).tolist() == [2.0]
    assert asked == [8, 9, 10]
