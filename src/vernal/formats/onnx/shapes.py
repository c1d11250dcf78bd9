"""ONNX operators that only move components around, or do nothing at all once a network is trained."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from vernal.formats.layers import check_width
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor, value_size
from vernal.formats.onnx.elementwise import as_number, as_truth
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.sorts import BOOL

FLOATS = (1, 10, 11, 16)  # element types float32, float16, float64, bfloat16
INTEGERS, TRUTH = (6, 7), 9


def _identity(call: NodeCall) -> OnnxValue:
    return call.value()


def _dropout(call: NodeCall) -> OnnxValue:
    training = call.input(2)
    if training is not None and (isinstance(training, Tensor) or training.any()):
        raise call.unsupported("is in training mode; export the network for inference")
    return call.value()


def _cast(call: NodeCall) -> OnnxValue:
    """Between float types: nothing happens to a real number. Truth values are 1 and 0."""
    value, target = call.value(), call.integer("to", 0)
    if isinstance(value, Tensor):
        if target == TRUTH:
            return Tensor(as_truth(value.expr), value.shape)
        if target in FLOATS or value.expr.sort == BOOL:
            return Tensor(as_number(value.expr), value.shape)
        raise call.unsupported(f"converts data to element type {target}; only to floats and truth values is read")
    return _cast_constant(call, value, target)


def _cast_constant(call: NodeCall, value: Array, target: int) -> Array:
    if target == TRUTH:
        return np.asarray(value != 0)
    if target in INTEGERS and value.dtype != object:
        return np.trunc(value).astype(np.int64)
    if target in FLOATS:
        return value if value.dtype.kind in "fO" else _exact_floats(call, value)
    raise call.unsupported(f"converts to element type {target}, which is not read")


def _exact_floats(call: NodeCall, value: Array) -> Array:
    converted = value.astype(np.float64)
    if (np.abs(converted) > 2.0**53).any():
        raise call.wrong("converts integers that no double holds")
    return converted


def _constant(call: NodeCall) -> OnnxValue:
    if len(call.attributes) != 1:
        raise call.wrong("wants exactly one attribute")
    ((name, value),) = call.attributes.items()
    if name == "value" and isinstance(value, np.ndarray):
        return value
    if name in ("value_int", "value_ints") and name.endswith("s") == isinstance(value, list):
        return np.array(value, dtype=np.int64)
    if name in ("value_float", "value_floats") and name.endswith("s") == isinstance(value, list):
        array = np.array(value, dtype=np.float64)
        if np.isfinite(array).all():
            return array
    raise call.wrong(f"has a value under {name!r} that is not a tensor of finite numbers")


def _reshape(call: NodeCall) -> OnnxValue:
    value, wanted = call.value(), call.whole(1)
    if not call.integer("allowzero", 0):
        if any(item == 0 and position >= len(value.shape) for position, item in enumerate(wanted)):
            raise call.wrong(f"copies a dimension that shape {value.shape} does not have")
        wanted = [value.shape[position] if item == 0 else item for position, item in enumerate(wanted)]
    size, known = value_size(value), prod(item for item in wanted if item != -1)
    if wanted.count(-1) == 1 and known > 0 and size % known == 0:
        wanted = [size // known if item == -1 else item for item in wanted]
    if any(item < 0 for item in wanted) or prod(wanted) != size:
        raise call.wrong(f"cannot arrange shape {value.shape} as {wanted}")
    return call.rearrange(value, lambda array: array.reshape(wanted))


def _flatten(call: NodeCall) -> OnnxValue:
    value = call.value()
    rank = len(value.shape)
    axis = call.integer("axis", 1)
    if not -rank <= axis <= rank:
        raise call.wrong(f"names axis {axis} of a tensor of rank {rank}")
    cut = axis + rank if axis < 0 else axis
    return call.rearrange(value, lambda array: array.reshape(prod(array.shape[:cut]), prod(array.shape[cut:])))


def _transpose(call: NodeCall) -> OnnxValue:
    value = call.value()
    rank = len(value.shape)
    order = call.attributes.get("perm", list(reversed(range(rank))))
    if not isinstance(order, list) or len(order) != rank or set(order) != set(range(rank)):
        raise call.wrong(f"has {order} as its perm, which is no permutation of {rank} dimensions")
    return call.rearrange(value, lambda array: np.transpose(array, order))


def _squeeze(call: NodeCall) -> OnnxValue:
    value = call.value()
    axes = call.integers("axes", 1, since=13)
    if axes is None:
        axes = [axis for axis, size in enumerate(value.shape) if size == 1]
    where = tuple(call.axis(axis, len(value.shape)) for axis in axes)
    if any(value.shape[axis] != 1 for axis in where):
        raise call.wrong(f"removes a dimension of shape {value.shape} that is not 1")
    return call.rearrange(value, lambda array: np.squeeze(array, tuple(dict.fromkeys(where))))


def _unsqueeze(call: NodeCall) -> OnnxValue:
    value = call.value()
    axes = call.integers("axes", 1, since=13)
    if axes is None:
        raise call.wrong("does not say its axes")
    where = tuple(call.axis(axis, len(value.shape) + len(axes)) for axis in axes)
    if len(set(where)) != len(where):
        raise call.wrong("names an axis twice")
    return call.rearrange(value, lambda array: np.expand_dims(array, where))


def _concat(call: NodeCall) -> OnnxValue:
    values = [call.value(position) for position in range(max(1, len(call.inputs)))]
    if "axis" not in call.attributes:
        raise call.wrong("does not say its axis")
    axis = call.axis(call.integer("axis", 0), len(values[0].shape))
    outer = [(*value.shape[:axis], *value.shape[axis + 1 :]) for value in values]
    if len({len(value.shape) for value in values}) > 1 or len(set(outer)) > 1:
        raise call.wrong(f"joins shapes {[value.shape for value in values]}, which do not fit")
    call.allowance.take(sum(map(value_size, values)))
    constants = [value for value in values if not isinstance(value, Tensor)]
    if len(constants) == len(values):
        return np.concatenate(constants, axis)
    return _concat_data(call, axis)


def _concat_data(call: NodeCall, axis: int) -> Tensor:
    """The parts one after the other, then every component moved to its place."""
    parts = [call.data(position) for position in range(len(call.inputs))]
    starts = np.cumsum([0, *(prod(part.shape) for part in parts)])
    indices = [
        np.arange(start, start + prod(part.shape)).reshape(part.shape)
        for start, part in zip(starts[:-1].tolist(), parts, strict=True)
    ]
    index = np.concatenate(indices, axis)
    together = Tensor(build.concat(*(part.expr for part in parts)), (index.size,))
    moved = call.rearrange(together, lambda array: array[index], index.size)
    assert isinstance(moved, Tensor)
    return moved


def _slice(call: NodeCall) -> OnnxValue:
    value = call.value()
    starts, ends = (call.integers(name, place, since=10) for place, name in ((1, "starts"), (2, "ends")))
    if starts is None or ends is None:
        raise call.wrong("does not say where to cut")
    axes = call.integers("axes", 3, since=10) or list(range(len(starts)))
    steps = (call.integers("steps", 4, since=10) if call.opset >= 10 else None) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise call.wrong("has starts, ends, axes and steps that do not fit together")
    cuts = [slice(None)] * len(value.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        cuts[call.axis(axis, len(cuts))] = slice(start, end, step)
    return call.rearrange(value, lambda array: array[tuple(cuts)])


def _gather(call: NodeCall) -> OnnxValue:
    value, index = call.value(0), call.constant(1)
    axis = call.axis(call.integer("axis", 0), len(value.shape))
    bound = value.shape[axis]
    if index.dtype != np.int64 or (index < -bound).any() or (index >= bound).any():
        raise call.wrong(f"picks components that a dimension of {bound} does not have")
    size = value_size(value) // max(bound, 1) * index.size
    return call.rearrange(value, lambda array: np.take(array, index, axis), size)


def _split(call: NodeCall) -> tuple[OnnxValue, ...]:
    """Parts along an axis: of given sizes, or equal ones (the last may be smaller)."""
    value = call.value()
    axis = call.axis(call.integer("axis", 0), len(value.shape))
    whole, count = value.shape[axis], call.integer("num_outputs", call.outputs)
    sizes = call.integers("split", 1, since=13)
    if sizes is None and count == call.outputs and 0 < count <= whole:
        part = -(-whole // count)
        sizes = [part] * (count - 1) + [whole - part * (count - 1)]
    if sizes is None or len(sizes) != call.outputs or sum(sizes) != whole or min(sizes) < 1:
        raise call.wrong(f"cannot cut a dimension of {whole} into {sizes or count}")
    ends = np.cumsum(sizes).tolist()
    parts = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    size = value_size(value) // whole
    return tuple(
        call.rearrange(value, lambda array, own=part: np.take(array, own, axis), size * part.size)  # type: ignore[misc]
        for part in parts
    )


def _shape(call: NodeCall) -> OnnxValue:
    """The shape of its input, for a batch of one and one step of a sequence."""
    shape = call.value().shape
    return np.array(shape[call.integer("start", 0) : call.integer("end", len(shape))], dtype=np.int64)


def _constant_of_shape(call: NodeCall) -> OnnxValue:
    shape, value = call.whole(0), call.attributes.get("value", np.zeros(1))
    if not isinstance(value, np.ndarray) or value.size != 1 or any(size < 0 for size in shape):
        raise call.wrong("wants a shape, and a tensor of one number as its value")
    call.allowance.take(check_width(shape))
    return np.full(shape, value.ravel()[0])


def _expand(call: NodeCall) -> OnnxValue:
    value, shape = call.value(), call.whole(1)
    if any(size < 1 for size in shape):
        raise call.wrong(f"stretches its input to {shape}")
    try:
        common = np.broadcast_shapes(value.shape, tuple(shape))
    except ValueError:
        raise call.wrong(f"cannot stretch shape {value.shape} to {shape}") from None
    return call.rearrange(value, lambda array: np.broadcast_to(array, common), check_width(common))


SHAPE_OPERATORS: dict[str, tuple[Callable[[NodeCall], OnnxValue | tuple[OnnxValue, ...]], tuple[str, ...]]] = {
    "Cast": (_cast, ("to", "saturate", "round_mode")),
    "Concat": (_concat, ("axis",)),
    "Constant": (
        _constant,
        ("value", "value_float", "value_floats", "value_int", "value_ints"),
    ),
    "ConstantOfShape": (_constant_of_shape, ("value",)),
    "Dropout": (_dropout, ("ratio", "is_test", "seed", "consumed_inputs")),
    "Expand": (_expand, ()),
    "Flatten": (_flatten, ("axis",)),
    "Gather": (_gather, ("axis",)),
    "Identity": (_identity, ()),
    "Reshape": (_reshape, ("allowzero",)),
    "Shape": (_shape, ("start", "end")),
    "Slice": (_slice, ("starts", "ends", "axes")),
    "Split": (_split, ("axis", "num_outputs", "split")),
    "Squeeze": (_squeeze, ("axes",)),
    "Transpose": (_transpose, ("perm",)),
    "Unsqueeze": (_unsqueeze, ("axes",)),
}
