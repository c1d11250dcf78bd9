"""Layers of networks at points: without rounding wherever the numbers are short enough, else within bounds.

A small network with weights like 0.5 or -3 that sees integers ties where its scores are equal. Bounds of W x + b would
leave every tie in doubt, though no operation on such numbers rounds.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vernal.interpret.interval import apply
from vernal.interpret.numbers.rounding import Backend, Floats
from vernal.interpret.value_sets import Range, Value
from vernal.model.expr import Affine, Matrix

MANTISSA = 53
SHORT_PLACES = (0, 12, 24)  # binary places of an argument that are tried
WEIGHT_PLACES = range(0, 49, 4)  # and of weights


def layer(backend: Backend, node: Affine, argument: Value) -> Value:
    """W x + b: without rounding where all products and sums are multiples of one small power of two, else bounds."""
    if isinstance(argument, Range) and (argument.lower == argument.upper).all():
        x = argument.lower
        places = _places(x)
        if places is not None and _is_exact(node, np.abs(x).max(axis=0, initial=0.0), places):
            y = x @ node.weight.array.T + node.bias.array
            return Range(y, y)
    return apply(backend, node, [argument])


def _is_exact(node: Affine, largest: Floats, places: int) -> bool:
    """Whether every product and partial sum is an integer below 2^53 in units of one power of two."""
    weight, bias = _matrix_places(node.weight), _matrix_places(node.bias)
    if weight is None or bias is None:
        return False
    units = max(weight + places, bias)
    bound = (np.abs(node.weight.array) @ largest + np.abs(node.bias.array)).max(initial=0.0)
    return bool(bound < 2.0 ** (MANTISSA - 1 - units))


def _places(x: Floats) -> int | None:
    """The number of binary places that these numbers have at most; None where it is more than a few."""
    return next((places for places in SHORT_PLACES if _has_places(x, places)), None)


@lru_cache(maxsize=4096)
def _matrix_places(matrix: Matrix) -> int | None:
    return next((n for n in WEIGHT_PLACES if _has_places(matrix.array, n)), None)


def _has_places(x: Floats, places: int) -> bool:
    scaled = x * 2.0**places
    return bool((scaled == np.floor(scaled)).all() and (np.abs(scaled) < 2.0**MANTISSA).all())
