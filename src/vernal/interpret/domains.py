"""Whether expressions have a value everywhere in a region: no root of a negative number, no division by zero.

Operators that are not defined everywhere are looked at one after the other, what they depend on first. Intervals over
boxes of the region show that their arguments stay in the domain; boxes that show nothing are halved. That an argument
leaves the domain is shown at a point, or, of a division, by two points at which the divisor has different signs: it is
continuous, and so zero between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import numpy as np

from vernal.interpret.geometry.box_halves import halves
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.calculus import CALCULUS, ElementaryFunction
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.interpret.value_sets import Range, Value
from vernal.logic import printing
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.functions import cos
from vernal.model.graph import order, variables
from vernal.model.initial import Ends
from vernal.model.tick import Tick, idle
from vernal.model.traits import may_jump

MAX_BOXES = 4096  # that are open at once
MAX_ROUNDS = 40  # of halving
MAX_CORNERS = 64  # of the region at which arguments are looked at first


class OperatorDomain(Enum):
    """Where an operator is defined, in terms of one of its arguments."""

    NONNEGATIVE = "negative"  # the values say what the argument must not be
    POSITIVE = "zero or negative"
    NONZERO = "zero"


@dataclass(frozen=True, slots=True)
class Gap:
    """An operator that is, or may be, undefined somewhere in a region, with what has to stay in a domain."""

    node: Expr
    argument: Expr
    domain: OperatorDomain
    certain: bool  # whether it is known to be undefined somewhere, rather than not known to be defined
    near: tuple[tuple[str, float], ...]  # values of the variables in the argument at which that shows

    def __str__(self) -> str:
        state = ", ".join(f"{name} = {value:.6g}" for name, value in self.near) or "every state"
        what, argument = printing.text(self.node), printing.text(self.argument)
        if self.certain:
            return f"{what} is undefined in the region: {argument} is {self.domain.value} at or near {state}"
        doubt = f"{argument} may be {self.domain.value} near {state}"
        return f"{what} was not shown to be defined in the whole region: {doubt}; choose a smaller region"


def first_gap(roots: Sequence[Expr], names: Sequence[Var], region: Sequence[Ends], tick: Tick = idle) -> Gap | None:
    """The first operator that is not shown to be defined in the whole region; None where all are."""
    return _first_gap(tuple(roots), tuple(names), tuple(region), _Unequalled(tick))


@dataclass(frozen=True)
class _Unequalled:
    """A tick that does not tell questions apart."""

    tick: Tick

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unequalled)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _first_gap(
    roots: tuple[Expr, ...], names: tuple[Var, ...], region: tuple[Ends, ...], tick: _Unequalled
) -> Gap | None:
    ends = dict(zip(names, region, strict=True))
    for node in order(roots):
        for argument, domain in needs(node):
            used = {var: ends[var] for var in variables([argument])}
            gap = _Search(node, argument, domain, used).run(tick.tick)
            if gap is not None:
                return replace(gap, certain=False) if _branches(roots) else gap
    return None


def _branches(roots: Sequence[Expr]) -> bool:
    """Whether some of it may never be looked at, so that it does no harm where it is undefined."""
    return any(isinstance(node, e.If | e.Switch) for node in order(roots))


def needs(node: Expr) -> Iterator[tuple[Expr, OperatorDomain]]:
    """What has to stay in which domain for an operator to have a value, and to be continuous there."""
    match node:
        case e.Div(args=(_, e.Const(values=divisors))) if 0 not in divisors:
            return
        case e.Div(args=(_, divisor)):
            yield divisor, OperatorDomain.NONZERO
        case e.Pow(args=(base,), exponent=exponent) if exponent.denominator != 1:
            yield base, OperatorDomain.NONNEGATIVE if exponent > 0 else OperatorDomain.POSITIVE
        case e.Pow(args=(base,), exponent=exponent) if exponent < 0:
            yield base, OperatorDomain.NONZERO
        case e.Nonlinear(args=(argument,), function=function):
            yield from _of_function(argument, CALCULUS[function])
        case e.Atan2(args=(y, x)):  # zero at the origin, and where the angle jumps from -pi to pi
            yield build.power(y, 2) + build.power(build.relu(x), 2), OperatorDomain.POSITIVE


def _of_function(argument: Expr, entry: ElementaryFunction) -> Iterator[tuple[Expr, OperatorDomain]]:
    if entry.poles:
        yield cos(argument), OperatorDomain.NONZERO
    if entry.domain is not None:
        above = argument - entry.domain.edge if entry.domain.edge else argument
        yield above, OperatorDomain.NONNEGATIVE if entry.domain.closed else OperatorDomain.POSITIVE


class _Search:
    """Boxes of the region in which an argument is not yet shown to stay in its domain."""

    def __init__(self, node: Expr, argument: Expr, domain: OperatorDomain, used: Mapping[Var, Ends]) -> None:
        """`used`: the variables that the argument depends on, with their ranges."""
        self.node, self.argument, self.domain, self.names = node, argument, domain, tuple(used)
        region = used.values()
        # the boxes in which nothing is shown yet; at first one around the region
        self.lower = np.array([[float_below(low) for low, _ in region]], dtype=np.float64)
        self.upper = np.array([[float_above(high) for _, high in region]], dtype=np.float64)
        self.inner = np.array([float_above(low) for low, _ in region]), np.array([float_below(h) for _, h in region])
        self.continuous = not any(map(may_jump, order([argument])))
        self.signs: dict[bool, Floats] = {}  # points at which the argument is known to be positive, or negative

    def run(self, tick: Tick) -> Gap | None:
        """Halve boxes until none is open, a point is found, or there are too many."""
        points = self._corners()
        for _ in range(MAX_ROUNDS):
            tick()
            found = self._leaving(points)
            if found is not None:
                return self._gap(found, certain=True)
            least, most = self._bounds(self.lower, self.upper)
            open_ = ~self._inside(least, most)
            self.lower, self.upper = self.lower[open_], self.upper[open_]
            if not len(self.lower):
                return None
            if len(self.lower) > MAX_BOXES or not self.names:
                break
            points = np.clip(0.5 * self.lower + 0.5 * self.upper, *self.inner)
            self.lower, self.upper = halves(self.lower, self.upper, (self.upper - self.lower).argmax(1))
        return self._gap(np.clip(0.5 * self.lower[0] + 0.5 * self.upper[0], *self.inner), certain=False)

    def _gap(self, point: Floats, *, certain: bool) -> Gap:
        near = zip((var.name for var in self.names), map(float, point), strict=True)
        return Gap(self.node, self.argument, self.domain, certain, tuple(near))

    def _corners(self) -> Floats:
        low, high = self.inner
        chosen = itertools.islice(itertools.product((0, 1), repeat=len(low)), MAX_CORNERS)
        return np.array([[(low, high)[side][i] for i, side in enumerate(sides)] for sides in chosen], dtype=np.float64)

    def _bounds(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """The least and the largest value of the argument in each box, over all its components."""
        inputs: dict[Expr, Value] = {name: Range(lower[:, i], upper[:, i]) for i, name in enumerate(self.names)}
        (value,) = evaluate([self.argument], inputs)
        assert isinstance(value, Range)
        rows = len(lower)
        ends = (np.broadcast_to(end, (rows, *self.argument.shape)).reshape(rows, -1) for end in _both(value))
        least, most = ends
        return least.min(1), most.max(1)

    def _inside(self, least: Floats, most: Floats) -> Mask:
        match self.domain:
            case OperatorDomain.NONNEGATIVE:
                return least >= 0
            case OperatorDomain.POSITIVE:
                return least > 0
        return (least > 0) | (most < 0)

    def _leaving(self, points: Floats) -> Floats | None:
        """A point at which the argument is out of its domain, or one beside such a point."""
        if self.argument.shape:
            return None  # of vectors only what is shown of all components is used
        least, most = self._bounds(points, points)
        match self.domain:
            case OperatorDomain.NONNEGATIVE:
                outside = most < 0
            case OperatorDomain.POSITIVE:
                outside = most <= 0
            case _:
                outside = (least == 0) & (most == 0)
        if outside.any():
            found: Floats = points[np.argmax(outside)]
            return found
        return self._between(points, least, most) if self.domain is OperatorDomain.NONZERO and self.continuous else None

    def _between(self, points: Floats, least: Floats, most: Floats) -> Floats | None:
        """A point near a zero, if points of both signs are known."""
        for positive, known in ((True, least > 0), (False, most < 0)):
            if known.any():
                self.signs.setdefault(positive, points[np.argmax(known)])
        return self._halfway(self.signs[True], self.signs[False]) if len(self.signs) == 2 else None

    def _halfway(self, above: Floats, below: Floats) -> Floats:
        """A point close to a zero between points at which the argument is above and below it."""
        for _ in range(MAX_ROUNDS):
            middle: Floats = 0.5 * above + 0.5 * below
            least, most = self._bounds(middle[None], middle[None])
            if least[0] > 0:
                above = middle
            elif most[0] < 0:
                below = middle
            else:
                return middle
        return middle


def _both(value: Range) -> tuple[Floats, Floats]:
    return np.asarray(value.lower), np.asarray(value.upper)
