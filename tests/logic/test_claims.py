"""What formulas claim is worked out once for those that are asked again."""

from __future__ import annotations

from vernal.logic.claim import MAX_KEPT, Claim, claim_of, is_small
from vernal.logic.formula import Always, Atom, Formula, Not
from vernal.model import build

X = build.var("x")


def never(number: int) -> Formula:
    return Always(Not(Atom(build.compare("<=", X, number))))


def test_equal_formulas_have_one_claim() -> None:
    assert claim_of(never(3)) is claim_of(never(3))
    assert claim_of(never(3)) is not claim_of(never(4))
    assert claim_of(never(4)).text == Claim(never(4)).text


def test_a_long_formula_is_no_key() -> None:
    """It would be hashed by way of its operands, one inside the other."""
    formula = never(1)
    for _ in range(20_000):
        formula = Not(formula)
    assert is_small(never(1))
    assert not is_small(formula)
    assert claim_of(formula).horizon is None
    assert claim_of(formula) is not claim_of(formula)


def test_small_is_counted_in_operators() -> None:
    formula: Formula = Atom(build.compare("<=", X, 1))
    for _ in range(MAX_KEPT - 1):
        assert is_small(formula)
        formula = Not(formula)
    assert is_small(formula)
    assert not is_small(Not(formula))
