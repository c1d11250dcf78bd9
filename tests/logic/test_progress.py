"""Progression says of every path what the semantics says, and as soon as the prefix decides it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brute import Brute
from tests.logic.formulas import ALL, LITERALS, LTL, P, Path, Q, bound, formulas, naive, paths
from tests.loops import closed_loop
from tests.loops import formula as random_formula
from vernal.errors import UnsupportedFormula
from vernal.logic.formula import ALL_TIME, Always, Atom, Eventually, Formula, Next, Not, Or, Until, Weak
from vernal.logic.normal import horizon, is_ctl
from vernal.logic.progress import FALSE, TRUE, Later, Obligation, Obligations, on_paths
from vernal.logic.residual import residual
from vernal.logic.semantics import evaluate
from vernal.model import build
from vernal.model.expr import Expr

BOUNDED = formulas(st.sampled_from(LITERALS), [None], unbounded=False, most=2, leaves=5)
Position = dict[Expr, bool]
PATHS = st.lists(st.fixed_dictionaries({P: st.booleans(), Q: st.booleans()}), min_size=1, max_size=8)


def through(table: Obligations, owed: Obligation, position: Position) -> Obligation:
    """The obligation with all its atoms settled."""
    while (atom := table.atom_now(owed)) is not None:
        owed = table.assume(owed, atom, position[atom])
    return owed


@given(formula=BOUNDED, path=PATHS, total=st.booleans())
def test_progression_is_the_semantics(formula: Formula, path: list[Position], total: bool) -> None:
    table = Obligations()
    owed = table.of(formula, total=total)
    reach = horizon(formula)
    assert reach is not None
    if total:  # such paths do not end: make it long enough
        path = (path * (reach + 1))[: reach + 1]
    verdict: bool | None = None
    for t, position in enumerate(path):
        owed = through(table, owed, position)
        if owed in (TRUE, FALSE):
            verdict = owed == TRUE
            break
        if t == len(path) - 1:
            assert not total
            verdict = table.end(owed)
        owed = table.step(owed)
    truth = evaluate(formula, lambda atom, t: path[t][atom], len(path), complete=not total)
    assert verdict is truth


@given(formula=BOUNDED, path=PATHS)
def test_what_a_prefix_decides_is_closed(formula: Formula, path: list[Position]) -> None:
    """An obligation that is closed agrees with what is known of the prefix, whatever follows."""
    table = Obligations()
    owed = table.of(formula)
    for t, position in enumerate(path):
        owed = through(table, owed, position)
        if owed in (TRUE, FALSE):
            for rest in ([], path, path[::-1]):
                whole = [*path[: t + 1], *rest]
                known = evaluate(formula, lambda atom, i, w=whole: w[i][atom], len(whole), complete=True)  # type: ignore[misc]
                assert known is (owed == TRUE)
            return
        owed = table.step(owed)


def test_equal_obligations_are_one() -> None:
    table = Obligations()
    p = LITERALS[0]
    always = Always(p, bound(0, 5))
    owed = table.of(always)
    assert table.of(Always(p, bound(0, 5))) == owed
    after = table.step(through(table, owed, {P: True}))
    assert after == table.of(Always(p, bound(0, 4)))
    assert through(table, owed, {P: False}) == FALSE


def test_a_long_bound_is_no_deep_recursion() -> None:
    table = Obligations()
    owed = table.of(Always(LITERALS[0], bound(0, 5_000)))
    for _ in range(5_001):
        owed = table.step(through(table, owed, {P: True}))
    assert owed == TRUE


# Without a bound -----------------------------------------------------------------------------------------------------


@given(formula=LTL, path=PATHS)
def test_on_a_path_that_ends_progression_is_the_semantics(formula: Formula, path: list[Position]) -> None:
    table = Obligations()
    owed = through(table, table.of(formula), path[0])
    for position in path[1:]:
        if owed not in (TRUE, FALSE):
            owed = through(table, table.step(owed), position)
    verdict = owed == TRUE if owed in (TRUE, FALSE) else table.end(owed)
    assert verdict is evaluate(formula, lambda atom, t: path[t][atom], len(path), complete=True)


@given(formula=LTL, lasso=paths(lasso=True), total=st.booleans())
def test_what_is_closed_on_a_lasso_is_its_truth(formula: Formula, lasso: Path, total: bool) -> None:
    """And where nothing is waited for, only a path that keeps the formula stays open for ever."""
    assert lasso.loop is not None
    table = Obligations()
    owed = table.of(formula, total=total)
    rows = [*range(len(lasso.values)), *[*range(lasso.loop, len(lasso.values))] * 8]
    for row in rows:
        waits = table.waits(owed)
        owed = through(table, owed, {P: lasso.values[row][0], Q: lasso.values[row][1]})
        if owed in (TRUE, FALSE):
            assert naive(formula, lasso) is (owed == TRUE)
            return
        owed = table.step(owed)
    if not waits:
        assert naive(formula, lasso)


def test_an_operator_without_an_end_asks_for_itself() -> None:
    table = Obligations()
    p, q, true = LITERALS
    for asked, kept in [(Always(p), True), (Eventually(p), False), (Always(Eventually(p)), False)]:
        owed = table.of(asked)
        assert table.step(through(table, owed, {P: kept})) == owed
    assert table.waits(table.of(Always(Until(p, q))))
    assert not table.waits(table.of(Always(Weak(p, Next(q)))))
    assert table.of(Always(true)) == table.of(Weak(true, p)) == TRUE
    assert table.of(Eventually(Not(true))) == table.of(Until(p, Not(true))) == FALSE


def test_what_is_asked_does_not_grow() -> None:
    table = Obligations()
    p, q, _ = LITERALS
    owed = table.of(Always(Or((Not(p), Until(p, Always(Or((q, Eventually(p)))))))))
    sizes = []
    for t in range(40):
        owed = table.step(through(table, owed, {P: t % 3 != 0, Q: t % 2 == 0}))
        sizes.append(len(table.entries))
    assert sizes[20] == sizes[-1]


def test_states_without_a_bound_are_refused() -> None:
    with pytest.raises(UnsupportedFormula):
        Obligations().of(Always(LITERALS[0], ALL_TIME, ALL))


def test_quantifiers_are_kept() -> None:
    rng = random.Random(3)
    system = closed_loop(rng)
    table = Obligations()
    for _ in range(50):
        asked = random_formula(rng, system)
        table.of(asked)
    assert {entry.quantifier is None for entry in table.entries if isinstance(entry, Later)} == {True, False}


def test_claims_that_paths_decide() -> None:
    """Where the quantifiers may be dropped, brute force on states and on paths agree; and that is often enough."""
    linear = branching = 0
    for seed in range(400):
        rng = random.Random(seed)
        system = closed_loop(rng)
        asked = random_formula(rng, system)
        found = on_paths(asked)
        if found is None:
            branching += 1
        elif is_ctl(asked) and found is not asked:
            linear += 1
            brute = Brute(system)
            assert brute.holds(asked) == all(
                brute._path_satisfies(found, path) for start in brute.starts() for path in brute._paths(start, 5)
            ), f"seed {seed}: {asked}"
    assert linear > 15
    assert branching > 40


def test_constants_close_at_once() -> None:
    table = Obligations()
    assert table.of(LITERALS[2]) == TRUE
    assert table.of(Not(LITERALS[2])) == FALSE
    assert table.of(Next(Not(LITERALS[2]), 3)) == FALSE
    assert table.of(Next(LITERALS[2], 3)) not in (TRUE, FALSE)  # there has to be a third step


@given(formula=LTL, path=paths(lasso=True) | paths(lasso=False).filter(lambda path: len(path.values) > 1))
def test_the_residual_is_what_is_left_after_the_first_position(formula: Formula, path: Path) -> None:
    left = residual(formula, lambda atom: path.truth(atom, 0))
    assert naive(formula, path) is naive(left, path, 1)


def test_the_residual_keeps_the_form_of_a_claim() -> None:
    p = Atom(P)
    assert residual(Always(p, bound(0, 5)), lambda _: True) == Always(p, bound(0, 4))
    assert residual(Until(p, p, bound(2, 5)), lambda _: True) == Until(p, p, bound(1, 4))
    assert residual(Next(p, 3), lambda _: False) == Next(p, 2)
    assert residual(Always(p), lambda _: False) == Atom(build.FALSE)
    with pytest.raises(UnsupportedFormula):
        residual(Always(p, quantifier=ALL), lambda _: True)
