"""ONNX operators that multiply matrices: MatMul, Gemm and Einsum.

A matrix of constants is an affine layer, for data of many rows one small layer for each of them; constants among
themselves are multiplied exactly; data with data is a sum of products of expressions.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from math import prod

import numpy as np

from vernal.formats import layers
from vernal.formats.layers import Block
from vernal.formats.onnx.call import MAX_DENSE_ENTRIES, NodeCall, OnnxValue, Tensor
from vernal.formats.onnx.folding import fold_pair, integer_product
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr, Matrix

EQUATION = re.compile(r"([a-z]*),([a-z]*)->([a-z]*)")
ZERO = np.zeros((), dtype=np.int64)
MAX_TERMS = 4096  # of a sum of products of data


def _matmul(call: NodeCall) -> OnnxValue:
    return _product(call, call.value(0), call.value(1))


def _product(call: NodeCall, a: OnnxValue, b: OnnxValue) -> OnnxValue:
    """a b, by which of them are data."""
    if not _fit(a.shape, b.shape):
        raise call.wrong(f"multiplies shapes {a.shape} and {b.shape}, which do not fit")
    if isinstance(a, Tensor):
        return _of_data(call, a, b) if isinstance(b, Tensor) else _from_right(call, a, call.matrix(b))
    return _from_left(call, call.matrix(a), b) if isinstance(b, Tensor) else integer_product(call, a, b)


def _fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether numpy would multiply matrices, or stacks of them, of these shapes."""
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return False
    return True


def _from_right(call: NodeCall, x: Tensor, weight: Array) -> Tensor:
    """x W, for every row of x."""
    inner, rows = x.shape[-1], prod(x.shape[:-1])
    if weight.ndim != 2 or (rows > 1 and weight.size * rows * rows <= MAX_DENSE_ENTRIES):
        return _linear(call, x, weight, lambda basis: np.matmul(basis, weight))
    call.allowance.take(weight.size + rows * sum(weight.shape))
    shape = (*x.shape[:-1], weight.shape[1])
    if rows == 1:
        return Tensor(layers.dense(x.expr, weight.T), shape)
    inputs, outputs = (np.arange(rows * size).reshape(rows, size) for size in (inner, weight.shape[1]))
    return Tensor(_blocks(call, x.expr, outputs, inputs, weight.T), shape)


def _from_left(call: NodeCall, weight: Array, x: Tensor) -> Tensor:
    """W x, for every column of x."""
    if len(x.shape) == 1:  # one column, which comes out without its second dimension
        return _linear(call, x, weight, lambda basis: np.matmul(weight, basis[..., None])[..., 0])
    columns = prod(x.shape) // x.shape[-2]
    if weight.ndim != 2 or weight.size * columns * columns <= MAX_DENSE_ENTRIES:
        return _linear(call, x, weight, lambda basis: np.matmul(weight, basis))
    shape = (*x.shape[:-2], weight.shape[0], x.shape[-1])
    call.allowance.take(weight.size + columns * sum(weight.shape))
    inputs, outputs = (
        np.moveaxis(np.arange(prod(size)).reshape(size), -2, -1).reshape(columns, size[-2]) for size in (x.shape, shape)
    )
    return Tensor(_blocks(call, x.expr, outputs, inputs, weight), shape)


def _blocks(call: NodeCall, x: Expr, outputs: Array, inputs: Array, weight: Array) -> Expr:
    """The same matrix for many parts of a vector; one that doubles do not hold is a sum of some that they hold."""
    parts, below = layers.double_parts(weight)
    call.allowance.take((len(parts) - 1) * weight.size)
    places = list(zip(outputs, inputs, strict=True))
    made = [layers.blockwise(x, [Block(*place, shared) for place in places]) for shared in map(Matrix, parts)]
    return layers.over(made[0] if len(made) == 1 else build.add(*made), below)


def _of_data(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    """Data times data: a sum of products of components."""
    left = np.arange(prod(a.shape)).reshape(a.shape if len(a.shape) > 1 else (1, *a.shape))
    right = np.arange(prod(b.shape)).reshape(b.shape if len(b.shape) > 1 else (*b.shape, 1))
    shape = np.matmul(*(np.broadcast_to(np.empty(1), value.shape) for value in (a, b))).shape
    layers.check_width(shape)
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    full = (*lead, left.shape[-2], right.shape[-1])
    terms = left.shape[-1]
    call.allowance.take(prod(full) * terms)
    if terms > MAX_TERMS:
        raise call.unsupported(f"sums {terms} products of data; at most {MAX_TERMS} are read")
    made = [
        build.mul(
            layers.pick(a.expr, np.broadcast_to(left[..., :, term : term + 1], full)),
            layers.pick(b.expr, np.broadcast_to(right[..., term : term + 1, :], full)),
        )
        for term in range(terms)
    ]
    return Tensor(build.add(*made), shape)


def _linear(call: NodeCall, x: Tensor, weight: Array, apply: Callable[[Array], Array]) -> Tensor:
    """A linear map of data of any shape, as the matrix of its values on the unit vectors (which are exact).

    Where weights are fractions, these are Python's integers: a double times a fraction is a double, and is rounded.
    """
    size = prod(x.shape)
    call.allowance.take(size * size)
    unit = np.eye(size, dtype=np.int64).astype(object) if weight.dtype == object else np.eye(size)
    images = apply(unit.reshape(size, *x.shape))
    call.allowance.take(images.size)
    return Tensor(layers.dense(x.expr, images.reshape(size, -1).T), images.shape[1:])


def _einsum(call: NodeCall) -> OnnxValue:
    """Sums of products of data and a constant whose axes have letters, "ij,bj->bi", as the matrix they are."""
    x, weight, (mine, other, made) = _equation(call)
    sizes = dict(zip(mine + other, x.shape + weight.shape, strict=True))
    shape = tuple(sizes[letter] for letter in made)
    call.allowance.take(prod(shape) * prod(x.shape) + prod(sizes.values()) * (len(sizes) + 3))
    letters = dict(zip(sizes, np.indices(tuple(sizes.values())), strict=True))

    def place(word: str) -> Array:
        """Where in the flat tensor each combination of letters is."""
        return sum((letters[letter] * prod(sizes[k] for k in word[at + 1 :]) for at, letter in enumerate(word)), ZERO)

    matrix = np.zeros((prod(shape), prod(x.shape)))
    matrix[place(made), place(mine)] = weight.ravel()[place(other)]  # one weight for each entry
    return Tensor(layers.dense(x.expr, matrix), shape)


def _equation(call: NodeCall) -> tuple[Tensor, Array, tuple[str, str, str]]:
    """The data and the constant of an Einsum, and the letters of their axes and of those that come out."""
    said = call.attributes.get("equation", b"")
    found = EQUATION.fullmatch(said.decode("ascii", "replace").replace(" ", "") if isinstance(said, bytes) else "")
    given = [call.value(position) for position in range(len(call.inputs))]
    if found is None or len(given) != 2 or isinstance(given[0], Tensor) == isinstance(given[1], Tensor):
        raise call.unsupported("is read for data and a constant, as in ij,bj->bi; write it as a matrix product")
    first = 0 if isinstance(given[0], Tensor) else 1
    x, weight = call.data(first), call.weights(1 - first)
    mine, other, made = found[1 + first], found[2 - first], found[3]
    sizes = dict(zip(mine + other, x.shape + weight.shape, strict=False))
    if tuple(map(sizes.get, mine)) != x.shape or tuple(map(sizes.get, other)) != weight.shape:
        raise call.wrong(f"combines shapes {x.shape} and {weight.shape}, which do not fit {found[0]}")
    if len(set(made)) < len(made) or not set(other) - set(mine) <= set(made) <= set(mine + other):
        raise call.unsupported(f"sums weights, or names axes of its own, in {found[0]}; write it as a matrix product")
    return x, weight, (mine, other, made)


def _gemm(call: NodeCall) -> OnnxValue:
    """alpha A B + beta C; a file may also give A a rank above 2, if only its last dimension is not 1."""
    a, b = (_turned(call, call.value(place), name) for place, name in ((0, "transA"), (1, "transB")))
    if len(b.shape) != 2 or (len(a.shape) != 2 and (not a.shape or prod(a.shape) != a.shape[-1])):
        raise call.wrong(f"multiplies shapes {a.shape} and {b.shape}, which do not fit")
    made = _product(call, a, b)
    product = call.as_data(made)
    scaled = layers.scale(product.expr, np.array([call.real("alpha", 1.0)]))
    addend = call.input(2)
    whole = scaled if addend is None else _plus(call, scaled, addend, product.shape)
    return Tensor(whole, product.shape)


def _turned(call: NodeCall, value: OnnxValue, name: str) -> OnnxValue:
    return call.rearrange(value, lambda array: array.T) if call.integer(name, 0) else value


def _plus(call: NodeCall, product: Expr, addend: OnnxValue, shape: tuple[int, ...]) -> Expr:
    """product + beta * addend"""
    beta = np.array([call.real("beta", 1.0)])
    common, (_, stretched) = call.broadcast([Tensor(product, shape), addend])
    if common != shape:
        raise call.wrong(f"adds a tensor of shape {addend.shape} to one of shape {shape}, which does not fit")
    if isinstance(stretched, Tensor):
        return build.add(product, layers.scale(stretched.expr, beta))
    scaled = fold_pair(call, operator.mul, stretched, beta)
    return layers.shift(product, scaled.ravel())


PRODUCTS: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "Einsum": (_einsum, ("equation",)),
    "Gemm": (_gemm, ("alpha", "beta", "broadcast", "transA", "transB")),
    "MatMul": (_matmul, ()),
}
