"""Make the policy of the pendulum: push against the side it leans or falls to. One linear layer, chosen by hand.

    python examples/pendulum/make.py

writes balance.onnx beside this file. Inputs: angle and rate. Outputs: a score for MINUS and a score for PLUS.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHT = np.array([[1, 0.375], [-1, -0.375]], dtype=np.float32)  # a rate of 1 counts as much as an angle of 0.375


def main() -> None:
    weights = [numpy_helper.from_array(WEIGHT, "W"), numpy_helper.from_array(np.zeros(2, np.float32), "b")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2]) for name in ("input", "output")]
    node = helper.make_node("Gemm", ["input", "W", "b"], ["output"], transB=1)
    graph = helper.make_graph([node], "balance", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, Path(__file__).parent / "balance.onnx")


if __name__ == "__main__":
    main()
