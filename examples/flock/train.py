"""Train the policy of this example: keeper.onnx, one attention head over two neighbours.

    python -m examples.flock.train            # from the root of the checkout, some seconds

Each neighbour is a token: how far ahead it is, lifted into two numbers. One head mixes the tokens, the nearer one
counts more, and a small layer makes a speed of their mean. Least squares in numpy and scipy, from a fixed seed, of a
rule of thumb: away from whoever is near.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from scipy.optimize import least_squares

HERE = Path(__file__).parent
SEED, SAMPLES, RIDGE, WIDTH = 5, 400, 0.1, 6
SHAPES = {
    **{"E": (1, 2), "e": (2,), "Q": (2, 2), "K": (2, 2), "V": (2, 2)},
    **{"W1": (2, WIDTH), "b1": (WIDTH,), "W2": (WIDTH, 1), "b2": (1,)},
}
RESHAPED, SPAN = (1, 2, 1), 2.0  # tokens of one number; how far away neighbours are at most

Array = NDArray[np.float64]


def teacher(seen: Array) -> Array:
    """The speed: away from each neighbour, the faster the nearer it is."""
    return np.asarray(np.clip(-np.sign(seen) * np.exp(-2.0 * np.abs(seen)), -1, 1).sum(axis=1))


def parts(flat: Array) -> dict[str, Array]:
    """The weights by name."""
    ends = np.cumsum([np.prod(shape) for shape in SHAPES.values()])[:-1]
    return {name: part.reshape(shape) for (name, shape), part in zip(SHAPES.items(), np.split(flat, ends), strict=True)}


def speed(weights: dict[str, Array], seen: Array) -> Array:
    """What the network computes."""
    tokens = seen[:, :, None] @ weights["E"] + weights["e"]
    query, key, value = (tokens @ weights[name] for name in "QKV")
    scores = query @ key.swapaxes(1, 2)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    mixed = (shares / shares.sum(axis=2, keepdims=True)) @ value
    hidden = np.maximum(mixed.mean(axis=1) @ weights["W1"] + weights["b1"], 0.0)
    return np.asarray((hidden @ weights["W2"] + weights["b2"])[:, 0])


def train() -> dict[str, Array]:
    rng = np.random.default_rng(SEED)
    seen = rng.uniform(-SPAN, SPAN, (SAMPLES, 2))
    wanted = teacher(seen)

    def missed(flat: Array) -> Array:
        return np.concatenate([speed(parts(flat), seen) - wanted, RIDGE * flat])

    size = sum(int(np.prod(shape)) for shape in SHAPES.values())
    best = min((least_squares(missed, rng.normal(size=size), max_nfev=200) for _ in range(4)), key=lambda one: one.cost)
    return parts(best.x)


def save(weights: dict[str, Array], path: Path = HERE / "keeper.onnx") -> None:
    stored = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    stored.append(numpy_helper.from_array(np.array(RESHAPED, dtype=np.int64), "tokens"))
    nodes = [
        helper.make_node("Reshape", ["input", "tokens"], ["t"]),
        helper.make_node("MatMul", ["t", "E"], ["lifted"]),
        helper.make_node("Add", ["lifted", "e"], ["x"]),
        *(helper.make_node("MatMul", ["x", name], [name.lower() + "x"]) for name in "QKV"),
        helper.make_node("Transpose", ["kx"], ["keys"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["qx", "keys"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "vx"], ["mixed"]),
        helper.make_node("ReduceMean", ["mixed"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Gemm", ["mean", "W1", "b1"], ["z"]),
        helper.make_node("Relu", ["z"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "W2", "b2"], ["output"]),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, k]) for n, k in (("input", 2), ("output", 1))]
    graph = helper.make_graph(nodes, "keeper", ports[:1], ports[1:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


if __name__ == "__main__":
    save(train())
