"""What each ONNX operator means as an expression: one function a row of the table at the end.

Values are exact. Constants meet constants in rational arithmetic, attributes are the float32 numbers the file stores,
and two affine steps are merged only where no rounding occurs. The single exception is BatchNormalization, whose square
root is irrational: see `layers.normalise`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from vernal.formats import layers
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.formats.onnx.recurrent import RECURRENT
from vernal.formats.onnx.shapes import SHAPE_OPERATORS
from vernal.formats.onnx.windows import WINDOW_OPERATORS
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr, Function

EQUATION = re.compile(r"([a-z]*),([a-z]*)->([a-z]*)")
ZERO = np.zeros((), dtype=np.int64)
MAX_BITS = 4096  # of a constant computed from constants
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)  # a Clip bound no float32 exceeds: no bound


@dataclass(frozen=True, slots=True)
class Operator:
    """How to read an operator, and the attributes that reading understands; a file with others is refused."""

    read: Callable[[NodeCall], OnnxValue | tuple[OnnxValue, ...]]
    attributes: frozenset[str] = frozenset()


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _operands(call: NodeCall) -> tuple[tuple[int, ...], OnnxValue, OnnxValue]:
    """Both operands in their common shape; before opset 7 the second is aligned at the attribute `axis`."""
    first, second = call.value(0), call.value(1)
    if call.opset < 7 and "axis" in call.attributes:
        trailing = len(first.shape) - call.integer("axis", 0) - len(second.shape)
        if trailing < 0:
            raise call.wrong("aligns its second operand beyond the first")
        second = call.rearrange(second, lambda array: array.reshape(array.shape + (1,) * trailing))
    shape, (a, b) = call.broadcast([first, second])
    return shape, a, b


def _node(value: OnnxValue) -> Expr:
    return value.expr if isinstance(value, Tensor) else layers.constant(value)


def _binary(
    call: NodeCall,
    data: Callable[[Expr, Expr], Expr],
    right: Callable[[Expr, Array], Expr],
    left: Callable[[Array, Expr], Expr],
    fold: Callable[[Fraction, Fraction], Fraction],
) -> OnnxValue:
    """An operator of two operands, by which of them are data: both, the left one, the right one, none."""
    shape, a, b = _operands(call)
    if isinstance(a, Tensor):
        return Tensor(data(a.expr, b.expr) if isinstance(b, Tensor) else right(a.expr, b), shape)
    return Tensor(left(a, b.expr), shape) if isinstance(b, Tensor) else _fold(call, fold, a, b)


def _fold(call: NodeCall, function: Callable[[Fraction, Fraction], Fraction], a: Array, b: Array) -> Array:
    """Constants among themselves, in rationals; as doubles again where these hold the result exactly."""
    x, y = np.broadcast_arrays(a, b)
    call.allowance.take(x.size)
    values = [function(p, q) for p, q in zip(layers.rationals(x), layers.rationals(y), strict=True)]
    if any(value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS for value in values):
        raise call.wrong("computes a constant that grows beyond all bounds")
    result = np.empty(len(values), dtype=object)
    result[:] = values
    if a.dtype == b.dtype == np.int64:
        return result.astype(np.int64).reshape(x.shape)
    rounded = result.astype(np.float64)
    same = all(Fraction(double) == value for double, value in zip(rounded.tolist(), values, strict=True))
    return (rounded if same else result).reshape(x.shape)


def _add(call: NodeCall) -> OnnxValue:
    return _binary(call, build.add, layers.shift, lambda c, x: layers.shift(x, c), operator.add)


def _sub(call: NodeCall) -> OnnxValue:
    return _binary(
        call, build.sub, lambda x, c: layers.shift(x, -c), lambda c, x: layers.shift(build.neg(x), c), operator.sub
    )


def _mul(call: NodeCall) -> OnnxValue:
    """Of data and data, too: so the gates of a hand-written cell work."""
    return _binary(call, build.mul, layers.scale, lambda c, x: layers.scale(x, c), operator.mul)


def _div(call: NodeCall) -> OnnxValue:
    divisor = call.value(1)
    if isinstance(divisor, Tensor):
        raise call.unsupported("divides by data; only divisors that are constant are read")
    if not divisor.all():
        raise call.wrong("divides by the constant 0")
    if divisor.dtype == np.int64:
        raise call.unsupported("divides integers, which rounds")
    return _binary(call, build.div, layers.divide, lambda c, x: x, operator.truediv)


def _neg(call: NodeCall) -> OnnxValue:
    x = call.value()
    return Tensor(build.neg(x.expr), x.shape) if isinstance(x, Tensor) else -x


def _extremum(pick: Callable[..., Expr]) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        given = [call.value(position) for position in range(max(1, len(call.inputs)))]
        shape, values = call.broadcast(given)
        return Tensor(build.concat(pick(*map(_node, values))), shape)

    return read


# Affine maps ----------------------------------------------------------------------------------------------------------


def _matmul(call: NodeCall) -> OnnxValue:
    a, b = call.value(0), call.value(1)
    if isinstance(a, Tensor) == isinstance(b, Tensor):
        raise call.unsupported("multiplies two tensors of one kind; one factor has to be data, the other constant")
    if isinstance(a, Tensor):
        return _from_right(call, a, call.weights(1))
    return _from_left(call, call.weights(0), call.data(1))


def _from_right(call: NodeCall, x: Tensor, weight: Array) -> Tensor:
    """x W, for every row of x."""
    if not x.shape or weight.ndim not in (1, 2) or x.shape[-1] != weight.shape[0]:
        raise call.wrong(f"multiplies shapes {x.shape} and {weight.shape}, which do not fit")
    if weight.ndim == 2 and prod(x.shape) == x.shape[-1]:
        call.allowance.take(weight.size)
        return Tensor(layers.dense(x.expr, weight.T), (*x.shape[:-1], weight.shape[1]))
    rows = prod(x.shape[:-1])
    return _linear(call, x, rows * weight.size // weight.shape[0], lambda basis: np.matmul(basis, weight))


def _from_left(call: NodeCall, weight: Array, x: Tensor) -> Tensor:
    """W x, for every column of x."""
    inner = x.shape[-2:-1] or x.shape
    if not x.shape or weight.ndim not in (1, 2) or (weight.shape[-1],) != inner:
        raise call.wrong(f"multiplies shapes {weight.shape} and {x.shape}, which do not fit")
    size = prod(x.shape) // inner[0] * (weight.size // inner[0])
    if len(x.shape) == 1:  # one column, which comes out without its second dimension
        return _linear(call, x, size, lambda basis: np.matmul(weight, basis[..., None])[..., 0])
    return _linear(call, x, size, lambda basis: np.matmul(weight, basis))


def _linear(call: NodeCall, x: Tensor, outputs: int, apply: Callable[[Array], Array]) -> Tensor:
    """A linear map of data of any shape, as the matrix of its values on the unit vectors (which are exact)."""
    size = prod(x.shape)
    call.allowance.take(size * max(size, outputs))
    images = apply(np.eye(size).reshape(size, *x.shape))
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
    x, weight = call.data(0), call.weights(1)
    if call.integer("transA", 0):
        raise call.unsupported("transposes its data (transA); export with transA = 0")
    weight = weight.T if call.integer("transB", 0) else weight
    if weight.ndim != 2 or not x.shape or prod(x.shape) != x.shape[-1] or x.shape[-1] != weight.shape[0]:
        raise call.wrong(f"multiplies shapes {x.shape} and {weight.shape}, which do not fit")
    shape = (*x.shape[:-1], weight.shape[1])
    call.allowance.take(weight.size)
    product = layers.scale(layers.dense(x.expr, weight.T), np.array([call.real("alpha", 1.0)]))
    addend = call.input(2)
    if addend is None:
        return Tensor(product, shape)
    return Tensor(_plus(call, product, addend, shape), shape)


def _plus(call: NodeCall, product: Expr, addend: OnnxValue, shape: tuple[int, ...]) -> Expr:
    """product + beta * addend"""
    beta = np.array([call.real("beta", 1.0)])
    common, (_, stretched) = call.broadcast([Tensor(product, shape), addend])
    if common != shape:
        raise call.wrong(f"adds a tensor of shape {addend.shape} to one of shape {shape}, which does not fit")
    if isinstance(stretched, Tensor):
        return build.add(product, layers.scale(stretched.expr, beta))
    scaled = _fold(call, operator.mul, stretched, beta)
    return layers.shift(product, scaled.ravel())


def _batch_normalization(call: NodeCall) -> OnnxValue:
    """Folded at inference time; see `layers.normalise` for what is rounded."""
    x = call.data(0)
    channels = x.shape[1] if len(x.shape) > 1 else 0
    given = [call.constant(position) for position in range(1, 5)]
    if any(array.shape != (channels,) or array.dtype.kind != "f" for array in given):
        raise call.wrong(f"wants four vectors of {channels} numbers, one for each channel")
    if call.integer("training_mode", 0) or not call.integer("spatial", 1) or call.outputs > 1:
        raise call.unsupported("is in training mode or not per channel; export the network for inference")
    column = (channels, *(1 for _ in x.shape[2:]))
    spread = [np.broadcast_to(array.reshape(column), x.shape[1:]).ravel() for array in given]
    return Tensor(layers.normalise(x.expr, *_repeat(spread, x.shape[0]), call.real("epsilon", 1e-5)), x.shape)


def _repeat(arrays: Sequence[Array], times: int) -> tuple[Array, Array, Array, Array]:
    gain, offset, mean, variance = (np.tile(array, times) for array in arrays)
    return gain, offset, mean, variance


# Activations ----------------------------------------------------------------------------------------------------------


def _elementwise(function: Callable[[NodeCall, Expr], Expr]) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        x = call.data()
        call.allowance.take(prod(x.shape))
        return Tensor(function(call, x.expr), x.shape)

    return read


def _prelu(call: NodeCall) -> OnnxValue:
    x, slope = call.data(0), call.constant(1)
    if call.opset < 7 and slope.ndim == 1 and slope.size > 1 and len(x.shape) > 2:
        slope = slope.reshape(-1, *(1 for _ in x.shape[2:]))  # one for each channel
    shape, (_, slopes) = call.broadcast([x, slope])
    if shape != x.shape or isinstance(slopes, Tensor):
        raise call.wrong(f"has slopes of shape {slope.shape}, which do not fit data of shape {x.shape}")
    return Tensor(build.leaky_relu(x.expr, layers.rationals(slopes)), shape)


def _shrink(call: NodeCall, x: Expr) -> Expr:
    threshold = call.rational("lambd", 0.5)
    if threshold < 0:
        raise call.unsupported("has a negative threshold")
    return build.shrink(x, threshold, call.rational("bias", 0.0))


def _clip(call: NodeCall, x: Expr) -> Expr:
    low, high = (_bound(call, name, position) for position, name in ((1, "min"), (2, "max")))
    if low is not None:
        x = build.relu(x) if low == 0 else build.maximum(x, low)
    return x if high is None else build.minimum(x, high)


def _bound(call: NodeCall, name: str, position: int) -> Fraction | None:
    """An end of Clip: an attribute before opset 11, an input since; None where it is open."""
    if call.opset < 11:
        number = call.attributes.get(name)
    elif call.input(position) is None:
        number = None
    elif (given := call.constant(position)).size == 1:
        number = given.ravel().tolist()[0]
    else:
        raise call.wrong(f"wants one number as its {name}")
    if number is None:
        return None
    if not isinstance(number, float | int | Fraction) or number != number:
        raise call.wrong(f"wants a number as its {name}")
    outside = number <= -LARGEST_FLOAT32 if name == "min" else number >= LARGEST_FLOAT32
    if not outside and abs(number) == float("inf"):
        raise call.wrong(f"has an infinite {name} on the wrong side")
    return None if outside else Fraction(number)


def _softmax(call: NodeCall) -> OnnxValue:
    """Left out at the very end, where it keeps the order of the scores; the network remembers that."""
    x = call.data()
    axis = call.axis(call.integer("axis", 1 if call.opset < 13 else -1), len(x.shape))
    over = prod(x.shape[axis:]) if call.opset < 13 else x.shape[axis]
    if not call.last or over != prod(x.shape):
        raise call.unsupported("is read only as the last operator, over all outputs, before an argmax")
    return x


def _argmax(call: NodeCall) -> OnnxValue:
    raise call.unsupported('is not read: let the network end with the scores, and say act = "argmax" in the task')


def _sequence(call: NodeCall) -> OnnxValue:
    raise call.unsupported(
        "is not read: export one step, obs of shape (1, 1, n), without a dynamic sequence axis and with optimize=True"
    )


def _names(*names: str) -> frozenset[str]:
    return frozenset(names)


BROADCAST = _names("axis", "broadcast", "consumed_inputs")  # what arithmetic had before opset 7
OLD = _names("consumed_inputs")

OPERATORS: dict[str, Operator] = {
    **{name: Operator(read, frozenset(attributes)) for name, (read, attributes) in SHAPE_OPERATORS.items()},
    **{name: Operator(read, frozenset(attributes)) for name, (read, attributes) in RECURRENT.items()},
    **{name: Operator(read, frozenset(attributes)) for name, (read, attributes) in WINDOW_OPERATORS.items()},
    "Abs": Operator(_elementwise(lambda call, x: build.absolute(x)), OLD),
    "Add": Operator(_add, BROADCAST),
    "Atan": Operator(_elementwise(lambda call, x: build.apply(Function.ATAN, x))),
    "BatchNormalization": Operator(
        _batch_normalization, _names("epsilon", "momentum", "is_test", "spatial", "training_mode")
    ),
    "Clip": Operator(_elementwise(_clip), _names("min", "max")),
    "Div": Operator(_div, BROADCAST),
    "Einsum": Operator(_einsum, _names("equation")),
    "Elu": Operator(_elementwise(lambda call, x: layers.elu(x, call.rational("alpha", 1.0))), _names("alpha")),
    "Gemm": Operator(_gemm, _names("alpha", "beta", "broadcast", "transA", "transB")),
    "HardSigmoid": Operator(
        _elementwise(lambda call, x: build.hard_sigmoid(x, call.rational("alpha", 0.2), call.rational("beta", 0.5))),
        _names("alpha", "beta"),
    ),
    "HardSwish": Operator(_elementwise(lambda call, x: build.mul(x, build.hard_sigmoid(x, Fraction(1, 6))))),
    "LeakyRelu": Operator(
        _elementwise(lambda call, x: build.leaky_relu(x, (call.rational("alpha", 0.01),))), _names("alpha")
    ),
    "LogSoftmax": Operator(_softmax, _names("axis")),
    "MatMul": Operator(_matmul),
    "Max": Operator(_extremum(build.maximum), OLD),
    "Min": Operator(_extremum(build.minimum), OLD),
    "Mul": Operator(_mul, BROADCAST),
    "Neg": Operator(_neg, OLD),
    "PRelu": Operator(_prelu, OLD),
    "Relu": Operator(_elementwise(lambda call, x: build.relu(x)), OLD),
    "Shrink": Operator(_elementwise(_shrink), _names("bias", "lambd")),
    "Sigmoid": Operator(_elementwise(lambda call, x: layers.sigmoid(x)), OLD),
    "Softmax": Operator(_softmax, _names("axis")),
    "Softplus": Operator(_elementwise(lambda call, x: layers.softplus(x))),
    "Sub": Operator(_sub, BROADCAST),
    "Tanh": Operator(_elementwise(lambda call, x: layers.tanh(x)), OLD),
}
REFUSED: dict[str, Callable[[NodeCall], OnnxValue]] = {"ArgMax": _argmax, "SplitToSequence": _sequence}  # with advice
