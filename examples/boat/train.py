"""Train the helmsman of this example: helm.onnx, two layers of eight ReLU units.

    python -m examples.boat.train            # from the root of the checkout, a few seconds

The network learns to put the rudder where a cautious rule of thumb would, from headings and rates of turn drawn at
random. Least squares by Adam in numpy, with a fixed seed.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
SEED, WIDTH, STEPS, BATCH = 3, 8, 6000, 256
SPAN = np.array([1.2, 0.8])  # of heading and rate of turn, in radians and radians per second
RATE, DECAY = 4e-3, 0.9995  # of learning

Array = NDArray[np.float64]


def teacher(seen: Array) -> Array:
    """The rudder, in radians: against heading and turn, and never hard over."""
    return np.asarray(0.5 * np.tanh(1.2 * seen[:, :1] + 1.6 * seen[:, 1:]))


def forward(weights: list[Array], x: Array) -> list[Array]:
    """The outputs of all layers."""
    made = [x]
    for k in range(0, len(weights), 2):
        z = made[-1] @ weights[k].T + weights[k + 1]
        made.append(np.maximum(z, 0.0) if k + 2 < len(weights) else z)
    return made


def slopes(weights: list[Array], made: list[Array], error: Array) -> list[Array]:
    """Of the mean square error, by back-propagation."""
    found: list[Array] = [np.empty(0)] * len(weights)
    back = 2 * error / len(error)
    for k in range(len(weights) - 2, -1, -2):
        found[k], found[k + 1] = back.T @ made[k // 2], back.sum(0)
        back = (back @ weights[k]) * (made[k // 2] > 0)
    return found


def train() -> list[Array]:
    rng = np.random.default_rng(SEED)
    sizes = [2, WIDTH, WIDTH, 1]
    weights: list[Array] = []
    for inputs, outputs in pairwise(sizes):
        weights += [rng.normal(size=(outputs, inputs)) * np.sqrt(2 / inputs), np.zeros(outputs)]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    rate = RATE
    for step in range(1, STEPS + 1):
        x = rng.uniform(-SPAN, SPAN, (BATCH, 2))
        made = forward(weights, x)
        for w, g, m, v in zip(weights, slopes(weights, made, made[-1] - teacher(x)), first, second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= rate * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        rate *= DECAY
    return weights


def save(weights: list[Array]) -> None:
    nodes, stored, last = [], [], "input"
    for k in range(0, len(weights), 2):
        layer = k // 2 + 1
        for name, values in zip("Wb", weights[k : k + 2], strict=True):
            stored.append(numpy_helper.from_array(values.astype(np.float32), f"{name}{layer}"))
        target = "output" if k + 2 == len(weights) else f"z{layer}"
        nodes.append(helper.make_node("Gemm", [last, f"W{layer}", f"b{layer}"], [target], transB=1))
        if target != "output":
            nodes.append(helper.make_node("Relu", [target], [f"a{layer}"]))
        last = f"a{layer}"
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", k]) for n, k in (("input", 2), ("output", 1))]
    graph = helper.make_graph(nodes, "helm", ports[:1], ports[1:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, HERE / "helm.onnx")


if __name__ == "__main__":
    save(train())
