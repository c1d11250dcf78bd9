"""Smooth activations and layer normalisation: against onnxruntime, in exact arithmetic, and within their bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import vernal as vn
from tests.formats.onnx.test_breadth import agree, exactly
from tests.formats.onnx.test_ops import f32
from tests.formats.samples import Array, compute, model, points, save
from vernal.errors import FormatError
from vernal.formats.networks import read_network
from vernal.interpret import interval
from vernal.interpret.numbers.rounding import Backend
from vernal.interpret.value_sets import Range, as_range


def sample(
    folder: Path, op: str, *more: str, opset: int, shape: Any = ("N", 4), tensors: Any = None, **given: Any
) -> Path:
    node = helper.make_node(op, ["x", *more], ["y"], **given)
    return save(model([node], tensors, opset=opset, shape=shape, rank=len(shape)), folder)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("op", "opset", "attributes"),
    [("Gelu", 20, {"approximate": "tanh"}), ("Gelu", 20, {}), ("Mish", 18, {}), ("Erf", 13, {})],
)
def test_activations_agree_with_onnxruntime(op: str, opset: int, attributes: dict[str, Any], tmp_path: Path) -> None:
    agree(sample(tmp_path, op, opset=opset, **attributes), points(4, spread=6.0))


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 24, reason="needs an onnx that knows operator set 24 (1.19)")
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_swish(alpha: float, tmp_path: Path) -> None:
    """onnxruntime has no Swish in these versions."""
    network, xs = read_network(sample(tmp_path, "Swish", opset=24, alpha=alpha)), points(4, spread=6.0)
    np.testing.assert_allclose(compute(network, xs), xs * sigmoid(alpha * xs), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(exactly(network, xs[1]), xs[1] * sigmoid(alpha * xs[1]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "axis", "inside", "offset"),
    [(("N", 4), -1, (4,), True), (("N", 2, 3), -1, (3,), False), (("N", 2, 3), 1, (2, 3), True)],
)
def test_layer_normalisation(shape: Any, axis: int, inside: tuple[int, ...], offset: bool, tmp_path: Path) -> None:
    tensors = {"scale": f32(*inside)} | ({"offset": f32(*inside)} if offset else {})
    path = sample(
        tmp_path, "LayerNormalization", *tensors, opset=17, shape=shape, tensors=tensors, axis=axis, epsilon=0.01
    )
    agree(path, points(int(np.prod(shape[1:]))), tolerance=1e-5)


@pytest.mark.parametrize("op", ["Gelu", "Gelu-tanh", "Erf", "Mish", "Softplus", "Elu", "LayerNormalization"])
def test_bounds_contain_what_is_computed(op: str, tmp_path: Path) -> None:
    tensors = {"scale": f32(4)} if op == "LayerNormalization" else {}
    given = {"approximate": "tanh"} if op == "Gelu-tanh" else {}
    network = read_network(sample(tmp_path, op.split("-")[0], *tensors, opset=20, tensors=tensors, **given))
    random = np.random.default_rng(0)
    for _ in range(20):
        ends = np.sort(random.uniform(-4, 4, (2, 4)), axis=0)
        (value,) = interval.evaluate([network.output], {network.inputs: Range(ends[:1], ends[1:])})
        bounds, inside = as_range(Backend(None), value), compute(network, random.uniform(ends[0], ends[1], (200, 4)))
        assert (bounds.lower <= inside.min(axis=0)).all()
        assert (inside.max(axis=0) <= bounds.upper).all()


def test_another_form_of_gelu_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="none or tanh"):
        read_network(sample(tmp_path, "Gelu", opset=20, approximate="sine"))


def test_a_claim_about_a_smooth_policy_is_decided(tmp_path: Path) -> None:
    """x' = x / 2 + silu(x) / 10: within [-1, 1] the states shrink."""
    network = read_network(sample(tmp_path, "Gelu", opset=20, shape=("N", 1), approximate="tanh"))
    loop = vn.System(
        state={"x": vn.real()},
        init={"x": vn.interval(-1, 1)},
        agents={"push": vn.agent(network, observe=lambda s: [s.x], act="raw")},
        step=lambda s: {"x": s.x / 2 + s.push / 10},
    )
    assert vn.check(loop, "G[0,5] (x <= 1)").verdict is vn.HOLDS
    assert vn.check(loop, "X[1] (x <= 0.58)").verdict is vn.VIOLATED
