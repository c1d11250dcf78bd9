"""ONNX operators that look at windows or along axes: pooling, sums, means and extremes.

A mean is a sum of components divided by their number, since 1/9 is no double.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from vernal.formats import layers
from vernal.formats.onnx.call import MAX_DENSE_ENTRIES, NodeCall, OnnxValue, Tensor
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr

MAX_KERNEL = 4096  # entries of a window


def listed(call: NodeCall, name: str, default: list[int]) -> list[int]:
    """As many integers as there are by default."""
    values = call.attributes.get(name, default)
    if not isinstance(values, list) or len(values) != len(default) or not all(isinstance(v, int) for v in values):
        raise call.wrong(f"wants {len(default)} integers as its attribute {name!r}")
    return values


def places_of(call: NodeCall, shape: tuple[int, ...], kernel: list[int]) -> Array:
    """Which components of its data, of shape (channels, ...), each window covers: [kernel entry, channel, window].

    The axes of the windows are kept; -1 stands for padding.
    """
    rank = len(kernel)
    strides, dilations = (listed(call, name, [1] * rank) for name in ("strides", "dilations"))
    if rank != len(shape) - 1 or min([*kernel, *strides, *dilations]) < 1 or prod(kernel) > MAX_KERNEL:
        raise call.wrong(f"has a window of {kernel} that does not fit data of shape {shape}")
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    before, after = _padding(call, list(shape[1:]), spans, strides)
    layers.check_width([shape[0], *(size + b + a for size, b, a in zip(shape[1:], before, after, strict=True))])
    room = [size + b + a - span for size, b, a, span in zip(shape[1:], before, after, spans, strict=True)]
    if min(room) < 0:
        raise call.wrong(f"has a window of {kernel} that is larger than its data of shape {shape}")
    counts = [free // step + 1 for free, step in zip(room, strides, strict=True)]
    call.allowance.take(prod(kernel) * shape[0] * prod(counts))
    index = np.pad(
        np.arange(prod(shape)).reshape(shape), [(0, 0), *zip(before, after, strict=True)], constant_values=-1
    )

    def covered(entry: tuple[int, ...]) -> Array:
        starts = [at * step for at, step in zip(entry, dilations, strict=True)]
        cuts = zip(starts, counts, strides, strict=True)
        return index[:, *(slice(start, start + (n - 1) * step + 1, step) for start, n, step in cuts)]

    return np.array([covered(entry) for entry in np.ndindex(*kernel)])


def _padding(call: NodeCall, sizes: list[int], spans: list[int], strides: list[int]) -> tuple[list[int], list[int]]:
    """How much is added before and after each axis; `SAME` adds what makes windows for every stride."""
    rank = len(sizes)
    kind = call.attributes.get("auto_pad", b"NOTSET")
    if call.integer("ceil_mode", 0):
        raise call.unsupported("lets windows stick out (ceil_mode); export with ceil_mode=False")
    if kind in (b"SAME_UPPER", b"SAME_LOWER"):
        triples = zip(sizes, spans, strides, strict=True)
        total = [(-(-size // step) - 1) * step + span - size for size, span, step in triples]
        if min(total) < 0 or any(step != 1 for step in listed(call, "dilations", [1] * rank)):  # runtimes differ there
            raise call.unsupported("leaves its padding open (auto_pad) beside wide strides; export with pads")
        small, large = [n // 2 for n in total], [n - n // 2 for n in total]
        return (small, large) if kind == b"SAME_UPPER" else (large, small)
    pads = listed(call, "pads", [0] * 2 * rank) if kind == b"NOTSET" else [0] * 2 * rank
    if kind not in (b"NOTSET", b"VALID") or min(pads) < 0:
        raise call.wrong("has a padding that is not read")
    return pads[:rank], pads[rank:]


# Pooling --------------------------------------------------------------------------------------------------------------


def _pooled(call: NodeCall) -> tuple[Tensor, Array]:
    """The data and what each window covers."""
    x = call.data()
    kernel = call.attributes.get("kernel_shape")
    if len(x.shape) < 3 or x.shape[0] != 1 or call.outputs > 1:
        raise call.wrong(f"pools data of shape {x.shape}, or tells where maxima are; wants a batch of 1")
    if not isinstance(kernel, list) or not kernel or not all(isinstance(size, int) for size in kernel):
        raise call.wrong("does not say its kernel_shape")
    places = places_of(call, x.shape[1:], kernel)
    if (places.max(axis=0) < 0).any():
        raise call.wrong("has windows that cover nothing but padding")
    return x, places


def _max_pool(call: NodeCall) -> OnnxValue:
    """The largest component of each window; what stands in padding is one of the others once more."""
    x, places = _pooled(call)
    filled = np.where(places < 0, places.max(axis=0), places)
    largest = build.maximum(*(layers.pick(x.expr, part) for part in filled))
    return Tensor(build.concat(largest), (1, *places.shape[1:]))


def _average_pool(call: NodeCall) -> OnnxValue:
    x, places = _pooled(call)
    flat = places.reshape(len(places), -1)
    sums = _total(call, x.expr, flat)
    padded = bool(call.integer("count_include_pad", 0))
    counts = np.full(flat.shape[1], float(len(flat))) if padded else (flat >= 0).sum(axis=0).astype(np.float64)
    return Tensor(layers.divide(sums, counts), (1, *places.shape[1:]))


def _total(call: NodeCall, x: Expr, parts: Array) -> Expr:
    """Sums of components, one for each column; a matrix of ones, or where that is large a sum of vectors."""
    size = parts.shape[1]
    if size * (x.size + 1) > MAX_DENSE_ENTRIES:
        call.allowance.take(parts.size)
        around = build.concat(x, build.const(0)) if (parts < 0).any() else x
        return build.concat(build.add(*(layers.pick(around, np.where(part < 0, x.size, part)) for part in parts)))
    call.allowance.take(size * (x.size + 1))
    matrix = np.zeros((size, x.size + 1))  # the last column takes the padding
    matrix[np.arange(size), parts] = 1
    return layers.dense(x, matrix[:, :-1])


# Along axes -----------------------------------------------------------------------------------------------------------


def _lines(call: NodeCall, axes: tuple[int, ...], keep: bool) -> tuple[Tensor, Array, tuple[int, ...]]:
    """The data, which components lie along the axes for each result (in columns), and the shape of the results."""
    x = call.data()
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    shape = kept if keep else tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    others = [axis for axis in range(len(x.shape)) if axis not in axes]
    index = np.transpose(np.arange(prod(x.shape)).reshape(x.shape), (*axes, *others))
    return x, index.reshape(-1, prod(kept)), shape


def _sum(call: NodeCall, axes: tuple[int, ...], keep: bool) -> tuple[Tensor, int]:
    """The sums over axes, and of how many components each is."""
    x, lines, shape = _lines(call, axes, keep)
    return Tensor(_total(call, x.expr, lines), shape), len(lines)


def _extreme(pick: Callable[..., Expr]) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        x, lines, shape = _lines(call, _axes(call, since=18), bool(call.integer("keepdims", 1)))
        call.allowance.take(lines.size)
        return Tensor(build.concat(pick(*(layers.pick(x.expr, part) for part in lines))), shape)

    return read


def _global_max(call: NodeCall) -> OnnxValue:
    rank = len(call.value().shape)
    if rank < 3:
        raise call.wrong("wants data with axes behind its channels")
    x, lines, shape = _lines(call, tuple(range(2, rank)), keep=True)
    return Tensor(build.concat(build.maximum(*(layers.pick(x.expr, part) for part in lines))), shape)


def _axes(call: NodeCall, since: int) -> tuple[int, ...]:
    rank = len(call.value().shape)
    axes = call.integers("axes", 1, since)
    if not axes:
        if call.integer("noop_with_empty_axes", 0):
            raise call.unsupported("reduces no axis (noop_with_empty_axes); export without it")
        return tuple(range(rank))
    return tuple(sorted({call.axis(axis, rank) for axis in axes}))


def _reduce_sum(call: NodeCall) -> OnnxValue:
    return _sum(call, _axes(call, since=13), bool(call.integer("keepdims", 1)))[0]


def _reduce_mean(call: NodeCall) -> OnnxValue:
    total, count = _sum(call, _axes(call, since=18), bool(call.integer("keepdims", 1)))
    return _mean(total, count)


def _global_average(call: NodeCall) -> OnnxValue:
    rank = len(call.value().shape)
    if rank < 3:
        raise call.wrong("wants data with axes behind its channels")
    return _mean(*_sum(call, tuple(range(2, rank)), keep=True))


def _mean(total: Tensor, count: int) -> Tensor:
    return Tensor(layers.divide(total.expr, np.array([float(count)])), total.shape)


WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")
AXES = ("axes", "keepdims", "noop_with_empty_axes")
WINDOW_OPERATORS: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "AveragePool": (_average_pool, (*WINDOW, "ceil_mode", "count_include_pad")),
    "GlobalAveragePool": (_global_average, ()),
    "GlobalMaxPool": (_global_max, ()),
    "MaxPool": (_max_pool, (*WINDOW, "ceil_mode", "storage_order")),
    "ReduceMax": (_extreme(build.maximum), AXES),
    "ReduceMean": (_reduce_mean, AXES),
    "ReduceMin": (_extreme(build.minimum), AXES),
    "ReduceSum": (_reduce_sum, AXES),
}
