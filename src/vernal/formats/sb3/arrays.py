"""Arrays of numpy and tensors of torch, from what their pickles say (`pickle_data`)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np

from vernal.errors import FormatError
from vernal.formats.limits import Allowance
from vernal.formats.sb3.pickle_data import Beside, Call, Name
from vernal.interpret.numbers.rounding import Array

STORAGES = {  # kinds of numbers of torch, as numpy calls them
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.BoolStorage": "?",
}
KINDS = frozenset({"f4", "f8", "i4", "i8", "u1", "b1"})
MAX_RANK = 8
LARGEST_FINITE = 1e300  # number that is not taken for infinite
MAX_SIZE = 2**40  # of one axis; what there is of numbers is compared with the shape anyway


def array(found: Any) -> Array | None:
    """A numpy array, or number, that was pickled; None if it is something else."""
    if not isinstance(found, Call):
        return None
    match found.name.rpartition(".")[2], found.args, found.state:
        case "_reconstruct", _, (_, shape, kind, bool(order), content):
            return _made(content, kind, shape, "F" if order else "C")
        case "_frombuffer", (content, kind, shape, "C" | "F" as order), _:
            return _made(content, kind, shape, order)
        case "scalar", (kind, content), _:
            return _made(content, kind, (), "C")
    return None


def number(found: Any) -> float | None:
    """A number of Python or numpy."""
    if isinstance(found, int | float):
        return float(found) if abs(found) < LARGEST_FINITE else None
    made = array(found)
    return float(made.item()) if made is not None and made.size == 1 else None


def tensor(found: Any, storages: Callable[[str], bytes], allowance: Allowance) -> Array | None:
    """A torch tensor whose bytes lie beside the pickle; None if it is something else, or of another kind of numbers."""
    match found:
        case Call(
            name="torch._utils._rebuild_tensor_v2",
            args=(Beside(key=("storage", Name(name=kind), str(key), *_)), offset, size, stride, *_),
        ) if kind in STORAGES:
            storage = _numbers(storages(key), np.dtype(STORAGES[kind]))
            return _strided(storage, offset, _sizes(size), _sizes(stride), allowance)
    return None


def _sizes(found: Any) -> tuple[int, ...]:
    """A shape or strides: a few numbers of a reasonable size."""
    if not isinstance(found, tuple) or len(found) > MAX_RANK or not all(map(_is_size, found)):
        raise FormatError("an array in it has an impossible shape")
    return found


def _is_size(found: Any) -> bool:
    return type(found) is int and 0 <= found < MAX_SIZE


def _numbers(data: bytes, dtype: np.dtype[Any]) -> Array:
    if len(data) % dtype.itemsize:
        raise FormatError("a storage in it ends amid a number")
    return np.frombuffer(data, dtype=dtype)


def _made(content: Any, kind: Any, found: Any, order: Literal["C", "F"]) -> Array:
    dtype, data, shape = _dtype(kind), _bytes(content), _sizes(found)
    if len(data) != prod(shape) * dtype.itemsize:
        raise FormatError("an array in it has not as many numbers as its shape needs")
    if not data:
        return _none(shape, dtype)
    made: Array = np.frombuffer(data, dtype=dtype).reshape(shape, order=order)
    return made


def _none(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """No numbers; how many there would be along other axes is of no use, and may be more than numpy takes."""
    return np.zeros((0,) * len(shape), dtype=dtype)


def _dtype(kind: Any) -> np.dtype[Any]:
    """A kind of numbers: its name is an argument, the order of its bytes a part of its state."""
    match kind:
        case Call(args=(str(name), *_), state=state) if name in KINDS:
            order = state[1] if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">", "|") else "<"
            return np.dtype(f"{order}{name}")
    raise FormatError("an array in it is of a kind that is not read")


def _bytes(content: Any) -> bytes:
    """Bytes; old pickles write them as a text and how to encode it."""
    match content:
        case bytes():
            return content
        case Call(name="_codecs.encode", args=(str(text), "latin1")):
            return _latin(text)
    raise FormatError("an array in it is damaged")


def _latin(text: str) -> bytes:
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise FormatError("an array in it is damaged") from None


def _strided(
    storage: Array, offset: Any, size: tuple[int, ...], stride: tuple[int, ...], allowance: Allowance
) -> Array:
    """A tensor from its bytes; places outside of them are refused, and more numbers than there are."""
    if len(size) != len(stride) or not _is_size(offset):
        raise FormatError("a tensor in it has an impossible shape")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and (last >= len(storage) or prod(size) > len(storage)):
        raise FormatError("a tensor in it has fewer numbers than its shape needs")
    allowance.take(prod(size))
    if 0 in size:
        return _none(size, storage.dtype)
    steps = [step * storage.itemsize for step in stride]
    return np.array(np.lib.stride_tricks.as_strided(storage[offset:], size, steps))
