"""Forms with errors: ranges from the inputs upward contain every value, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from vernal.interpret import concrete, exact
from vernal.interpret.linear import zonotope_reach
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Array
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model.expr import Expr, Matrix


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms with errors are made for every node with an open component."""
    monkeypatch.setattr(zonotope_reach, "MIN_COMPONENTS", 1)
    monkeypatch.setattr(zonotope_reach, "ROWS_FOR_A_COLUMN", 0)
    monkeypatch.setattr(zonotope_reach, "MIN_WORK", 0)


def network(rng: np.random.Generator, scale: float = 1.0) -> tuple[list[Expr], Expr]:
    """Dense layers with a way around two of them, and sums, negations and parts of vectors."""
    widths = (3, 7, 7, 6, 2)
    inputs: list[Expr] = [build.var(f"x{index}") for index in range(widths[0])]
    x: Expr = build.concat(*inputs)
    around: Expr | None = None
    for number, (n, m) in enumerate(pairwise(widths)):
        made = build.affine(
            x, Matrix(scale * rng.normal(size=(m, n))), Matrix(scale ** (number + 1) * rng.normal(size=m))
        )
        if number == 2:
            assert around is not None
            made = build.add(made, build.neg(build.gather(around, list(range(6)))))
        x = build.relu(made) if number < len(widths) - 2 else made
        around = x if number == 0 else around
    return inputs, x


def exact_value(inputs: list[Expr], root: Expr, point: Array) -> list[Fraction]:
    values = {var: Fraction(float(entry)) for var, entry in zip(inputs, point, strict=True)}
    (found,) = exact.evaluate([root], values)
    assert isinstance(found, tuple)
    return [entry for entry in found if isinstance(entry, Fraction)]


@pytest.mark.parametrize("columns", [0, 40, 1 << 20], ids=["errors alone", "some columns", "a column for each"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("boxes", [1, 3])
def test_every_value_is_inside(columns: int, scale: float, boxes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with no rows at all, where ranges rest on forms alone; at corners, where bounds are attained."""
    monkeypatch.setattr(zonotope_reach, "MAX_NUMBERS", (3 + columns) * boxes * 7)
    monkeypatch.setattr(zonotope_reach, "MAX_WORK", 0)
    monkeypatch.setattr(zonotope_reach, "numbers_at_once", lambda most: 1 << 30)
    rng = np.random.default_rng(columns + boxes)
    made = 0
    for number in range(6):
        inputs, root = network(rng, scale)
        radius = 10.0 ** (0.5 * number - 2.0)
        centre = rng.normal(size=(boxes, len(inputs)))
        lower, upper = centre - radius, centre + radius
        linear = Linear({var: Range(lower[:, i], upper[:, i]) for i, var in enumerate(inputs)})
        x = linear.range(root)
        made += linear.reaches is not None
        if linear.reaches is not None:
            below = zonotope_reach.reach(linear, root)
        for box in range(boxes):
            sides = rng.random((6, len(inputs)))
            sides[:4] = rng.random((4, len(inputs))) < 0.5
            for share in sides:
                point = np.clip(lower[box] + (upper[box] - lower[box]) * share, lower[box], upper[box])
                value = exact_value(inputs, root, point)
                for place, own in enumerate(value):
                    assert Fraction(float(x.lower[box, place])) <= own <= Fraction(float(x.upper[box, place]))
                    if linear.reaches is not None:
                        assert Fraction(float(below.lower[box, place])) <= own
                        assert own <= Fraction(float(below.upper[box, place]))
    assert made


def test_points_are_close() -> None:
    """On a point the form's range is the value up to rounding."""
    rng = np.random.default_rng(3)
    inputs, root = network(rng)
    point = rng.normal(size=len(inputs))
    linear = Linear({var: Range(point[i : i + 1] - 1e-9, point[i : i + 1] + 1e-9) for i, var in enumerate(inputs)})
    linear.need(root)
    (value,) = concrete.compile([root])({var: point[i : i + 1] for i, var in enumerate(inputs)}, 1)
    x = zonotope_reach.reach(linear, root)
    assert (x.lower <= value).all()
    assert (value <= x.upper).all()
    assert (x.upper - x.lower < 1e-5).all()


def test_a_column_for_each_error_is_no_wider() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        inputs, root = network(rng)
        found = []
        for most in (21, 1 << 20):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(zonotope_reach, "MAX_NUMBERS", most)
                patch.setattr(zonotope_reach, "MAX_WORK", 0)
                patch.setattr(zonotope_reach, "numbers_at_once", lambda most: 1 << 30)
                linear = Linear({var: Range(np.array([-0.3]), np.array([0.3])) for var in inputs})
                linear.need(root)
                x = zonotope_reach.reach(linear, root)
                found.append((x.upper - x.lower).sum())
        assert found[1] <= found[0] * (1 + 1e-9)


def test_rows_that_are_cheap_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where many components are open: what a form leaves to no row has a wider range."""
    inputs, root = network(np.random.default_rng(7))
    linear = Linear({var: Range(np.array([-1.0]), np.array([1.0])) for var in inputs})
    linear.need(root)
    assert zonotope_reach.is_worth_a_form(linear, root, root.size)
    monkeypatch.setattr(zonotope_reach, "MIN_WORK", 1 << 22)
    assert not zonotope_reach.is_worth_a_form(linear, root, root.size)


def test_the_widest_are_asked_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many components as the work allows, the widest; all of them where it allows all."""
    rng = np.random.default_rng(6)
    inputs, root = network(rng)
    linear = Linear({var: Range(np.array([-1.0]), np.array([1.0])) for var in inputs})
    linear.need(root)
    x = Range(-np.arange(1.0, 3.0)[None], np.arange(1.0, 3.0)[None])
    node, opened = build.gather(root, [0, 1]), np.array([[True, True]])
    linear.need(node)
    assert zonotope_reach.widest(linear, node, x, opened).all()
    monkeypatch.setattr(zonotope_reach, "_way", lambda linear, node: zonotope_reach.MAX_WORK / 2.0)
    assert zonotope_reach.widest(linear, node, x, opened).tolist() == [[False, True]]
