"""Feed-forward networks that learn by plain numpy, and their files; the benchmarks make theirs with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[np.float64]
Layers = list[tuple[Floats, Floats]]  # weights (outputs x inputs) and biases, first layer first
Sample = Callable[[np.random.Generator, int], tuple[Floats, Floats]]  # so many inputs and what is wanted there


def _relu(value: Floats) -> Floats:
    return np.maximum(value, 0.0)


def _tanh(value: Floats) -> Floats:
    return np.asarray(np.tanh(value))


def _sigmoid(value: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(value / 2)))


# By the ONNX operator: the function, and its slope as a function of its value.
FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {"Relu": _relu, "Tanh": _tanh, "Sigmoid": _sigmoid}
SLOPES: dict[str, Callable[[Floats], Floats]] = {
    "Relu": lambda y: (y > 0).astype(float),
    "Tanh": lambda y: 1 - y**2,
    "Sigmoid": lambda y: y * (1 - y),
}


def forward(layers: Layers, inputs: Floats, function: str) -> list[Floats]:
    """The inputs, the activations of every hidden layer, and the outputs."""
    found = [inputs]
    for number, (weight, bias) in enumerate(layers):
        value = found[-1] @ weight.T + bias
        found.append(value if number == len(layers) - 1 else FUNCTIONS[function](value))
    return found


def begin(sizes: Sequence[int], rng: np.random.Generator, gain: float) -> Layers:
    """Random weights that keep the size of what passes, no biases."""
    return [(rng.normal(size=(m, n)) * np.sqrt(gain / n), np.zeros(m)) for n, m in pairwise(sizes)]


def gradients(layers: Layers, inputs: Floats, wanted: Floats, function: str) -> list[Floats]:
    """Of the mean square error, weights and biases in turn, first layer first."""
    values = forward(layers, inputs, function)
    return backward(layers, values, 2 * (values[-1] - wanted) / len(inputs), function)


def backward(layers: Layers, values: list[Floats], slope: Floats, function: str) -> list[Floats]:
    """The slope of a loss by weights and biases in turn, first layer first, from its slope by the outputs."""
    back, found = slope, list[Floats]()
    for (weight, _), below in zip(reversed(layers), reversed(values[:-1]), strict=True):
        found += [back.sum(axis=0), back.T @ below]
        back = (back @ weight) * SLOPES[function](below)
    return found[::-1]


@dataclass(frozen=True)
class Training:
    """Adam with a step that shrinks to nothing; weights stay within [-most, most]."""

    steps: int
    batch: int = 512
    rate: float = 3e-3
    pool: int = 200_000  # samples that batches are drawn from
    most: float = np.inf
    decay: float = 0.0  # of weights and biases, relative to the step

    def __call__(self, sizes: Sequence[int], function: str, sample: Sample, seed: int) -> Layers:
        rng = np.random.default_rng(seed)
        layers = begin(sizes, rng, 2.0 if function == "Relu" else 1.0)
        inputs, wanted = sample(rng, self.pool)
        flat = [array for layer in layers for array in layer]
        mean, square = ([np.zeros_like(array) for array in flat] for _ in range(2))
        for step in range(1, self.steps + 1):
            chosen = rng.integers(self.pool, size=self.batch)
            slopes = gradients(layers, inputs[chosen], wanted[chosen], function)
            rate = self.rate * 0.5 * (1 + np.cos(np.pi * step / self.steps))
            for array, slope, m, v in zip(flat, slopes, mean, square, strict=True):
                m += 0.1 * (slope - m)
                v += 0.001 * (slope**2 - v)
                array -= rate * (m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8) + self.decay * array)
                np.clip(array, -self.most, self.most, out=array)
        return layers


def onnx_chain(layers: Layers, function: str, name: str, rows: int | str = 1, given: str = "X") -> bytes:
    """A file: a chain of Gemm and the function, weights as float32; `given` is the name of its input."""
    nodes, tensors, below = [], [], given
    for number, (weight, bias) in enumerate(layers):
        last = number == len(layers) - 1
        above = "Y" if last else f"z{number}"
        arrays = {f"W{number}": weight, f"b{number}": bias}
        tensors += [numpy_helper.from_array(array.astype(np.float32), key) for key, array in arrays.items()]
        nodes.append(helper.make_node("Gemm", [below, f"W{number}", f"b{number}"], [above], transB=1))
        below = above
        if not last:
            nodes.append(helper.make_node(function, [above], [f"h{number}"]))
            below = f"h{number}"
    sizes = {given: layers[0][0].shape[1], "Y": layers[-1][0].shape[0]}
    ends = {key: helper.make_tensor_value_info(key, TensorProto.FLOAT, [rows, size]) for key, size in sizes.items()}
    graph = helper.make_graph(nodes, name, [ends[given]], [ends["Y"]], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model, full_check=True)
    written: bytes = model.SerializeToString(deterministic=True)
    return written
