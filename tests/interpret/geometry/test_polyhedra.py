"""Exact polyhedra against a second opinion: elimination of one variable after the other, written naively."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from vernal.interpret.geometry import polyhedra
from vernal.interpret.geometry.affine_form import AffineForm, Relation, Row, above, at_least, equal, fraction, rational
from vernal.interpret.geometry.float_lp import propose
from vernal.interpret.geometry.polyhedra import Polyhedron, TooManyRows, from_box, project
from vernal.model import build
from vernal.model.expr import Component

NAMES: list[Component] = [(build.var(name), 0) for name in "xyz"]
X, Y, Z = (AffineForm(fmpq(0), {name: fmpq(1)}) for name in NAMES)

Plain = tuple[list[Fraction], Fraction, bool]  # coefficients . x + constant >= 0, or > 0 where strict


def number(value: Fraction | int | str) -> AffineForm:
    return AffineForm(rational(Fraction(value)))


def box(*ends: tuple[int, int]) -> Polyhedron:
    return from_box({name: (Fraction(low), Fraction(high)) for name, (low, high) in zip(NAMES, ends, strict=False)})


@st.composite
def rows(draw: st.DrawFn, count: int) -> Row:
    weights = [draw(st.integers(-3, 3)) for _ in range(count)]
    constant = Fraction(draw(st.integers(-6, 6)), draw(st.sampled_from([1, 2, 3])))
    form = AffineForm(rational(constant), {n: fmpq(w) for n, w in zip(NAMES, weights, strict=False) if w})
    return Row(form, draw(st.sampled_from(list(Relation))))


@st.composite
def problems(draw: st.DrawFn, most: int = 5) -> tuple[Polyhedron, list[Row]]:
    count = draw(st.integers(1, 3))
    ends = [(low, low + draw(st.integers(0, 3))) for low in (draw(st.integers(-2, 2)) for _ in range(count))]
    return box(*ends), draw(st.lists(rows(count), max_size=most))


def plain(row: Row) -> list[Plain]:
    weights = [fraction(row.form.coefficients.get(name, fmpq(0))) for name in NAMES]
    constant = fraction(row.form.constant)
    if row.relation is Relation.EQUAL:
        return [(weights, constant, False), ([-w for w in weights], -constant, False)]
    return [(weights, constant, row.relation is Relation.ABOVE)]


def is_feasible(system: Sequence[Plain]) -> bool:
    """Fourier and Motzkin, word for word."""
    left = list(system)
    for index in range(len(NAMES)):
        lows = [row for row in left if row[0][index] > 0]
        highs = [row for row in left if row[0][index] < 0]
        left = [row for row in left if row[0][index] == 0]
        for (a, c, strict), (b, d, also) in itertools.product(lows, highs):
            weights = [p / a[index] - q / b[index] for p, q in zip(a, b, strict=True)]
            left.append((weights, c / a[index] - d / b[index], strict or also))
    return all(constant > 0 or (constant == 0 and not strict) for _, constant, strict in left)


def holds(row: Row, point: Sequence[Fraction]) -> bool:
    values = {name: rational(value) for name, value in zip(NAMES, point, strict=False)}
    return row.holds_at(values)


@given(problem=problems())
def test_cutting_is_decided_exactly(problem: tuple[Polyhedron, list[Row]]) -> None:
    start, cuts = problem
    expected = is_feasible([part for row in [*start.all_rows(), *cuts] for part in plain(row)])
    found = start.meet(cuts)
    assert (found is not None) == expected
    if found is not None:
        assert all(row.holds_at(found.point) for row in [*start.all_rows(), *found.all_rows(), *cuts])
    step: Polyhedron | None = start
    for row in cuts:  # one after the other comes to the same
        step = None if step is None else step.meet([row])
    assert (step is not None) == expected


@given(problem=problems())
def test_floating_point_is_believed_only_where_it_is_right(problem: tuple[Polyhedron, list[Row]]) -> None:
    start, cuts = problem
    assume(all(row.form.coefficients for row in cuts))
    answer = propose(start.box, start.opened, cuts)
    expected = is_feasible([part for row in [*start.all_rows(), *cuts] for part in plain(row)])
    if answer is None:
        assert not expected
    elif answer is not False:
        assert all(row.holds_at(answer) for row in [*start.all_rows(), *cuts])


@given(problem=problems())
def test_large_problems_go_through_floating_point(problem: tuple[Polyhedron, list[Row]]) -> None:
    start, cuts = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polyhedra, "LARGE_TABLEAU", -1)
        large = start.meet(cuts)
    assert (large is None) == (start.meet(cuts) is None)


def test_floating_point_settles_most() -> None:
    """Both kinds of answer, where nothing is tight."""
    square = box((0, 1), (0, 1))
    inside = propose(square.box, square.opened, [above(X + Y - number(1)), above(number("3/2") - X - Y)])
    assert isinstance(inside, dict)
    assert propose(square.box, square.opened, [above(X + Y - number(1)), above(number("1/2") - X - Y)]) is None
    huge = [at_least(X.scale(fmpq(10) ** 400) - Y)]
    assert propose(square.box, square.opened, huge) is not None  # a point, or no opinion; never a refusal


def cut(start: Polyhedron, rows: Sequence[Row]) -> Polyhedron:
    """Cut by those rows that leave something."""
    for row in rows:
        start = start.meet([row]) or start
    return start


@given(problem=problems(8))
def test_difference(problem: tuple[Polyhedron, list[Row]]) -> None:
    start, cuts = problem
    whole, taken = cut(start, cuts[::2]), cut(start, cuts[1::2])
    parts = whole.minus(taken)
    for point in itertools.product(*(_grid(start, name) for name in start.box)):
        inside = all(holds(row, point) for row in whole.all_rows())
        outside = not all(holds(row, point) for row in taken.all_rows())
        counts = sum(all(holds(row, point) for row in part.all_rows()) for part in parts)
        assert counts == (inside and outside)


def _grid(polyhedron: Polyhedron, name: Component) -> list[Fraction]:
    low, high = (fraction(end) for end in polyhedron.box[name])
    return [low + (high - low) * Fraction(i, 4) for i in range(5)]


@given(problem=problems())
def test_shadows(problem: tuple[Polyhedron, list[Row]]) -> None:
    """A point is in the shadow iff something lies above it."""
    whole = cut(*problem)
    kept = list(whole.box)[:1]
    shadow = project(whole, kept)
    for value in _grid(problem[0], kept[0]):
        fixed = [equal(X - number(value))]
        assert (shadow.meet(fixed) is None) == (whole.meet(fixed) is None)


def test_open_ends() -> None:
    half = box((0, 1)).meet([above(number(1) - X)])
    assert half is not None
    assert half.meet([at_least(X - number(1))]) is None
    assert half.measure(X).high_open
    assert half.meet([above(number(1) - X)]) is half
    thin = half.meet([above(X - number("999999/1000000"))])
    assert thin is not None
    assert Fraction(999999, 1000000) < fraction(thin.point[NAMES[0]]) < 1
    point = box((0, 1)).meet([equal(X - number(1))])
    assert point is not None
    assert point.meet([above(X - number("1/2"))]) is point


def test_a_point_is_a_polyhedron() -> None:
    nothing = from_box({})
    assert nothing.meet([]) is nothing
    assert nothing.meet([above(number(1))]) is nothing
    assert nothing.meet([above(number(0))]) is None
    assert nothing.minus(nothing) == []


def test_keys_know_what_matters() -> None:
    cube = box((0, 1), (0, 1), (0, 1))
    a, b = cube.meet([above(X + Y - number(1))]), cube.meet([above((X + Y - number(1)).scale(fmpq(3, 7)))])
    c = cube.meet([above(X + Y - number(1)), above(Z - number("1/2"))])
    assert a is not None
    assert b is not None
    assert c is not None
    assert a.key() == b.key()
    assert a.key() != c.key()
    assert a.key([NAMES[0]]) == c.key([NAMES[0]])  # z has no row with x
    assert a.key([NAMES[2]]) != c.key([NAMES[2]])


def test_a_long_projection_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polyhedra, "MAX_ROWS", 3)
    cuts = [above(X + Y.scale(fmpq(k)) - Z + number(k)) for k in (1, 2, 3)] + [above(Z.scale(fmpq(9)) - X + Y)]
    whole = box((0, 9), (0, 9), (0, 9)).meet(cuts)
    assert whole is not None
    with pytest.raises(TooManyRows):
        project(whole, NAMES[:2])


def test_large_and_small_weights_together() -> None:
    tiny = number("1/1000000")
    plane = box((0, 1), (0, 1))
    row = above(X.scale(fmpq(10**6)) - Y.scale(fmpq(1, 10**6)))
    assert plane.meet([row, at_least(tiny.scale(fmpq(1, 10**6)) - X), equal(Y - number(1))]) is None
    assert plane.meet([row, at_least(tiny.scale(fmpq(2, 10**6)) - X), equal(Y - number(1))]) is not None
