"""The elementary functions by name, for models written in Python."""

from __future__ import annotations

from vernal.model.build import apply
from vernal.model.expr import Expr, Function, Operand


def sin(x: Operand) -> Expr:
    return apply(Function.SIN, x)


def cos(x: Operand) -> Expr:
    return apply(Function.COS, x)


def tan(x: Operand) -> Expr:
    return apply(Function.TAN, x)


def atan(x: Operand) -> Expr:
    return apply(Function.ATAN, x)


def erf(x: Operand) -> Expr:
    return apply(Function.ERF, x)


def tanh(x: Operand) -> Expr:
    return apply(Function.TANH, x)


def exp(x: Operand) -> Expr:
    return apply(Function.EXP, x)


def expm1(x: Operand) -> Expr:
    """exp(x) - 1, without loss near 0."""
    return apply(Function.EXPM1, x)


def log(x: Operand) -> Expr:
    return apply(Function.LOG, x)


def log1p(x: Operand) -> Expr:
    """log(1 + x), without loss near 0."""
    return apply(Function.LOG1P, x)


def sqrt(x: Operand) -> Expr:
    return apply(Function.SQRT, x)


def sigmoid(x: Operand) -> Expr:
    return apply(Function.SIGMOID, x)
