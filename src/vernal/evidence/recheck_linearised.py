"""Invariants of nonlinear steps checked in rational arithmetic: every nonlinear term as a line with a bounded rest.

Over a box, sin(x) is a line plus a rest between two rationals, which ball arithmetic finds; a product of two values is
linear but for the product of their distances from the middle. With each rest as one more draw the step is piecewise
linear and has at least the behaviours of the original (OVER), so `ExactCheck` decides it. Boxes are halved where that
is not enough: the rest shrinks with the square of the width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb, ctx

from vernal.errors import TooLong, TypeClash
from vernal.evidence.invariant import StateSet
from vernal.evidence.recheck_exact import ExactCheck
from vernal.evidence.recheck_parts import CannotCheck, NotInvariant, Watched
from vernal.interpret import interval
from vernal.interpret.derivative import slope
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.rounding import PI, float_above, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import rewrite
from vernal.model.initial import Ends
from vernal.model.sorts import REAL, Kind

MAX_BOXES = 3000  # of one set
MAX_REFUSED = 64  # boxes with a term that could not be enclosed
MIN_WIDTH_SHARE = Fraction(1, 2**20)  # of the width of a set: boxes that are not halved any more
PRECISION = 128  # bits of the balls
CURVE_PIECES = 16  # of an interval, over which a curve is compared with its line
SLOPE_DENOMINATOR = 2**24  # denominators of slopes
FINE = 2**60  # denominators of rests

BallFunction = Callable[[arb], arb]
EndsOfAll = tuple[Ends, ...]  # a box: ends of every component


class LinearisedCheck:
    """The three questions, for boxes over which nonlinear terms are nearly lines."""

    how = "exactly, with enclosures for nonlinear terms"

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.exact = ExactCheck(watched)

    def initial(self, sets: Sequence[StateSet]) -> None:
        """Every initial state is in one of the sets; constraints on them have to be piecewise linear."""
        self.exact.initial(sets)

    def step(self, source: StateSet, sets: Sequence[StateSet]) -> None:
        """Every step from the source ends in one of the sets."""
        self._halving(source, lambda check, part: check.step(part, sets))

    def kept(self, source: StateSet) -> None:
        """What is to be kept is true everywhere in the source; without nonlinear terms that is decided at once."""
        try:
            self.exact.kept(source)
        except CannotCheck:
            self._halving(source, lambda check, part: check.kept(part))

    def _halving(self, source: StateSet, ask: Callable[[ExactCheck, StateSet], None]) -> None:
        """Ask of ever smaller boxes of a set, until the answer is yes."""
        whole: EndsOfAll = tuple(self.exact.ends_of(source))
        waiting, done, refused = [whole], 0, 0
        while waiting:
            self.watched.tick()
            box = waiting.pop()
            done += 1
            try:
                ask(ExactCheck(self._linear(box)), _within(source, box))
            except (NotInvariant, CannotCheck, TooLong) as why:
                refused += isinstance(why, CannotCheck)
                if done > MAX_BOXES or refused > MAX_REFUSED or isinstance(why, TooLong):
                    raise CannotCheck(f"after {done:,} boxes of one of the sets: {why}") from None
                waiting += self._halves(box, whole)

    def _halves(self, box: EndsOfAll, whole: EndsOfAll) -> list[EndsOfAll]:
        """Both halves across the component that is widest in proportion; discrete ones are looked at one by one."""
        shares = [
            (high - low) / (last - first) if high > low and var.sort == REAL else Fraction(0)
            for (var, _), (low, high), (first, last) in zip(self.watched.components, box, whole, strict=True)
        ]
        side = max(range(len(shares)), key=lambda place: shares[place], default=None)
        if side is None or shares[side] < MIN_WIDTH_SHARE:
            raise CannotCheck("nonlinear terms are not enclosed tightly enough, however small the boxes")
        low, high = box[side]
        middle = (low + high) / 2
        return [(*box[:side], ends, *box[side + 1 :]) for ends in ((low, middle), (middle, high))]

    def _linear(self, box: EndsOfAll) -> Watched:
        """The question with nonlinear terms replaced, valid in the box."""
        watched = self.watched
        nodes = [node for node, _ in watched.following]
        guard, keep, *after = Linearised(self._inputs(box)).of([watched.guard, watched.keep, *nodes])
        following = tuple((node, i) for node, (_, i) in zip(after, watched.following, strict=True))
        return replace(watched, guard=guard, keep=keep, following=following)

    def _inputs(self, box: EndsOfAll) -> dict[Expr, Value]:
        made: dict[Expr, Value] = {}
        for var, places in self.watched.variables.items():
            if var.sort.is_number:
                low = np.array([[float_below(box[place][0]) for place in places]])
                high = np.array([[float_above(box[place][1]) for place in places]])
                made[var] = Range(low, high) if var.shape else Range(low[:, 0], high[:, 0])
            else:
                made[var] = _anything(var)
        return made


def _anything(var: Expr) -> Value:
    """Every truth value or label."""
    if var.sort.kind is Kind.BOOL:
        return Truth(np.array([False]), np.array([True]))
    count = len(var.sort.labels)
    return Finite(np.ones((1, count), bool), tuple(Fraction(label) for label in range(count)))


def _within(source: StateSet, box: EndsOfAll) -> StateSet:
    """The part of a set in a box."""
    rows, bounds = list(source.rows), list(source.bounds)
    for place, (low, high) in enumerate(box):
        unit = tuple(Fraction(int(place == other)) for other in range(len(box)))
        rows += [unit, tuple(-a for a in unit)]
        bounds += [high, -low]
    return StateSet(tuple(rows), tuple(bounds))


class Linearised:
    """A graph over a box of inputs with every nonlinear term as a line and a draw."""

    def __init__(self, inputs: dict[Expr, Value]) -> None:
        self.inputs = inputs

    def of(self, roots: Sequence[Expr]) -> list[Expr]:
        """The roots, rewritten; a term that cannot be enclosed stays, and is refused where it matters."""
        with ctx.workprec(PRECISION):
            return rewrite(roots, self._replaced)

    def _replaced(self, node: Expr) -> Expr | None:
        if isinstance(node, e.Pi):
            return build.between(Fraction(PI[0]), Fraction(PI[1]), "pi")
        if not isinstance(node, e.Nonlinear | e.Pow | e.Mul | e.Div):
            return None
        if not node.shape:
            return self._scalar(node, node.args)
        places = [[build.component(arg, i) if arg.shape else arg for arg in node.args] for i in range(node.size)]
        parts = [self._scalar(node, args) for args in places]
        if all(part is None for part in parts):
            return None
        whole = zip(parts, places, strict=True)
        return build.concat(*(_same(node, args) if part is None else part for part, args in whole))

    def _scalar(self, node: Expr, args: Sequence[Expr]) -> Expr | None:
        """One component of a nonlinear operator."""
        match node:
            case e.Nonlinear(function=function):
                return self._function(function, args[0])
            case e.Pow(exponent=exponent):
                return self._power(args[0], exponent)
            case e.Mul() if not any(isinstance(arg, e.Const) for arg in args):
                return self._power(args[0], Fraction(2)) if args[0] is args[1] else self._product(*args)
            case e.Div() if not isinstance(args[1], e.Const):
                inverse = self._power(args[1], Fraction(-1))
                return None if inverse is None else self._product(args[0], inverse)
        return None

    def _range(self, node: Expr) -> Ends | None:
        """The ends of a value over the box."""
        try:
            (value,) = interval.evaluate([node], self.inputs)
        except TypeClash:
            return None
        if not isinstance(value, Range):
            return None
        low, high = float(np.asarray(value.lower).reshape(-1)[0]), float(np.asarray(value.upper).reshape(-1)[0])
        return (Fraction(low), Fraction(high)) if math.isfinite(low) and math.isfinite(high) else None

    def _function(self, function: Function, x: Expr) -> Expr | None:
        if function is Function.SQRT:
            return self._power(x, Fraction(1, 2))
        entry = CALCULUS[function]
        edge = None if entry.domain is None else entry.domain.edge
        return self._curve(x, entry.ball, partial(slope, function), above=edge)

    def _power(self, x: Expr, exponent: Fraction) -> Expr | None:
        if exponent.denominator == 1 and exponent >= 0:
            n = int(exponent)
            return self._curve(x, lambda t: t**n, lambda t: n * t ** (n - 1) if n else t * 0)
        power, less = arb(exponent.numerator) / exponent.denominator, exponent - 1
        lower = arb(less.numerator) / less.denominator
        away = exponent.denominator == 1
        if away:
            n = int(exponent)
            return self._curve(x, lambda t: t**n, lambda t: n * t ** (n - 1), nonzero=True)
        return self._curve(x, lambda t: t**power, lambda t: power * t**lower, above=0)

    def _curve(
        self, x: Expr, curve: BallFunction, slope: BallFunction, *, above: int | None = None, nonzero: bool = False
    ) -> Expr | None:
        """m x + r with r between the least and the most of the curve minus the line."""
        ends = self._range(x)
        if ends is None or (above is not None and ends[0] <= above) or (nonzero and ends[0] <= 0 <= ends[1]):
            return None
        m = _chord(curve, slope, ends)
        rest = None if m is None else _rest(curve, slope, m, ends)
        if m is None or rest is None:
            return None
        return build.add(build.mul(m, x), build.between(*rest, "rest"))

    def _product(self, x: Expr, y: Expr) -> Expr | None:
        """x y = a y + b x - a b + r around the middles a and b, with |r| at most the product of both radii."""
        one, other = self._range(x), self._range(y)
        if one is None or other is None:
            return None
        a, b = (_rounded(sum(ends, Fraction(0)) / 2, SLOPE_DENOMINATOR, 0) for ends in (one, other))
        reach = max(one[1] - a, a - one[0]) * max(other[1] - b, b - other[0])
        rest = _rounded(reach, FINE, 1)
        return build.add(build.mul(a, y), build.mul(b, x), -a * b, build.between(-rest, rest, "rest"))


def _same(node: Expr, args: Sequence[Expr]) -> Expr:
    """The operator of a vector, on one of its components."""
    match node:
        case e.Mul():
            return build.mul(*args)
        case e.Div():
            return build.div(*args)
        case e.Pow(exponent=exponent):
            return build.power(args[0], build.const(exponent))
    assert isinstance(node, e.Nonlinear)
    return build.apply(node.function, args[0])


def _rounded(value: Fraction, denominator: int, direction: int) -> Fraction:
    """The value with a short denominator: below it, next to it, or above it."""
    scaled = value * denominator
    number = math.floor(scaled) if direction < 0 else math.ceil(scaled) if direction > 0 else round(scaled)
    return Fraction(number, denominator)


def _chord(curve: BallFunction, slope: BallFunction, ends: Ends) -> Fraction | None:
    """A short slope near that of the line through both ends."""
    low, high = ends
    if low == high:
        value = slope(reals.ball(low, high))
    else:
        width = high - low
        value = (curve(reals.ball(high, high)) - curve(reals.ball(low, low))) / reals.ball(width, width)
    middle = float(value.mid())
    return _rounded(Fraction(middle), SLOPE_DENOMINATOR, 0) if math.isfinite(middle) else None


def _rest(curve: BallFunction, slope: BallFunction, m: Fraction, ends: Ends) -> Ends | None:
    """Ends of the curve minus the line, from the mean value theorem on every piece of the interval."""
    low, high = ends
    line = reals.ball(m, m)
    found: list[Ends] = []
    for k in range(CURVE_PIECES):
        first, last = low + (high - low) * Fraction(k, CURVE_PIECES), low + (high - low) * Fraction(k + 1, CURVE_PIECES)
        piece, middle = reals.ball(first, last), reals.ball((first + last) / 2, (first + last) / 2)
        value = curve(middle) - line * middle + (slope(piece) - line) * (piece - middle)
        if not value.is_finite():
            return None
        found.append(reals.ends(value))
    least, most = min(low for low, _ in found), max(high for _, high in found)
    return _rounded(least, FINE, -1), _rounded(most, FINE, 1)
