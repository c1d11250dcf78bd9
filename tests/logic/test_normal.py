"""Normal forms say the same as what they were made from, on every kind of path and in every small system."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    naive,
    paths,
)
from vernal.errors import UnsupportedFormula
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
    operands,
)
from vernal.logic.normal import (
    Logic,
    atoms,
    classify,
    expand,
    horizon,
    is_ctl,
    is_ltl,
    nnf,
    order,
    quantifiers,
    strip_quantifiers,
    weak_next,
)
from vernal.logic.semantics import evaluate

p, q = Atom(P), Atom(Q)
BOTH = LTL | CTL
ANY_PATH = paths(lasso=True) | paths(lasso=False)


def on(formula: Formula, path: Path) -> bool | None:
    return evaluate(formula, path.truth, len(path.values), loop=path.loop, complete=path.loop is None)


def in_normal_form(formula: Formula) -> bool:
    return all(
        isinstance(node.arg, Atom) if isinstance(node, Not) else not isinstance(node, Implies | Iff)
        for node in order(formula)
    )


@given(BOTH, ANY_PATH)
def test_nnf_says_the_same_on_paths(formula: Formula, path: Path) -> None:
    normal = nnf(formula)
    assert in_normal_form(normal)
    assert on(normal, path) == on(formula, path)
    assert on(nnf(Not(formula)), path) == (not on(formula, path))


@given(BOTH, ANY_PATH, st.integers(1, 6))
def test_nnf_says_the_same_on_prefixes(formula: Formula, path: Path, length: int) -> None:
    length = min(length, len(path.values))
    normal, wanted = evaluate(nnf(formula), path.truth, length), evaluate(formula, path.truth, length)
    late = any(isinstance(n, Weak) and n.quantifier is SOME and n.bound.lower > 0 for n in order(formula))
    assert normal == wanted or (late and None in (normal, wanted))


@given(LTL, paths(lasso=True))
def test_nnf_of_total_systems_has_no_weak_next(formula: Formula, path: Path) -> None:
    assert on(nnf(formula, total=True), path) == on(formula, path)


@given(BOUNDED_CTL, graphs())
def test_nnf_and_expand_say_the_same_at_states(formula: Formula, graph: Graph) -> None:
    wanted = graph.holds(formula, 0)
    assert graph.holds(nnf(formula), 0) == wanted
    assert graph.holds(nnf(Not(formula)), 0) != wanted
    assert graph.holds(expand(formula), 0) == wanted


@given(
    st.builds(
        Weak, st.sampled_from([p, Not(p)]), st.sampled_from([q, p]), st.just(bound(2, 3)), st.sampled_from([ALL, SOME])
    ),
    graphs(5),
)
def test_negated_weak_until_with_a_late_start(formula: Formula, graph: Graph) -> None:
    assert graph.holds(nnf(Not(formula)), 0) != graph.holds(formula, 0)


@given(BOTH, ANY_PATH)
def test_expand_says_the_same_on_paths(formula: Formula, path: Path) -> None:
    assert on(expand(formula), path) == on(formula, path)


@given(BOUNDED_LTL | BOUNDED_CTL)
def test_expand_leaves_only_single_steps(formula: Formula) -> None:
    for node in order(expand(formula)):
        if isinstance(node, Temporal):
            weak = isinstance(node, Always) and node.bound.lower == node.bound.upper
            assert isinstance(node, Next) or (weak and node.quantifier is None)


@given(BOUNDED_LTL | BOUNDED_CTL, paths(lasso=True))
def test_horizon_decides(formula: Formula, path: Path) -> None:
    reach = horizon(formula)
    assert reach is not None
    unrolled = Path(tuple(path.values[at(path, t)] for t in range(reach + 1)))
    assert evaluate(formula, unrolled.truth, reach + 1) == on(formula, path)


def at(path: Path, t: int) -> int:
    assert path.loop is not None
    size = len(path.values)
    return t if t < size else path.loop + (t - path.loop) % (size - path.loop)


@pytest.mark.parametrize(
    ("formula", "reach"),
    [
        (p, 0),
        (Next(p, 3), 3),
        (Eventually(Next(p), bound(1, 4)), 5),
        (Always(p), None),
        (Always(p, Bound(Fraction(2))), None),
        (Until(Next(p), q, bound(0, 4)), 4),
        (Until(Next(p, 2), q, bound(0, 4)), 5),
        (Until(Always(p), q, bound(0, 0)), 0),
        (Weak(Next(p), q, bound(0, 4)), 5),
        (Release(p, Next(q), bound(1, 4)), 5),
        (And((Next(p, 2), Next(q, 7, ALL))), 7),
        (Or((p, Eventually(q))), None),
    ],
    ids=repr,
)
def test_horizon(formula: Formula, reach: int | None) -> None:
    assert horizon(formula) == reach


@pytest.mark.parametrize(
    ("formula", "logic"),
    [
        (Not(p), Logic.STATE),
        (Eventually(Always(p)), Logic.LTL),
        (Eventually(Always(p, quantifier=ALL), quantifier=SOME), Logic.CTL),
    ],
)
def test_classify(formula: Formula, logic: Logic) -> None:
    assert classify(formula) is logic
    assert is_ltl(formula) == (logic is not Logic.CTL)
    assert is_ctl(formula) == (logic is not Logic.LTL)


@pytest.mark.parametrize("formula", [Always(Eventually(p), quantifier=ALL), And((Next(p), Next(p, 1, SOME)))])
def test_mixtures_are_refused(formula: Formula) -> None:
    for reader in (classify, quantifiers):
        with pytest.raises(UnsupportedFormula, match=r"CTL\* is not supported"):
            reader(formula)
    assert not is_ctl(formula)
    assert not is_ltl(formula)


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (p, set()),
        (Eventually(p), {ALL}),
        (Not(Eventually(p, quantifier=SOME)), {ALL}),
        (Implies(Eventually(p, quantifier=ALL), Eventually(p, quantifier=SOME)), {SOME}),
        (Not(Implies(Eventually(p, quantifier=ALL), Eventually(p, quantifier=SOME))), {ALL}),
        (Always(Eventually(p, quantifier=SOME), quantifier=ALL), {ALL, SOME}),
        (Iff(Next(p, 1, ALL), q), {ALL, SOME}),
    ],
)
def test_quantifiers_count_polarity(formula: Formula, found: set[Quantifier]) -> None:
    assert quantifiers(formula) == found


@given(CTL)
def test_quantifiers_are_those_of_the_normal_form(formula: Formula) -> None:
    normal = {node.quantifier for node in order(nnf(formula)) if isinstance(node, Temporal)}
    assert quantifiers(formula) <= normal | {SOME}  # a negated E[p W[a,b] q] asks EX true in passing
    assert normal - {SOME} <= quantifiers(formula)


@given(CTL, ANY_PATH)
def test_a_path_is_a_system_with_one_behaviour(formula: Formula, path: Path) -> None:
    stripped = strip_quantifiers(formula)
    assert is_ltl(stripped)
    assert naive(stripped, path) == naive(formula, path)


def test_next_is_strong_and_its_negation_weak() -> None:
    assert nnf(Not(Next(p, 2))) == weak_next(Not(p), 2) == Always(Not(p), bound(2, 2))
    assert nnf(Not(Next(p)), total=True) == Next(Not(p))
    assert nnf(Not(Next(p, 1, ALL))) == Next(Not(p), 1, SOME)
    assert strip_quantifiers(Next(p, 3, ALL)) == weak_next(p, 3)
    assert strip_quantifiers(Next(p, 3, SOME)) == Next(p, 3)


def test_atoms_come_once_in_order() -> None:
    assert atoms(Until(And((q, p)), Or((q, Not(p))))) == [Q, P]


def test_expansion_shares_and_is_limited() -> None:
    long = expand(Always(Eventually(p, bound(0, 5000)), bound(0, 5000)))
    assert len(order(long)) < 30_000
    with pytest.raises(UnsupportedFormula, match="smaller bounds"):
        expand(Always(p, bound(0, 10**12)))


def test_normal_form_is_limited() -> None:
    deep: Formula = p
    for _ in range(100):
        deep = Iff(deep, q)
    with pytest.raises(UnsupportedFormula, match="more than"):
        nnf(deep)


def test_deep_formulas_do_not_exhaust_the_stack() -> None:
    deep: Formula = p
    for _ in range(5000):
        deep = Not(Next(deep))
    assert horizon(deep) == 5000
    assert operands(nnf(deep))


@pytest.mark.parametrize(
    "wrong", [Bound(Fraction(1, 2), Fraction(1)), Bound(Fraction(3), Fraction(1)), Bound(Fraction(-1))]
)
def test_bounds_that_count_no_steps(wrong: Bound) -> None:
    with pytest.raises(UnsupportedFormula, match="bound"):
        horizon(Always(p, wrong))
