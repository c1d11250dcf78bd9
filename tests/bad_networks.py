"""Files of networks with one thing wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Prepare = Callable[[Path], None]


def onnx_network(
    inputs: int = 2, outputs: int = 2, *, activation: str = "Relu", weight: float = 1.0, name: str = "pilot.onnx"
) -> Prepare:
    """Writes one Gemm and one activation."""

    def write(folder: Path) -> None:
        (folder / name).write_bytes(onnx_bytes(inputs, outputs, activation, weight))

    return write


def onnx_bytes(inputs: int, outputs: int, activation: str = "Relu", weight: float = 1.0) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    weights = np.full((inputs, outputs), weight, dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["in", "W"], ["h"]), helper.make_node(activation, ["h"], ["out"])]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in (("in", inputs), ("out", outputs))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [numpy_helper.from_array(weights, "W")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    return bytes(model.SerializeToString())


def claiming_onnx(folder: Path) -> None:
    """A tensor that claims 2^14 x 2^14 floats, one GiB, and brings none of them."""
    from onnx import ModelProto

    model = ModelProto.FromString(onnx_bytes(2, 2))
    tensor = model.graph.initializer[0]
    del tensor.dims[:]
    tensor.dims.extend([2**14, 2**14])
    tensor.raw_data = b""
    (folder / "pilot.onnx").write_bytes(model.SerializeToString())


def recurrent_onnx(op: str = "RNN", *, units: int = 2, peepholes: bool = False, **attributes: Any) -> Prepare:
    """Writes one recurrent operator of two inputs, whose output is what it remembers."""
    from onnx import TensorProto, helper, numpy_helper

    rows = {"RNN": 1, "GRU": 3, "LSTM": 4}[op] * units
    shapes = {"W": (1, rows, 2), "R": (1, rows, 2), **({"P": (1, 3 * units)} if peepholes else {})}
    given = ["in", "W", "R", *(["", "", "", "", "P"] if peepholes else [])]
    node = helper.make_node(op, given, ["", "out"], hidden_size=2, **attributes)
    weights = [numpy_helper.from_array(np.ones(shape, dtype=np.float32), name) for name, shape in shapes.items()]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1, 2]) for n in ("in", "out")]
    graph = helper.make_graph([node], "net", ends[:1], ends[1:], weights)
    return writes(
        "pilot.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]).SerializeToString()
    )


def unclear_onnx(folder: Path) -> None:
    """Two inputs and two outputs, all alike: nobody knows which of them are a memory."""
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Relu", [a], [b]) for a, b in (("p", "q"), ("r", "s"))]
    ends = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in "pqrs"}
    graph = helper.make_graph(nodes, "net", [ends["p"], ends["r"]], [ends["q"], ends["s"]])
    (folder / "pilot.onnx").write_bytes(helper.make_model(graph).SerializeToString())


def writes(name: str, content: bytes) -> Prepare:
    """Writes a file."""

    def write(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return write


NOISE = np.random.default_rng(0).bytes(4096)
HDF5 = b"\x89HDF\r\n\x1a\n"


def nnet(first: str, *, size: int = 1) -> bytes:
    """A .nnet file 2-1-2 whose first weight is the given text."""
    header = f"// net\n2,2,2,{max(size, 2)},\n2,{size},2,\n0,\n-9,-9,\n9,9,\n0,0,0,\n1,1,1,\n"
    return f"{header}{first},1,\n0,\n1,\n1,\n0,\n0,\n".encode()
