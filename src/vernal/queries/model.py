"""The network file behind a query: does it fit the declaration, and what does onnxruntime make of an input?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import InputError
from vernal.formats.limits import DEFAULT, ReadLimits
from vernal.formats.networks import read_network, read_whole, unpacked_name
from vernal.formats.vnnlib.query import DeclaredTensor, Query
from vernal.model.network import Network
from vernal.model.numbers import nearest

if TYPE_CHECKING:
    from onnx import ValueInfoProto
    from onnxruntime import InferenceSession

DOUBLE = 11  # ONNX's number for float64
ELEMENT_TYPES: dict[str, type[np.floating[Any]]] = {"tensor(double)": np.float64, "tensor(float16)": np.float16}

DeclaredShape = tuple[int | None, ...]
Runtime = Callable[[Sequence[Fraction]], list[Fraction] | None]  # the outputs; None where one is not finite


@dataclass(frozen=True)
class NetworkModel:
    """A network that fits a query: exactly, and as the float format its file computes in."""

    network: Network
    float: type[np.floating[Any]]
    runtime: Runtime | None  # None without onnxruntime, or for a file that is not ONNX
    why_none: str = ""


def load_model(query: Query, path: str | Path, limits: ReadLimits = DEFAULT) -> NetworkModel:
    """The network of a file, checked against what the query declares."""
    network = read_network(path, limits=limits).with_values()
    if network.memory:
        raise InputError(f"{path}: the network has memory; a query is about a network without")
    for tensor, size, what in (
        (query.input, network.input_size, "inputs"),
        (query.output, network.output_size, "outputs"),
    ):
        if tensor.size != size:
            raise InputError(f"{path}: the network has {size} {what}, but the query declares {tensor.size}")
    if unpacked_name(Path(path)).suffix.lower() != ".onnx":
        return NetworkModel(network, np.float64, None, "onnxruntime does not read this format")
    return _onnx_model(query, network, Path(path), limits)


def _onnx_model(query: Query, network: Network, path: Path, limits: ReadLimits) -> NetworkModel:
    import onnx

    data, _ = read_whole(path, limits.bytes)
    model = onnx.ModelProto.FromString(data)
    weights = {tensor.name for tensor in model.graph.initializer}
    entry = next(item for item in model.graph.input if item.name not in weights)
    _check(query.input, entry, path)
    _check(query.output, model.graph.output[0], path)
    kind = np.float64 if entry.type.tensor_type.elem_type == DOUBLE else np.float32
    if find_spec("onnxruntime") is None:
        return NetworkModel(network, kind, None, "onnxruntime is not installed (the extra 'onnxruntime')")
    shape = [size or 1 for size in _shape(entry)]
    return NetworkModel(network, kind, _runtime(data, entry.name, shape), "")


def _shape(entry: ValueInfoProto) -> DeclaredShape:
    return tuple(dim.dim_value if dim.dim_value > 0 else None for dim in entry.type.tensor_type.shape.dim)


def _check(tensor: DeclaredTensor, entry: ValueInfoProto, path: Path) -> None:
    """Names and shapes, where the query gives them; dimensions of one element do not count, open ones fit."""
    if tensor.onnx is not None and tensor.onnx != entry.name:
        raise InputError(f"{path}: there is no node {tensor.onnx!r} for {tensor.name}; the network's is {entry.name!r}")
    if tensor.shape is None or not entry.type.tensor_type.HasField("shape"):
        return
    found = [size for size in _shape(entry) if size != 1]
    wanted = [size for size in tensor.shape if size != 1]
    closed = [size for size in found if size is not None]
    if len(closed) == len(found) and found != wanted:
        shown = [size or "?" for size in _shape(entry)]
        raise InputError(f"{path}: {tensor.name} has the shape {list(tensor.shape)}, but the network's is {shown}")


def _runtime(data: bytes, name: str, shape: Sequence[int]) -> Runtime:
    """The file run by onnxruntime, one thread, one input at a time; inputs are rounded to floats, outputs printed.

    It is loaded with the first input: most queries that have no solution never need it.
    """

    @cache
    def session() -> InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def run(inputs: Sequence[Fraction]) -> list[Fraction] | None:
        kind = ELEMENT_TYPES.get(session().get_inputs()[0].type, np.float32)
        with np.errstate(over="ignore"):
            given = np.array([nearest(value) for value in inputs]).astype(kind).reshape(shape)
        (output,) = session().run(None, {name: given})
        values = np.asarray(output, dtype=np.float64).ravel()
        return [Fraction(repr(float(value))) for value in values] if np.isfinite(values).all() else None

    return run
