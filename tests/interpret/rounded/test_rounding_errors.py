"""What onnxruntime computes in 32 bits is never further from the exact value than the analysis says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import onnx
import pytest
from flint import arb
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from vernal.errors import InputError, UnsupportedOperator
from vernal.formats.onnx.reader import parse_onnx
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.interpret.numbers import reals
from vernal.interpret.rounded.float_formats import FLOAT16, FLOAT32, deployment
from vernal.interpret.rounded.rounding_errors import ACTIVATION_UNITS, rounding_errors
from vernal.model.expr import Expr, Function
from vernal.model.network import MERGED, Network

ort = pytest.importorskip("onnxruntime")
FLOAT = TensorProto.FLOAT
RADIUS = 2.0
ACTIVATIONS = ("Relu", "LeakyRelu", "Tanh", "Sigmoid")
Array = NDArray[np.float64]


def made_of(nodes: list[onnx.NodeProto], constants: dict[str, Array], inputs: int, outputs: int) -> bytes:
    given = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()]
    ends = [helper.make_tensor_value_info(n, FLOAT, [1, k]) for n, k in (("x", inputs), ("y", outputs))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def stack(seed: int) -> bytes:
    """Layers of random sizes, some with weights of very different sizes that cancel, after a normalisation."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(2, 12, rng.integers(2, 5))]
    constants = {"mean": rng.normal(size=(1, sizes[0])), "spread": rng.uniform(0.1, 9.0, (1, sizes[0]))}
    nodes = [helper.make_node("Sub", ["x", "mean"], ["s"]), helper.make_node("Div", ["s", "spread"], ["h0"])]
    for place, (n, m) in enumerate(pairwise(sizes)):
        weight = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-4, 4, (n, m))
        if place % 2:
            weight[1] = -weight[0]  # large terms that cancel
        constants |= {f"W{place}": weight, f"b{place}": rng.normal(size=m)}
        last = place == len(sizes) - 2
        whole = "y" if last else f"z{place}"
        if rng.integers(2):
            nodes.append(helper.make_node("Gemm", [f"h{place}", f"W{place}", f"b{place}"], [whole]))
        else:
            nodes.append(helper.make_node("MatMul", [f"h{place}", f"W{place}"], [f"p{place}"]))
            nodes.append(helper.make_node("Add", [f"p{place}", f"b{place}"], [whole]))
        if not last:
            nodes.append(helper.make_node(str(rng.choice(ACTIVATIONS)), [whole], [f"h{place + 1}"]))
    return made_of(nodes, constants, sizes[0], sizes[-1])


def points(network: Network, seed: int) -> Iterator[Array]:
    """Random ones, corners, numbers halfway between two floats, tiny ones."""
    rng, n = np.random.default_rng(seed), network.input_size
    halfway = 2.0**-24
    yield from rng.uniform(-RADIUS, RADIUS, (6, n))
    yield from rng.choice([-RADIUS, RADIUS], (4, n))
    yield from 1.0 + halfway * rng.choice([-1.0, 1.0, 3.0], (4, n))
    yield from rng.choice([1e-39, -1e-44, 2.0**-126, 0.0], (3, n))


def exact_output(network: Network, x: Array) -> list[tuple[float, float]]:
    """Floats around each output in real numbers."""
    given: dict[Expr, Given] = {network.inputs: tuple(Fraction(float(value)) for value in x)}
    (values,) = exact.evaluate([network.output], given, {}, 200)
    assert isinstance(values, tuple)
    ends = [reals.ends(value) if isinstance(value, arb) else (value, value) for value in values]
    return [(float(low), float(high)) for low, high in ends]  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_onnxruntime_is_never_outside(seed: int) -> None:
    data = stack(seed)
    network = parse_onnx(data, "net")
    box = (np.full(network.input_size, -RADIUS), np.full(network.input_size, RADIUS))
    (errors,) = rounding_errors(network, box, {}, deployment("float32"))
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert MERGED not in network.operators
    assert np.isfinite(errors).all()
    for x in points(network, seed):
        (computed,) = session.run(None, {"x": x.astype(np.float32)[None]})
        for (low, high), got, error in zip(exact_output(network, x), computed[0].tolist(), errors, strict=True):
            assert low - error <= got <= high + error


@pytest.mark.parametrize(("name", "function"), [("Tanh", Function.TANH), ("Sigmoid", Function.SIGMOID)])
def test_activations_are_within_what_is_trusted(name: str, function: Function) -> None:
    """By three quarters at most, at 400,000 points of all sizes."""
    data = made_of([helper.make_node(name, ["x"], ["y"])], {}, 200_000, 200_000)
    rng = np.random.default_rng(5)
    spread = (10.0 ** rng.uniform(-20, 2, 200_000) * rng.choice([-1, 1], 200_000)).astype(np.float32)
    even = np.linspace(-30, 30, 200_000, dtype=np.float32)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    for x in (spread, even):
        (computed,) = session.run(None, {"x": x[None]})
        true = np.tanh(x, dtype=np.float64) if name == "Tanh" else 1 / (1 + np.exp(-x.astype(np.float64)))
        units = abs(computed[0] - true).max() / FLOAT32.unit
        assert 0 < units < ACTIVATION_UNITS[function] * 0.75


def test_what_is_lost_by_cancelling_is_counted() -> None:
    """1e6 is added and taken away again: half a unit of it is lost, however small the result."""
    nodes = [helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Sub", ["s", "c"], ["y"])]
    data = made_of(nodes, {"c": np.array([[1e6]])}, 1, 1)
    network = parse_onnx(data, "net")
    (errors,) = rounding_errors(network, (-np.ones(1), np.ones(1)), {}, deployment("float32"))
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    (computed,) = session.run(None, {"x": np.array([[0.02]], dtype=np.float32)})
    assert abs(computed[0, 0] - 0.02) > 1e-3
    assert abs(computed[0, 0] - 0.02) <= errors[0] < 1


def test_what_may_overflow_is_not_bounded() -> None:
    data = made_of([helper.make_node("MatMul", ["x", "W"], ["y"])], {"W": np.array([[60000.0]])}, 1, 1)
    network, box = parse_onnx(data, "net"), (-np.ones(1) * 2, np.ones(1) * 2)
    assert np.isfinite(rounding_errors(network, box, {}, deployment("float32"))[0]).all()
    assert math.isinf(rounding_errors(network, box, {}, deployment("float16"))[0][0])


def test_a_coarser_format_is_further_off() -> None:
    network = parse_onnx(stack(3), "net")
    box = (-np.ones(network.input_size), np.ones(network.input_size))
    fine, coarse = (rounding_errors(network, box, {}, deployment(name))[0] for name in ("float32", "bfloat16"))
    assert (fine * 1000 < coarse).all()


@pytest.mark.parametrize(
    ("nodes", "constants", "merged"),
    [
        ([("Gemm", ["x", "W", "b"], ["z"]), ("Add", ["z", "b"], ["y"])], "W b", True),
        ([("MatMul", ["x", "W"], ["z"]), ("Add", ["z", "b"], ["y"])], "W b", False),
        ([("MatMul", ["x", "W"], ["z"]), ("Mul", ["z", "b"], ["y"])], "W b", True),
        ([("Add", ["b", "b"], ["c"]), ("Sub", ["x", "c"], ["y"])], "b", True),
    ],
)
def test_what_is_read_as_one_is_said(
    nodes: list[tuple[str, list[str], list[str]]], constants: str, merged: bool
) -> None:
    known = {"W": np.eye(2) * 3, "b": np.array([0.5, 1.5])}
    data = made_of([helper.make_node(*node) for node in nodes], {one: known[one] for one in constants.split()}, 2, 2)
    assert (MERGED in parse_onnx(data, "net").operators) is merged


def test_other_operators_are_refused() -> None:
    network = parse_onnx(made_of([helper.make_node("Sin", ["x"], ["y"])], {}, 1, 1), "net")
    with pytest.raises(UnsupportedOperator, match="sin"):
        rounding_errors(network, (-np.ones(1), np.ones(1)), {}, deployment("float32"))


def test_formats() -> None:
    assert FLOAT32.holds(np.array([0.1, -3e5], dtype=np.float32).astype(np.float64))
    assert not FLOAT32.holds(np.array([0.1]))
    assert not FLOAT16.holds(np.array([2.0**-20]))  # subnormal: it may be flushed
    with pytest.raises(InputError, match="float32"):
        deployment("float8")
