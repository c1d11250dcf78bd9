"""Polynomials in bounded symbols, up to a degree, with everything beyond it bounded: Taylor models, in batches.

A value that depends on symbols s in [-1, 1]^m is the sum of (a_i + e_i) times the i-th monomial of s, where |e_i| is at
most a radius and may depend on s. Arithmetic is meant for each s by itself. Products of monomials beyond the degree and
every rounding go into the radius of the constant (M. Berz and K. Makino, Verified integration of ODEs and flows using
differential algebraic methods on high-order Taylor models, 1998). Arrays have axes (monomial, batch, component), those
of several coefficients in time one more in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from vernal.interpret.flow.balls import SLACK, BallArrays, inverse, points
from vernal.interpret.numbers.rounding import TINY, Array, Floats, gamma

if TYPE_CHECKING:
    from vernal.interpret.flow.jets import Composed


@dataclass(frozen=True, eq=False)
class Monomials:
    """The monomials of some symbols up to a degree: the constant, the symbols, then products of them by degree.

    It is the ring in which jets are computed with, as `GradientRing` is that of values with gradients.
    """

    symbols: tuple[int, ...]  # the generators of a set that they stand for
    degree: int
    degrees: Array  # (count,): of each monomial
    even: Array  # (count,): whether it is nowhere negative
    left: Array  # pairs of monomials whose product is within the degree, ordered by that product,
    right: Array
    starts: Array  # and where those of each product begin

    @property
    def count(self) -> int:
        return len(self.degrees)

    @property
    def width(self) -> int:
        """The number of monomials that are neither constant nor linear."""
        return self.count - 1 - len(self.symbols)

    # Arithmetic -------------------------------------------------------------------------------------------------------

    def paired(self, a: BallArrays, b: BallArrays) -> BallArrays:
        """The sum of a_j b_j over the first axis."""
        terms = len(a.mid)
        most = int(np.diff(self.starts, append=len(self.left)).max())
        products = (a.mid[:, self.left] * b.mid[:, self.right]).sum(0)
        mid = np.add.reduceat(products, self.starts, axis=0)
        sizes_a, sizes_b = self._sizes(a), self._sizes(b)
        whole_a, whole_b = sizes_a.sum(1), sizes_b.sum(1)
        loose_a, loose_b = a.rad.sum(1), b.rad.sum(1)
        beyond = np.zeros_like(whole_a)
        for i in range(1, self.degree + 1):
            beyond = beyond + sizes_a[:, i] * sizes_b[:, self.degree + 1 - i :].sum(1)
        rest = whole_a * loose_b + loose_a * (whole_b + loose_b) + beyond + gamma(terms + most + 2) * whole_a * whole_b
        rad = np.zeros_like(mid)
        rad[0] = rest.sum(0) * (SLACK + gamma(2 * terms + 4 * self.count)) + TINY
        return BallArrays(mid, rad)

    def _sizes(self, a: BallArrays) -> Floats:
        """Sums of the sizes of coefficients (terms, monomials, ...) by degree."""
        firsts = np.searchsorted(self.degrees, np.arange(self.degree + 1))
        found: Floats = np.add.reduceat(np.abs(a.mid), firsts, axis=1)
        return found

    def quotient(self, a: BallArrays, b: BallArrays) -> BallArrays:
        """a / b: 1 / b is a series in b less its constant."""
        centre, whole = points(b.mid[0]), self.range_of(b)
        powers = [inverse(centre)]
        for _ in range(self.degree):
            powers.append(-(powers[-1] * powers[0]))
        last = inverse(whole)
        rest = last
        for _ in range(self.degree + 1):
            rest = -(rest * last)
        return self.paired(a[None], self._series(b, [*powers, rest])[None])

    def composed(self, operator: Composed, x: BallArrays) -> BallArrays:
        """A function of a value: its Taylor polynomial at the constant, with the rest from all that x can be."""
        thin = operator.expansion(points(x.mid[0]), self.degree)
        whole = operator.expansion(self.range_of(x), self.degree + 1)
        return self._series(x, [*(thin[j] for j in range(self.degree + 1)), whole[self.degree + 1]])

    def _series(self, x: BallArrays, coefficients: list[BallArrays]) -> BallArrays:
        """A polynomial in x less its constant, by Horner's rule."""
        change = BallArrays(x.mid.copy(), x.rad)
        change.mid[0] = 0.0
        total = self._constant(x, coefficients[-1])
        for one in coefficients[-2::-1]:
            total = self.paired(total[None], change[None]) + self._constant(x, one)
        return total

    def _constant(self, like: BallArrays, value: BallArrays) -> BallArrays:
        made = BallArrays(np.zeros_like(like.mid), np.zeros_like(like.mid))
        made.mid[0], made.rad[0] = value.mid, value.rad
        return made

    def signs(self, x: BallArrays) -> tuple[Floats, Floats]:
        """Between which ends a value is."""
        return self.range_of(x).ends

    def kinked(self, k: int, x: BallArrays, factor: Floats, open_: Array) -> BallArrays:
        """max(x, 0) where the sign is known, and nothing elsewhere."""
        return x * points(np.where(open_, np.nan, factor))

    # Ranges -----------------------------------------------------------------------------------------------------------

    def range_of(self, x: BallArrays) -> BallArrays:
        """What values (monomials, ...) can be."""
        return self.bounded(x.mid, x.rad.sum(0))

    def bounded(self, coefficients: Floats, rest: Floats | float = 0.0) -> BallArrays:
        """What polynomials (monomials, ...) can be, up to a rest; a monomial that is even is between 0 and 1."""
        even = self.even.reshape(-1, *[1] * (coefficients.ndim - 1))
        halves = np.where(even, 0.5 * coefficients, 0.0)
        mid, size = coefficients[0] + halves.sum(0), np.abs(coefficients[1:]) - np.abs(halves[1:])
        lost = gamma(self.count + 4) * np.abs(coefficients).sum(0)
        return BallArrays(mid, (size.sum(0) + lost + rest) * (SLACK + gamma(2 * self.count)) + TINY)


@lru_cache(maxsize=64)
def monomials(symbols: tuple[int, ...], degree: int) -> Monomials:
    """Of these symbols, up to this degree."""
    if not symbols:
        degree = 0
    numbers = range(len(symbols))
    words = [word for k in range(degree + 1) for word in combinations_with_replacement(numbers, k)]
    place = {word: index for index, word in enumerate(words)}
    pairs = sorted(
        (place[tuple(sorted((*one, *other)))], place[one], place[other])
        for one in words
        for other in words
        if len(one) + len(other) <= degree
    )
    product, left, right = np.array(pairs, dtype=np.intp).T
    even = [bool(word) and all(word.count(symbol) % 2 == 0 for symbol in word) for word in words]
    degrees = np.array([len(word) for word in words])
    starts = np.searchsorted(product, np.arange(len(words)))
    return Monomials(symbols, degree, degrees, np.array(even), left, right, starts)


CONSTANT = monomials((), 0)
