"""Resize and Upsample by whole numbers: every component is repeated, nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor

import numpy as np

from vernal.formats.layers import check_width
from vernal.formats.onnx.call import NodeCall, OnnxValue
from vernal.interpret.numbers.rounding import Array

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


RESIZING: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "Resize": (
        _resize,
        ("mode", "coordinate_transformation_mode", "nearest_mode", "axes", "cubic_coeff_a", "exclude_outside")
        + ("extrapolation_value", "antialias", "keep_aspect_ratio_policy"),
    ),
    "Upsample": (_upsample, ("mode", "scales")),
}
