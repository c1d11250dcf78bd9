"""Runs alone, in a process of its own: the description and the weights of a Keras .h5 file, from stdin to stdout.

The HDF5 library can hang or crash on a damaged file. Here that costs a limited process, whose end `h5` reports as
a damaged file; nothing of Vernal is imported. The answer is a line of JSON, then the tensors as float64 bytes.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from math import prod
from typing import Any

import h5py
import numpy as np

MAX_TENSORS = 10_000


class Refused(Exception):
    """The file is understood, and not what is wanted."""


def limit(seconds: int, memory: int) -> None:
    """Bound this process where the system can."""
    try:
        import resource
    except ImportError:  # not on Windows; there the caller's clock has to do
        return
    for what, most in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", memory), ("RLIMIT_CORE", 0)):
        with suppress(AttributeError, ValueError, OSError):  # macOS refuses the second
            resource.setrlimit(getattr(resource, what), (most, most))


def text(value: object) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def inside(group: Any, path: str) -> Any:
    """What lies at a path of a group, without following a link out of the file."""
    for part in path.split("/"):
        if not isinstance(group, h5py.Group) or not isinstance(group.get(part, getlink=True), h5py.HardLink):
            raise Refused(f"it has no weights under {path[:80]!r}")
        group = group[part]
    return group


def tensor(group: Any, name: str, size: int) -> Any:
    """A dataset of floats, once its claimed size is found to be that of its data."""
    dataset = inside(group, name)
    shape, kind = getattr(dataset, "shape", None), getattr(dataset, "dtype", None)
    if shape is None or kind is None or kind.kind != "f" or kind.itemsize not in (2, 4, 8):
        raise Refused(f"tensor {name!r} is not an array of floats")
    if dataset.external or dataset.is_virtual or dataset.id.get_create_plist().get_nfilters():
        raise Refused(f"tensor {name!r} is compressed or lies outside the file, which Vernal does not read")
    claimed = prod(shape) * kind.itemsize
    if claimed > size or dataset.id.get_storage_size() < claimed:
        raise Refused(f"tensor {name!r} claims {claimed} bytes of shape {shape}, more than there are")
    return np.asarray(dataset[()], dtype="<f8")


def extract(data: bytes) -> tuple[dict[str, object], list[Any]]:
    """Everything `h5` needs to know."""
    with h5py.File.in_memory(data) as file:
        if "model_config" not in file.attrs:
            raise Refused("it holds weights without the model they belong to; save the whole model, not its weights")
        config, version = text(file.attrs["model_config"]), text(file.attrs.get("keras_version", ""))
        weights = inside(file, "model_weights")
        rows, arrays = [], []
        for layer in weights:
            group = inside(weights, layer)
            for name in map(text, np.atleast_1d(group.attrs.get("weight_names", ()))):
                arrays.append(tensor(group, name, len(data)))
                rows.append({"layer": layer, "name": name, "shape": arrays[-1].shape})
                if len(rows) > MAX_TENSORS or sum(array.nbytes for array in arrays) > 4 * len(data):
                    raise Refused("it refers to its weights more often than it should")
        return {"config": config, "version": version, "tensors": rows}, arrays


def main() -> None:
    limit(seconds=5, memory=2**30)
    arrays: list[Any] = []
    try:
        head, arrays = extract(sys.stdin.buffer.read())
    except Refused as error:
        head = {"refused": str(error)}
    except Exception as error:
        head = {"refused": f"a damaged HDF5 file ({str(error)[:200]})"}
    sys.stdout.buffer.write(json.dumps(head).encode("ascii") + b"\n")
    for array in arrays:
        sys.stdout.buffer.write(array.tobytes())


if __name__ == "__main__":
    main()
