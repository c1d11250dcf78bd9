"""ONNX operators that repeat, surround or spread components; nothing is computed.

Resize and Upsample are read by whole numbers and the nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor, prod

import numpy as np

from vernal.formats.layers import check_width, pick
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.interpret.numbers.rounding import Array
from vernal.model import build

HALF = Fraction(1, 2)
SOURCES: dict[object, Callable[[int, int], Fraction]] = {  # where in the input a place of the output is
    b"asymmetric": lambda place, factor: Fraction(place, factor),
    b"half_pixel": lambda place, factor: (place + HALF) / factor - HALF,
    b"half_pixel_symmetric": lambda place, factor: (place + HALF) / factor - HALF,
    b"pytorch_half_pixel": lambda place, factor: (place + HALF) / factor - HALF,
}
ROUNDED: dict[object, Callable[[Fraction], int]] = {
    b"round_prefer_floor": lambda at: ceil(at - HALF),
    b"round_prefer_ceil": lambda at: floor(at + HALF),
    b"floor": floor,
    b"ceil": ceil,
}


def _resize(call: NodeCall) -> OnnxValue:
    """The nearest component for every place."""
    value = call.value()
    if call.attributes.get("mode", b"nearest") != b"nearest" or call.attributes.get("axes") is not None:
        raise call.unsupported("is read as the nearest neighbour on all axes only")
    first = call.attributes.get("coordinate_transformation_mode", b"half_pixel" if call.opset > 10 else b"asymmetric")
    then = call.attributes.get("nearest_mode", b"round_prefer_floor" if call.opset > 10 else b"floor")
    if first not in SOURCES or then not in ROUNDED:
        raise call.unsupported(f"places its components by {first!r} and {then!r}, which is not read")
    return _repeated(call, value, _factors(call, value.shape), lambda at, n: ROUNDED[then](SOURCES[first](at, n)))


def _upsample(call: NodeCall) -> OnnxValue:
    if call.attributes.get("mode", b"nearest") != b"nearest":
        raise call.unsupported("is read as the nearest neighbour only")
    value = call.value()
    given = call.attributes.get("scales") if call.opset < 9 else call.constant(1).ravel().tolist()
    return _repeated(call, value, _whole(call, given, len(value.shape)), lambda at, factor: at // factor)


def _factors(call: NodeCall, shape: Sequence[int]) -> list[int]:
    """By how much every axis grows: said by itself, or by the sizes that come out."""
    place = 2 if call.opset > 10 else 1
    sizes = call.input(3) if call.opset > 10 else None
    if sizes is None or np.prod(sizes.shape) == 0:
        return _whole(call, call.constant(place).ravel().tolist(), len(shape))
    wanted = call.whole(3)
    if len(wanted) != len(shape) or any(to % size for to, size in zip(wanted, shape, strict=True)):
        raise call.unsupported(f"resizes shape {tuple(shape)} to {wanted}; only multiples are read")
    return [to // size for to, size in zip(wanted, shape, strict=True)]


def _whole(call: NodeCall, factors: object, rank: int) -> list[int]:
    if not isinstance(factors, list) or len(factors) != rank:
        raise call.wrong(f"does not say {rank} factors")
    if any(factor != int(factor) or factor < 1 for factor in factors):
        raise call.unsupported(f"resizes by {factors}; only whole numbers are read")
    return [int(factor) for factor in factors]


def _repeated(call: NodeCall, value: OnnxValue, factors: list[int], source: Callable[[int, int], int]) -> OnnxValue:
    size = check_width([extent * factor for extent, factor in zip(value.shape, factors, strict=True)])

    def change(array: Array) -> Array:
        for axis, factor in enumerate(factors):
            extent = array.shape[axis]
            taken = [min(max(source(at, factor), 0), extent - 1) for at in range(extent * factor)]
            array = np.take(array, taken, axis)
        return array

    return call.rearrange(value, change, size)


# Around and apart -----------------------------------------------------------------------------------------------------


def _tile(call: NodeCall) -> OnnxValue:
    value, repeats = call.value(), call.whole(1)
    if len(repeats) != len(value.shape) or any(count < 1 for count in repeats):
        raise call.wrong(f"repeats shape {value.shape} {repeats} times")
    size = check_width([extent * count for extent, count in zip(value.shape, repeats, strict=True)])
    return call.rearrange(value, lambda array: np.tile(array, repeats), size)


def _pad(call: NodeCall) -> OnnxValue:
    """A constant around the data, or its own edge or reflection."""
    x, pads = call.data(), call.integers("pads", 1, since=11)
    mode = call.attributes.get("mode", b"constant")
    rank = len(x.shape)
    if pads is None or len(pads) != 2 * rank or min(pads) < 0 or mode not in PADDING or call.input(3) is not None:
        raise call.unsupported("is read with pads of at least 0 for every axis, by a constant, an edge or a reflection")
    widths = list(zip(pads[:rank], pads[rank:], strict=True))
    size = check_width([extent + sum(added) for extent, added in zip(x.shape, widths, strict=True)])
    call.allowance.take(size)
    index = PADDING[mode](np.arange(prod(x.shape)).reshape(x.shape), widths)
    around = build.concat(x.expr, build.const(_padding_value(call)))
    return Tensor(pick(around if (index < 0).any() else x.expr, np.where(index < 0, x.expr.size, index)), index.shape)


def _padding_value(call: NodeCall) -> Fraction:
    if call.opset < 11:
        return call.rational("value", 0.0)
    given = None if call.input(2) is None else call.constant(2)
    if given is not None and given.size != 1:
        raise call.wrong("wants one number to pad with")
    return Fraction(0) if given is None else Fraction(given.ravel().tolist()[0])


def _blocks_to_space(call: NodeCall) -> OnnxValue:
    value, block = call.value(), call.integer("blocksize", 0)
    if len(value.shape) != 4 or block < 1 or value.shape[1] % (block * block):
        raise call.wrong(f"cannot spread shape {value.shape} by blocks of {block}")
    batch, channels, height, width = value.shape
    own = channels // block**2
    first = call.attributes.get("mode", b"DCR") == b"DCR"
    split = (batch, block, block, own, height, width) if first else (batch, own, block, block, height, width)
    order = (0, 3, 4, 1, 5, 2) if first else (0, 1, 4, 2, 5, 3)
    shape = (batch, own, height * block, width * block)
    return call.rearrange(value, lambda array: array.reshape(split).transpose(order).reshape(shape))


def _space_to_blocks(call: NodeCall) -> OnnxValue:
    value, block = call.value(), call.integer("blocksize", 0)
    if len(value.shape) != 4 or block < 1 or value.shape[2] % block or value.shape[3] % block:
        raise call.wrong(f"cannot fold shape {value.shape} by blocks of {block}")
    batch, channels, height, width = value.shape
    split = (batch, channels, height // block, block, width // block, block)
    shape = (batch, channels * block**2, height // block, width // block)
    return call.rearrange(value, lambda array: array.reshape(split).transpose(0, 3, 5, 1, 2, 4).reshape(shape))


PADDING: dict[object, Callable[[Array, list[tuple[int, int]]], Array]] = {  # -1 stands for the constant
    b"constant": lambda index, widths: np.pad(index, widths, constant_values=-1),
    b"edge": lambda index, widths: np.pad(index, widths, mode="edge"),
    b"reflect": lambda index, widths: np.pad(index, widths, mode="reflect"),
}
CHOICES = ("mode", "coordinate_transformation_mode", "nearest_mode", "axes")
UNUSED = ("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "keep_aspect_ratio_policy")
RESIZING: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "DepthToSpace": (_blocks_to_space, ("blocksize", "mode")),
    "Pad": (_pad, ("mode", "pads", "value")),
    "Resize": (_resize, (*CHOICES, *UNUSED)),
    "SpaceToDepth": (_space_to_blocks, ("blocksize",)),
    "Tile": (_tile, ()),
    "Upsample": (_upsample, ("mode", "scales")),
}
