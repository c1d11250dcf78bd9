"""Bounds by intervals alone: exactly what interval arithmetic says, in the place of linear bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.interpret.sets import abstract, boxes, contains, samples
from tests.strategies import expressions
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.value_sets import Range, Value
from vernal.model import build
from vernal.model.expr import Expr

X = build.var("x")
UNIT: dict[Expr, Value] = {X: Range(np.array([0.0]), np.array([1.0]))}


@given(data=st.data())
def test_every_exact_sample_is_inside(data: st.DataObject) -> None:
    roots = data.draw(expressions())
    ends = data.draw(boxes())
    values, _ = data.draw(samples(ends, roots))
    plain = Plain(abstract([ends]))
    for root, value in zip(roots, values, strict=True):
        assert contains(plain.value(root), 0, value)


def test_correlations_are_lost() -> None:
    difference = build.sub(build.relu(X), X)
    for method, wide in ((Linear, False), (Plain, True)):
        x = method(UNIT).range(difference)
        assert (float(x.upper[0]) >= 1) is wide
        truth = method(UNIT).truth(build.compare("<=", X, build.add(X, 0.5)))
        assert bool(truth.must[0]) is not wide


def test_winners_are_those_of_intervals() -> None:
    scores = build.argmax(build.concat(X, build.add(X, 0.5)))
    for method, count in ((Linear, 1), (Plain, 2)):
        value = method(UNIT).value(scores)
        assert np.asarray(value.mask).sum() == count  # type: ignore[union-attr]
