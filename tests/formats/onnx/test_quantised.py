"""Networks on a grid: what QuantizeLinear and DequantizeLinear mean, as onnxruntime has it, and in bounds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.formats.onnx.test_breadth import agree, exactly, node
from tests.formats.onnx.test_ops import f32, scalar
from tests.formats.samples import Array, compute, model, points, save
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.interpret import exact
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.value_sets import Range

STEP = 0.25  # a power of two: onnxruntime's quotients are exact, ties included


def pair(given: str, made: str, scale: str = "s", zero: str | None = "z", **attributes: int) -> list[onnx.NodeProto]:
    """To the grid and back."""
    more = [scale] if zero is None else [scale, zero]
    return [
        node("QuantizeLinear", [given, *more], f"{made}_q", **attributes),
        node("DequantizeLinear", [f"{made}_q", *more], made, **attributes),
    ]


def saved(nodes: list[onnx.NodeProto], tensors: Mapping[str, Array], folder: Path, opset: int = 13) -> Path:
    return save(model(nodes, tensors, opset=opset), folder)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("zero", [0, 3])
def test_a_pair_rounds_to_the_grid(kind: type[np.integer], zero: int, tmp_path: Path) -> None:
    """Halves to the even neighbour, and no further than the type goes."""
    tensors: dict[str, Array] = {"s": scalar(STEP), "z": np.array(zero, kind)}
    path = saved(pair("x", "y"), tensors, tmp_path)
    ties = STEP * np.array([[-2.5, -0.5, 0.5], [1.5, 2.5, 3.25], [-400, 400, 127.5]])
    agree(path, np.concatenate([ties, points(3, spread=20.0)]))


def test_without_a_zero_point_it_is_bytes_from_zero(tmp_path: Path) -> None:
    agree(saved(pair("x", "y", zero=None), {"s": scalar(STEP)}, tmp_path), points(3, spread=40.0))


def test_a_scale_for_each_channel(tmp_path: Path) -> None:
    tensors: dict[str, Array] = {"s": np.array([0.5, 0.25, 2], np.float32), "z": np.array([0, -4, 7], np.int8)}
    agree(saved(pair("x", "y", axis=1), tensors, tmp_path), points(3, spread=30.0))


def test_integers_may_be_moved(tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s"], "q"),
        node("Transpose", ["q"], "t", perm=[1, 0]),
        node("Reshape", ["t", "shape"], "r"),
        node("DequantizeLinear", ["r", "s"], "y"),
    ]
    agree(saved(nodes, {"s": scalar(STEP), "shape": np.array([1, 3])}, tmp_path), points(3, spread=9.0)[:1])


def quantised(folder: Path, seed: int = 0) -> Path:
    """Two layers with weights and biases of integers, and a grid between them, as exporters write it."""
    rng = np.random.default_rng(seed)
    nodes = [
        *pair("x", "a"),
        node("DequantizeLinear", ["W_q", "sw", "zw"], "W", axis=1),
        node("DequantizeLinear", ["b_q", "sb"], "b"),
        node("Gemm", ["a", "W", "b"], "c"),
        node("Relu", ["c"], "d"),
        *pair("d", "e"),
        *pair("V0", "V", scale="sv", zero="zv"),
        node("MatMul", ["e", "V"], "y"),
    ]
    tensors = {
        "s": scalar(STEP),
        "z": np.array(-8, np.int8),
        "W_q": rng.integers(-128, 128, (3, 4)).astype(np.int8),
        "sw": rng.uniform(0.01, 0.1, 4).astype(np.float32),
        "zw": np.zeros(4, np.int8),
        "b_q": rng.integers(-999, 999, 4).astype(np.int32),
        "sb": scalar(0.01),
        "V0": f32(4, 2),
        "sv": scalar(0.125),
        "zv": np.array(0, np.int8),
    }
    return saved(nodes, tensors, folder)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_contain_every_value(seed: int, tmp_path: Path) -> None:
    """On boxes of any size, values in exact arithmetic at random points and at corners."""
    network = read_network(quantised(tmp_path, seed))
    rng = np.random.default_rng(seed)
    for radius in (1e-9, 0.1, 1.0, 30.0):
        centre = rng.normal(size=3)
        low, high = centre - radius, centre + radius
        ranges = Linear({network.inputs: Range(low[None], high[None])}).range(network.output)
        for _ in range(20):
            at = np.where(rng.random(3) < 0.3, rng.choice([0.0, 1.0], 3), rng.random(3))
            point = np.clip(low + at * (high - low), low, high)
            (values,) = exact.evaluate([network.output], {network.inputs: tuple(map(Fraction, point.tolist()))})
            assert isinstance(values, tuple)
            for value, least, most in zip(values, ranges.lower[0].tolist(), ranges.upper[0].tolist(), strict=True):
                assert isinstance(value, Fraction)
                assert least <= value <= most


def test_a_quantised_network(tmp_path: Path) -> None:
    path = quantised(tmp_path)
    network = read_network(path)
    xs = points(3, spread=3.0)
    agree(path, xs)
    np.testing.assert_allclose([exactly(network, x) for x in xs[:3]], compute(network, xs[:3]), atol=1e-9)


@pytest.mark.parametrize(
    ("nodes", "tensors", "error", "words"),
    [
        (pair("x", "y"), {"s": scalar(0.0), "z": np.array(0, np.int8)}, FormatError, "not positive"),
        (pair("x", "y"), {"s": f32(2), "z": np.array(0, np.int8)}, FormatError, "zero point"),
        (pair("x", "y"), {"s": scalar(1.0), "z": np.array(0, np.int32)}, UnsupportedOperator, "uint8"),
        (
            [node("DequantizeLinear", ["half", "s"], "h"), node("Add", ["x", "h"], "y")],
            {"s": scalar(1.0), "half": scalar(0.5)},
            FormatError,
            "wants integers",
        ),
        (  # 200 + 100 is 44 among bytes
            [node("QuantizeLinear", ["x", "s"], "q"), node("Add", ["q", "q"], "y")],
            {"s": scalar(1.0)},
            UnsupportedOperator,
            "wrap around",
        ),
        (
            [node("Mul", ["c", "c"], "d"), node("DequantizeLinear", ["d", "s"], "e"), node("Add", ["x", "e"], "y")],
            {"s": scalar(1.0), "c": np.array([20, 100, 3], np.uint8)},
            UnsupportedOperator,
            "wrap around",
        ),
        (
            [helper.make_node("MatMulInteger", ["x", "W"], ["y"], name="it")],
            {"W": np.ones((3, 2), np.int8)},
            UnsupportedOperator,
            "DequantizeLinear",
        ),
    ],
)
def test_what_is_not_read_is_refused_with_a_reason(
    nodes: list[onnx.NodeProto], tensors: Mapping[str, Array], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        read_network(saved(nodes, tensors, tmp_path))
