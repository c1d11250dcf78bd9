"""Make the network of the thermostat: six ReLU neurons, fitted by least squares and rounded to multiples of 1/1024.

    python examples/thermostat/make.py

writes thermostat.onnx beside this file and prints where the network switches. Inputs: (T - 20) / 10, and 1 while the
heater is on, else 0. Outputs: a score for OFF and a score for ON. The fit aims at switching on below 19 degrees and off
above 21; rounding makes the file the same on every machine.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HERE = Path(__file__).parent
KINKS = (-0.4, -0.2, 0.0, 0.2, 0.4)  # how far from the switching point the neurons bend
GRID = 1024


def rounded(weights: Array) -> Array:
    """Weights as multiples of 1/GRID, which float32 holds exactly."""
    return np.round(weights * GRID) / GRID


def hidden() -> tuple[Array, Array]:
    """The first layer, chosen by hand: one neuron per kink above the switching point, and one that looks down."""
    weight = np.array([[1.0, -0.2]] * len(KINKS) + [[-1.0, 0.2]])
    bias = np.array([0.1 - kink for kink in KINKS] + [0.9])
    return rounded(weight), rounded(bias)


def wanted(points: Array) -> Array:
    """The score of ON minus the score of OFF: positive below the switching point, flat far away from it."""
    temperature, heating = points[:, 0], points[:, 1]
    return np.tanh(5 * (0.2 * heating - 0.1 - temperature))


def fit() -> list[tuple[Array, Array]]:
    """Both layers, the second by least squares on a grid of temperatures with the heater off and on."""
    weight, bias = hidden()
    temperature = np.linspace(-1, 1, 201)
    points = np.array([[t, m] for m in (0.0, 1.0) for t in temperature])
    features = np.maximum(points @ weight.T + bias, 0)
    design = np.hstack([features, np.ones((len(points), 1))])
    solution, *_ = np.linalg.lstsq(design, wanted(points), rcond=None)
    half = rounded(solution / 2)
    return [(weight, bias), (np.array([-half[:-1], half[:-1]]), np.array([-half[-1], half[-1]]))]


def scores(layers: list[tuple[Array, Array]], points: Array) -> Array:
    """The network, in numpy."""
    (w0, b0), (w1, b1) = layers
    result: Array = np.maximum(points @ w0.T + b0, 0) @ w1.T + b1
    return result


def switching_point(layers: list[tuple[Array, Array]], heating: float) -> float:
    """The temperature at which the winner changes."""
    temperature = np.linspace(10, 30, 20_001)
    points = np.column_stack([(temperature - 20) / 10, np.full_like(temperature, heating)])
    on = np.diff(scores(layers, points), axis=1)[:, 0] > 0
    (changes,) = np.nonzero(on[1:] != on[:-1])
    assert len(changes) == 1, "the network should change its mind exactly once"
    return float(temperature[changes[0]])


def write(layers: list[tuple[Array, Array]], path: Path) -> None:
    """The network as ONNX: Gemm, Relu, Gemm."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights, nodes = [], []
    names = iter(["input", "hidden", "active", "output"])
    source = next(names)
    for index, (w, b) in enumerate(layers):
        weights += [numpy_helper.from_array(a.astype(np.float32), f"{n}{index}") for n, a in (("W", w), ("b", b))]
        target = next(names)
        nodes.append(helper.make_node("Gemm", [source, f"W{index}", f"b{index}"], [target], transB=1))
        source = target
        if index == 0:
            source = next(names)
            nodes.append(helper.make_node("Relu", [target], [source]))
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 2]) for n in ("input", "output")]
    graph = helper.make_graph(nodes, "thermostat", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    network = fit()
    write(network, HERE / "thermostat.onnx")
    print(f"switches on below {switching_point(network, 0):.2f}, off above {switching_point(network, 1):.2f}")
