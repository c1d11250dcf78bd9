"""Polytopes by vertices against brute force: every choice of n rows that meet in a point."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from vernal.interpret.geometry.polytopes import IntegerRow, Polytope, box, integer_row, opposite, value

ONE = Fraction(1)


def corners(rows: Sequence[IntegerRow], n: int) -> set[IntegerRow]:
    """The points at which n independent rows are zero and no row is positive."""
    found = set()
    for chosen in itertools.combinations(rows, n):
        matrix = fmpq_mat([[fmpq(a) for a in row[:-1]] for row in chosen])
        if matrix.det() != 0:
            solved = matrix.solve(fmpq_mat([[fmpq(-row[-1])] for row in chosen]))
            point = integer_row([*(Fraction(int(solved[i, 0].p), int(solved[i, 0].q)) for i in range(n)), ONE])
            if all(value(row, point) <= 0 for row in rows):
                found.add(point)
    return found


def cube(n: int) -> Polytope:
    return box([-ONE] * n, [ONE] * n)


small = st.integers(-3, 3)
cuts = st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[small] * (n + 1)), min_size=1, max_size=5))


@given(cuts)
def test_vertices_are_those_of_all_choices_of_rows(rows: list[IntegerRow]) -> None:
    n = len(rows[0]) - 1
    kept = [row for row in rows if any(row[:-1])]
    start = cube(n)
    expected = corners([*start.rows, *kept], n)
    part = start.meet(kept)
    assert (set() if part is None else set(part.vertices)) == expected
    if part is not None:
        assert len(part.vertices) == len(expected)
        assert corners(part.reduced().rows, n) == expected


@given(cuts)
def test_halves_have_interior_and_share_the_cut(rows: list[IntegerRow]) -> None:
    n = len(rows[0]) - 1
    part = cube(n)
    for row in rows:
        halves = part.split(row)
        if halves is None:
            assert min(part.values(row)) >= 0 or max(part.values(row)) <= 0
            continue
        inside, beyond = halves
        assert inside.dimension == beyond.dimension == n
        wall = inside.meet([opposite(row)])
        assert wall is not None
        assert wall.dimension == n - 1
        assert set(wall.vertices) == set(inside.vertices) & set(beyond.vertices)
        part = inside


@given(cuts)
def test_no_row_of_a_reduced_polytope_follows_from_the_others(rows: list[IntegerRow]) -> None:
    n = len(rows[0]) - 1
    part = cube(n)
    for row in rows:
        halves = part.split(row)
        part = part if halves is None else halves[0]
    reduced = part.reduced()
    for row in reduced.rows:
        others = [other for other in reduced.rows if other != row]
        assert corners([*others, *box([-9 * ONE] * n, [9 * ONE] * n).rows], n) != set(reduced.vertices)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_faces_of_a_cube(n: int) -> None:
    whole = cube(n)
    assert len(whole.vertices) == 2**n
    assert [whole.face(r).dimension for r in range(2 * n)] == [n - 1] * (2 * n)
    reduced = whole.face(0).reduced()
    assert len(reduced.rows) == 2 * (n - 1) + 2
    assert whole.rows[0] in reduced.rows
    assert opposite(whole.rows[0]) in reduced.rows


def test_extremes_are_exact() -> None:
    third = box([Fraction(0), Fraction(0)], [Fraction(1, 3), Fraction(1, 7)])
    assert third.most((1, 2, 5)) == Fraction(1, 3) + Fraction(2, 7) + 5
    assert third.bounding_box == ([0.0, 0.0], [1 / 3, 1 / 7])
