"""Smooth activations and layer normalisation, for all network formats, in the functions the language has.

What is irrational in a definition is the double nearest to it, as in the frameworks; everything else is exact. GELU has
two forms, with the error function and with tanh; they differ by up to 5e-4, so that they are two networks.
"""

from __future__ import annotations

from fractions import Fraction
from math import pi, sqrt

import numpy as np

from vernal.formats import layers
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr, Function

PER_ROOT_TWO = Fraction(sqrt(0.5))
GELU_SLOPE = Fraction(sqrt(2 / pi))
GELU_CUBE = Fraction(0.044715)
SELU_ALPHA, SELU_GAMMA = Fraction(1.67326319217681884765625), Fraction(1.05070102214813232421875)  # float32 numbers


def elu(x: Expr, alpha: Fraction) -> Expr:
    """x where it is positive, alpha (exp(x) - 1) below; without a case, so that bounds need not decide which."""
    below = build.sub(build.apply(Function.EXP, build.minimum(x, 0)), 1)
    return build.add(build.relu(x), build.mul(below, build.const(alpha)))


def celu(x: Expr, alpha: Fraction) -> Expr:
    """x where it is positive, alpha (exp(x / alpha) - 1) below; alpha is positive."""
    below = build.apply(Function.EXP, build.mul(build.minimum(x, 0), 1 / alpha))
    return build.add(build.relu(x), build.mul(build.sub(below, 1), build.const(alpha)))


def selu(x: Expr, alpha: Fraction = SELU_ALPHA, gamma: Fraction = SELU_GAMMA) -> Expr:
    return build.mul(elu(x, alpha), build.const(gamma))


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)), written so that nothing grows beyond all bounds."""
    small = build.apply(Function.EXP, build.neg(build.absolute(x)))
    return build.add(build.relu(x), build.apply(Function.LOG, build.add(small, 1)))


def softsign(x: Expr) -> Expr:
    return build.div(x, build.add(build.absolute(x), 1))


def silu(x: Expr, slope: Fraction = Fraction(1)) -> Expr:
    """x sigmoid(slope x), also called Swish."""
    return build.mul(x, layers.sigmoid(x if slope == 1 else build.mul(x, build.const(slope))))


def mish(x: Expr) -> Expr:
    """x tanh(softplus(x))."""
    return build.mul(x, layers.tanh(softplus(x)))


def hard_swish(x: Expr) -> Expr:
    return build.mul(x, build.hard_sigmoid(x, Fraction(1, 6)))


def gelu_tanh(x: Expr) -> Expr:
    """x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3); written as x sigmoid(2 u), which is the same."""
    inner = build.add(build.mul(build.power(x, 2), build.const(GELU_CUBE)), 1)
    return build.mul(x, layers.sigmoid(build.mul(build.mul(x, inner), build.const(2 * GELU_SLOPE))))


def gelu(x: Expr) -> Expr:
    """x (1 + erf(x / sqrt(2))) / 2."""
    spread = build.apply(Function.ERF, build.mul(x, build.const(PER_ROOT_TWO)))
    return build.mul(build.mul(x, build.add(spread, 1)), build.const(Fraction(1, 2)))


def layer_norm(x: Expr, rows: int, gain: Array | None, offset: Array | None, epsilon: Fraction) -> Expr:
    """gain (x - mean) / sqrt(variance + epsilon) + offset within each of so many rows of equal length.

    With d = n (x - mean), whose weights are integers, it is d / sqrt(sum(d^2) / n + n^2 epsilon).
    """
    layers.check_weights(x.size, x.size)
    n = x.size // rows
    centred = layers.dense(x, np.kron(np.eye(rows), n * np.eye(n) - np.ones((n, n))))
    squares = layers.dense(build.power(centred, 2), np.kron(np.eye(rows), np.ones((1, n))))
    spread = build.apply(Function.SQRT, build.add(build.div(squares, n), build.const(n * n * epsilon)))
    made = build.div(centred, layers.pick(spread, np.repeat(np.arange(rows), n)))
    made = made if gain is None else layers.scale(made, np.tile(gain.ravel(), rows))
    return made if offset is None else layers.shift(made, np.tile(offset.ravel(), rows))
