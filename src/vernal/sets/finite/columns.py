"""States as rows of integers: which columns a variable has, and what is written in them.

Integers, truth values and labels are written as they are. A real is written as the number of its exact value in a table
of rationals, so that a real that takes finitely many values is a discrete variable like the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from vernal.interpret.discrete.solutions import ValueBoxes
from vernal.interpret.numbers.rounding import Array, Floats, float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value, indices
from vernal.model.expr import Component, Expr
from vernal.model.initial import InitialSet, OneOf, Start, Valuation
from vernal.model.sorts import REAL, Kind, Sort
from vernal.sets.finite.table import Codes, Numbers

LARGEST_INTEGER = 2**53  # beyond it floats skip integers
MAX_BITS = 2000  # of a rational: one that takes finitely many values seldom needs more


class NotFinite(Exception):
    """The reachable states cannot be enumerated, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Rationals:
    """Numbered rationals, each with the floats around it."""

    def __init__(self) -> None:
        self.values: list[Fraction] = []
        self._numbers: dict[Fraction, int] = {}
        self._ends: Floats = np.empty((64, 2))

    def number(self, value: Fraction) -> int:
        """The number of a rational, which is entered where it is new."""
        known = self._numbers.get(value)
        if known is not None:
            return known
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise NotFinite(f"a real variable takes more and more values: one has more than {MAX_BITS:,} bits")
        number = len(self.values)
        if number == len(self._ends):
            self._ends = np.concatenate([self._ends, np.empty_like(self._ends)])
        self._ends[number] = float_below(value), float_above(value)
        self.values.append(value)
        self._numbers[value] = number
        return number

    def numbers(self, floats: Floats) -> Numbers:
        """The numbers of values that are floats."""
        distinct, which = np.unique(floats, return_inverse=True)
        known = np.array([self.number(Fraction(float(value))) for value in distinct], np.int64)
        return known[which.reshape(-1)]

    def ends(self, numbers: Numbers) -> Floats:
        """The floats around each of these values."""
        found: Floats = self._ends[numbers]
        return found


class Columns:
    """The columns of a system's variables, in their order: the components of the state, then of the memories."""

    def __init__(self, inputs: Sequence[Expr]) -> None:
        self.rationals = Rationals()
        self.places: dict[Expr, range] = {}
        count = 0
        for var in inputs:
            self.places[var] = range(count, count + var.size)
            count += var.size
        self.count = count

    def of(self, variables: Iterable[Expr]) -> list[int]:
        """The columns of some variables."""
        return [column for var in variables for column in self.places[var]]

    # Writing ----------------------------------------------------------------------------------------------------------

    def code(self, value: Fraction, sort: Sort) -> int:
        """An exact value as an entry of a column."""
        if sort == REAL:
            return self.rationals.number(value)
        if not sort.has(value):
            raise NotFinite(f"{value} is no value of a variable of sort {sort}")
        return checked_integer(int(value))

    def starts(self, initial: InitialSet, most: int) -> Codes:
        """Every combination of initial values; constraints are not looked at."""
        values = [self._starts(var.sort, start) for var, _, start in initial.components()]
        total = 1
        for options in values:
            total *= len(options)
            if total > most:
                raise NotFinite(f"there are more than {most:,} initial states")
        rows = np.empty((total, self.count), np.int64)
        repeat = total
        for column, options in enumerate(values):
            repeat //= max(len(options), 1)
            rows[:, column] = np.resize(np.repeat(np.array(options, np.int64), repeat), total)
        return rows

    def starts_in(self, boxes: ValueBoxes, initial: InitialSet, most: int) -> Codes:
        """Every combination of the values that constraints leave with those of the other variables."""
        others = InitialSet(
            {
                var: tuple(map(_one_value, entry)) if var in boxes.variables else entry
                for var, entry in initial.starts.items()
            }
        )
        free = self.starts(others, most)
        if boxes.count * len(free) > most:
            raise NotFinite(f"there are more than {most:,} initial states")
        solved = boxes.rows()
        rows = np.tile(free, (len(solved), 1))
        rows[:, self.of(boxes.variables)] = np.repeat(solved, len(free), axis=0)
        return rows

    def _starts(self, sort: Sort, start: Start) -> list[int]:
        if isinstance(start, OneOf):
            return [self.code(value, sort) for value in dict.fromkeys(start.values) if sort.has(value)]
        if sort.is_discrete:
            if len(start.integers) > LARGEST_INTEGER:
                raise NotFinite("there are too many initial states")
            return [checked_integer(value) for value in start.integers]
        if not start.is_point:
            raise NotFinite(f"a variable of sort {sort} starts anywhere in {start}: infinitely many initial states")
        return [self.code(start.lower, sort)]

    # Reading ----------------------------------------------------------------------------------------------------------

    def value(self, var: Expr, rows: Codes) -> Value:
        """What interval arithmetic is given for a variable: points, but around reals that are no floats."""
        place = self.places[var]
        codes = rows[:, place.start : place.stop]
        match var.sort.kind:
            case Kind.BOOL:
                truth: Array = codes.astype(bool)
                return Truth(truth, truth)
            case Kind.ENUM:
                labels = len(var.sort.labels)
                return Finite(codes[:, :, None] == np.arange(labels), indices(labels))
            case Kind.REAL:
                ends = self.rationals.ends(codes)
                return Range(ends[..., 0], ends[..., 1])
        numbers = codes.astype(np.float64)
        return Range(numbers, numbers)

    def valuation(self, row: Sequence[int]) -> Valuation:
        """The exact values of a row."""
        return {
            var: tuple(self._exact(var.sort, int(row[column])) for column in place)
            for var, place in self.places.items()
        }

    def points(self, components: Sequence[Component], rows: Codes) -> Iterator[tuple[tuple[Fraction, Fraction], ...]]:
        """The exact values of these components in rows, each as both ends; equal values are one object."""
        tables = []
        for var, place in components:
            codes, index = np.unique(rows[:, self.places[var].start + place], return_inverse=True)
            values = [(exact, exact) for exact in (self._exact(var.sort, int(code)) for code in codes)]
            tables.append([values[i] for i in index.tolist()])
        yield from zip(*tables, strict=True)

    def _exact(self, sort: Sort, code: int) -> Fraction:
        return self.rationals.values[code] if sort == REAL else Fraction(code)


def _one_value(start: Start) -> Start:
    return OneOf((start.first,))


def checked_integer(value: int) -> int:
    """An integer that floats have, too."""
    if abs(value) >= LARGEST_INTEGER:
        raise NotFinite("an integer variable grows beyond 2^53")
    return value


def slices(count: int, size: int) -> Iterator[slice]:
    """So many rows in pieces of at most this size."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
