"""ONNX operators between real numbers and the integers of a few bits: QuantizeLinear and DequantizeLinear.

A network quantised by pairs of both computes in real numbers that lie on a grid: round(x / scale) + zero point, within
the ends of its type. That is what is read, exactly; integers that are multiplied as such are refused (`REASONS`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from vernal.formats.layers import constant, exact_product
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.formats.onnx.elementwise import nearest_even
from vernal.formats.onnx.folding import fold_pair
from vernal.interpret.numbers.rounding import Array
from vernal.model import build

TYPES: dict[int, np.dtype[Any]] = {  # by their numbers in ONNX
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint16),
    5: np.dtype(np.int16),
}
MOVES = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
NARROW_READERS = MOVES | {
    "DequantizeLinear",
    "QuantizeLinear",
}  # that may read integers of a few bits
LARGEST_INTEGER = 2.0**52  # of integers whose differences doubles hold
OLDEST_BLOCKS = 21  # the operator set in which scales of blocks came


def is_narrow(value: OnnxValue) -> bool:
    """Whether a constant is of integers of a few bits."""
    return not isinstance(value, Tensor) and value.dtype in TYPES.values()


def _quantize(call: NodeCall) -> OnnxValue:
    """To the nearest integer, the even one of two, within the ends of the type."""
    x = call.data()
    scale, zero = _steps(call, x.shape)
    if not (scale > 0).all():
        raise call.wrong("has a scale that is not positive")
    ends = _ends_of(call)
    call.allowance.take(prod(x.shape))
    rounded = build.add(nearest_even(build.div(x.expr, constant(scale))), constant(zero))
    low, high = Fraction(int(ends.min)), Fraction(int(ends.max))
    return Tensor(build.minimum(build.maximum(rounded, low), high), x.shape)


def _dequantize(call: NodeCall) -> OnnxValue:
    """(x - zero point) scale."""
    x = call.value()
    scale, zero = _steps(call, x.shape)
    if isinstance(x, Tensor):
        call.allowance.take(prod(x.shape))
        return Tensor(build.mul(build.sub(x.expr, constant(zero)), constant(scale)), x.shape)
    if x.dtype.kind not in "iuf" or not (abs(x.astype(np.float64)) < LARGEST_INTEGER).all() or (x != np.trunc(x)).any():
        raise call.wrong("wants integers")
    call.allowance.take(x.size)
    shape = x.shape if scale.size > 1 else ()
    shifted, steps = x.astype(np.float64) - zero.astype(np.float64).reshape(shape), scale.reshape(shape)
    exact = exact_product(shifted, steps)
    return fold_pair(call, operator.mul, shifted, steps) if exact is None else exact


def _steps(call: NodeCall, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Scale and zero point: one number, or one for each component, in the order of a flat vector."""
    scale = call.weights(1)
    zero = np.zeros(scale.shape, dtype=np.int64) if call.input(2) is None else call.constant(2)
    if zero.dtype.kind not in "iu" or zero.shape != scale.shape:
        raise call.wrong("wants a zero point of integers, in the shape of its scale")
    if call.opset >= OLDEST_BLOCKS and call.integer("block_size", 0):
        raise call.unsupported("has a scale for each block; one for each channel is read")
    if scale.size == 1:
        return scale.reshape(1), zero.reshape(1)
    axis = call.axis(call.integer("axis", 1), len(shape))
    if scale.shape != (shape[axis],):
        raise call.wrong(f"wants a scale for each of {shape[axis]} channels")
    column = (-1, *(1 for _ in shape[axis + 1 :]))
    spread = [np.broadcast_to(part.reshape(column), shape).ravel() for part in (scale, zero)]
    return spread[0], spread[1]


def _ends_of(call: NodeCall) -> np.iinfo[Any]:
    """The ends of the type that comes out: that of the zero point, else the one that is named, else bytes."""
    zero, named = call.input(2), call.integer("output_dtype", 0)
    kind = TYPES.get(named, np.dtype(np.uint8) if named == 0 else None) if zero is None else call.constant(2).dtype
    if kind not in TYPES.values():
        raise call.unsupported("rounds to a type that is not read; uint8, int8, uint16 and int16 are")
    return np.iinfo(kind)


QUANTISED: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "DequantizeLinear": (_dequantize, ("axis", "block_size", "output_dtype")),
    "QuantizeLinear": (_quantize, ("axis", "block_size", "output_dtype", "precision", "saturate")),
}
