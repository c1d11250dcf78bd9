"""Softmax and its logarithm, written so that bounds of them are tight and nothing overflows that counts.

Component i is exp(x_i) / (exp(x_1) + ...), which is 1 / (1 + the sum over all others of exp(x_j - x_i)). Only
differences of scores are left, so what scores have in common does not count, and the divisor is never below 1: each
component is between 0 and 1 whatever bounds the scores have.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix


def softmax(x: Expr) -> Expr:
    """The shares that scores stand for, which add up to 1."""
    return build.div(1, _divisors(x)) if x.size > 1 else build.vector([Fraction(1)])


def log_softmax(x: Expr) -> Expr:
    """The logarithms of these shares."""
    return build.neg(build.apply(Function.LOG, _divisors(x))) if x.size > 1 else build.vector([Fraction(0)])


def _divisors(x: Expr) -> Expr:
    """For each score 1 + the sum over all others of exp(other - score)."""
    size = x.size
    own, other = np.nonzero(~np.eye(size, dtype=bool))
    rows = np.arange(len(own))
    differences, sums = np.zeros((len(own), size)), np.zeros((size, len(own)))
    differences[rows, other], differences[rows, own] = 1.0, -1.0
    sums[own, rows] = 1.0
    powers = build.apply(Function.EXP, build.affine(x, Matrix(differences), Matrix(np.zeros(len(own)))))
    return build.affine(powers, Matrix(sums), Matrix(np.ones(size)))
