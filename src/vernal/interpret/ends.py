"""Exact ends of values: rationals between which a number certainly lies, where the operators themselves say so.

`min(x, 0.6)` is never above 0.6, whatever x is; in floating point that would be 0.6 up to a rounding. An operator that
is not listed has no known ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, isfinite
from typing import TypeGuard

from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.sorts import INT

PartialEnds = tuple[Fraction | None, Fraction | None]  # None: no end is known
ReachedEnds = tuple[bool, bool]  # whether an end may be a value itself: that of tanh never is

UNKNOWN_ENDS: PartialEnds = (None, None)
MAX_BITS = 256  # of an end, before it is rounded
ZERO, ONE = Fraction(0), Fraction(1)


class EndsProgram:
    """The ends of some roots (scalars), given those of variables; what does not matter to them is never looked at."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = list(roots)
        self._nodes = _demanded(self.roots)

    def __call__(self, inside: Mapping[Expr, PartialEnds]) -> list[PartialEnds]:
        known = self._run(inside)
        return [known[root] for root in self.roots]

    def reached(self, inside: Mapping[Expr, PartialEnds]) -> list[tuple[PartialEnds, ReachedEnds]]:
        """The ends, and whether each of them may be a value."""
        known, reached = self._run(inside), dict[Expr, ReachedEnds]()
        for node, args in self._nodes:
            own = [(known[arg], reached[arg]) for arg in args]
            reached[node] = (True, True) if node in inside else _reached(node, known[node], own)
        return [(known[root], reached[root]) for root in self.roots]

    def _run(self, inside: Mapping[Expr, PartialEnds]) -> dict[Expr, PartialEnds]:
        known: dict[Expr, PartialEnds] = {}
        for node, args in self._nodes:
            known[node] = inside.get(node) or _ends(node, [known[arg] for arg in args])
        return known


def _demanded(roots: Sequence[Expr]) -> list[tuple[Expr, Sequence[Expr]]]:
    """The nodes that ends depend on, arguments first, each with the arguments that matter."""
    made: dict[Expr, Sequence[Expr]] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in made:
            continue
        args = _operands(node)
        if ready or all(arg in made for arg in args):
            made[node] = args
        else:
            stack += [(node, True), *((arg, False) for arg in args if arg not in made)]
    return list(made.items())


def _operands(node: Expr) -> Sequence[Expr]:
    """The arguments whose ends say something about those of a node."""
    match node:
        case e.Neg() | e.Add() | e.Mul() | e.Div() | e.Min() | e.Max() | e.Relu() | e.Abs() | e.Floor() | e.Between():
            return node.args
        case e.Nonlinear(function=Function.SQRT):
            return node.args
        case e.If() | e.Switch():
            return node.args[1:]
        case e.Choose():
            return node.options
    return ()


def _ends(node: Expr, args: Sequence[PartialEnds]) -> PartialEnds:
    """The ends of a node from those of its operands; an operator without any has its own, or none."""
    match node:
        case e.Const() if not node.shape:
            return node.value, node.value
        case e.Neg():
            return _negated(args[0])
        case e.Add():
            total = _sum([low for low, _ in args]), _sum([high for _, high in args])
            return meet(total, _remainder(node))
        case e.Mul():
            return _product(node, args)
        case e.Div(args=(_, e.Const() as divisor)) if not divisor.shape and divisor.value:
            return _scaled(1 / divisor.value, args[0])
        case e.Min():
            return _least([low for low, _ in args], all_known=True), _least([high for _, high in args], all_known=False)
        case e.Max():
            low = _greatest([low for low, _ in args], all_known=False)
            return low, _greatest([high for _, high in args], all_known=True)
        case e.Relu():
            return max(args[0][0] or ZERO, ZERO), None if args[0][1] is None else max(args[0][1], ZERO)
        case e.Abs():
            low, high = args[0]
            return ZERO, None if low is None or high is None else max(-low, high)
        case e.Floor():
            low, high = args[0]
            return None if low is None else Fraction(floor(low)), None if high is None else Fraction(floor(high))
        case e.Sign():
            return -ONE, ONE
        case e.Argmax():
            return ZERO, Fraction(node.args[0].size - 1)
        case e.Nonlinear(function=Function.SQRT):
            low, _ = args[0]
            return (ZERO, None) if low is not None and low >= 0 else UNKNOWN_ENDS  # undefined may be anything
        case e.Nonlinear(function=function):
            return CALCULUS[function].ends
        case e.If() | e.Switch() | e.Choose() | e.Between():
            return _hull(args)
    return UNKNOWN_ENDS


def _reached(node: Expr, own: PartialEnds, args: Sequence[tuple[PartialEnds, ReachedEnds]]) -> ReachedEnds:
    """Whether the ends of a node may be values of it: only where an operator says that they are not, they are not."""
    match node:
        case e.Nonlinear(function=function):
            entry = CALCULUS[function]
            return (True, True) if entry.reached or entry.ends == UNKNOWN_ENDS else (False, False)
        case e.Neg():
            return args[0][1][::-1]
        case e.Add():
            return all(at_low for _, (at_low, _) in args), all(at_high for _, (_, at_high) in args)
        case e.Mul() | e.Div():
            return _reached_product(node, args)
        case e.Min():
            return _some_at(0, own, args), _all_at(1, own, args)
        case e.Max():
            return _all_at(0, own, args), _some_at(1, own, args)
        case e.If() | e.Switch() | e.Choose() | e.Between():
            return _some_at(0, own, args), _some_at(1, own, args)
    return True, True


def _reached_product(node: Expr, args: Sequence[tuple[PartialEnds, ReachedEnds]]) -> ReachedEnds:
    factors = [(arg.value, *other) for arg, other in zip(node.args, reversed(args), strict=True) if _is_number(arg)]
    if len(factors) != 1 or factors[0][0] == 0:
        return True, True
    ((factor, _, reached),) = factors
    return reached if factor > 0 else reached[::-1]


def _some_at(side: int, own: PartialEnds, args: Sequence[tuple[PartialEnds, ReachedEnds]]) -> bool:
    """Whether one of the arguments may be where the end is."""
    return any(reached[side] for ends, reached in args if ends[side] == own[side])


def _all_at(side: int, own: PartialEnds, args: Sequence[tuple[PartialEnds, ReachedEnds]]) -> bool:
    """Whether all the arguments that cannot be beyond the end may be at it."""
    return all(reached[side] for ends, reached in args if ends[side] == own[side])


def _is_number(node: Expr) -> TypeGuard[e.Const]:
    return isinstance(node, e.Const) and not node.shape


def precedes(one: tuple[PartialEnds, ReachedEnds], other: tuple[PartialEnds, ReachedEnds], *, strictly: bool) -> bool:
    """Whether one value is certainly at most another one, or certainly less."""
    high, low = one[0][1], other[0][0]
    if high is None or low is None or high > low:
        return False
    return high < low or not strictly or not (one[1][1] and other[1][0])


def shortened(ends: PartialEnds) -> PartialEnds:
    """The ends, rounded outward to floats where exact numbers have become long."""
    low, high = ends
    if low is not None and _is_long(low):
        low = _finite(float_below(low))
    if high is not None and _is_long(high):
        high = _finite(float_above(high))
    return low, high


def _is_long(number: Fraction) -> bool:
    return number.numerator.bit_length() + number.denominator.bit_length() > MAX_BITS


def _finite(number: float) -> Fraction | None:
    return Fraction(number) if isfinite(number) else None


def _product(node: Expr, args: Sequence[PartialEnds]) -> PartialEnds:
    """The ends of a product with a constant."""
    for factor, (other, ends) in zip(node.args, zip(node.args[::-1], args[::-1], strict=True), strict=True):
        if _is_number(factor) and not other.shape:
            return _scaled(factor.value, ends)
    return UNKNOWN_ENDS


def _remainder(node: e.Add) -> PartialEnds:
    """The ends of `x - n * floor(x / n)`, which is how `x % n` is written, for an integer x; of other sums none."""
    *rest, last = node.args
    match last:
        case e.Neg(args=(e.Mul(args=(e.Const() as n, e.Floor(args=(e.Div(args=(x, divisor)),)))),)) if divisor is n:
            summands = x.args if isinstance(x, e.Add) else (x,)
            if tuple(rest) == tuple(summands) and x.sort == INT and n.sort == INT and not node.shape and n.value:
                return (ZERO, n.value - 1) if n.value > 0 else (n.value + 1, ZERO)
    return UNKNOWN_ENDS


def _negated(ends: PartialEnds) -> PartialEnds:
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def _scaled(factor: Fraction, ends: PartialEnds) -> PartialEnds:
    low, high = ends if factor >= 0 else (ends[1], ends[0])
    if factor == 0:
        return ZERO, ZERO
    return None if low is None else factor * low, None if high is None else factor * high


def _sum(parts: Sequence[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    return sum(known, ZERO) if len(known) == len(parts) else None


def _least(parts: Sequence[Fraction | None], *, all_known: bool) -> Fraction | None:
    """The least of the ends; where all have to be known, one that is not leaves it open."""
    known = [part for part in parts if part is not None]
    return min(known) if known and (len(known) == len(parts) or not all_known) else None


def _greatest(parts: Sequence[Fraction | None], *, all_known: bool) -> Fraction | None:
    return _negated((None, _least([None if part is None else -part for part in parts], all_known=all_known)))[0]


def _hull(parts: Sequence[PartialEnds]) -> PartialEnds:
    low = _least([low for low, _ in parts], all_known=True)
    return low, _greatest([high for _, high in parts], all_known=True)


# Ends and ends --------------------------------------------------------------------------------------------------------


def hull(a: PartialEnds, b: PartialEnds) -> PartialEnds:
    """The ends of what is between one or the other."""
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    return low, None if a[1] is None or b[1] is None else max(a[1], b[1])


def meet(a: PartialEnds, b: PartialEnds) -> PartialEnds:
    """The ends of what is between both."""
    low = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    return low, b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])


def inside(ends: PartialEnds, others: PartialEnds) -> bool:
    """Whether all that is between some ends is between others."""
    above = others[0] is None or (ends[0] is not None and ends[0] >= others[0])
    return above and (others[1] is None or (ends[1] is not None and ends[1] <= others[1]))
