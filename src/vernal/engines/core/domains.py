"""Domains: parts of the initial set as arrays, a row for each box, cut in batches.

Ends are floats that enclose the exact ones, once; a cut is at a float that both halves share, so nothing is lost between
them. Integers, truth values and labels are cut between two of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.interpret.abstract import Value, between
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.interpret.program import ArrayInputs
from vernal.model.expr import Component, Expr
from vernal.model.initial import Box, InitialSet, Valuation
from vernal.model.sorts import BOOL, REAL

Indices = np.ndarray  # of rows


@dataclass(frozen=True)
class Frame:
    """Which columns of a domain belong to which variable, and the exact ends of the whole."""

    variables: tuple[Expr, ...]
    whole: tuple[Box, ...]

    @property
    def columns(self) -> list[Component]:
        return [(var, index) for var in self.variables for index in range(var.size)]

    @property
    def discrete(self) -> Mask:
        """(columns,): which take finitely many values in an interval."""
        return np.array([var.sort != REAL for var, _ in self.columns], dtype=bool)

    def slices(self) -> list[tuple[Expr, slice]]:
        """Each variable with its columns."""
        found, start = [], 0
        for var in self.variables:
            found.append((var, slice(start, start + var.size)))
            start += var.size
        return found

    def enter(self) -> Domains:
        """The boxes of the whole, not cut yet."""
        ends = [[box.ends[var][index] for var, index in self.columns] for box in self.whole]
        shape = (len(ends), len(self.columns))
        lower = np.array([[float_below(low) for low, _ in row] for row in ends]).reshape(shape)
        upper = np.array([[float_above(high) for _, high in row] for row in ends]).reshape(shape)
        return Domains(lower, upper, np.full(len(ends), -np.inf), np.arange(len(ends)))

    def abstract(self, domains: Domains) -> dict[Expr, Value]:
        """The boxes as a batch of abstract values."""
        lower, upper = domains.lower, domains.upper
        return {var: between(var, lower[:, at], upper[:, at]) for var, at in self.slices()}

    def inputs(self, points: Floats) -> ArrayInputs:
        """Points, a row each, as a batch of values."""
        made: dict[Expr, Floats] = {}
        for var, at in self.slices():
            own = points[:, at] if var.shape else points[:, at.start]
            made[var] = own == 1 if var.sort == BOOL else own
        return made

    def valuation(self, initial: InitialSet, point: Floats) -> Valuation:
        """The initial values nearest to a point."""
        return initial.nearest({var: point[at].tolist() for var, at in self.slices()})

    def box(self, domains: Domains, row: int) -> Box:
        """One domain as an exact box, inside the whole it comes from."""
        whole = self.whole[int(domains.origin[row])]
        made = dict(whole.ends)
        for var, at in self.slices():
            pairs = zip(whole.ends[var], domains.lower[row, at], domains.upper[row, at], strict=True)
            made[var] = tuple((max(low, Fraction(a)), min(high, Fraction(b))) for (low, high), a, b in pairs)
        return Box(made)


@dataclass(frozen=True)
class Domains:
    """A batch of boxes: ends (boxes, columns), a bound that is known already, and the whole box each is part of."""

    lower: Floats
    upper: Floats
    bound: Floats
    origin: Indices

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def width(self) -> Floats:
        return self.upper - self.lower

    def rows(self, index: Indices | slice | Mask) -> Domains:
        """Some of the boxes."""
        return Domains(self.lower[index], self.upper[index], self.bound[index], self.origin[index])

    def with_bound(self, bound: Floats) -> Domains:
        """The same boxes with bounds; one that was better stays, since it was true of the whole."""
        return Domains(self.lower, self.upper, np.maximum(self.bound, bound), self.origin)

    def halves(self, column: Indices, discrete: Mask) -> Domains:
        """Both halves of every box, cut in one column each: all the lower ones, then all the upper ones."""
        row = np.arange(len(self))
        low, high = self.lower[row, column], self.upper[row, column]
        middle = 0.5 * low + 0.5 * high
        below = np.where(discrete[column], np.floor(middle), middle)
        above = np.where(discrete[column], below + 1, middle)
        lower, upper = self.lower.copy(), self.upper.copy()
        upper[row, column], lower[row, column] = below, above
        return joined([Domains(self.lower, upper, self.bound, self.origin), Domains(lower, self.upper, self.bound, self.origin)])


def joined(parts: Sequence[Domains]) -> Domains:
    """Several batches as one."""
    fields = zip(*((part.lower, part.upper, part.bound, part.origin) for part in parts), strict=True)
    return Domains(*(np.concatenate(field) for field in fields))
