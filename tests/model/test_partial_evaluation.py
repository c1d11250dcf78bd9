"""Partial evaluation that remembers gives what partial evaluation gives, and does not grow without end."""

from __future__ import annotations

import pytest

from vernal.model import build as b
from vernal.model import partial_evaluation
from vernal.model.expr import Expr
from vernal.model.partial_evaluation import Specialiser, specialise


def test_a_specialiser_gives_the_same_again() -> None:
    x, y = b.var("x"), b.var("y")
    roots = [b.if_(x < 0, y, y + 1), x + 2]
    remembering = Specialiser()
    for value in (-1, 1, -1):
        known: dict[Expr, Expr] = {x: b.const(value)}
        assert list(remembering(roots, known)) == specialise(roots, known)
    assert remembering(roots, {x: b.const(-1)}) is remembering(roots, {x: b.const(-1)})


def test_a_specialiser_forgets_rather_than_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_evaluation, "MAX_KNOWN", 5)
    x = b.var("x")
    remembering = Specialiser()
    for value in range(50):
        assert remembering([x + 1], {x: b.const(value)}) == (b.const(value + 1),)
    assert len(remembering._known) <= 5
