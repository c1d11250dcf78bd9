"""The reference semantics against the table, a naive evaluator, and brute force over small systems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.logic.formulas import (
    ALL,
    BOUNDED_CTL,
    BOUNDED_LTL,
    CTL,
    LTL,
    SOME,
    Graph,
    P,
    Path,
    Q,
    bound,
    graphs,
    known,
    naive,
    paths,
)
from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, And, Atom, Eventually, Formula, Next, Not, Or, Release, Until, Weak
from vernal.logic.margin import atom_margin, margins
from vernal.logic.normal import horizon
from vernal.logic.semantics import evaluate, evaluate_levels
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL, enum

p, q = Atom(P), Atom(Q)
ANY_PATH = paths(lasso=True) | paths(lasso=False)


def row(text: str) -> list[bool | None]:
    """`.` false, `#` true, `?` unknown."""
    return [{"#": True, ".": False, "?": None}[mark] for mark in text]


# The table, row by row: formula, p, q, and its value on the prefix, on the maximal path, and with a loop to the start.
TABLE: list[tuple[Formula, str, str, bool | None, bool, bool]] = [
    (Next(p, 2), "..#", "...", True, True, True),
    (Next(p, 2), "##.", "...", False, False, False),
    (Next(p, 3), "#..", "...", None, False, True),
    (Next(p, 0), "#..", "...", True, True, True),
    (Next(p, 2, ALL), "#", ".", None, True, True),
    (Next(p, 2, SOME), "#", ".", None, False, True),
    (Eventually(p, bound(0, 2)), "..#", "...", True, True, True),
    (Eventually(p, bound(1, 2)), "#..", "...", False, False, False),
    (Eventually(p, bound(1, 3)), "#..", "...", None, False, True),
    (Eventually(p), "...", "...", None, False, False),
    (Eventually(p, bound(5, None)), "#..", "...", None, False, True),
    (Always(p, bound(0, 2)), "###", "...", True, True, True),
    (Always(p, bound(1, 2)), ".##", "...", True, True, True),
    (Always(p, bound(0, 4)), "###", "...", None, True, True),
    (Always(p, bound(0, 4)), "##.", "...", False, False, False),
    (Always(p, bound(4, 5)), "...", "...", None, True, False),
    (Always(p), "###", "...", None, True, True),
    (Until(p, q, bound(0, 2)), "##.", "..#", True, True, True),
    (Until(p, q, bound(0, 1)), "##.", "..#", False, False, False),
    (Until(p, q, bound(0, 2)), "#..", "..#", False, False, False),
    (Until(p, q, bound(1, 2)), "#..", "##.", True, True, True),
    (Until(p, q, bound(1, 2)), "...", "###", False, False, False),
    (Until(p, q), "###", "...", None, False, False),
    (Until(p, q, bound(3, 3)), "###", "#..", None, False, True),
    (Release(p, q, bound(0, 2)), "...", "###", True, True, True),
    (Release(p, q, bound(0, 2)), ".#.", "##.", True, True, True),
    (Release(p, q, bound(0, 2)), ".#.", "#..", False, False, False),
    (Release(p, q), "...", "###", None, True, True),
    (Release(p, q, bound(1, 2)), "#..", "...", True, True, True),
    (Weak(p, q, bound(0, 2)), "###", "...", True, True, True),
    (Weak(p, q, bound(0, 2)), "#..", ".#.", True, True, True),
    (Weak(p, q, bound(0, 2)), "##.", "...", False, False, False),
    (Weak(p, q, bound(2, 2)), "##.", "..#", True, True, True),
    (Weak(p, q, bound(2, 2)), "#..", ".#.", False, False, False),
    (Weak(p, q), "###", "...", None, True, True),
    (Next(Atom(build.TRUE)), "#", ".", None, False, True),
    (Next(Atom(build.TRUE), 1, ALL), "#", ".", True, True, True),
    (Next(Atom(build.FALSE), 1, ALL), "#", ".", None, True, False),
]


@pytest.mark.parametrize("line", TABLE, ids=lambda line: repr(line[0])[:60])
def test_table(line: tuple[Formula, str, str, bool | None, bool, bool]) -> None:
    formula, p_row, q_row, prefix, maximal, lasso = line
    truth, length = known({P: row(p_row), Q: row(q_row)}), len(p_row)
    assert evaluate(formula, truth, length) is prefix
    assert evaluate(formula, truth, length, complete=True) is maximal
    assert evaluate(formula, truth, length, loop=0) is lasso


@given(LTL | CTL, ANY_PATH, st.integers(0, 5))
def test_agrees_with_the_naive_evaluator(formula: Formula, path: Path, position: int) -> None:
    position = min(position, len(path.values) - 1)
    complete = path.loop is None
    found = evaluate(formula, path.truth, len(path.values), position=position, loop=path.loop, complete=complete)
    assert found is naive(formula, path, position)


@given(LTL | CTL, ANY_PATH, st.integers(1, 6))
def test_a_decided_prefix_stays_decided(formula: Formula, path: Path, length: int) -> None:
    length = min(length, len(path.values))
    found = evaluate(formula, path.truth, length)
    assert found in (None, naive(formula, path))


@given(LTL, ANY_PATH, st.sets(st.tuples(st.booleans(), st.integers(0, 5))))
def test_unknown_atoms_never_mislead(formula: Formula, path: Path, hidden: set[tuple[bool, int]]) -> None:
    def truth(expr: Expr, t: int) -> bool | None:
        return None if (expr is P, t) in hidden else path.truth(expr, t)

    found = evaluate(formula, truth, len(path.values), loop=path.loop, complete=path.loop is None)
    assert found in (None, naive(formula, path))


def test_long_paths_and_large_bounds() -> None:
    def truth(expr: Expr, t: int) -> bool:
        return t < 9_999 if expr is P else t == 9_999

    assert evaluate(Until(p, q, bound(0, 10_000)), truth, 10_000) is True
    assert evaluate(Always(Eventually(q, bound(0, 10_000)), bound(0, 9_999)), truth, 10_000) is True
    assert evaluate(Always(p, bound(0, 10_000)), truth, 10_000) is False
    assert evaluate(Next(p, 10_000), truth, 10_000) is None


@pytest.mark.parametrize("remainder", range(3))
def test_bounds_far_beyond_a_lasso(remainder: int) -> None:
    truth, far = known({P: row(".#..")}), 3 * 10**40 + remainder
    assert evaluate(Next(p, far), truth, 4, loop=1) is (remainder == 1)
    assert evaluate(Until(Atom(build.TRUE), p, bound(far, far)), truth, 4, loop=1) is (remainder == 1)
    assert evaluate(Eventually(p, bound(far, far + 2)), truth, 4, loop=1) is True
    assert evaluate(Always(p, bound(far, far)), truth, 4, loop=1) is (remainder == 1)


def test_only_the_horizon_is_asked() -> None:
    asked: list[int] = []

    def truth(expr: Expr, t: int) -> bool:
        asked.append(t)
        return True

    assert evaluate(Always(p, bound(0, 2)), truth, 1000, position=5) is True
    assert asked == [5, 6, 7]


def test_truth_values_of_numpy_count() -> None:
    values = np.array([True, True, False])
    assert evaluate(Always(p, bound(0, 1)), lambda _, t: values[t], 3) is True
    assert evaluate(Next(p, 2), lambda _, t: values[t], 3) is False


def test_what_is_refused() -> None:
    truth = known({P: row("#")})
    with pytest.raises(UnsupportedFormula, match=r"CTL\*"):
        evaluate(Always(Eventually(p), quantifier=ALL), truth, 1)
    with pytest.raises(ValueError, match="no position 1"):
        evaluate(p, truth, 1, position=1)
    with pytest.raises(ValueError, match="cannot return"):
        evaluate(p, truth, 1, loop=1)
    with pytest.raises(ValueError, match="and end"):
        evaluate(p, truth, 1, loop=0, complete=True)


# Levels ---------------------------------------------------------------------------------------------------------------


def levels_of(graph: Graph, initial: set[int], extra: set[int], count: int) -> list[set[int]]:
    """Over-approximated levels: the states reachable in t steps, and at some levels a few more."""
    found = [set(initial)]
    while len(found) < count:
        found.append({after for state in found[-1] for after in graph.successors[state]})
    return [level | extra if level and t and t % 2 else level for t, level in enumerate(found)]


def common(facts: list[bool]) -> bool | None:
    return facts[0] if facts and len(set(facts)) == 1 else None


def ask_levels(formula: Formula, graph: Graph, initial: set[int], extra: set[int]) -> bool | None:
    reach = horizon(formula)
    assert reach is not None
    levels = levels_of(graph, initial, extra, reach + 1)
    return evaluate_levels(
        formula,
        lambda atom, t: common([graph.values[state][0 if atom is P else 1] for state in levels[t]]),
        lambda t: common([bool(graph.successors[state]) for state in levels[t]]),
        reach,
    )


STATES = st.sets(st.integers(0, 3), min_size=1, max_size=2)


@given(BOUNDED_CTL, graphs(), STATES, STATES)
def test_levels_are_sound_for_ctl(formula: Formula, graph: Graph, initial: set[int], extra: set[int]) -> None:
    found = ask_levels(formula, graph, initial, extra)
    assert found is None or all(graph.holds(formula, state) is found for state in initial)


@given(BOUNDED_LTL, graphs(), STATES, STATES)
def test_levels_are_sound_for_ltl(formula: Formula, graph: Graph, initial: set[int], extra: set[int]) -> None:
    found = ask_levels(formula, graph, initial, extra)
    reach = horizon(formula)
    assert reach is not None
    if found is None:
        return
    for path in [path for state in initial for path in graph.paths(state, reach)]:
        values = tuple(graph.values[state] for state in path)
        assert naive(formula, Path(values)) is found


@given(BOUNDED_LTL | BOUNDED_CTL, paths(lasso=False))
def test_levels_of_single_states_are_exact(formula: Formula, path: Path) -> None:
    """Where each level is one state and nothing is open, the answer is the path's."""
    size = len(path.values)

    def truth(atom: Expr, t: int) -> bool | None:
        return path.truth(atom, t) if t < size else None

    reach = horizon(formula)
    assert reach is not None
    assert evaluate_levels(formula, truth, lambda t: t < size - 1 if t < size else None, reach) is naive(formula, path)


@pytest.mark.parametrize(
    ("formula", "enabled", "after", "expected"),
    [
        (Next(p, 1, ALL), True, True, True),
        (Next(p, 1, ALL), None, True, True),
        (Next(p, 1, ALL), False, None, True),
        (Next(p, 1, ALL), True, False, False),
        (Next(p, 1, ALL), None, False, None),
        (Next(p, 1, SOME), True, True, True),
        (Next(p, 1, SOME), None, True, None),
        (Next(p, 1, SOME), False, True, False),
        (Next(p, 1, SOME), None, False, False),
        (Next(p), True, True, True),
        (Next(p), None, True, None),
        (Next(p), None, False, False),
        (Not(Next(p)), False, None, True),
        (Eventually(p, bound(1, 1), ALL), None, True, None),
    ],
)
def test_one_level_ahead(formula: Formula, enabled: bool | None, after: bool | None, expected: bool | None) -> None:
    assert evaluate_levels(formula, known({P: [None, after]}), lambda t: enabled, 1) is expected


# Margins --------------------------------------------------------------------------------------------------------------


@given(LTL | CTL, paths(lasso=False))
def test_the_sign_of_a_margin_is_the_truth(formula: Formula, path: Path) -> None:
    def margin(atom: Expr, t: int) -> NDArray[np.float64]:
        sign = 1.0 if path.truth(atom, t) else -1.0
        return np.array([sign * (t + 1), sign / (t + 1)])

    found = margins(formula, margin, len(path.values))
    assert ((found > 0) == naive(formula, path)).all()
    assert (found != 0).all()


@given(BOUNDED_LTL, st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=6))
def test_a_margin_is_a_distance(formula: Formula, values: list[tuple[int, int]]) -> None:
    """Moving every atom by less than the margin does not change the truth: the definition of robustness."""
    count = len(values)

    def margin(atom: Expr, t: int) -> NDArray[np.float64]:
        return np.array([float(values[t][0 if atom is P else 1])])

    (found,) = margins(formula, margin, count)
    for shift in (-0.5, 0.5):
        moved = Path(tuple((a + shift > 0, b + shift > 0) for a, b in values))
        if abs(found) > 0.5:
            assert naive(formula, moved) is bool(found > 0)


def test_margins_of_bounded_operators() -> None:
    values = np.array([3.0, -1.0, 4.0, 1.0, -5.0])

    def margin(atom: Expr, t: int) -> NDArray[np.float64]:
        return np.array([values[t], -values[t]])

    assert margins(Eventually(p, bound(1, 2)), margin, 5).tolist() == [4.0, 1.0]
    assert margins(Always(p, bound(2, 4)), margin, 5).tolist() == [-5.0, -4.0]
    assert margins(Next(p, 3), margin, 5).tolist() == [1.0, -1.0]
    assert margins(Next(p, 9), margin, 5).tolist() == [-np.inf, -np.inf]
    assert margins(Always(p, bound(9, 9)), margin, 5).tolist() == [np.inf, np.inf]
    assert margins(And((p, Or((p, Not(p))))), margin, 5).tolist() == [3.0, -3.0]


def test_atom_margins() -> None:
    x, flag, light = build.var("x"), build.var("flag", BOOL), build.var("light", enum("RED", "GREEN"))
    assert atom_margin(x <= 2) is atom_margin(x < 2) is build.sub(2, x)
    assert atom_margin(build.eq(x, 2)) is build.neg(abs(x - 2))
    assert atom_margin(build.compare("!=", x, 2)) is abs(x - 2)
    assert atom_margin(flag) is build.if_(flag, 1, -1)
    red = build.eq(light, build.label(light.sort, "RED"))
    assert atom_margin(red) is build.if_(red, 1, -1)
    assert atom_margin(build.if_(flag, x <= 0, x > 1)) is build.if_(flag, 0 - x, x - 1)
    assert atom_margin(build.conj(flag, ~(x < 0))) is build.minimum(build.if_(flag, 1, -1), -(0 - x))
