"""Strict and non-strict linear constraints over the rationals, decided exactly by a simplex without an objective.

Every constraint is a variable with bounds; a strict bound is an end plus or minus an infinitesimal, so that values are
pairs r + k * delta. Starting from any values within the bounds of the inputs, a constraint outside its bounds is moved
to the one it violates by exchanging it with an input that can give way; if none can, there is no solution. Taking the
first candidate each time (Bland) makes it end. In the end delta becomes a small enough rational.

Reference: B. Dutertre and L. de Moura, A fast linear-arithmetic solver for DPLL(T), CAV 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from vernal.interpret.numbers.number_size import fit
from vernal.model.tick import Tick, idle

ZERO, ONE = fmpq(0), fmpq(1)

Delta = tuple[fmpq, fmpq]  # r + k * delta


@dataclass(frozen=True, slots=True)
class VariableBounds:
    """What a variable may be; None where it is not bounded on that side."""

    lower: Delta | None
    upper: Delta | None

    def clamp(self, value: Delta) -> Delta:
        if self.lower is not None and value < self.lower:
            return self.lower
        return self.upper if self.upper is not None and value > self.upper else value


def solve(
    matrix: Sequence[Sequence[fmpq]],
    inputs: Sequence[VariableBounds],
    rows: Sequence[VariableBounds],
    start: Sequence[fmpq],
    tick: Tick = idle,
) -> list[fmpq] | None:
    """Values x within the inputs' bounds for which matrix * x is within the rows' bounds, or None if there are none.

    The nearer `start` is to a solution, the less there is to do. `tick` is called for every row of every exchange.
    """
    tableau = _Tableau(matrix, [*inputs, *rows], start, tick)
    while True:
        row = tableau.violated()
        if row is None:
            return tableau.concrete()
        column = tableau.entering(row)
        if column is None:
            return None
        tableau.exchange(row, column)


class _Tableau:
    """Basic variables as combinations of the others, which are the columns."""

    def __init__(
        self,
        matrix: Sequence[Sequence[fmpq]],
        bounds: list[VariableBounds],
        start: Sequence[fmpq],
        tick: Tick,
    ) -> None:
        count = len(start)
        self.bounds, self.tick = bounds, tick
        self.columns = list(range(count))
        self.basic = list(range(count, len(bounds)))
        self.rows = [list(row) for row in matrix]
        self.values: list[Delta] = [bounds[j].clamp((x, ZERO)) for j, x in enumerate(start)]
        self.values += [self._combine(row) for row in self.rows]

    def _combine(self, row: Sequence[fmpq]) -> Delta:
        self.tick()
        real = small = ZERO
        for a, (r, k) in zip(row, self.values, strict=False):
            real, small = fit(real + a * r), fit(small + a * k)
        return real, small

    def violated(self) -> int | None:
        """The row of the first basic variable outside its bounds."""
        found, first = None, len(self.bounds)
        for i, variable in enumerate(self.basic):
            if variable < first and self.values[variable] != self.bounds[variable].clamp(self.values[variable]):
                found, first = i, variable
        return found

    def entering(self, row: int) -> int | None:
        """The column of the first variable that can move the violated one towards its bound."""
        variable = self.basic[row]
        rising = self.values[variable] < self.bounds[variable].clamp(self.values[variable])
        found, first = None, len(self.bounds)
        for j, (a, candidate) in enumerate(zip(self.rows[row], self.columns, strict=True)):
            if candidate < first and a != ZERO and self._can_move(candidate, (a > ZERO) == rising):
                found, first = j, candidate
        return found

    def _can_move(self, variable: int, up: bool) -> bool:
        end = self.bounds[variable].upper if up else self.bounds[variable].lower
        return end is None or self.values[variable] != end

    def exchange(self, row: int, column: int) -> None:
        """Put the violated variable on its bound, and the entering one into the basis."""
        leaving, entering = self.basic[row], self.columns[column]
        pivot = self.rows[row][column]
        target = self.bounds[leaving].clamp(self.values[leaving])
        change = tuple((new - old) / pivot for new, old in zip(target, self.values[leaving], strict=True))
        self._shift(entering, change[0], change[1])
        for i, variable in enumerate(self.basic):
            a = self.rows[i][column]
            if i != row and a != ZERO:
                self._shift(variable, a * change[0], a * change[1])
        self.values[leaving] = target
        self._pivot(row, column, pivot)
        self.basic[row], self.columns[column] = entering, leaving

    def _shift(self, variable: int, real: fmpq, small: fmpq) -> None:
        r, k = self.values[variable]
        self.values[variable] = fit(r + real), fit(k + small)

    def _pivot(self, row: int, column: int, pivot: fmpq) -> None:
        solved = [fit(-a / pivot) for a in self.rows[row]]
        solved[column] = ONE / pivot
        used = [(j, a) for j, a in enumerate(solved) if a != ZERO and j != column]
        for i, entries in enumerate(self.rows):
            self.tick()
            factor = entries[column]
            if i == row or factor == ZERO:
                continue
            for j, a in used:
                entries[j] = fit(entries[j] + factor * a)
            entries[column] = fit(factor * solved[column])
        self.rows[row] = solved

    def concrete(self) -> list[fmpq]:
        """The inputs' values, with a rational for delta that keeps every bound."""
        count = len(self.columns)
        delta = ONE
        for bounds, (r, k) in zip(self.bounds, self.values, strict=True):
            if bounds.lower is not None and r > bounds.lower[0] and k < bounds.lower[1]:
                delta = min(delta, (r - bounds.lower[0]) / (bounds.lower[1] - k))
            if bounds.upper is not None and r < bounds.upper[0] and k > bounds.upper[1]:
                delta = min(delta, (bounds.upper[0] - r) / (k - bounds.upper[1]))
        small = _round_down(delta)
        return [r + k * small for r, k in self.values[:count]]


def _round_down(delta: fmpq) -> fmpq:
    """A power of two not above delta: short numbers stay short."""
    excess = max(0, int(delta.q).bit_length() - int(delta.p).bit_length() + 1)
    return fmpq(1, 1 << excess) if excess else ONE
