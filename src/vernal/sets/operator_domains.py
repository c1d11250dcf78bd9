"""Whether expressions have a value everywhere in a region: no root of a negative number, no division by zero.

Operators that are not defined everywhere are looked at one after the other, what they depend on first. The query core
is asked whether an argument can leave the domain somewhere, and answers with bounds that exclude it or with a point. Of
a division two points at which the divisor has different signs say it as well: it is continuous, and so zero between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.calculus import CALCULUS, ElementaryFunction
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.interpret.value_sets import Range, Value
from vernal.logic import printing
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.functions import cos
from vernal.model.graph import order, rewrite, variables
from vernal.model.initial import Ends, Valuation
from vernal.model.tick import Tick, idle
from vernal.model.traits import may_jump

if TYPE_CHECKING:
    from vernal.sets.core.inquiry import Possibility

UNIT: Ends = (Fraction(0), Fraction(1))
MAX_BISECTIONS = 40  # between two points, towards a zero of a divisor


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
            for part in [argument[index] for index in range(argument.size)] if argument.shape else [argument]:
                found = DomainInquiry(part, domain, ends, tick.tick).leaving()
                if found is not None:
                    certain = found.certain and not _branches(roots)
                    return Gap(node, argument, domain, certain, found.near)
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


@dataclass(frozen=True, slots=True)
class DomainExit:
    """Where an argument leaves its domain, or may do so."""

    certain: bool
    near: tuple[tuple[str, float], ...]


class DomainInquiry:
    """Asks the query core where a number may leave a domain."""

    def __init__(self, argument: Expr, domain: OperatorDomain, region: Mapping[Var, Ends], tick: Tick) -> None:
        self.argument, shares = _with_all_draws(argument)
        self.domain, self.tick = domain, tick
        self.box = {var: region[var] for var in variables([argument])} | dict.fromkeys(shares, UNIT)
        self.named = [var for var in self.box if var not in shares]

    def leaving(self) -> DomainExit | None:
        """Where it leaves the domain, or may; None where it stays inside."""
        match self.domain:
            case OperatorDomain.NONNEGATIVE:
                return self._exit(self._ask("<"))
            case OperatorDomain.POSITIVE:
                return self._exit(self._ask("<="))
        if any(map(may_jump, order([self.argument]))):
            return self._exit(self._ask("=="))
        below, above = self._ask("<="), self._ask(">=")
        if below.truth is False or above.truth is False:
            return None
        if below.truth and above.truth:
            return self._exit(replace(below, point=self._zero_between(below.point, above.point)))
        return self._exit(below if below.truth is None else above)

    def _ask(self, op: str) -> Possibility:
        from vernal.sets.core.inquiry import somewhere  # most models have no such operator, and need no search

        return somewhere(build.compare(op, self.argument, 0), self.box, self.tick)

    def _exit(self, found: Possibility) -> DomainExit | None:
        if found.truth is False:
            return None
        near = [float(found.point[var][0]) for var in self.named]
        return DomainExit(found.truth is True, tuple(zip((var.name for var in self.named), near, strict=True)))

    def _zero_between(self, below: Valuation, above: Valuation) -> Valuation:
        """A point close to a zero between points at which the argument is below and above it."""
        middle = below
        for _ in range(MAX_BISECTIONS):
            middle = {var: ((below[var][0] + above[var][0]) / 2,) for var in self.box}
            ends = {var: (float_below(x), float_above(x)) for var, (x,) in middle.items()}
            inputs: dict[Expr, Value] = {var: Range(np.array([a]), np.array([b])) for var, (a, b) in ends.items()}
            (value,) = evaluate([self.argument], inputs)
            assert isinstance(value, Range)
            if value.lower[0] > 0:
                above = middle
            elif value.upper[0] < 0:
                below = middle
            else:
                break
        return middle


def _with_all_draws(argument: Expr) -> tuple[Expr, list[Var]]:
    """The expression with disturbances anywhere between their ends, and how far each is, as variables from 0 to 1."""
    shares: list[Var] = []

    def replaced(node: Expr) -> Expr | None:
        if not isinstance(node, e.Between):
            return None
        shares.append(build.var(f"disturbance {len(shares)}"))  # a name that no model has
        low, high = node.args
        return low + (high - low) * shares[-1]

    return rewrite([argument], replaced)[0], shares
