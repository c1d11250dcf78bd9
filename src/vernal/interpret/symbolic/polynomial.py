"""Conditions over one box by exact polynomials: what holds with no room to spare, as x - x^2 >= 0 on [0, 1].

Over a box on which every case is decided, a number is a quotient of polynomials in the variables, with a denominator
that is positive. A polynomial lies between the least and the greatest of its Bernstein coefficients over the box, which
are exact rationals; at the corners of the box they are its values. What is not of this kind, or is not decided, has no
quotient, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate, repeat
from math import comb, prod
from operator import mul

import numpy as np
from numpy.typing import NDArray

from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.initial import Ends
from vernal.model.sorts import BOOL
from vernal.model.tick import Tick

MAX_VARIABLES = 12
MAX_COEFFICIENTS = 4096  # of a polynomial over all powers up to its degrees
MAX_BITS = 1 << 14  # of a coefficient
ONE = Fraction(1)

Powers = tuple[int, ...]


class _TooLarge(Exception):
    """A polynomial has too many coefficients, or too long ones."""


@dataclass(frozen=True)
class ExactPolynomial:
    """A sum of products of powers of the variables, by their exponents; none of the factors is zero."""

    factors: Mapping[Powers, Fraction]

    def __add__(self, other: ExactPolynomial) -> ExactPolynomial:
        made = dict(self.factors)
        for powers, factor in other.factors.items():
            made[powers] = made.get(powers, Fraction(0)) + factor
        return _polynomial(made)

    def __mul__(self, other: ExactPolynomial) -> ExactPolynomial:
        if len(self.factors) * len(other.factors) > MAX_COEFFICIENTS:
            raise _TooLarge
        made: dict[Powers, Fraction] = {}
        for powers, factor in self.factors.items():
            for others, more in other.factors.items():
                key = tuple(map(sum, zip(powers, others, strict=True)))
                made[key] = made.get(key, Fraction(0)) + factor * more
        return _polynomial(made)

    def scaled(self, factor: Fraction) -> ExactPolynomial:
        """The same times a number."""
        return _polynomial({powers: factor * own for powers, own in self.factors.items()})

    def between(self, box: Sequence[Ends]) -> Ends:
        """Ends of its values over a box: the least and the greatest Bernstein coefficient."""
        if not self.factors:
            return Fraction(0), Fraction(0)
        array = self._dense()
        for axis, ends in enumerate(box):
            array = np.moveaxis(np.tensordot(_to_bernstein(array.shape[axis] - 1, ends), array, (1, axis)), 0, axis)
        numbers = array.ravel().tolist()
        return min(numbers), max(numbers)

    def _dense(self) -> NDArray[np.object_]:
        array = np.full([max(powers) + 1 for powers in zip(*self.factors, strict=True)], Fraction(0), dtype=object)
        for powers, factor in self.factors.items():
            array[powers] = factor
        return array


def _polynomial(factors: Mapping[Powers, Fraction]) -> ExactPolynomial:
    left = {powers: factor for powers, factor in factors.items() if factor}
    if left and prod(max(powers) + 1 for powers in zip(*left, strict=True)) > MAX_COEFFICIENTS:
        raise _TooLarge
    if any(number.numerator.bit_length() + number.denominator.bit_length() > MAX_BITS for number in left.values()):
        raise _TooLarge
    return ExactPolynomial(left)


def _to_bernstein(degree: int, ends: Ends) -> NDArray[np.object_]:
    """The matrix from the factors of powers to Bernstein coefficients over an interval.

    x = low + width t turns a power of x into powers of t; t^j has the coefficients C(i, j) / C(degree, j).
    """
    low, width = ends[0], ends[1] - ends[0]
    powers = [list(accumulate([base] * degree, Fraction.__mul__, initial=ONE)) for base in (low, width)]
    moved = [
        [comb(k, j) * powers[0][k - j] * powers[1][j] if j <= k else Fraction(0) for k in range(degree + 1)]
        for j in range(degree + 1)
    ]
    shares = [[Fraction(comb(i, j), comb(degree, j)) for j in range(degree + 1)] for i in range(degree + 1)]
    made: NDArray[np.object_] = np.array(shares, dtype=object) @ np.array(moved, dtype=object)
    return made


@dataclass(frozen=True)
class Quotient:
    """A numerator over a denominator that is positive on the box."""

    numerator: ExactPolynomial
    denominator: ExactPolynomial

    def __add__(self, other: Quotient) -> Quotient:
        if self.denominator == other.denominator:
            return Quotient(self.numerator + other.numerator, self.denominator)
        top = self.numerator * other.denominator + other.numerator * self.denominator
        return Quotient(top, self.denominator * other.denominator)

    def __neg__(self) -> Quotient:
        return Quotient(self.numerator.scaled(-ONE), self.denominator)

    def __mul__(self, other: Quotient) -> Quotient:
        return Quotient(self.numerator * other.numerator, self.denominator * other.denominator)


QuotientOrTruth = Quotient | bool | None  # a number, a truth value, or nothing is known


class PolynomialBox:
    """What is known of nodes over a box."""

    def __init__(self, box: Mapping[Expr, Ends], tick: Tick) -> None:
        self.names, self.box, self.tick = list(box), list(box.values()), tick

    def truth(self, condition: Expr) -> bool | None:
        """The truth value that a condition has everywhere in the box, where that can be seen."""
        if len(self.names) > MAX_VARIABLES:
            return None
        known: dict[Expr, QuotientOrTruth] = {}
        for node in order([condition]):
            self.tick()
            try:
                known[node] = self._value(node, [known[arg] for arg in node.args])
            except _TooLarge:
                known[node] = None
        found = known[condition]
        return found if isinstance(found, bool) else None

    def _value(self, node: Expr, args: Sequence[QuotientOrTruth]) -> QuotientOrTruth:
        if node.shape:
            return None
        if node.sort == BOOL:
            return self._truth(node, args)
        match node:
            case e.Const():
                return self._constant(node.value)
            case e.Var() if node in self.names:
                return self._variable(node)
            case e.If():
                return None if not isinstance(args[0], bool) else args[1] if args[0] else args[2]
        numbers = [arg for arg in args if isinstance(arg, Quotient)]
        return self._number(node, numbers) if numbers and len(numbers) == len(args) else None

    def _constant(self, value: Fraction) -> Quotient:
        zero = (0,) * len(self.names)
        return Quotient(_polynomial({zero: Fraction(value)}), ExactPolynomial({zero: ONE}))

    def _variable(self, node: Expr) -> Quotient:
        place = self.names.index(node)
        own = tuple(int(place == other) for other in range(len(self.names)))
        return Quotient(ExactPolynomial({own: ONE}), ExactPolynomial({(0,) * len(own): ONE}))

    def _number(self, node: Expr, args: Sequence[Quotient]) -> Quotient | None:
        first, *rest = args
        match node:
            case e.Neg():
                return -first
            case e.Add():
                return sum(rest, first)
            case e.Mul():
                return reduce(mul, rest, first)
            case e.Div():
                return self._divided(first, rest[0])
            case e.Pow(exponent=exponent) if exponent.denominator == 1:
                return self._power(first, int(exponent))
            case e.Relu():
                return self._larger([first, self._constant(Fraction(0))])
            case e.Abs():
                return self._larger([first, -first])
            case e.Max():
                return self._larger(args)
            case e.Min():
                least = self._larger([-arg for arg in args])
                return None if least is None else -least
        return None

    def _power(self, base: Quotient, exponent: int) -> Quotient | None:
        one = self._constant(ONE)
        made = reduce(mul, repeat(base, abs(exponent)), one)
        return made if exponent > 0 else self._divided(one, made) if exponent < 0 else None

    def _divided(self, top: Quotient, bottom: Quotient) -> Quotient | None:
        """A quotient of quotients; of what may be zero there is none. Equal factors cancel where they are seen."""
        low, high = bottom.numerator.between(self.box)
        if low <= 0 <= high:
            return None
        sign = ONE if low > 0 else -ONE
        return top * Quotient(bottom.denominator.scaled(sign), bottom.numerator.scaled(sign))

    def _larger(self, args: Sequence[Quotient]) -> Quotient | None:
        """The greatest of some numbers, if it is the same one everywhere."""
        for one in args:
            if all(other is one or (one + -other).numerator.between(self.box)[0] >= 0 for other in args):
                return one
        return None

    def _truth(self, node: Expr, args: Sequence[QuotientOrTruth]) -> bool | None:
        match node:
            case e.Const():
                return bool(node.value)
            case e.Not():
                return None if args[0] is None else not args[0]
            case e.And():
                return False if False in args else None if None in args else True
            case e.Or():
                return True if True in args else None if None in args else False
            case e.If() if isinstance(args[0], bool):
                chosen = args[1] if args[0] else args[2]
                return chosen if isinstance(chosen, bool) else None
            case e.Compare():
                return self._compared(node.op, *args)
        return None

    def _compared(self, op: str, left: QuotientOrTruth, right: QuotientOrTruth) -> bool | None:
        if not isinstance(left, Quotient) or not isinstance(right, Quotient):
            return None
        low, high = (left + -right).numerator.between(self.box)
        match op:
            case "<":
                return True if high < 0 else False if low >= 0 else None
            case "<=":
                return True if high <= 0 else False if low > 0 else None
        equal = True if low == high == 0 else False if low > 0 or high < 0 else None
        return equal if op == "==" or equal is None else not equal
