"""Softmax and its logarithm, written so that bounds of them are tight and nothing overflows that counts.

Component i is exp(x_i) / (exp(x_1) + ...), which is 1 / (1 + the sum over all others of exp(x_j - x_i)). Only
differences of scores are left, so what scores have in common does not count. The divisor is never below 1, which is
said once more, since the bounds of a large sum forget it: so each component is between 0 and 1 whatever bounds the
scores have. Of two scores a component is the sigmoid of their difference.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix

ONLY_ONE, LOGARITHM_OF_ONE = build.vector([Fraction(1)]), build.vector([Fraction(0)])


def softmax(x: Expr) -> Expr:
    """The shares that scores stand for, which add up to 1."""
    if x.size == 1:
        return ONLY_ONE
    if x.size == 2:
        return build.apply(Function.SIGMOID, build.affine(x, Matrix(np.array([[1.0, -1.0], [-1.0, 1.0]])), zeros(2)))
    return build.div(1, _divisors(x))


def log_softmax(x: Expr) -> Expr:
    """The logarithms of these shares: x_i - m - log(exp(x_1 - m) + ...), where m is the largest score."""
    if x.size == 1:
        return LOGARITHM_OF_ONE
    below = build.sub(x, build.maximum(*(build.component(x, index) for index in range(x.size))))
    total = build.affine(build.apply(Function.EXP, below), Matrix(np.ones((1, x.size))), zeros(1))
    return build.sub(below, build.apply(Function.LOG, build.component(build.maximum(1, total), 0)))


def _divisors(x: Expr) -> Expr:
    """For each score 1 + the sum over all others of exp(other - score), as a sum of vectors: no zero meets infinity."""
    size = x.size
    own = np.arange(size)
    powers = []
    for shift in range(1, size):
        difference = np.zeros((size, size))
        difference[own, (own + shift) % size], difference[own, own] = 1.0, -1.0
        powers.append(build.apply(Function.EXP, build.affine(x, Matrix(difference), zeros(size))))
    return build.maximum(1, build.add(1, *powers))


def zeros(size: int) -> Matrix:
    """The offset of a map without one."""
    return Matrix(np.zeros(size))
