"""f - N as a sum of functions of different variables, and an affine rest: each is bounded by itself.

The largest value of a sum over a box is the sum of the largest values, where no two terms look at the same variable. So
the error of x' = -y - x^2 is that of a function of x alone, as long as the ReLUs that are neither active nor inactive
on the whole region look at x alone. What is affine in f and in N is compared in rationals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.model.expr import Add, Const, Div, Expr, Mul, Neg, Var
from vernal.model.graph import order
from vernal.model.terms import terms
from vernal.reduce.neural.difference import ErrorField

Coordinates = frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class ErrorPart:
    """What some rates have of f - N that depends on some coordinates alone."""

    outputs: tuple[int, ...]
    coordinates: tuple[int, ...]
    difference: ErrorField


@dataclass(frozen=True, slots=True, eq=False)
class AffineEnds:
    """The largest values of affine functions, one for each rate, then of their negations, and where they have them."""

    points: Floats  # (2, rates, coordinates)
    values: list[Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class SeparatedError:
    """f - N as the sum of its parts and of affine functions."""

    parts: tuple[ErrorPart, ...]
    slopes: tuple[tuple[Fraction, ...], ...]  # for each rate and each coordinate; 0 where a part has it
    constants: tuple[Fraction, ...]

    def count(self, output: int) -> int:
        """Of how many parts the error of a rate is the sum."""
        return sum(output in part.outputs for part in self.parts)

    def affine_ends(self, lower: Floats, upper: Floats) -> AffineEnds:
        """Where the affine rest is largest, and where it is least, in a box of all coordinates."""
        points = np.tile(0.5 * lower + 0.5 * upper, (2, len(self.constants), 1))
        above, below = list(self.constants), [-constant for constant in self.constants]
        for i, row in enumerate(self.slopes):
            for k in (k for k, slope in enumerate(row) if slope):
                points[:, i, k] = (upper[k], lower[k]) if row[k] > 0 else (lower[k], upper[k])
                above[i] += row[k] * Fraction(float(points[0, i, k]))
                below[i] -= row[k] * Fraction(float(points[1, i, k]))
        return AffineEnds(points, [*above, *below])


def undivided(whole: ErrorField) -> SeparatedError:
    """All of it as one part."""
    every = tuple(range(len(whole.coordinates)))
    zero = (Fraction(0),) * whole.outputs
    return SeparatedError((ErrorPart(tuple(range(whole.outputs)), every, whole),), (zero * 0,) * whole.outputs, zero)


def separated(whole: ErrorField, lower: Floats, upper: Floats) -> SeparatedError:
    """The parts of an error over a box of all coordinates; one part where the network has several hidden layers."""
    if len(whole.weights) > 2 or not whole.size:
        return undivided(whole)
    return Separation(whole, lower, upper).run()


class Separation:
    """Takes the error of one network, with at most one hidden layer, apart."""

    def __init__(self, whole: ErrorField, lower: Floats, upper: Floats) -> None:
        self.whole, self.lower, self.upper = whole, lower, upper
        self.places = {variable: k for k, variable in enumerate(whole.coordinates)}
        hidden, size = len(whole.weights) == 2, whole.size
        self.inner = whole.weights[0] if hidden else np.zeros((0, size))
        self.heights = whole.biases[0] if hidden else np.zeros(0)
        self.outer = whole.weights[1] if hidden else np.zeros((whole.outputs, 0))
        self.signs = [self._sign(j) for j in range(len(self.inner))]  # of each neuron on the region; 0 where it is open
        sums = [_terms(rate) for rate in whole.rates]
        self.nonlinear = [{node: a for node, a in found.items() if not isinstance(node, Var)} for found, _ in sums]
        self.slopes = [self._slopes(i, found) for i, (found, _) in enumerate(sums)]
        self.constants = [self._constant(i, constant) for i, (_, constant) in enumerate(sums)]

    def run(self) -> SeparatedError:
        """The parts, and what they leave."""
        owners: dict[Coordinates, list[int]] = defaultdict(list)
        for i in range(self.whole.outputs):
            for coordinates in self._classes(i):
                owners[coordinates].append(i)
        parts = tuple(self._part(sorted(coordinates), outputs) for coordinates, outputs in owners.items())
        for part in parts:
            for i in part.outputs:
                for at in part.coordinates:
                    self.slopes[i][at] = Fraction(0)
        return SeparatedError(parts, tuple(map(tuple, self.slopes)), tuple(self.constants))

    # Affine parts, in rationals ---------------------------------------------------------------------------------------

    def _sign(self, j: int) -> int:
        """1 where a neuron is nowhere below 0, -1 where nowhere above, 0 where it is neither."""
        row, height = _exactly(self.inner[j]), Fraction(float(self.heights[j]))
        ends = list(zip(row, _exactly(self.lower), _exactly(self.upper), strict=False))
        least = height + sum(min(a * low, a * high) for a, low, high in ends)
        most = height + sum(max(a * low, a * high) for a, low, high in ends)
        return 1 if least >= 0 else -1 if most <= 0 else 0

    def _slopes(self, i: int, found: dict[Expr, Fraction]) -> list[Fraction]:
        """The coefficients of f less those of the neurons that are active everywhere."""
        slopes = [found.get(variable, Fraction(0)) for variable in self.whole.coordinates]
        rows = [(self._weight(i, j), self.inner[j]) for j in self._with_sign(1) if self.outer[i, j]]
        if not len(self.inner) and len(self.whole.weights) == 1:
            rows = [(Fraction(1), self.whole.weights[0][i])]
        for weight, row in rows:
            for k, a in enumerate(_exactly(row)):
                slopes[k] -= weight * a
        return slopes

    def _constant(self, i: int, constant: Fraction) -> Fraction:
        active = [self._weight(i, j) * Fraction(float(self.heights[j])) for j in self._with_sign(1)]
        return constant - sum(active, Fraction(float(self.whole.biases[-1][i])))

    def _with_sign(self, sign: int) -> list[int]:
        return [j for j, own in enumerate(self.signs) if own == sign]

    def _weight(self, i: int, j: int) -> Fraction:
        return Fraction(float(self.outer[i, j]))

    # The rest ---------------------------------------------------------------------------------------------------------

    def _classes(self, i: int) -> list[Coordinates]:
        """Coordinates of one rate, those together that some term or some open neuron looks at."""
        looks = [self._looked_at(node) for node in self.nonlinear[i]]
        looks += [self._support(j) for j in self._with_sign(0) if self.outer[i, j]]
        return _joined(looks)

    def _looked_at(self, node: Expr) -> Coordinates:
        """The coordinates of a term; the first for a term that has none, which needs some place."""
        return frozenset(self.places[below] for below in order([node]) if isinstance(below, Var)) or frozenset([0])

    def _support(self, j: int) -> Coordinates:
        return frozenset(np.flatnonzero(self.inner[j]).tolist())

    def _part(self, coordinates: list[int], outputs: list[int]) -> ErrorPart:
        """With the neurons and terms of these coordinates."""
        inside = frozenset(coordinates)
        neurons = [j for j in self._with_sign(0) if self._support(j) <= inside and self.outer[outputs, j].any()]
        rates = {self.whole.names[i]: self._rate(i, inside) for i in outputs}
        inner = np.zeros((len(neurons), len(self.whole.coordinates)))
        inner[:, : self.whole.size] = self.inner[neurons]
        weights, biases = [inner[:, coordinates], self.outer[np.ix_(outputs, neurons)]], [self.heights[neurons]]
        if not neurons:
            weights, biases = [np.zeros((len(outputs), len(coordinates)))], []
        variables = [self.whole.coordinates[k] for k in coordinates]
        found = ErrorField(variables, rates, weights, [*biases, np.zeros(len(outputs))])
        return ErrorPart(tuple(outputs), tuple(coordinates), found)

    def _rate(self, i: int, inside: Coordinates) -> Expr:
        chosen = [(node, a) for node, a in self.nonlinear[i].items() if self._looked_at(node) <= inside]
        chosen += [(self.whole.coordinates[k], self.slopes[i][k]) for k in sorted(inside) if self.slopes[i][k]]
        made = [node if a == 1 else build.mul(build.const(a), node) for node, a in chosen]
        return build.add(*made) if len(made) > 1 else made[0] if made else build.const(0)


def _terms(rate: Expr) -> tuple[dict[Expr, Fraction], Fraction]:
    """A rate as a sum; all of it as one term where what cancels in the sum might be undefined."""
    found, constant = terms((rate, Fraction(1)))
    kept = set(order(list(found)))
    if all(node in kept or _is_total(node) for node in order([rate])):
        return found, constant
    return {rate: Fraction(1)}, Fraction(0)


def _is_total(node: Expr) -> bool:
    """Whether a node is defined wherever its arguments are, seen at a glance."""
    match node:
        case Const() | Var() | Add() | Neg() | Mul():
            return True
        case Div(args=(_, Const(values=(value,)))):
            return value != 0
    return False


def _joined(groups: Iterable[Coordinates]) -> list[Coordinates]:
    """Groups with common elements become one."""
    found: list[Coordinates] = []
    for group in groups:
        touching = [other for other in found if other & group]
        found = [other for other in found if not other & group] + [group.union(*touching)]
    return found


def _exactly(values: Floats) -> Sequence[Fraction]:
    return [Fraction(x) for x in values.tolist()]
