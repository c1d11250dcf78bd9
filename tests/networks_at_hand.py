"""ReLU networks as neural abstractions, written by hand and drawn at random, and what they compute exactly."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.evidence.neural import NeuralAbstraction
from vernal.model import build
from vernal.model.expr import Expr, Matrix
from vernal.model.network import Network

Array = NDArray[np.float64]


def abstraction(
    weights: Sequence[object], biases: Sequence[object], *, error: float = 0.1, size: float = 1.0
) -> NeuralAbstraction:
    """An abstraction over the cube of this half width, with the same error in every coordinate."""
    matrices = tuple(np.array(w, dtype=np.float64) for w in weights)
    constants = tuple(np.array(b, dtype=np.float64) for b in biases)
    n = matrices[0].shape[1]
    ends, errors = np.full(n, size), np.full(n, error)
    return NeuralAbstraction(network(matrices, constants), matrices, constants, -ends, ends, errors, errors)


def network(weights: Sequence[Array], biases: Sequence[Array]) -> Network:
    """The same as a network of expressions."""
    inputs = build.var("in", shape=(weights[0].shape[1],))
    value: Expr = inputs
    for layer, (matrix, bias) in enumerate(zip(weights, biases, strict=True)):
        value = build.affine(value if layer == 0 else build.relu(value), Matrix(matrix), Matrix(bias))
    return Network("net", inputs, value)


def drawn(
    widths: Sequence[int], n: int, seed: int, *, grid: float | None = 2.0**-10, error: float = 0.1
) -> NeuralAbstraction:
    """Random weights, multiples of the grid where there is one."""
    random = np.random.default_rng(seed)
    sizes = [n, *widths, n]
    weights = [random.normal(size=(b, a)) / np.sqrt(a) for a, b in itertools.pairwise(sizes)]
    biases = [random.normal(size=b) / 2 for b in sizes[1:]]
    if grid is not None:
        weights, biases = ([np.round(array / grid) * grid for array in arrays] for arrays in (weights, biases))
    return abstraction(weights, biases, error=error)


def outputs(given: NeuralAbstraction, point: Sequence[Fraction]) -> list[Fraction]:
    """What the network computes, in rationals."""
    values = list(point)
    for layer, (matrix, bias) in enumerate(zip(given.weights, given.biases, strict=True)):
        values = values if layer == 0 else [max(v, Fraction(0)) for v in values]
        values = applied(matrix, bias, values)
    return values


def applied(matrix: Array, constants: Array, point: Sequence[Fraction]) -> list[Fraction]:
    """matrix point + constants, in rationals."""
    rows = zip(matrix.tolist(), constants.tolist(), strict=True)
    return [sum((Fraction(a) * x for a, x in zip(row, point, strict=True)), Fraction(b)) for row, b in rows]


def float_outputs(given: NeuralAbstraction, point: Array) -> Array:
    """The same in floats."""
    values = point
    for layer, (matrix, bias) in enumerate(zip(given.weights, given.biases, strict=True)):
        values = matrix @ (values if layer == 0 else np.maximum(values, 0.0)) + bias
    return values
