"""Taylor coefficients in time, with their gradients by the initial state: the recurrences of each operator.

A `Jets` array has axes (coefficient, row, batch, component). Row 0 is the value, row i its derivative by the i-th input
at time 0. The k-th coefficient of a node needs those of its arguments up to k and its own up to k - 1, so that all
nodes are computed for k = 0, then for k = 1, and so on; f gives the coefficient k + 1 of the state: x' = f(x).

For u = phi(a) the recurrence comes from u' = w a' with w = phi'(a): k u_k is the sum over j of j a_j w_(k-j). Where w
is not u itself it is a node of its own (for tanh 1 - u^2, for a power r u / a, and so on).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from vernal.interpret import interval
from vernal.interpret.flow.balls import SLACK, BallArrays, around, inverse, over, points
from vernal.interpret.numbers.rounding import TINY, UNIT, Backend, Floats, Mask, float_above, float_below, gamma
from vernal.interpret.slopes import slope
from vernal.interpret.value_sets import Range
from vernal.model.expr import Function

NATIVE = Backend()
Expansion = Callable[[BallArrays, int], BallArrays]  # a function's Taylor coefficients at balls, up to a degree
SlopedCurve = Callable[[Range], tuple[Range, Range]]  # a function's values and slopes over intervals


class Jets:
    """The Taylor coefficients of one node, filled in from the first on."""

    __slots__ = ("mid", "rad")

    def __init__(self, coefficients: int, rows: int, batch: int, size: int) -> None:
        self.mid: Floats = np.zeros((coefficients, rows, batch, size))
        self.rad: Floats = np.zeros((coefficients, rows, batch, size))

    def __getitem__(self, k: int) -> BallArrays:
        return BallArrays(self.mid[k], self.rad[k])

    def __setitem__(self, k: int, value: BallArrays) -> None:
        self.mid[k], self.rad[k] = value.mid, value.rad

    def some(self, first: int, last: int, weights: Floats | None = None) -> BallArrays:
        """The coefficients from `first` to `last`, both included, times exact weights where these are given."""
        mid, rad = self.mid[first : last + 1], self.rad[first : last + 1]
        if weights is None:
            return BallArrays(mid, rad)
        factor = weights[:, None, None, None]  # small integers: one rounding
        scaled = mid * factor
        return BallArrays(scaled, (rad * factor + UNIT * np.abs(scaled)) * SLACK)

    def reversed(self, last: int, first: int) -> BallArrays:
        """The coefficients from `last` down to `first`, both included."""
        end = None if first == 0 else first - 1
        return BallArrays(self.mid[last:end:-1], self.rad[last:end:-1])


class JetRing(Protocol):
    """What rows stand for, and how they are multiplied: values with gradients, or polynomials (`polynomials`)."""

    def paired(self, a: BallArrays, b: BallArrays) -> BallArrays: ...  # the sum of products over the first axis
    def quotient(self, a: BallArrays, b: BallArrays) -> BallArrays: ...
    def composed(self, operator: Composed, x: BallArrays) -> BallArrays: ...
    def signs(self, x: BallArrays) -> tuple[Floats, Floats]: ...  # ends of the value
    def kinked(self, k: int, x: BallArrays, factor: Floats, open_: Mask) -> BallArrays: ...  # max(x, 0)


class JetTable(list[Jets]):
    """The jets of all nodes, and the ring they are in."""

    def __init__(self, made: Iterable[Jets], ring: JetRing) -> None:
        super().__init__(made)
        self.ring = ring


def paired(a: BallArrays, b: BallArrays) -> BallArrays:
    """The sum of a_j b_j over the first axis, with the product rule along the second."""
    terms = 2 * a.mid.shape[0]
    size_a, size_b = np.abs(a.mid), np.abs(b.mid)
    reach_b = b.rad + gamma(terms + 2) * size_b  # the rounding of midpoints goes with the radius of b
    full_b = size_b + b.rad
    mid = (a.mid[:, :1] * b.mid).sum(0)
    rad = (size_a[:, :1] * reach_b + a.rad[:, :1] * full_b).sum(0)
    if a.mid.shape[1] > 1:
        mid[1:] += (a.mid[:, 1:] * b.mid[:, :1]).sum(0)
        rad[1:] += (size_a[:, 1:] * reach_b[:, :1] + a.rad[:, 1:] * full_b[:, :1]).sum(0)
    return BallArrays(mid, rad * (SLACK + gamma(2 * terms)) + TINY)


def quotient(a: BallArrays, b: BallArrays) -> BallArrays:
    """a / b for two values with gradients."""
    factor = inverse(b[:1])
    value = a[:1] * factor
    if a.mid.shape[0] == 1:
        return value
    slopes = (a[1:] - value * b[1:]) * factor
    return BallArrays(np.concatenate([value.mid, slopes.mid]), np.concatenate([value.rad, slopes.rad]))


class GradientRing:
    """The ring of values with gradients: row 0 is the value, row i its derivative by the i-th input."""

    paired, quotient = staticmethod(paired), staticmethod(quotient)

    def composed(self, operator: Composed, x: BallArrays) -> BallArrays:
        """A function's values, and its slopes times those of its argument."""
        value, slope = operator.curve(Range(*x[0].ends))
        values, slopes = around(value.lower, value.upper), around(slope.lower, slope.upper)
        rows = x[1:] * slopes
        return BallArrays(np.concatenate([values.mid[None], rows.mid]), np.concatenate([values.rad[None], rows.rad]))

    def signs(self, x: BallArrays) -> tuple[Floats, Floats]:
        return x[0].ends

    def kinked(self, k: int, x: BallArrays, factor: Floats, open_: Mask) -> BallArrays:
        """Where the sign is open the slopes are those of [0, 1], and there are no further coefficients."""
        made = x * BallArrays(np.where(open_, 0.5 if k == 0 else np.nan, factor), np.where(open_, 0.5, 0.0))
        if k == 0:
            made.mid[0], made.rad[0] = _rectified(*x[0].ends, x[0])
        return made


SLOPES = GradientRing()

# Operators: each fills in the k-th coefficient of its target ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of nodes."""

    target: int
    args: tuple[int, ...]

    def advance(self, k: int, jets: JetTable) -> None:
        total = jets[self.args[0]][k]
        for arg in self.args[1:]:
            total = total + jets[arg][k]
        jets[self.target][k] = total


@dataclass(frozen=True, slots=True)
class Opposite:
    """-x"""

    target: int
    arg: int

    def advance(self, k: int, jets: JetTable) -> None:
        jets[self.target][k] = -jets[self.arg][k]


@dataclass(frozen=True, slots=True)
class Scaled:
    """A constant times a node."""

    target: int
    factor: BallArrays
    arg: int

    def advance(self, k: int, jets: JetTable) -> None:
        jets[self.target][k] = jets[self.arg][k] * self.factor


@dataclass(frozen=True, slots=True)
class JetProduct:
    """x * y"""

    target: int
    left: int
    right: int

    def advance(self, k: int, jets: JetTable) -> None:
        jets[self.target][k] = jets.ring.paired(jets[self.left].some(0, k), jets[self.right].reversed(k, 0))


@dataclass(frozen=True, slots=True)
class Ratio:
    """x / y: the coefficients q of the quotient satisfy q y = x."""

    target: int
    left: int
    right: int

    def advance(self, k: int, jets: JetTable) -> None:
        rest = jets[self.left][k]
        if k:
            rest = rest - jets.ring.paired(jets[self.target].some(0, k - 1), jets[self.right].reversed(k, 1))
        jets[self.target][k] = jets.ring.quotient(rest, jets[self.right][0])


@dataclass(frozen=True, slots=True)
class Composed:
    """phi(a), from its slope w along the trajectory, which is a node of its own."""

    target: int
    arg: int
    slope: int
    curve: SlopedCurve
    expansion: Expansion

    def advance(self, k: int, jets: JetTable) -> None:
        if k == 0:
            jets[self.target][0] = jets.ring.composed(self, jets[self.arg][0])
            return
        rising = jets[self.arg].some(1, k, np.arange(1.0, k + 1))
        jets[self.target][k] = over(jets.ring.paired(rising, jets[self.slope].reversed(k - 1, 0)), float(k))


@dataclass(frozen=True, slots=True)
class Rectified:
    """max(x, 0): smooth where x has one sign on the whole box; elsewhere its slopes are those of [0, 1], no more."""

    target: int
    arg: int

    def advance(self, k: int, jets: JetTable) -> None:
        low, high = jets.ring.signs(jets[self.arg][0])
        open_, factor = (low < 0) & (high > 0), np.where(low >= 0, 1.0, 0.0)
        jets[self.target][k] = jets.ring.kinked(k, jets[self.arg][k], factor, open_)


def _rectified(low: Floats, high: Floats, x: BallArrays) -> tuple[Floats, Floats]:
    """The value: x itself where it is positive, since ends would cost an ulp."""
    hull = around(np.maximum(low, 0.0), np.maximum(high, 0.0))
    return np.where(low >= 0, x.mid, hull.mid), np.where(low >= 0, x.rad, hull.rad)


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """W x + b"""

    target: int
    arg: int
    weight: Floats  # transposed
    bias: Floats

    def advance(self, k: int, jets: JetTable) -> None:
        made = jets[self.arg][k] @ points(self.weight)
        if k == 0:
            first = made[:1] + points(self.bias)
            made.mid[:1], made.rad[:1] = first.mid, first.rad
        jets[self.target][k] = made


@dataclass(frozen=True, slots=True)
class Picked:
    """Components of nodes, one after the other."""

    target: int
    sources: tuple[tuple[int, int], ...]  # node and component

    def advance(self, k: int, jets: JetTable) -> None:
        for place, (arg, component) in enumerate(self.sources):
            jets[self.target].mid[k, :, :, place] = jets[arg].mid[k, :, :, component]
            jets[self.target].rad[k, :, :, place] = jets[arg].rad[k, :, :, component]


JetOperator = Sum | Opposite | Scaled | JetProduct | Ratio | Composed | Rectified | Weighted | Picked

# Values and slopes over intervals -------------------------------------------------------------------------------------


def sloped_curve(function: Function) -> SlopedCurve:
    """The values of an elementary function, and its slopes."""

    def curve(x: Range) -> tuple[Range, Range]:
        value = interval.elementary(NATIVE, x, function)
        return value, slope(NATIVE, function, x, value)

    return curve


def power_curve(exponent: Fraction) -> SlopedCurve:
    """x ^ exponent for a fractional exponent."""
    factor = Range(np.array([[float_below(exponent)]]), np.array([[float_above(exponent)]]))

    def curve(x: Range) -> tuple[Range, Range]:
        slope = interval.power(NATIVE, x, exponent - 1)
        return interval.power(NATIVE, x, exponent), interval.multiply(NATIVE, slope, factor)

    return curve
