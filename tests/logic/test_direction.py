"""What directions allow, and what is left of them one after the other."""

from __future__ import annotations

from itertools import product

import pytest

from vernal.logic.direction import Direction
from vernal.logic.formula import Quantifier

ALL = tuple(Direction)
QUANTIFIERS = tuple(Quantifier)


def test_directions_are_a_monoid_with_exact_as_its_unit() -> None:
    for one, two, three in product(ALL, repeat=3):
        assert one.then(two).then(three) is one.then(two.then(three))
        assert one.then(two) is two.then(one)
    for one in ALL:
        assert one.then(Direction.EXACT) is one
        assert one.then(one) is one


@pytest.mark.parametrize("quantifier", QUANTIFIERS)
def test_one_after_the_other_allows_what_both_allow(quantifier: Quantifier) -> None:
    for one, two in product(ALL, repeat=2):
        both = one.then(two)
        assert both.may_prove(quantifier) == (one.may_prove(quantifier) and two.may_prove(quantifier))
        assert both.may_refute(quantifier) == (one.may_refute(quantifier) and two.may_refute(quantifier))


def test_opposite_directions_allow_nothing() -> None:
    both = Direction.OVER.then(Direction.UNDER)
    assert both is Direction.NEITHER
    assert not any(both.may_prove(quantifier) or both.may_refute(quantifier) for quantifier in QUANTIFIERS)
