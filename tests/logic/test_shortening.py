"""Shortened formulas: the stronger one implies the formula, and the formula implies the weaker one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logic.formulas import ALL, CTL, LITERALS, LTL, SOME, Graph, Path, bound, graphs, naive, paths
from vernal.logic.formula import (
    Always,
    Bound,
    Eventually,
    Formula,
    Release,
    Until,
    Weak,
)
from vernal.logic.normal import FALSITY, TRUTH, fold, horizon, rebuild
from vernal.logic.progress import waits
from vernal.logic.shortening import is_endless, prompt, stronger, weaker

P, Q, _ = LITERALS
WIDTHS = st.integers(0, 4)


@given(formula=LTL, path=paths(lasso=True) | paths(lasso=False), width=WIDTHS)
def test_of_paths(formula: Formula, path: Path, width: int) -> None:
    truth = naive(formula, path)
    assert truth or not naive(stronger(formula, width), path)
    assert not truth or naive(weaker(formula, width), path)


@given(formula=LTL, path=paths(lasso=True), width=WIDTHS)
def test_of_paths_that_never_end(formula: Formula, path: Path, width: int) -> None:
    assert naive(formula, path) or not naive(stronger(formula, width, total=True), path)


@given(formula=LTL, path=paths(lasso=True) | paths(lasso=False), delay=WIDTHS)
def test_what_is_prompt_implies_the_formula(formula: Formula, path: Path, delay: int) -> None:
    made = prompt(formula, delay, total=False)
    assert not waits(made)
    assert naive(formula, path) or not naive(made, path)


@given(formula=LTL, path=paths(lasso=True), delay=WIDTHS)
def test_what_is_prompt_on_paths_that_never_end(formula: Formula, path: Path, delay: int) -> None:
    made = prompt(formula, delay, total=True)
    assert not waits(made)
    assert naive(formula, path) or not naive(made, path)


def test_a_prompt_formula_bounds_what_has_to_come_at_last() -> None:
    later = Always(P, Bound(Fraction(3), None))
    assert prompt(Eventually(Always(P)), 3, total=True) == later
    assert prompt(Always(Eventually(P)), 3, total=True) == Always(Eventually(P, Bound(Fraction(0), Fraction(3))))
    assert prompt(Until(P, Q), 3, total=True) == Until(P, Q, Bound(Fraction(0), Fraction(3)))
    assert prompt(Weak(P, Q), 3, total=True) == Weak(P, Q)


@given(formula=CTL, graph=graphs(), width=WIDTHS)
def test_of_states(formula: Formula, graph: Graph, width: int) -> None:
    truth = graph.holds(on_graph(formula), 0)
    assert truth or not graph.holds(stronger(formula, width), 0)
    assert not truth or graph.holds(weaker(formula, width), 0)


def on_graph(formula: Formula) -> Formula:
    """What an operator without an end says of four states, it says within five steps more than its first."""

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        made = rebuild(node, args)
        if not is_endless(made):
            return made
        assert isinstance(made, Eventually | Always | Until | Release | Weak)
        return replace(made, bound=Bound(made.bound.lower, made.bound.lower + 5))

    return fold(formula, rule)


@given(formula=LTL | CTL, width=WIDTHS)
def test_both_are_bounded(formula: Formula, width: int) -> None:
    assert horizon(stronger(formula, width)) is not None
    assert horizon(weaker(formula, width)) is not None


@pytest.mark.parametrize("quantifier", [None, ALL, SOME])
def test_what_can_be_shown_of_a_window(quantifier: object) -> None:
    upto = bound(0, 3)
    made = {"bound": upto, "quantifier": quantifier}
    assert stronger(Eventually(P, quantifier=quantifier), 3) == Eventually(P, **made)  # type: ignore[arg-type]
    assert stronger(Until(P, Q, quantifier=quantifier), 3) == Until(P, Q, **made)  # type: ignore[arg-type]
    assert stronger(Always(P, quantifier=quantifier), 3, total=True) == FALSITY  # type: ignore[arg-type]
    assert weaker(Always(P, quantifier=quantifier), 3) == Always(P, **made)  # type: ignore[arg-type]
    assert weaker(Eventually(P, quantifier=quantifier), 3) == TRUTH  # type: ignore[arg-type]
    assert weaker(Until(P, Q, quantifier=quantifier), 3) == Weak(P, Q, **made)  # type: ignore[arg-type]


def test_a_bound_that_begins_later_is_as_wide() -> None:
    assert stronger(Eventually(P, bound(4, None)), 3) == Eventually(P, Bound(Fraction(4), Fraction(7)))
