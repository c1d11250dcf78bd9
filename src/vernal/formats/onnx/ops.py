"""What each ONNX operator means as an expression: one function a row of the table at the end.

Values are exact. Constants meet constants in rational arithmetic, attributes are the float32 numbers the file stores,
and two affine steps are merged only where no rounding occurs. The single exception is BatchNormalization, whose square
root is irrational: see `layers.normalise`, and `activations` for constants of activations that are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from vernal.formats import activations, layers
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.formats.onnx.convolutions import CONVOLUTIONS
from vernal.formats.onnx.elementwise import ELEMENTWISE
from vernal.formats.onnx.folding import fold_pair
from vernal.formats.onnx.products import PRODUCTS
from vernal.formats.onnx.quantised import QUANTISED
from vernal.formats.onnx.recurrent import RECURRENT
from vernal.formats.onnx.resizing import RESIZING
from vernal.formats.onnx.shapes import SHAPE_OPERATORS
from vernal.formats.onnx.trees import TREES
from vernal.formats.onnx.windows import WINDOW_OPERATORS
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.softmax import log_softmax, softmax

NodeReader = Callable[[NodeCall], OnnxValue | tuple[OnnxValue, ...]]


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
    return Tensor(left(a, b.expr), shape) if isinstance(b, Tensor) else fold_pair(call, fold, a, b)


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
    """By data, too: undefined where that is 0."""
    divisor = call.value(1)
    if not isinstance(divisor, Tensor) and not divisor.all():
        raise call.wrong("divides by the constant 0")
    return _binary(call, build.div, layers.divide, lambda c, x: build.div(layers.constant(c), x), operator.truediv)


def _neg(call: NodeCall) -> OnnxValue:
    x = call.value()
    return Tensor(build.neg(x.expr), x.shape) if isinstance(x, Tensor) else -x


def _extremum(pick: Callable[..., Expr]) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        given = [call.value(position) for position in range(max(1, len(call.inputs)))]
        shape, values = call.broadcast(given)
        return Tensor(build.concat(pick(*map(call.operand, values))), shape)

    return read


def _sum(call: NodeCall) -> OnnxValue:
    shape, values = call.broadcast([call.value(position) for position in range(max(1, len(call.inputs)))])
    return Tensor(build.concat(build.add(*map(call.operand, values))), shape)


def _mean(call: NodeCall) -> OnnxValue:
    total = call.as_data(_sum(call))
    return Tensor(layers.divide(total.expr, np.array([float(len(call.inputs))])), total.shape)


# Layers ---------------------------------------------------------------------------------------------------------------


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


def _layer_normalization(call: NodeCall) -> OnnxValue:
    """Over the axes from `axis` on."""
    x = call.data(0)
    axis = call.axis(call.integer("axis", -1), len(x.shape))
    rows, inside = prod(x.shape[:axis]), x.shape[axis:]
    scale, offset = call.constant(1), None if call.input(2) is None else call.constant(2)
    if any(part.shape != inside or part.dtype.kind != "f" for part in (scale, offset) if part is not None):
        raise call.wrong(f"wants a scale and an offset of shape {inside}")
    if call.outputs > 1:
        raise call.unsupported("also gives means or deviations; export the network for inference")
    call.allowance.take(prod(x.shape) ** 2)
    return Tensor(activations.layer_norm(x.expr, rows, scale, offset, call.rational("epsilon", 1e-5)), x.shape)


def _repeat(arrays: Sequence[Array], times: int) -> tuple[Array, Array, Array, Array]:
    gain, offset, mean, variance = (np.tile(array, times) for array in arrays)
    return gain, offset, mean, variance


# The end of a network -------------------------------------------------------------------------------------------------


def _softmax(soften: Callable[[Expr], Expr]) -> NodeReader:
    """Left out at the very end, where it keeps the order of the scores; the network remembers that."""

    def read(call: NodeCall) -> OnnxValue:
        x = call.data()
        groups = _softened(call, x)
        if is_left_out(call):
            return x
        call.allowance.take(2 * groups.size * groups.shape[1] ** 2)
        parts = [soften(layers.pick(x.expr, group)) for group in groups]
        whole = np.argsort(groups.ravel())
        return Tensor(layers.pick(build.concat(*parts), whole), x.shape)

    return read


def _softened(call: NodeCall, x: Tensor) -> Array:
    """The components that are softened together, a row for each group."""
    axis = call.axis(call.integer("axis", 1 if call.opset < 13 else -1), len(x.shape))
    numbers = np.arange(prod(x.shape)).reshape(x.shape)
    if call.opset < 13:
        return numbers.reshape(-1, prod(x.shape[axis:]))
    return np.moveaxis(numbers, axis, -1).reshape(-1, x.shape[axis])


def is_left_out(call: NodeCall) -> bool:
    """Whether a Softmax ends the network and is over all outputs."""
    return call.op in SOFTENED and call.last and len(_softened(call, call.data())) == 1


def _refused(call: NodeCall) -> OnnxValue:
    raise call.unsupported(f"is not read: {REASONS[call.op]}")


BROADCAST = ("axis", "broadcast", "consumed_inputs")  # what arithmetic had before opset 7
OLD = ("consumed_inputs",)
NORMAL = ("epsilon", "momentum", "is_test", "spatial", "training_mode")

ARITHMETIC: dict[str, tuple[NodeReader, tuple[str, ...]]] = {
    "Add": (_add, BROADCAST),
    "BatchNormalization": (_batch_normalization, NORMAL),
    "Div": (_div, BROADCAST),
    "LayerNormalization": (_layer_normalization, ("axis", "epsilon", "stash_type")),
    "LogSoftmax": (_softmax(log_softmax), ("axis",)),
    "Max": (_extremum(build.maximum), OLD),
    "Mean": (_mean, OLD),
    "Min": (_extremum(build.minimum), OLD),
    "Mul": (_mul, BROADCAST),
    "Neg": (_neg, OLD),
    "Softmax": (_softmax(softmax), ("axis",)),
    "Sub": (_sub, BROADCAST),
    "Sum": (_sum, OLD),
}
TABLES: tuple[Mapping[str, tuple[NodeReader, tuple[str, ...]]], ...] = (
    ARITHMETIC,
    CONVOLUTIONS,
    ELEMENTWISE,
    PRODUCTS,
    QUANTISED,
    RECURRENT,
    RESIZING,
    SHAPE_OPERATORS,
    TREES,
    WINDOW_OPERATORS,
)
OPERATORS: dict[str, Operator] = {
    name: Operator(read, frozenset(attributes)) for table in TABLES for name, (read, attributes) in table.items()
}
SOFTENED = ("LogSoftmax", "Softmax")
ONE_STEP = "export one step, obs of shape (1, 1, n), without a dynamic sequence axis and with optimize=True"
DRAWN = "a network that draws is no function of its inputs; export it for inference"
CONTROL = "which nodes are computed depends on data; export the network with its branches and loops unrolled"
INTEGERS = "it multiplies integers; export with pairs of QuantizeLinear and DequantizeLinear (QDQ), which are read"
REASONS = {  # why an operator is refused, and what to do
    "ArgMax": 'let the network end with the scores, and say act = "argmax" in the task',
    "ArgMin": 'let the network end with the scores, negated, and say act = "argmax" in the task',
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomUniform"), DRAWN),
    **dict.fromkeys(("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"), INTEGERS),
    **dict.fromkeys(("If", "Loop", "Scan"), CONTROL),
    "Hardmax": 'the winner of scores is chosen by act = "argmax" in the task',
    "NonZero": "its shape depends on data",
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SplitToSequence"), ONE_STEP),
    "TopK": "an order of data is not computed; let the network end with the scores",
}
REFUSED: dict[str, Callable[[NodeCall], OnnxValue]] = dict.fromkeys(REASONS, _refused)
