"""Convolutions as affine layers, each weight copied to its places, so that nothing is rounded.

A small one is one matrix. The matrix of a large one is almost all zeros; it is cut into tiles of neighbouring windows,
each a small layer of the components these windows cover. Tiles inside an image have one matrix in common, so a network
takes the memory of its kernels, a few times over. It stays one graph of operators that everything understands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from vernal.formats import layers
from vernal.formats.layers import Block
from vernal.formats.onnx.call import MAX_DENSE_ENTRIES, NodeCall, OnnxValue, Tensor
from vernal.formats.onnx.windows import WINDOW, listed, places_of
from vernal.interpret.numbers.rounding import Array
from vernal.model.expr import Matrix

TILE_WINDOWS = 4  # windows of a transposed convolution that lie beside each other in a tile, in every direction
SPREAD = 2  # a tile covers so many times the extent of a window in every direction


def _conv(call: NodeCall) -> OnnxValue:
    x, weight = call.data(0), call.weights(1)
    group = call.integer("group", 1)
    outputs, channels = weight.shape[0], x.shape[1] if len(x.shape) > 1 else 0
    fits = group > 0 and outputs % group == 0 and weight.ndim == len(x.shape) > 2
    if not fits or x.shape[0] != 1 or channels != weight.shape[1] * group:
        raise call.wrong(f"has a kernel of shape {weight.shape} that does not fit data of shape {x.shape}")
    kernel = _kernel(call, weight)
    places = places_of(call, x.shape[1:], kernel)
    windows = places.shape[2:]
    layers.check_width((outputs, *windows))
    bias = None if call.input(2) is None else np.repeat(_bias(call, outputs), prod(windows))
    kernels = weight.reshape(group, outputs // group, weight.shape[1], -1)
    if outputs * prod(windows) * x.expr.size <= MAX_DENSE_ENTRIES:
        call.allowance.take(outputs * prod(windows) * (x.expr.size + 1))
        made = layers.dense(x.expr, _spread(kernels, places, x.expr.size), bias)
    else:
        made = layers.blockwise(x.expr, _tiles(call, kernels, places, kernel), bias)
    return Tensor(made, (1, outputs, *windows))


def _kernel(call: NodeCall, weight: Array) -> list[int]:
    kernel = listed(call, "kernel_shape", list(weight.shape[2:]))
    if kernel != list(weight.shape[2:]):
        raise call.wrong("says another kernel_shape than its weights have")
    return kernel


def _bias(call: NodeCall, outputs: int) -> Array:
    bias = call.weights(2)
    if bias.shape != (outputs,):
        raise call.wrong(f"has biases of shape {bias.shape}, not {(outputs,)}")
    return bias


def _spread(weight: Array, places: Array, size: int) -> Array:
    """The matrix of a convolution; weights are [group, output, channel, kernel entry]."""
    group, outputs, channels, entries = weight.shape
    cover = places.reshape(entries, group, channels, -1)
    windows = cover.shape[-1]
    matrix = np.zeros((group, outputs, windows, size + 1))  # padding is written to the last column, which is dropped
    for own, (block, kernels) in enumerate(zip(matrix, weight, strict=True)):
        block[:, np.arange(windows), cover[:, own]] = np.swapaxes(kernels, 1, 2)[..., None]
    return matrix.reshape(-1, size + 1)[:, :-1]


# Tiles ----------------------------------------------------------------------------------------------------------------


def _tiles(call: NodeCall, weight: Array, places: Array, kernel: list[int]) -> list[Block]:
    """The blocks of a large convolution, for every group of channels; equal matrices are made once."""
    group, outputs, channels, entries = weight.shape
    windows = places.shape[2:]
    cover = places.reshape(entries, group, channels, -1)
    numbers = np.arange(group * outputs * prod(windows)).reshape(group, outputs, -1)
    known: dict[tuple[int, bytes], Matrix] = {}
    blocks: list[Block] = []
    for tile in _parts(call, windows, kernel):
        for own in range(group):
            read, local = np.unique(cover[:, own][:, :, tile], return_inverse=True)
            padded = int(read[0] < 0)
            pattern = local.reshape(entries, channels, tile.size) - padded  # -1 for padding, as in the whole
            key = own, pattern.tobytes()
            if key not in known:
                call.allowance.take(outputs * tile.size * read.size)
                known[key] = Matrix(_spread(weight[own : own + 1], pattern[:, None], read.size - padded))
            call.allowance.take(read.size + outputs * tile.size)
            blocks.append(Block(numbers[own][:, tile].ravel(), read[padded:], known[key]))
    return blocks


def _parts(call: NodeCall, windows: tuple[int, ...], kernel: list[int]) -> Iterator[Array]:
    """The windows of each tile, by number: neighbours, as many as share most of what they cover."""
    strides = listed(call, "strides", [1] * len(kernel))
    dilations = listed(call, "dilations", [1] * len(kernel))
    steps = [
        max(1, (SPREAD - 1) * ((size - 1) * wide + 1) // step + 1)
        for size, wide, step in zip(kernel, dilations, strides, strict=True)
    ]
    numbers = np.arange(prod(windows)).reshape(windows)
    for corner in np.ndindex(*(-(-count // step) for count, step in zip(windows, steps, strict=True))):
        cut = tuple(slice(at * step, (at + 1) * step) for at, step in zip(corner, steps, strict=True))
        yield numbers[cut].ravel()


# Backwards ------------------------------------------------------------------------------------------------------------


def _conv_transpose(call: NodeCall) -> OnnxValue:
    """The transpose of the convolution that leads from its output's shape to its input's."""
    x, weight = call.data(0), call.weights(1)
    group, rank = call.integer("group", 1), weight.ndim - 2
    channels = x.shape[1] if len(x.shape) > 1 else 0
    if rank < 1 or weight.ndim != len(x.shape) or x.shape[0] != 1 or weight.shape[0] != channels or channels % group:
        raise call.wrong(f"has a kernel of shape {weight.shape} that does not fit data of shape {x.shape}")
    if "output_shape" in call.attributes or call.attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
        raise call.unsupported("leaves its padding open (output_shape or auto_pad); export with pads")
    shape = (weight.shape[1] * group, *_extents(call, x.shape[2:], _kernel(call, weight)))
    places = places_of(call, shape, list(weight.shape[2:]))
    size = layers.check_width(shape)
    kernels = weight.reshape(group, channels // group, weight.shape[1], -1)
    bias = None if call.input(2) is None else np.repeat(_bias(call, shape[0]), prod(shape[1:]))
    if x.expr.size * size <= MAX_DENSE_ENTRIES:
        call.allowance.take(x.expr.size * (size + 1))
        made = layers.dense(x.expr, _spread(kernels, places, size).T, bias)
    else:
        made = layers.blockwise(x.expr, _transposed_tiles(call, kernels, places, shape), bias)
    return Tensor(made, (1, *shape))


def _transposed_tiles(call: NodeCall, weight: Array, places: Array, shape: tuple[int, ...]) -> list[Block]:
    """The blocks of a large transposed convolution: parts of its image, and the inputs whose windows reach them."""
    group, channels, outputs, _ = weight.shape
    plane, windows = prod(shape[1:]), prod(places.shape[2:])
    entry, window = np.nonzero(places[:, 0].reshape(len(places), -1) >= 0)
    place = places[:, 0].reshape(len(places), -1)[entry, window]  # in the plane of any channel
    order = np.argsort(place, kind="stable")
    entry, window, place = entry[order], window[order], place[order]
    made, read = (np.arange(group * n * m).reshape(group, n, m) for n, m in ((outputs, plane), (channels, windows)))
    known: dict[tuple[int, bytes], Matrix] = {}
    blocks: list[Block] = []
    for tile in _squares(shape[1:], list(places.shape[2:])):
        own = np.flatnonzero(np.isin(place, tile))
        seen, there = np.unique(window[own], return_inverse=True)
        if not len(seen):  # beyond the reach of all windows, which strides may leave: zeros of the first input
            seen = np.zeros(1, np.intp)
        here = np.searchsorted(tile, place[own])
        pattern = np.concatenate([entry[own], there, here, [tile.size, seen.size]])
        for part in range(group):
            key = part, pattern.tobytes()
            if key not in known:
                call.allowance.take(outputs * tile.size * channels * seen.size)
                matrix = np.zeros((outputs, tile.size, channels, seen.size))
                matrix[:, here, :, there] = np.moveaxis(weight[part][:, :, entry[own]], 2, 0).swapaxes(1, 2)
                known[key] = Matrix(matrix.reshape(outputs * tile.size, -1))
            call.allowance.take(channels * seen.size + outputs * tile.size)
            blocks.append(Block(made[part][:, tile].ravel(), read[part][:, seen].ravel(), known[key]))
    return blocks


def _squares(sizes: tuple[int, ...], windows: list[int]) -> Iterator[Array]:
    """Parts of an image, by number in ascending order: each about as wide as some windows are apart."""
    steps = [TILE_WINDOWS * max(1, size // count) for size, count in zip(sizes, windows, strict=True)]
    numbers = np.arange(prod(sizes)).reshape(sizes)
    for corner in np.ndindex(*(-(-size // step) for size, step in zip(sizes, steps, strict=True))):
        yield numbers[tuple(slice(at * step, (at + 1) * step) for at, step in zip(corner, steps, strict=True))].ravel()


def _extents(call: NodeCall, sizes: tuple[int, ...], kernel: list[int]) -> list[int]:
    """How long every axis of the output is."""
    rank = len(kernel)
    strides, wide = (listed(call, name, [1] * rank) for name in ("strides", "dilations"))
    pads, more = listed(call, "pads", [0] * 2 * rank), listed(call, "output_padding", [0] * rank)
    found = [
        (sizes[axis] - 1) * strides[axis] + (kernel[axis] - 1) * wide[axis] + 1 + more[axis] - sum(pads[axis::rank])
        for axis in range(rank)
    ]
    if min(found) < 1 or min(more) < 0 or any(added >= step for added, step in zip(more, strides, strict=True)):
        raise call.wrong(f"has an output of shape {found}, or pads it by a whole stride")
    return found


CONVOLUTIONS: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "Conv": (_conv, (*WINDOW, "group")),
    "ConvTranspose": (_conv_transpose, (*WINDOW, "group", "output_padding", "output_shape")),
}
