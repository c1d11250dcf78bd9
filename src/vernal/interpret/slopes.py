"""Slopes of elementary functions over intervals: the calculus read in interval arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.interpret import interval
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.rounding import Backend
from vernal.interpret.value_sets import Range
from vernal.model.expr import Function
from vernal.model.traits import FUNCTIONS

BELL = (1.1283791670955125, 1.1283791670955128)  # floats below and above 2 / sqrt(pi)


@dataclass(frozen=True, slots=True)
class IntervalNumber:
    """Intervals with operators; numbers beside them are small integers, which floats are exact about."""

    backend: Backend
    range: Range

    def __neg__(self) -> IntervalNumber:
        return IntervalNumber(self.backend, interval.negate(self.range))

    def __add__(self, other: IntervalNumber | int) -> IntervalNumber:
        return IntervalNumber(self.backend, interval.add(self.backend, self.range, self._range(other)))

    def __sub__(self, other: int) -> IntervalNumber:
        return self + -other

    def __rsub__(self, other: int) -> IntervalNumber:
        return -self + other

    def __mul__(self, other: IntervalNumber | int) -> IntervalNumber:
        if other == 2:  # exactly
            return IntervalNumber(self.backend, Range(2.0 * self.range.lower, 2.0 * self.range.upper))
        return IntervalNumber(self.backend, interval.multiply(self.backend, self.range, self._range(other)))

    def __truediv__(self, other: IntervalNumber | int) -> IntervalNumber:
        if other == 4:  # exactly, but for underflow
            lower, upper = self.backend.down(0.25 * self.range.lower), self.backend.up(0.25 * self.range.upper)
            return IntervalNumber(self.backend, Range(lower, upper))
        return IntervalNumber(self.backend, interval.divide(self.backend, self.range, self._range(other)))

    def __rtruediv__(self, other: int) -> IntervalNumber:
        return IntervalNumber(self.backend, interval.divide(self.backend, self._range(other), self.range))

    def __pow__(self, exponent: int) -> IntervalNumber:
        return IntervalNumber(self.backend, interval.power(self.backend, self.range, Fraction(exponent)))

    __radd__, __rmul__ = __add__, __mul__

    def _range(self, other: IntervalNumber | int) -> Range:
        if isinstance(other, IntervalNumber):
            return other.range
        constant = self.backend.xp.zeros_like(self.range.lower) + float(other)
        return Range(constant, constant)


@dataclass(frozen=True, slots=True)
class IntervalAlgebra:
    """Interval arithmetic on a backend."""

    backend: Backend

    @property
    def bell(self) -> IntervalNumber:
        low, high = (self.backend.array(np.array(end)) for end in BELL)
        return IntervalNumber(self.backend, Range(low, high))

    def apply(self, function: Function, x: IntervalNumber) -> IntervalNumber:
        return IntervalNumber(self.backend, interval.elementary(self.backend, x.range, function))


def slope(backend: Backend, function: Function, x: Range, value: Range | None = None) -> Range:
    """The derivative over intervals, from the values there where they are known; of what only rises never below 0."""
    algebra, argument = IntervalAlgebra(backend), IntervalNumber(backend, x)

    def known() -> IntervalNumber:
        return algebra.apply(function, argument) if value is None else IntervalNumber(backend, value)

    found: Range = CALCULUS[function].slope(argument, known, algebra).range
    if not FUNCTIONS[function].monotone:
        return found
    return Range(backend.positive(found.lower), backend.positive(found.upper))
