"""All solutions from one point, enclosed tightly: Taylor steps in balls of high precision.

A step of length h begins with an a-priori box: if X + [0, h] f(B) lies in the interior of B, every solution that is
in X now stays in B for the time h, and there is one (f is continuous on B). By Taylor's theorem it then is, component
by component, x(s) = c0 + c1 s + ... + c_(p-1) s^(p-1) + r s^p, with the coefficients c_k of the solution through a
point of X and r a coefficient of order p of the solution through some point of B. Where f has a kink in B a short
step of first order, x(s) in X + s f(B), takes the solutions across. Where f is not defined on all of B no step is
made; a solution that begins at a singularity (sqrt at 0, where there may be several) is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.flow.series import NoSeries, taylor
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.reals import ExactNumber
from vernal.model.expr import Expr, Var
from vernal.model.initial import Ends
from vernal.model.tick import Tick, idle

Balls = tuple[arb, ...]  # a number for each variable

INFLATIONS = 8  # how often an a-priori box is widened before the step is halved
SHORTEST, LONGEST_STEP = Fraction(1, 2**44), Fraction(2**20)  # of all steps
ACROSS_KINKS = Fraction(1, 2**18)  # the longest step of first order,
ROUGHLY_ACROSS = Fraction(1, 2**15)  # and with few bits: more of them are tried where it is open
ROUGH_PRECISION = 128  # bits
MAX_PIECES = 20_000
MORE_ORDERS = 3  # than a step of its length takes where slopes are about 1
LINEAR = 2  # coefficients of a step of first order


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of time on which the disturbances are constant."""

    end: Fraction
    disturbances: Mapping[Expr, Given]


@dataclass(frozen=True, slots=True)
class SolutionPiece:
    """Where all solutions are from `start` for a time of `length`: polynomials in the time since, and a box."""

    start: Fraction
    length: Fraction
    coefficients: Sequence[Sequence[arb]]  # of each variable
    box: Balls
    precision: int

    @property
    def end(self) -> Fraction:
        return self.start + self.length

    def states(self, lower: Fraction, upper: Fraction) -> Balls:
        """Where the solutions are at the times from lower to upper, which are times of this piece."""
        with ctx.workprec(self.precision):
            since = reals.ball(lower - self.start, upper - self.start)
            return tuple(_meet(_value(c, since), box) for c, box in zip(self.coefficients, self.box, strict=True))

    def mean_slopes(self, upper: Fraction) -> Balls:
        """Of each variable (x(s) - x(0)) / s, s the time since the start, at all times until upper."""
        with ctx.workprec(self.precision):
            since = reals.ball(Fraction(0), upper - self.start)
            return tuple(_value(c[1:], since) for c in self.coefficients)


def _value(coefficients: Sequence[arb], time: arb) -> arb:
    total = arb(0)
    for coefficient in reversed(coefficients):
        total = total * time + coefficient
    return total


def _meet(ball: arb, box: arb) -> arb:
    """What two enclosures of the same number have in common."""
    return ball if box.contains(ball) else ball.intersection(box)


def is_inside(states: Sequence[Fraction | arb], region: Sequence[Ends]) -> bool:
    """Whether all of the states are in the region."""
    return all(low <= x <= high for x, (low, high) in _beside(states, region))


def has_left(states: Sequence[Fraction | arb], region: Sequence[Ends]) -> bool:
    """Whether all of the states are outside the region, beyond the same side of it."""
    return any(x < low or x > high for x, (low, high) in _beside(states, region))


def clipped(state: Fraction | arb, ends: Ends) -> Fraction | arb:
    """A ball around what of a state is in the region, which some of it is."""
    return state if isinstance(state, Fraction) else state.intersection(reals.ball(*ends))


def _beside(
    states: Sequence[Fraction | arb], region: Sequence[Ends]
) -> Iterator[tuple[ExactNumber, tuple[fmpq, fmpq]]]:
    for x, ends in zip(states, exact_ends(region), strict=True):
        yield reals.rational(x) if isinstance(x, Fraction) else x, ends


def exact_ends(region: Sequence[Ends]) -> list[tuple[fmpq, fmpq]]:
    """The ends of a region as numbers that compare with balls."""
    return [(reals.rational(low), reals.rational(high)) for low, high in region]


def follow(
    rates: Sequence[Expr],
    first: Mapping[Var, Fraction],
    legs: Sequence[Leg],
    precision: int,
    tick: Tick = idle,
    region: Sequence[Ends] | None = None,
) -> list[SolutionPiece]:
    """All solutions from one point under given disturbances, piece by piece, as far as they can be followed.

    Where a region is given they are followed until they all have left it.
    """
    with ctx.workprec(precision):
        stepper = Stepper(rates, tuple(first), precision, tick, region)
        stepper.run([arb(reals.rational(value)) for value in first.values()], legs)
    return stepper.pieces


class Stepper:
    """Step after step; the length of the last one is where the next begins to search for its own."""

    def __init__(
        self, rates: Sequence[Expr], variables: Sequence[Var], precision: int, tick: Tick, region: Sequence[Ends] | None
    ) -> None:
        self.rates, self.vars, self.precision, self.tick, self.region = rates, variables, precision, tick, region
        self.order = 3 * precision // 16
        self.tolerance = arb(2) ** -(precision // 2)  # of what is not known of the remainder
        self.pieces: list[SolutionPiece] = []
        self.length = self.smooth = Fraction(1)  # of the last step, and the longest since the last kink
        self.across = ROUGHLY_ACROSS if precision <= ROUGH_PRECISION else ACROSS_KINKS

    def run(self, state: Sequence[arb], legs: Sequence[Leg], time: Fraction = Fraction(0)) -> Sequence[arb] | None:
        """Follow the solutions until the last leg ends, or no step is possible; where they are, if they got there."""
        for leg in legs:
            while time < leg.end:
                piece = self.step(time, state, leg)
                if piece is None or len(self.pieces) >= MAX_PIECES:
                    return None
                self.pieces.append(piece)
                time, state = piece.end, piece.states(piece.end, piece.end)
                if self.region is not None and has_left(state, self.region):
                    return None
        return state

    def step(self, time: Fraction, state: Sequence[arb], leg: Leg) -> SolutionPiece | None:
        """The longest step that doubling and halving finds; None where none is possible.

        Beyond a kink the search begins with the longest step on this side of it.
        """
        crossed = bool(self.pieces) and len(self.pieces[-1].coefficients[0]) == LINEAR
        self.length = min(self.smooth if crossed else 2 * self.length, LONGEST_STEP)
        while self.length >= SHORTEST:
            self.tick()
            length = min(self.length, leg.end - time)
            found = self._coefficients(state, length, leg)
            if found is not None:
                self.smooth = length if crossed else max(self.smooth, length)
                return SolutionPiece(time, length, *found, self.precision)
            self.length = _power_below(length)
        return None

    def _coefficients(
        self, state: Sequence[arb], length: Fraction, leg: Leg
    ) -> tuple[Sequence[Sequence[arb]], Balls] | None:
        """Polynomials for a step of this length, and its a-priori box; None where it has to be shorter."""
        enclosed = self._box(state, length, leg)
        if enclosed is None:
            return None
        box, slopes = enclosed
        try:
            for order in dict.fromkeys((self._enough(length), self.order)):
                remainders = [row[-1] for row in self._series(box, leg, order)]
                if not self._rough(remainders, state, length**order):
                    break
            else:
                return None
            rows = self._series(state, leg, order)
        except NoSeries:
            across = length <= self.across or not self._rough(slopes, state, length)
            return ([[x, slope] for x, slope in zip(state, slopes, strict=True)], box) if across else None
        return [[*row[:-1], remainder] for row, remainder in zip(rows, remainders, strict=True)], box

    def _enough(self, length: Fraction) -> int:
        """The order that mostly is enough for a step of this length: near kinks these are short."""
        bits = (length.denominator // length.numerator).bit_length() - 1
        return min(self.order, self.precision // (2 * bits) + MORE_ORDERS) if bits > 1 else self.order

    def _series(self, state: Sequence[arb], leg: Leg, order: int) -> list[list[arb]]:
        given = dict(zip(self.vars, state, strict=True))
        return taylor(self.rates, given, leg.disturbances, order, self.tick)

    def _rough(self, remainders: Sequence[arb], state: Sequence[arb], factor: Fraction) -> bool:
        """Whether the remainders, times a power of the length, are too uncertain, compared with the state itself."""
        power = arb(reals.rational(factor))
        scale = [1 + abs(x).mid() for x in state]
        return not all(r.rad() * power <= self.tolerance * s for r, s in zip(remainders, scale, strict=True))

    def _box(self, state: Sequence[arb], length: Fraction, leg: Leg) -> tuple[Balls, Balls] | None:
        """A box in which all solutions are for this time, and the range of the field on it."""
        times = reals.ball(Fraction(0), length)
        guess: Sequence[arb] = state
        for _ in range(INFLATIONS):
            slopes = self._slopes(guess, leg)
            if slopes is None:
                return None
            reached = [x + times * slope for x, slope in zip(state, slopes, strict=True)]
            if all(b.contains_interior(r) for b, r in zip(guess, reached, strict=True)):
                return tuple(reached), slopes
            guess = [self._wider(r) for r in reached]
        return None

    def _slopes(self, box: Sequence[arb], leg: Leg) -> Balls | None:
        """The range of the field on a box; None where it may be undefined somewhere, or jump."""
        given: dict[Expr, Given] = dict(zip(self.vars, box, strict=True))
        values = exact.evaluate(self.rates, given, leg.disturbances, self.precision, self.tick)
        found = [_as_ball(value) for value in values]
        return tuple(ball for ball in found if ball is not None) if all(ball is not None for ball in found) else None

    def _wider(self, ball: arb) -> arb:
        extra = ball.rad() / 8 + (1 + abs(ball.mid())) * arb(2) ** (8 - self.precision)
        return arb(ball.mid(), ball.rad() + extra.upper())


def _as_ball(value: object) -> arb | None:
    if isinstance(value, Fraction) and not isinstance(value, bool):
        return arb(reals.rational(value))
    return value if isinstance(value, arb) and value.is_finite() else None


def _power_below(length: Fraction) -> Fraction:
    """The largest power of two that is at most half of a length: steps end at short numbers."""
    half = length / 2
    power = Fraction(1)
    while power > half:
        power /= 2
    while power * 2 <= half:
        power *= 2
    return power
