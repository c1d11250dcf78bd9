"""Vector fields compiled for Taylor coefficients: a graph as a list of the operators of `jets`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial, reduce

import numpy as np

from vernal.errors import TypeClash
from vernal.interpret.flow.balls import BallArrays, around, over
from vernal.interpret.flow.jets import (
    SLOPES,
    Composed,
    Expansion,
    JetOperator,
    JetProduct,
    JetRing,
    Jets,
    JetTable,
    Opposite,
    Picked,
    Ratio,
    Rectified,
    Scaled,
    SlopedCurve,
    Sum,
    Weighted,
    power_curve,
    sloped_curve,
)
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.rounding import PI, Floats, float_above, float_below
from vernal.interpret.slopes import BELL
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import order
from vernal.model.tick import Tick, idle


class Taylor:
    """The right-hand side of x' = f(x): Taylor coefficients of solutions, and of f alone.

    `inputs` are the nodes whose values are given and by which gradients are taken: the state first, in the order of the
    rates, then others (disturbances), which only `values` takes.
    """

    def __init__(self, rates: Sequence[Expr], inputs: Sequence[Expr], tick: Tick = idle) -> None:
        self.tick = tick
        self.size = len(rates)
        self.inputs = len(inputs)
        self.sizes: list[int] = [1] * len(inputs)
        self.operators: list[JetOperator] = []
        self.constants: dict[int, BallArrays] = {}
        self.slots: dict[Expr, int] = {node: slot for slot, node in enumerate(inputs)}
        for node in order(rates, leaves=set(inputs)):
            if node not in self.slots:
                self.slots[node] = self._compile(node)
        self.roots = [self.slots[root] for root in rates]

    def coefficients(self, x: BallArrays, degree: int, gradients: bool) -> BallArrays:
        """Of solutions from x (batch, n), up to this degree: an array (degree + 1, rows, batch, n).

        Row 0 has values, and with gradients row i + 1 the derivatives by the i-th component of x.
        """
        start = self._with_gradients(x) if gradients else BallArrays(x.mid[None], x.rad[None])
        return self.solved(start, degree, SLOPES)

    def solved(self, start: BallArrays, degree: int, ring: JetRing) -> BallArrays:
        """The coefficients of solutions from starts (rows, batch, n) in a ring: (degree + 1, rows, batch, n)."""
        with np.errstate(all="ignore"):
            jets = self._jets(start, degree + 1, ring)
            for k in range(degree):
                self._advance(k, jets)
                for i, root in enumerate(self.roots):
                    jets[i][k + 1] = over(jets[root][k], float(k + 1))
        mids, rads = ([getattr(jets[i], name) for i in range(self.size)] for name in ("mid", "rad"))
        return BallArrays(np.concatenate(mids, 3), np.concatenate(rads, 3))

    def expansion(self, x: BallArrays, degree: int) -> BallArrays:
        """The Taylor coefficients at x (of any shape) of the first rate as a function of the only input."""
        flat = BallArrays(x.mid.reshape(1, -1, 1), x.rad.reshape(1, -1, 1))
        jets = self._jets(flat, degree + 1, SLOPES)
        if degree:
            jets[0].mid[1] = 1.0
        for k in range(degree + 1):
            self._advance(k, jets)
        found = jets[self.roots[0]]
        return BallArrays(*(part.reshape(degree + 1, *x.mid.shape) for part in (found.mid, found.rad)))

    def values(self, x: BallArrays) -> BallArrays:
        """f and its gradients by all inputs over x (batch, inputs): an array (1 + inputs, batch, n).

        At a kink the gradients enclose all slopes beside it.
        """
        with np.errstate(all="ignore"):
            jets = self._jets(self._with_gradients(x), 1, SLOPES)
            self._advance(0, jets)
        found = [jets[root][0] for root in self.roots]
        return BallArrays(np.concatenate([f.mid for f in found], 2), np.concatenate([f.rad for f in found], 2))

    @property
    def kinked(self) -> bool:
        """Whether solutions may have no series somewhere, since a rate has a kink."""
        return any(isinstance(operator, Rectified) for operator in self.operators)

    def memory(self, coefficients: int) -> int:
        """Bytes that so many coefficients with gradients take for each box."""
        return 16 * coefficients * (1 + self.inputs) * sum(self.sizes)

    @property
    def widest(self) -> int:
        """The most components that a node has."""
        return max(self.sizes)

    def _advance(self, k: int, jets: JetTable) -> None:
        for operator in self.operators:
            self.tick()
            operator.advance(k, jets)

    def _with_gradients(self, x: BallArrays) -> BallArrays:
        """Values (batch, inputs) with the derivative of each by itself, which is 1."""
        n = x.mid.shape[1]
        mid, rad = np.zeros((2, 1 + n, *x.mid.shape))
        mid[0], rad[0] = x.mid, x.rad
        mid[np.arange(n) + 1, :, np.arange(n)] = 1.0
        return BallArrays(mid, rad)

    def _jets(self, start: BallArrays, coefficients: int, ring: JetRing) -> JetTable:
        """Of inputs (rows, batch, inputs) and constants, with nothing else filled in."""
        rows, batch = start.mid.shape[:2]
        made = [Jets(coefficients, rows, batch, size) for size in self.sizes]
        for i in range(start.mid.shape[2]):
            made[i].mid[0, :, :, 0], made[i].rad[0, :, :, 0] = start.mid[:, :, i], start.rad[:, :, i]
        for slot, value in self.constants.items():
            made[slot].mid[0, 0], made[slot].rad[0, 0] = value.mid, value.rad
        return JetTable(made, ring)

    # Compilation ------------------------------------------------------------------------------------------------------

    def _slot(self, size: int) -> int:
        self.sizes.append(size)
        return len(self.sizes) - 1

    def enter(self, kind: type[JetOperator], size: int, *details: object) -> int:
        """An operator with a target of its own, which is returned."""
        target = self._slot(size)
        self.operators.append(kind(target, *details))  # type: ignore[arg-type]
        return target

    def constant(self, lower: Floats, upper: Floats) -> int:
        slot = self._slot(len(lower))
        self.constants[slot] = around(lower, upper)
        return slot

    def number(self, value: Fraction) -> int:
        return self.constant(np.array([float_below(value)]), np.array([float_above(value)]))

    def _compile(self, node: Expr) -> int:
        args = [self.slots[arg] for arg in node.args]
        match node:
            case e.Const(values=values):
                lower = np.array([float_below(value) for value in values])
                return self.constant(lower, np.array([float_above(value) for value in values]))
            case e.Pi():
                return self.constant(*(np.array([end]) for end in PI))
            case e.Add():
                return self.enter(Sum, node.size, tuple(args))
            case e.Neg():
                return self.opposite(node.size, args[0])
            case e.Mul():
                return self.product(node.size, *args)
            case e.Div():
                return self.enter(Ratio, node.size, *args)
            case e.Pow(exponent=exponent):
                return self._power(node.size, args[0], exponent)
            case e.Nonlinear(function=function):
                return self.function(node.size, args[0], function)
            case e.Relu():
                return self.enter(Rectified, node.size, args[0])
            case e.Max():
                return reduce(partial(self._larger, node.size), args)
            case e.Min():
                return self.opposite(node.size, reduce(partial(self._larger, node.size), self._opposites(node)))
            case e.Abs():
                other = self.enter(Rectified, node.size, self.opposite(node.size, args[0]))
                return self.enter(Sum, node.size, (self.enter(Rectified, node.size, args[0]), other))
            case e.LeakyRelu(slopes=(slope,)):
                positive = self.enter(Rectified, node.size, args[0])
                bent = self.product(node.size, self.number(1 - slope), positive)
                return self.enter(Sum, node.size, (self.product(node.size, self.number(slope), args[0]), bent))
            case e.Affine(weight=weight, bias=bias):
                return self.enter(Weighted, node.size, args[0], weight.array.T.copy(), bias.array)
            case e.Gather(indices=indices):
                return self.enter(Picked, node.size, tuple((args[0], index) for index in indices))
            case e.Concat():
                parts = [(slot, i) for arg, slot in zip(node.args, args, strict=True) for i in range(arg.size)]
                return self.enter(Picked, node.size, tuple(parts))
        raise TypeClash(f"Taylor coefficients of {type(node).__name__} are not known")

    def opposite(self, size: int, arg: int) -> int:
        return self.enter(Opposite, size, arg)

    def _opposites(self, node: Expr) -> list[int]:
        return [self.opposite(arg.size, self.slots[arg]) for arg in node.args]

    def _larger(self, size: int, x: int, y: int) -> int:
        """max(x, y) as y + max(x - y, 0)"""
        above = self.enter(Sum, size, (x, self.opposite(size, y)))
        return self.enter(Sum, size, (y, self.enter(Rectified, size, above)))

    def product(self, size: int, left: int, right: int) -> int:
        if left in self.constants:
            return self.enter(Scaled, size, self.constants[left], right)
        if right in self.constants:
            return self.enter(Scaled, size, self.constants[right], left)
        return self.enter(JetProduct, size, left, right)

    def _power(self, size: int, base: int, exponent: Fraction) -> int:
        if exponent.denominator == 1:
            return self.integer_power(size, base, int(exponent))
        number = self.number(exponent)
        slope_of = lambda value: self.product(size, number, self.enter(Ratio, size, value, base))  # noqa: E731
        of = power_curve(exponent), alone(build.power(ALONE, exponent))
        return self._composed(size, base, of, slope_of)

    def _composed(self, size: int, arg: int, of: tuple[SlopedCurve, Expansion], slope_of: Callable[[int], int]) -> int:
        """phi(a) and, after it, the node of its slope, which is made from phi(a)."""
        target, place = self._slot(size), len(self.operators)
        self.operators.insert(place, Composed(target, arg, slope_of(target), *of))
        return target

    def function(self, size: int, arg: int, function: Function) -> int:
        """An elementary function of a node."""
        if function in (Function.SIN, Function.COS):
            return self._wave(size, arg, function)
        return self._composed(size, arg, curve_of(function), partial(self._slope, function, size, arg))

    def _slope(self, function: Function, size: int, arg: int, value: int) -> int:
        """The slope of a function, from its argument and value."""
        x, u = JetNode(self, size, arg), JetNode(self, size, value)
        found: JetNode = CALCULUS[function].slope(x, lambda: u, JetAlgebra(self, size))
        return found.slot

    def _wave(self, size: int, arg: int, function: Function) -> int:
        """Sine and cosine, each the slope of the other."""
        sine, cosine, opposite = self._slot(size), self._slot(size), self._slot(size)
        self.operators += [
            Composed(sine, arg, cosine, *curve_of(Function.SIN)),
            Composed(cosine, arg, opposite, *curve_of(Function.COS)),
            Opposite(opposite, sine),
        ]
        return sine if function is Function.SIN else cosine

    def integer_power(self, size: int, base: int, exponent: int) -> int:
        """By squaring."""
        if exponent <= 0:
            one = self.number(Fraction(1))
            return one if exponent == 0 else self.enter(Ratio, size, one, self.integer_power(size, base, -exponent))
        made, square = None, base
        while True:
            if exponent & 1:
                made = square if made is None else self.enter(JetProduct, size, made, square)
            exponent >>= 1
            if not exponent:
                assert made is not None
                return made
            square = self.enter(JetProduct, size, square, square)


ALONE = build.var("x")


def curve_of(function: Function) -> tuple[SlopedCurve, Expansion]:
    """An elementary function: values with slopes, and Taylor coefficients."""
    return sloped_curve(function), alone(build.apply(function, ALONE))


def alone(function: Expr) -> Expansion:
    """The Taylor coefficients of a function of one variable."""

    @cache
    def program() -> Taylor:  # compiled when it is asked for: functions have slopes that are made of others
        return Taylor([function], [ALONE])

    return lambda x, degree: program().expansion(x, degree)


@dataclass(frozen=True, slots=True)
class JetNode:
    """A node of the field, with operators that make further ones; numbers beside it are small integers."""

    code: Taylor
    size: int
    slot: int

    def __neg__(self) -> JetNode:
        return self._made(self.code.opposite(self.size, self.slot))

    def __add__(self, other: JetNode | int) -> JetNode:
        return self._made(self.code.enter(Sum, self.size, (self._slot(other), self.slot)))

    def __sub__(self, other: JetNode | int) -> JetNode:
        return self + -other

    def __rsub__(self, other: int) -> JetNode:
        return -self + other

    def __mul__(self, other: JetNode | int) -> JetNode:
        return self._made(self.code.product(self.size, self._slot(other), self.slot))

    def __truediv__(self, other: int) -> JetNode:
        return self._made(self.code.product(self.size, self.code.number(Fraction(1, other)), self.slot))

    def __rtruediv__(self, other: int) -> JetNode:
        return self._made(self.code.enter(Ratio, self.size, self._slot(other), self.slot))

    def __pow__(self, exponent: int) -> JetNode:
        return self._made(self.code.integer_power(self.size, self.slot, exponent))

    __radd__, __rmul__ = __add__, __mul__

    def _slot(self, other: JetNode | int) -> int:
        return other.slot if isinstance(other, JetNode) else self.code.number(Fraction(other))

    def _made(self, slot: int) -> JetNode:
        return JetNode(self.code, self.size, slot)


@dataclass(frozen=True, slots=True)
class JetAlgebra:
    """Nodes of a field of this size."""

    code: Taylor
    size: int

    @property
    def bell(self) -> JetNode:
        return JetNode(self.code, self.size, self.code.constant(*(np.array([end]) for end in BELL)))

    def apply(self, function: Function, x: JetNode) -> JetNode:
        return JetNode(self.code, self.size, self.code.function(self.size, x.slot, function))


KNOWN = (e.Var, e.Between, e.Const, e.Pi, e.Add, e.Neg, e.Mul, e.Div, e.Pow, e.Nonlinear, e.Relu, e.Affine, e.Gather)
KINKS = (e.Max, e.Min, e.Abs, e.LeakyRelu)


def unknown_operators(rates: Sequence[Expr]) -> list[str]:
    """The operators of which no Taylor coefficients are known, by name."""
    found = [node for node in order(rates) if not isinstance(node, (*KNOWN, *KINKS, e.Concat))]
    wide = [node for node in order(rates) if isinstance(node, e.LeakyRelu) and len(node.slopes) > 1]
    return sorted({type(node).__name__.lower() for node in [*found, *wide]})
