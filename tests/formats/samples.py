"""Small models for the tests of the doors, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from vernal.interpret.concrete import evaluate
from vernal.model.expr import Expr
from vernal.model.network import Network

Array = NDArray[Any]
IR_VERSIONS = {6: 3, 7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7}  # the file version that goes with an operator set


def model(
    nodes: Sequence[onnx.NodeProto],
    tensors: Mapping[str, Array] | None = None,
    *,
    opset: int = 13,
    shape: Sequence[int | str] = ("N", 3),
    rank: int = 2,
    inputs: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
) -> onnx.ModelProto:
    """A model from `x` to `y`; initialisers of old files are listed as inputs too, as their format wants."""
    initialisers = [numpy_helper.from_array(array, name) for name, array in (tensors or {}).items()]
    listed = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name in inputs]
    if opset < 9:
        listed += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in initialisers]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name in outputs]
    graph = helper.make_graph(list(nodes), "sample", listed, results, initialisers)
    versions = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSIONS.get(opset, 8 if opset < 20 else 10))


def save(made: onnx.ModelProto, folder: Path, name: str = "sample.onnx") -> Path:
    path = folder / name
    path.write_bytes(made.SerializeToString())
    return path


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def points(size: int, count: int = 40, spread: float = 3.0) -> Array:
    """Random points that float32 holds, zero among them."""
    random = np.random.default_rng(7)
    drawn = random.uniform(-spread, spread, (count, size)).astype(np.float32)
    drawn[0] = 0
    return drawn.astype(np.float64)


def reference(path: Path, xs: Array) -> Array:
    """What onnxruntime computes, one point at a time, flattened."""
    running = session(path)
    entry = running.get_inputs()[0]
    shape = [size if isinstance(size, int) else 1 for size in entry.shape]
    kind = np.float64 if "double" in entry.type else np.float32
    rows = [running.run(None, {entry.name: x.reshape(shape).astype(kind)})[0].ravel() for x in xs]
    return np.array(rows, dtype=np.float64)


def compute(network: Network, xs: Array) -> Array:
    """What our graph computes."""
    (values,) = evaluate([network.output], {network.inputs: xs})
    return values


def walk(network: Network, xs: Array) -> Array:
    """What our graph computes along a sequence from its own start, its memory going round."""
    slots = [var for var, _ in network.memory]
    starts = np.array([float(value) for value in network.starts or [0] * network.memory_size])
    parts = np.split(starts, np.cumsum([var.size for var in slots])[:-1]) if slots else []
    memory: dict[Expr, Array] = {var: part[None, :] for var, part in zip(slots, parts, strict=True)}
    rows = []
    for x in xs:
        output, *after = evaluate(network.roots, {network.inputs: x[None, :], **memory})
        memory = dict(zip(memory, after, strict=True))
        rows.append(output[0])
    return np.array(rows)


def graph(
    nodes: Sequence[onnx.NodeProto],
    tensors: Mapping[str, Array],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str | None]],
    *,
    opset: int = 14,
) -> onnx.ModelProto:
    """A model of several inputs and outputs."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in inputs.items()]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs.items()]
    initialisers = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    body = helper.make_graph(list(nodes), "sample", given, made, initialisers)
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def sequence(size: int, length: int = 50) -> Array:
    """Observations of both signs, large ones among them."""
    return np.random.default_rng(5).normal(scale=2, size=(length, size)).astype(np.float32).astype(np.float64)


def stepped(path: Path, xs: Array, carry: Mapping[str, str], seen: str = "obs", acts: str = "action") -> Array:
    """What onnxruntime computes step by step, its outputs fed back into its inputs."""
    running = session(path)
    shapes = {entry.name: [s if isinstance(s, int) else 1 for s in entry.shape] for entry in running.get_inputs()}
    kind = np.float64 if "double" in running.get_inputs()[0].type else np.float32
    names = [output.name for output in running.get_outputs()]
    memory = {name: np.zeros(shapes[name], dtype=kind) for name in carry}
    rows = []
    for x in xs:
        made = dict(zip(names, running.run(None, {seen: x.reshape(shapes[seen]).astype(kind), **memory}), strict=True))
        rows.append(made[acts].ravel())
        memory = {old: made[new] for old, new in carry.items()}
    return np.array(rows, dtype=np.float64)


def relu_stack(seed: int = 0, sizes: Sequence[int] = (3, 5, 4, 2)) -> onnx.ModelProto:
    """A small random ReLU network of Gemm layers."""
    random = np.random.default_rng(seed)
    nodes, tensors, last = [], {}, "x"
    for number, (width, height) in enumerate(pairwise(sizes)):
        tensors[f"W{number}"] = random.normal(size=(height, width)).astype(np.float32)
        tensors[f"b{number}"] = random.normal(size=height).astype(np.float32)
        final = number == len(sizes) - 2
        output = "y" if final else f"z{number}"
        nodes.append(helper.make_node("Gemm", [last, f"W{number}", f"b{number}"], [output], transB=1))
        if not final:
            nodes.append(helper.make_node("Relu", [output], [f"a{number}"]))
            last = f"a{number}"
    return model(nodes, tensors, shape=("N", sizes[0]))
