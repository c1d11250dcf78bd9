"""The layers all network formats share, built so that no weight is ever rounded on the way in.

A float32 or float64 weight is a rational number, and an affine layer keeps it as it is. Two constant layers in a row
are merged only where the merged constants are exactly representable; otherwise both stay, as explicit nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from vernal.errors import FormatError
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Affine, Expr, Function, Gather, Matrix

MAX_WEIGHTS = 2**25  # entries of all matrices of one network: 256 MiB as doubles
MAX_PARTS = 8  # doubles that one computed weight is the sum of
MAX_BITS = 256  # of the odd part of their common denominator
UNFIT = "weights computed from constants do not fit into doubles; fold them before exporting"
MAX_WIDTH = 2**20  # components of any one vector
MAX_RANK = 32  # axes of a shape


def single(value: float) -> Fraction:
    """The number a float32 parameter holds when `value` is stored in it."""
    return Fraction(float(np.float32(value)))


def check_finite(array: Array, what: str) -> None:
    """Refuse NaN and infinity, which no reasoning over the reals can use."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise FormatError(f"{what} holds NaN or infinite numbers; retrain or repair the network")


def check_width(shape: Sequence[int]) -> int:
    """The number of components of a shape, refused where it is absurd."""
    count = prod(shape) if len(shape) <= MAX_RANK and max(shape, default=0) <= MAX_WIDTH else None
    if count is None or count > MAX_WIDTH:
        shown = ", ".join(str(size) if size <= MAX_WIDTH else "..." for size in shape[:MAX_RANK])
        raise FormatError(f"a tensor of shape ({shown}) is too large; at most {MAX_WIDTH} components are supported")
    return count


def check_weights(rows: int, columns: int) -> None:
    """Refuse a matrix before it is made."""
    if rows * columns > MAX_WEIGHTS:
        raise FormatError(f"a {rows}x{columns} matrix is too large; at most {MAX_WEIGHTS} entries are supported")


def rationals(array: Array) -> tuple[Fraction, ...]:
    """The entries, row by row, as the exact numbers they are."""
    return tuple(Fraction(value) for value in array.ravel().tolist())


def constant(array: Array) -> Expr:
    """A constant as a node: a scalar if it has one entry, else a vector."""
    values = rationals(array)
    return build.const(values[0]) if len(values) == 1 else build.vector(values)


def array_of(values: Sequence[Fraction], shape: Sequence[int]) -> Array:
    """Rational numbers as an array: of doubles where these hold all of them exactly, else of fractions."""
    result = np.empty(len(values), dtype=object)
    result[:] = list(values)
    rounded = result.astype(np.float64)
    same = all(Fraction(double) == value for double, value in zip(rounded.tolist(), values, strict=True))
    return (rounded if same else result).reshape(tuple(shape))


def dense(x: Expr, weight: Array, bias: Array | None = None) -> Expr:
    """W x + b with W of shape (outputs, inputs)."""
    (first, *rest), below = double_parts(weight)
    apart = bias is not None and (bias.dtype == object or below != 1)
    offset = np.zeros(weight.shape[0]) if bias is None or apart else bias
    made = build.affine(x, Matrix(first), Matrix(offset.astype(np.float64)))
    for part in rest:
        made = build.add(made, build.affine(x, Matrix(part), Matrix(np.zeros(weight.shape[0]))))
    made = over(made, below)
    return build.add(made, constant(bias)) if bias is not None and apart else made


def over(x: Expr, below: int) -> Expr:
    """x / below; x itself over one."""
    return x if below == 1 else build.mul(x, build.const(Fraction(1, below)))


def double_parts(weight: Array) -> tuple[list[NDArray[np.float64]], int]:
    """Matrices of doubles whose sum over a natural number is the weight: one for doubles, a few for what is computed.

    The number is the odd part of the common denominator, 1 for sums of products of doubles.
    """
    if weight.dtype != object:
        return [weight.astype(np.float64, copy=False)], 1
    below = _odd_denominator(weight)
    weight = weight * Fraction(below)
    parts: list[NDArray[np.float64]] = []
    while weight.any():
        if len(parts) == MAX_PARTS:
            raise FormatError(UNFIT)
        parts.append(weight.astype(np.float64))
        weight = weight - _fractions(parts[-1])
    return parts or [np.zeros(weight.shape)], below


def _odd_denominator(weight: Array) -> int:
    below = 1
    for value in rationals(weight):
        below = lcm(below, value.denominator // (value.denominator & -value.denominator))
        if below.bit_length() > MAX_BITS:
            raise FormatError(UNFIT)
    return below


def _fractions(array: Array) -> Array:
    """The entries as exact rational numbers."""
    exact = np.empty(array.size, dtype=object)
    exact[:] = rationals(array)
    return exact.reshape(array.shape)


@dataclass(frozen=True, slots=True)
class Block:
    """Part of a sparse linear map: these outputs are a matrix times those inputs."""

    outputs: NDArray[np.int64]
    inputs: NDArray[np.int64]
    weight: Matrix


def blockwise(x: Expr, blocks: Sequence[Block], bias: Array | None = None) -> Expr:
    """A sparse linear map, block by block; every output is in exactly one of them."""
    parts = [build.affine(pick(x, b.inputs), b.weight, Matrix(_offsets(b, bias))) for b in blocks]
    place = np.argsort(np.concatenate([block.outputs for block in blocks]), kind="stable")
    return pick(build.concat(*parts), place)


def _offsets(block: Block, bias: Array | None) -> NDArray[np.float64]:
    return np.zeros(block.outputs.size) if bias is None else bias[block.outputs].astype(np.float64)


def shift(x: Expr, offset: Array) -> Expr:
    """x + offset; into the bias of an affine layer where that loses nothing."""
    if not offset.any():
        return x
    if isinstance(x, Affine) and offset.size in (1, x.size):
        bias = exact_sum(x.bias.array, offset.ravel())
        if bias is not None:
            return build.affine(x.args[0], x.weight, Matrix(bias))
    return build.add(x, constant(offset))


def scale(x: Expr, factor: Array) -> Expr:
    """x * factor; into the weights of an affine layer where that loses nothing."""
    if bool((factor == 1).all()):
        return x
    if isinstance(x, Affine) and factor.size in (1, x.size):
        weight = exact_product(x.weight.array, factor.reshape(-1, 1))
        bias = exact_product(x.bias.array, factor.ravel())
        if weight is not None and bias is not None:
            return build.affine(x.args[0], Matrix(weight), Matrix(bias))
    return build.mul(x, constant(factor))


def divide(x: Expr, divisor: Array) -> Expr:
    """x / divisor; into the weights of an affine layer where that loses nothing."""
    if divisor.dtype.kind == "f" and bool(
        (np.abs(np.frexp(divisor)[0]) == 0.5).all() and (abs(divisor) > 1e-300).all()
    ):
        return scale(x, 1 / divisor)  # by powers of two: exact
    return build.div(x, constant(divisor))


def exact_sum(a: Array, b: Array) -> NDArray[np.float64] | None:
    """a + b if no entry is rounded, else None (Knuth's two-sum: the error of a sum is itself a double)."""
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
    return None if error.any() or not np.isfinite(total).all() else total


def exact_product(a: Array, b: Array) -> NDArray[np.float64] | None:
    """a * b if both hold float32 numbers, whose products a double holds exactly, else None."""
    if not (_is_single(a) and _is_single(b)):
        return None
    product: NDArray[np.float64] = a * b
    return product


def _is_single(array: Array) -> bool:
    if array.dtype.kind != "f":
        return False
    with np.errstate(over="ignore"):
        return bool((array.astype(np.float32).astype(np.float64) == array).all())


def pick(x: Expr, indices: Array) -> Expr:
    """The components of a vector at these indices; nothing at all where that is the vector itself."""
    if indices.size == x.size and x.shape and bool((indices.ravel() == np.arange(x.size)).all()):
        return x
    if isinstance(x, Gather) and x.shape:
        return pick(x.args[0], np.array(x.indices, dtype=np.int64)[indices.ravel()])
    return build.gather(x, indices.ravel().tolist())


def normalise(x: Expr, gain: Array, offset: Array, mean: Array, variance: Array, epsilon: float) -> Expr:
    """Batch normalisation at inference time: gain * (x - mean) / sqrt(variance + epsilon) + offset.

    The square root is irrational, so the factor gain / sqrt(variance + epsilon) is computed once, in float64, and that
    double is the definition of the layer; everything else about it is exact.
    """
    if not (variance + epsilon > 0).all():
        raise FormatError("batch normalisation has a variance that is not positive")
    with np.errstate(all="ignore"):
        factor = gain / np.sqrt(variance + epsilon)
    check_finite(factor, "the factor of a batch normalisation")
    exact = [b - m * f for b, m, f in zip(*map(rationals, (offset, mean, factor)), strict=True)]
    return build.add(build.mul(x, constant(factor)), build.const(exact[0]) if len(exact) == 1 else build.vector(exact))


def tanh(x: Expr) -> Expr:
    return build.apply(Function.TANH, x)


def sigmoid(x: Expr) -> Expr:
    return build.apply(Function.SIGMOID, x)
