"""The elementary functions by name, for models written in Python."""

from __future__ import annotations

from vernal.model.build import apply
from vernal.model.expr import Expr, Function, Operand


def sin(x: Operand) -> Expr:
    """The sine of an angle in radians: `vn.sin(s.theta)`."""
    return apply(Function.SIN, x)


def cos(x: Operand) -> Expr:
    """The cosine of an angle in radians: `vn.cos(s.theta)`."""
    return apply(Function.COS, x)


def tan(x: Operand) -> Expr:
    """The tangent of an angle in radians: `vn.tan(s.theta)`."""
    return apply(Function.TAN, x)


def atan(x: Operand) -> Expr:
    """The angle whose tangent is x, between -pi/2 and pi/2: `vn.atan(s.slope)`."""
    return apply(Function.ATAN, x)


def erf(x: Operand) -> Expr:
    """The error function: `vn.erf(s.x / 2)`."""
    return apply(Function.ERF, x)


def tanh(x: Operand) -> Expr:
    """The hyperbolic tangent, between -1 and 1: `vn.tanh(s.x)`."""
    return apply(Function.TANH, x)


def exp(x: Operand) -> Expr:
    """e to the power of x: `vn.exp(-s.t)`."""
    return apply(Function.EXP, x)


def expm1(x: Operand) -> Expr:
    """exp(x) - 1, without loss near 0.

    Example: `vn.expm1(s.x)`
    """
    return apply(Function.EXPM1, x)


def log(x: Operand) -> Expr:
    """The natural logarithm, undefined at 0 and below: `vn.log(s.x)`."""
    return apply(Function.LOG, x)


def log1p(x: Operand) -> Expr:
    """log(1 + x), without loss near 0.

    Example: `vn.log1p(s.x)`
    """
    return apply(Function.LOG1P, x)


def sqrt(x: Operand) -> Expr:
    """The square root, undefined below 0: `vn.sqrt(s.x**2 + s.y**2)`."""
    return apply(Function.SQRT, x)


def sigmoid(x: Operand) -> Expr:
    """1 / (1 + exp(-x)), between 0 and 1: `vn.sigmoid(s.x)`."""
    return apply(Function.SIGMOID, x)
