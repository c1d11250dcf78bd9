"""Arrays of numpy and tensors of torch, from what their pickles say (`pickled`)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from vernal.errors import FormatError
from vernal.formats.sb3.pickled import Beside, Call, Name
from vernal.interpret.numbers.rounding import Array

STORAGES = {
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.BoolStorage": "?",
}
KINDS = frozenset({"f4", "f8", "i4", "i8", "u1", "b1"})
MAX_RANK = 8


def array(found: Any) -> Array | None:
    """A numpy array, or number, that was pickled; None if it is something else."""
    if not isinstance(found, Call):
        return None
    match found.name.rpartition(".")[2], found.args, found.state:
        case "_reconstruct", _, (_, tuple() as shape, kind, order, content):
            return _made(content, kind, shape, "F" if order else "C")
        case "_frombuffer", (content, kind, tuple() as shape, order), _:
            return _made(content, kind, shape, str(order))
        case "scalar", (kind, content), _:
            return _made(content, kind, (), "C")
    return None


def number(found: Any) -> float | None:
    """A number of Python or numpy."""
    if isinstance(found, int | float):
        return float(found)
    made = array(found)
    return float(made.item()) if made is not None and made.size == 1 else None


def tensor(found: Any, storages: Callable[[str], bytes]) -> Array | None:
    """A torch tensor whose bytes lie beside the pickle; None if it is something else, or of another kind of numbers."""
    match found:
        case Call(
            name="torch._utils._rebuild_tensor_v2",
            args=(Beside(key=("storage", Name(name=kind), str(key), *_)), offset, size, stride, *_),
        ) if kind in STORAGES:
            return _strided(np.frombuffer(storages(key), dtype=STORAGES[kind]), offset, size, stride)
    return None


def _made(content: Any, kind: Any, shape: tuple[int, ...], order: str) -> Array:
    dtype, data = _dtype(kind), _bytes(content)
    if order not in ("C", "F") or len(shape) > MAX_RANK or min((0, *shape)) < 0:
        raise FormatError("an array in it has an impossible shape")
    if len(data) != prod(shape) * dtype.itemsize:
        raise FormatError("an array in it has not as many numbers as its shape needs")
    made: Array = np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if order == "F" else "C")
    return made


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
            return text.encode("latin1")
    raise FormatError("an array in it is damaged")


def _strided(storage: Array, offset: Any, size: Any, stride: Any) -> Array:
    """A tensor from its bytes; places outside of them are refused."""
    if len(size) != len(stride) or len(size) > MAX_RANK or min((*size, *stride, offset, 0)) < 0:
        raise FormatError("a tensor in it has an impossible shape")
    if 0 in size:
        return np.zeros(size, dtype=storage.dtype)
    if offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) >= len(storage):
        raise FormatError("a tensor in it has fewer numbers than its shape needs")
    steps = [step * storage.itemsize for step in stride]
    return np.array(np.lib.stride_tricks.as_strided(storage[offset:], size, steps))
