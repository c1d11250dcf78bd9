"""The calculus of elementary functions, in one table: slope, domain, curvature, ends, and values in balls.

Intervals, linear bounds, Taylor coefficients, power series, exact numbers and derivatives read it; what they need
besides is a kernel for batches (`kernels`). A function is added here, to `Function`, to its traits, and nowhere else.

A slope is written once, for every kind of number: in terms of the argument x, the value u(), and what else an
interpretation can do with its numbers (`Algebra`). It is written so that x or u() occurs once, which keeps sets tight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from vernal.model.expr import Function
from vernal.model.traits import FUNCTIONS, Traits

Number = Any  # of some interpretation, with the operators + - * / and ** of small integers


class Algebra(Protocol):
    """What an interpretation can do with its numbers, besides their operators."""

    @property
    def bell(self) -> Number: ...  # 2 / sqrt(pi)

    def apply(self, function: Function, x: Number) -> Number: ...


@dataclass(frozen=True, slots=True)
class HalfLine:
    """The numbers above an edge, and the edge itself where it is closed."""

    edge: int
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementaryFunction:
    """What is true of a function of one number."""

    ball: Callable[[Any], Any]  # its value on a ball of Arb
    floats: Callable[[Any], Any]  # its value in arrays of floats, without a guarantee
    slope: Callable[
        [Number, Callable[[], Number], Algebra], Number
    ]  # from the argument, and the value where it is asked for
    curvature: tuple[int, int] | None  # 1 convex, -1 concave, below and above 0; None: it is a wave
    point: tuple[int, Fraction] | None  # the only rational argument whose value is rational; None: there are many
    series: Callable[[Any], Any] | None = None  # its value on a power series, where `ball` does not take one
    domain: HalfLine | None = None  # where it is defined, unless that is everywhere
    poles: bool = False  # whether it is undefined where the cosine is 0
    undefined: str = ""  # what it would be outside its domain, in words
    ends: tuple[Fraction | None, Fraction | None] = (None, None)  # between which its values lie
    reached: bool = False  # whether these are values, too


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # never overflows
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _erf(x: Any) -> Any:
    from scipy.special import erf  # few systems need it, and it takes long to import

    return np.asarray(erf(x))


ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)

CALCULUS: Mapping[Function, ElementaryFunction] = {
    Function.SIN: ElementaryFunction(
        ball=lambda x: x.sin(),
        floats=np.sin,
        slope=lambda x, u, of: of.apply(Function.COS, x),
        curvature=None,
        point=(0, ZERO),
        ends=(-ONE, ONE),
        reached=True,
    ),
    Function.COS: ElementaryFunction(
        ball=lambda x: x.cos(),
        floats=np.cos,
        slope=lambda x, u, of: -of.apply(Function.SIN, x),
        curvature=None,
        point=(0, ONE),
        ends=(-ONE, ONE),
        reached=True,
    ),
    Function.TAN: ElementaryFunction(
        ball=lambda x: x.tan(),
        floats=np.tan,
        slope=lambda x, u, of: 1 + u() ** 2,
        curvature=None,
        point=(0, ZERO),
        poles=True,
        undefined="the tangent of a number whose cosine is zero",
    ),
    Function.ATAN: ElementaryFunction(
        ball=lambda x: x.atan(),
        floats=np.arctan,
        slope=lambda x, u, of: 1 / (1 + x**2),
        curvature=(1, -1),
        point=(0, ZERO),
        ends=(-Fraction(11, 7), Fraction(11, 7)),  # pi/2 is a little less
    ),
    Function.TANH: ElementaryFunction(
        ball=lambda x: x.tanh(),
        series=lambda x: 1 - 2 / (1 + (2 * x).exp()),
        floats=np.tanh,
        slope=lambda x, u, of: 1 - u() ** 2,
        curvature=(1, -1),
        point=(0, ZERO),
        ends=(-ONE, ONE),
    ),
    Function.ERF: ElementaryFunction(
        ball=lambda x: x.erf(),
        floats=_erf,
        slope=lambda x, u, of: of.apply(Function.EXP, -(x**2)) * of.bell,
        curvature=(1, -1),
        point=(0, ZERO),  # no other is known; were there one, a ball would enclose its value
        ends=(-ONE, ONE),
    ),
    Function.EXP: ElementaryFunction(
        ball=lambda x: x.exp(),
        floats=np.exp,
        slope=lambda x, u, of: u(),
        curvature=(1, 1),
        point=(0, ONE),
        ends=(ZERO, None),
    ),
    Function.EXPM1: ElementaryFunction(
        ball=lambda x: x.expm1(),
        series=lambda x: x.exp() - 1,
        floats=np.expm1,
        slope=lambda x, u, of: of.apply(Function.EXP, x),
        curvature=(1, 1),
        point=(0, ZERO),
        ends=(-ONE, None),
    ),
    Function.LOG: ElementaryFunction(
        ball=lambda x: x.log(),
        floats=np.log,
        slope=lambda x, u, of: 1 / x,
        curvature=(-1, -1),
        point=(1, ZERO),
        domain=HalfLine(0),
        undefined="a logarithm of a number that is not positive",
    ),
    Function.LOG1P: ElementaryFunction(
        ball=lambda x: x.log1p(),
        series=lambda x: (1 + x).log(),
        floats=np.log1p,
        slope=lambda x, u, of: 1 / (1 + x),
        curvature=(-1, -1),
        point=(0, ZERO),
        domain=HalfLine(-1),
        undefined="a logarithm of 1 + x, which is not positive",
    ),
    Function.SQRT: ElementaryFunction(
        ball=lambda x: x.sqrt(),
        floats=np.sqrt,
        slope=lambda x, u, of: 1 / (2 * u()),
        curvature=(-1, -1),
        point=None,
        domain=HalfLine(0, closed=True),
        undefined="a square root of a negative number",
        ends=(ZERO, None),
        reached=True,
    ),
    Function.SIGMOID: ElementaryFunction(
        ball=lambda x: 1 / (1 + (-x).exp()),
        floats=_sigmoid,
        slope=lambda x, u, of: (1 - (2 * u() - 1) ** 2) / 4,
        curvature=(1, -1),
        point=(0, HALF),
        ends=(ZERO, ONE),
    ),
}


def check(calculus: Mapping[Function, ElementaryFunction], traits: Mapping[Function, Traits]) -> None:
    """Raise where a function has no entry, or where its entry contradicts its traits."""
    for function in Function:
        if function not in calculus:
            raise LookupError(f"vernal/interpret/numbers/calculus.py does not say what is true of {function.value}")
        entry = calculus[function]
        if traits[function].total != (entry.domain is None and not entry.poles):
            raise LookupError(f"where {function.value} is defined is said in two ways, by its traits and by its domain")


check(CALCULUS, FUNCTIONS)
