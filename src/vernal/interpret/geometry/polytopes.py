"""Bounded polytopes by their rows and their vertices, exactly, in whole numbers.

A row (a, b) is the half-space a x + b <= 0, a vertex (p, w) with w > 0 the point p / w; both are tuples of coprime
integers, so that equal ones are equal tuples, and a row is at most zero, zero or positive at a vertex as their inner
product is. Every vertex knows the rows it lies on. Cutting keeps the vertices on one side and adds one on every edge
that the hyperplane crosses: two vertices are the ends of an edge where no third one lies on all rows that both lie on.
In a few dimensions this costs less than linear programs, nothing is rounded, and extremes of linear functions, faces
and redundant rows can be read off.

Reference: K. Fukuda and A. Prodon, Double description method revisited, 1996.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from operator import mul

from flint import fmpz_mat

from vernal.model.tick import Tick, idle

IntegerRow = tuple[int, ...]  # a_1, ..., a_n, b: the points x with a x + b <= 0, or a row's function a x + b
IntegerPoint = tuple[int, ...]  # p_1, ..., p_n, w: the point p / w, w > 0


def coprime(numbers: Iterable[int]) -> tuple[int, ...]:
    """The numbers without a common divisor; all zeros stay."""
    given = tuple(numbers)
    common = gcd(*given)
    return given if common in (0, 1) else tuple(x // common for x in given)


def integer_row(coefficients: Sequence[Fraction]) -> IntegerRow:
    """A positive multiple of a row in coprime integers."""
    below = lcm(*(x.denominator for x in coefficients))
    return coprime(x.numerator * (below // x.denominator) for x in coefficients)


def opposite(row: IntegerRow) -> IntegerRow:
    """The half-space on the other side of the same hyperplane."""
    return tuple(-x for x in row)


def value(row: IntegerRow, vertex: IntegerPoint) -> int:
    """The function of a row at a point, times the point's positive denominator."""
    return sum(map(mul, row, vertex))


def exact_value(row: Sequence[int | Fraction], vertex: IntegerPoint) -> Fraction:
    """The function of a row at a point."""
    return Fraction(sum(map(mul, row, vertex))) / vertex[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """The points with all rows at most zero; never empty, perhaps without interior.

    `tight` has a number for each vertex: bit i is set where the vertex lies on row i.
    """

    rows: tuple[IntegerRow, ...]
    vertices: tuple[IntegerPoint, ...]
    tight: tuple[int, ...]

    @property
    def dimension_of_space(self) -> int:
        return len(self.vertices[0]) - 1

    @property
    def dimension(self) -> int:
        """Of the polytope: 0 is a point."""
        return int(fmpz_mat(self.vertices).rank()) - 1

    @property
    def bounding_box(self) -> tuple[list[float], list[float]]:
        """The least and the largest of each coordinate, rounded to nearest."""
        points = [[x / vertex[-1] for x in vertex[:-1]] for vertex in self.vertices]
        return [min(column) for column in zip(*points, strict=True)], [max(c) for c in zip(*points, strict=True)]

    def values(self, row: IntegerRow) -> list[int]:
        """The function of a row at each vertex, times positive numbers: their signs count."""
        return [value(row, vertex) for vertex in self.vertices]

    def most(self, row: Sequence[int | Fraction]) -> Fraction:
        """The largest value of a row's function, which is that at a vertex."""
        return max(exact_value(row, vertex) for vertex in self.vertices)

    def satisfies(self, rows: Iterable[IntegerRow]) -> bool:
        """Whether all points are in all half-spaces."""
        return all(value(row, vertex) <= 0 for row in rows for vertex in self.vertices)

    def outside(self, rows: Iterable[IntegerRow]) -> bool:
        """Whether a row alone shows that no point is strictly inside all half-spaces."""
        return any(all(value(row, vertex) >= 0 for vertex in self.vertices) for row in rows)

    def split(self, row: IntegerRow) -> tuple[Polytope, Polytope] | None:
        """The parts on both sides of a hyperplane, inside the row first; None where one side has no interior."""
        signs = self.values(row)
        if min(signs) >= 0 or max(signs) <= 0:
            return None
        return self._clip(row, signs), self._clip(opposite(row), [-x for x in signs])

    def meet(self, rows: Iterable[IntegerRow], tick: Tick = idle) -> Polytope | None:
        """The part inside all rows, which may have no interior; None if there is none."""
        part = self
        for row in rows:
            tick()
            signs = part.values(row)
            if min(signs) > 0:
                return None
            part = part._clip(row, signs) if max(signs) >= 0 else part
        return part

    def face(self, row: int) -> Polytope:
        """The part on one of the rows, which some vertex lies on: no other row is left in a reduced polytope."""
        kept = [i for i, on in enumerate(self.tight) if on >> row & 1]
        return Polytope(
            (*self.rows, opposite(self.rows[row])),
            tuple(self.vertices[i] for i in kept),
            tuple(self.tight[i] | 1 << len(self.rows) for i in kept),
        )

    def _clip(self, row: IntegerRow, signs: Sequence[int]) -> Polytope:
        """The part inside a row, given its values at the vertices; they are not all positive."""
        bit = 1 << len(self.rows)
        kept = [i for i, sign in enumerate(signs) if sign <= 0]
        points = [self.vertices[i] for i in kept]
        tight = [self.tight[i] | bit if signs[i] == 0 else self.tight[i] for i in kept]
        for i, j in self._crossed(signs):
            points.append(_between(self.vertices[i], signs[i], self.vertices[j], signs[j]))
            tight.append(self.tight[i] & self.tight[j] | bit)
        return Polytope((*self.rows, row), tuple(points), tuple(tight))

    def _crossed(self, signs: Sequence[int]) -> Iterable[tuple[int, int]]:
        """The edges with one end strictly inside and the other strictly outside.

        A vertex on no more rows than there are dimensions has an edge along all but any one of these; elsewhere it is
        to be seen that no third vertex lies between two.
        """
        n = self.dimension_of_space
        inside = [i for i, sign in enumerate(signs) if sign < 0]
        outside = [(j, self.tight[j]) for j, sign in enumerate(signs) if sign > 0]
        for i in inside:
            own = self.tight[i]
            simple = own.bit_count() == n
            for j, other in outside:
                common = own & other
                if common.bit_count() >= n - 1 and (simple or sum(on & common == common for on in self.tight) == 2):
                    yield i, j

    def reduced(self) -> Polytope:
        """The same points without redundant rows: one for each facet, and opposites where there is no interior.

        The rows that some vertices lie on are its faces, the largest of them its facets: a row follows from the others
        if the vertices on it are among those on another row that not all vertices are on.
        """
        members = [sum(1 << i for i, on in enumerate(self.tight) if on >> r & 1) for r in range(len(self.rows))]
        everyone = (1 << len(self.vertices)) - 1
        equations = _independent([self.rows[r] for r, on in enumerate(members) if on == everyone])
        facets: dict[int, IntegerRow] = {}
        for r, on in enumerate(members):
            larger = (other for other in members if other != everyone and other != on and on & other == on)
            if on not in (0, everyone) and next(larger, None) is None:
                facets.setdefault(on, self.rows[r])
        rows = (*facets.values(), *equations, *(opposite(row) for row in equations))
        return Polytope(rows, self.vertices, tuple(_mask(rows, vertex) for vertex in self.vertices))


def box(lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Polytope:
    """The box between two points, the first below the second in every coordinate."""
    n = len(lower)
    rows = []
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        unit = [Fraction(int(i == j)) for j in range(n)]
        rows += [integer_row([*(-u for u in unit), low]), integer_row([*unit, -high])]
    corners = [integer_row([*corner, Fraction(1)]) for corner in product(*zip(lower, upper, strict=True))]
    return Polytope(tuple(rows), tuple(corners), tuple(_mask(rows, corner) for corner in corners))


def _mask(rows: Sequence[IntegerRow], vertex: IntegerPoint) -> int:
    return sum(1 << r for r, row in enumerate(rows) if value(row, vertex) == 0)


def _between(p: IntegerPoint, here: int, q: IntegerPoint, there: int) -> IntegerPoint:
    """Where a function with these values (of opposite signs) at two points is zero between them."""
    return (
        coprime(there * x - here * y for x, y in zip(p, q, strict=True)) if there > 0 else _between(q, there, p, here)
    )


def _independent(rows: Sequence[IntegerRow]) -> list[IntegerRow]:
    """Some of the rows such that the others are sums of them."""
    chosen: list[IntegerRow] = []
    for row in rows:
        if int(fmpz_mat([*chosen, row]).rank()) > len(chosen):
            chosen.append(row)
    return chosen
