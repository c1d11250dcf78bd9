"""`//`, `%`, strong release and endless bounds: what they mean."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read
from vernal.engines.check import ask, parse_formula
from vernal.errors import TypeClash
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.interpret import exact
from vernal.logic.formula import Always
from vernal.model import build as b
from vernal.model.sorts import INT
from vernal.run.budget import Budget

N = b.var("n", INT)
COUNTING = (
    '[state]\nn = "int [0, 20]"\nM = "int [0, 9]"\n[init]\nn = 0\nM = 7\n[environment.next]\nn = "(n + 5) % 17"\n'
    'M = "n // 3"\n'
)


@given(st.integers(-50, 50), st.integers(-9, 9).filter(bool))
def test_integers_are_divided_as_in_python(n: int, divisor: int) -> None:
    assert exact.evaluate([N // divisor, N % divisor], {N: Fraction(n)}) == [n // divisor, n % divisor]
    assert (N % divisor).sort == INT


@pytest.mark.parametrize("divisor", [N, 0, Fraction(1, 2)])
def test_other_divisors_are_refused(divisor: object) -> None:
    with pytest.raises(TypeClash, match="a constant integer other than 0"):
        b.quotient(N, divisor)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("G (M >= 0)", HOLDS),  # M names a variable all the same
        ("(n == 15) M (n <= 16)", HOLDS),
        ("(n == 15) M[0,3] (n <= 16)", HOLDS),
        ("(n == 15) M[0,2] (n <= 16)", VIOLATED),
        ("(n == 18) M (n <= 16)", VIOLATED),  # R would hold: n == 18 never comes
        ("(n == 15) M (n <= 14)", VIOLATED),  # both have to be true at one position
        ("(n == 18) R (n <= 16)", HOLDS),
        ("A[(n == 15) M (n <= 16)]", HOLDS),
        ("E[(n == 18) M (n <= 16)]", VIOLATED),
        ("G[0, inf] (n <= 16)", HOLDS),
    ],
)
def test_strong_release_needs_its_end(formula: str, verdict: object) -> None:
    task = read(COUNTING)
    assert ask(task, parse_formula(task, formula), None, "auto", Budget(timeout=60.0)).verdict is verdict


def test_inf_is_no_end_unless_it_was_defined() -> None:
    task = read(COUNTING)
    formula = parse_formula(task, "G[2, inf] (n <= 16)")
    assert isinstance(formula, Always)
    assert formula.bound.lower == 2
    assert formula.bound.upper is None
    named = read(f"[parameters]\ninf = 3\n{COUNTING}")
    bounded = parse_formula(named, "G[2, inf] (n <= 16)")
    assert isinstance(bounded, Always)
    assert bounded.bound.upper == 3
