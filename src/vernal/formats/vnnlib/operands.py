"""Terms of a query: polynomials over the numbered elements of its tensors, with rational coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, product
from math import prod

ZERO, ONE, MINUS_ONE = Fraction(0), Fraction(1), Fraction(-1)
NONE: Mapping[tuple[int, ...], Fraction] = {}  # no products
NO_TERMS: Mapping[int, Fraction] = {}


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of elements with coefficients, products of elements (in ascending order) with theirs, and a constant."""

    terms: Mapping[int, Fraction] = field(default_factory=dict)
    constant: Fraction = ZERO
    products: Mapping[tuple[int, ...], Fraction] = field(default_factory=lambda: NONE)

    @property
    def elements(self) -> set[int]:
        """The elements that occur in it."""
        return {*self.terms, *chain.from_iterable(self.products)}

    @property
    def is_constant(self) -> bool:
        return not self.terms and not self.products

    @property
    def length(self) -> int:
        """How many monomials it has."""
        return len(self.terms) + len(self.products) + 1

    @property
    def degree(self) -> int:
        return max(map(len, self.products), default=1 if self.terms else 0)

    @property
    def bits(self) -> int:
        """Of its longest numerator or denominator."""
        numbers = (self.constant, *self.terms.values(), *self.products.values())
        return max(max(abs(n.numerator), n.denominator).bit_length() for n in numbers)

    def scaled(self, factor: Fraction) -> Polynomial:
        if factor == 0:
            return Polynomial()
        terms = {index: factor * value for index, value in self.terms.items()}
        products = {key: factor * value for key, value in self.products.items()} if self.products else NONE
        return Polynomial(terms, factor * self.constant, products)

    def value(self, point: Sequence[Fraction]) -> Fraction:
        linear = sum((factor * point[index] for index, factor in self.terms.items()), self.constant)
        return linear + sum(factor * prod(point[i] for i in key) for key, factor in self.products.items())


def total(parts: Sequence[Polynomial]) -> Polynomial:
    """The sum; what cancels is gone."""
    terms: dict[int, Fraction] = {}
    products: dict[tuple[int, ...], Fraction] = {}
    for part in parts:
        for index, factor in part.terms.items():
            terms[index] = terms.get(index, ZERO) + factor
        for key, factor in part.products.items():
            products[key] = products.get(key, ZERO) + factor
    return _collected(terms, sum((part.constant for part in parts), ZERO), products)


def difference(left: Polynomial, right: Polynomial) -> Polynomial:
    """left - right; quick for a bound, an element on one side and a number on the other."""
    if not (right.terms or right.products):
        constant = left.constant - right.constant if left.constant else -right.constant
        return Polynomial(left.terms, constant, left.products)
    if not (left.terms or left.products or right.products):
        constant = left.constant - right.constant if right.constant else left.constant
        return Polynomial({index: -factor for index, factor in right.terms.items()}, constant, NONE)
    return total([left, right.scaled(MINUS_ONE)])


def multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    """The product, every monomial with every other."""
    if left.is_constant or right.is_constant:
        return right.scaled(left.constant) if left.is_constant else left.scaled(right.constant)
    terms: dict[int, Fraction] = {}
    products: dict[tuple[int, ...], Fraction] = {}
    for (a, first), (b, second) in product(_monomials(left), _monomials(right)):
        key = tuple(sorted(a + b))
        if len(key) == 1:
            terms[key[0]] = terms.get(key[0], ZERO) + first * second
        else:
            products[key] = products.get(key, ZERO) + first * second
    constant = products.pop((), ZERO)
    return _collected(terms, constant, products)


def _monomials(term: Polynomial) -> list[tuple[tuple[int, ...], Fraction]]:
    linear: list[tuple[tuple[int, ...], Fraction]] = [((index,), factor) for index, factor in term.terms.items()]
    return [*linear, *term.products.items(), *([((), term.constant)] if term.constant else [])]


def _collected(terms: dict[int, Fraction], constant: Fraction, products: dict[tuple[int, ...], Fraction]) -> Polynomial:
    kept = {key: factor for key, factor in products.items() if factor}
    return Polynomial({index: factor for index, factor in terms.items() if factor}, constant, kept or NONE)
