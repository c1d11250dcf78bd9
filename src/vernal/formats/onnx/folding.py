"""Constants among themselves: what a node computes from constants alone is a constant again, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm, trunc

import numpy as np

from vernal.formats import layers
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.interpret import exact
from vernal.interpret.numbers.rounding import Array

MAX_BITS = 4096  # of a constant computed from constants


def fold_pair(call: NodeCall, function: Callable[[Fraction, Fraction], Fraction], a: Array, b: Array) -> Array:
    """Two constants, entry by entry; integers stay integers, rounded towards zero as ONNX divides them."""
    x, y = np.broadcast_arrays(a, b)
    call.allowance.take(x.size)
    values = [function(p, q) for p, q in zip(layers.rationals(x), layers.rationals(y), strict=True)]
    if a.dtype == b.dtype == np.int64:
        return np.array([trunc(value) for value in values], dtype=np.int64).reshape(x.shape)
    return checked(call, values, x.shape)


def checked(call: NodeCall, values: Sequence[Fraction], shape: Sequence[int]) -> Array:
    """Computed constants as an array, unless they are absurdly long."""
    if any(value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS for value in values):
        raise call.wrong("computes a constant that grows beyond all bounds")
    return layers.array_of(values, shape)


def folded(call: NodeCall, made: OnnxValue) -> OnnxValue:
    """The value of a node whose inputs are all constant; as it is where it is no rational, sin(1) say."""
    if not isinstance(made, Tensor) or not call.inputs or any(isinstance(given, Tensor) for given in call.inputs):
        return made
    (value,) = exact.evaluate([made.expr], {})
    entries = value if isinstance(value, tuple) else (value,)
    if all(isinstance(entry, bool) for entry in entries):
        return np.array(entries, dtype=bool).reshape(made.shape)
    numbers = [entry for entry in entries if isinstance(entry, Fraction)]
    return checked(call, numbers, made.shape) if len(numbers) == len(entries) else made


def integer_product(call: NodeCall, a: Array, b: Array) -> Array:
    """The matrix product of two constants: over a common denominator all are integers, and these do not round."""
    (x, below), (y, further) = _over_one_denominator(call, a), _over_one_denominator(call, b)
    call.allowance.take(x.size // max(x.shape[-1], 1) * y.size)
    product = np.asarray(np.matmul(x, y), dtype=object)
    shape, entries = product.shape, product.ravel().tolist()
    if a.dtype == b.dtype == np.int64:
        return np.array(entries, dtype=np.int64).reshape(shape)
    return checked(call, [Fraction(int(entry), below * further) for entry in entries], shape)


def _over_one_denominator(call: NodeCall, array: Array) -> tuple[Array, int]:
    """Python's integers, and what all of them are divided by: of doubles a power of two."""
    if array.size == 0:
        raise call.unsupported("multiplies a constant without entries")
    values = layers.rationals(array)
    below = 1
    for value in values:
        below = lcm(below, value.denominator)
        if below.bit_length() > MAX_BITS:
            raise call.wrong("multiplies constants whose common denominator grows beyond all bounds")
    whole = np.empty(array.size, dtype=object)
    whole[:] = [value.numerator * (below // value.denominator) for value in values]
    return whole.reshape(array.shape), below
