"""Every ONNX operator Vernal reads, in the operator sets that changed it, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.formats.samples import Array, compute, model, points, reference, save
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.formats.onnx.convolutions import CONVOLUTIONS
from vernal.formats.onnx.ops import OPERATORS
from vernal.formats.onnx.trees import TREES
from vernal.formats.onnx.windows import WINDOW_OPERATORS
from vernal.interpret.linear.bounds import bounds
from vernal.interpret.value_sets import Range, Value
from vernal.model.agent import make_agent, output_var
from vernal.model.expr import Add, Affine, Const, Expr, Gather, LeakyRelu, Mul
from vernal.model.graph import order

RANDOM = np.random.default_rng(3)


def f32(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def i64(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


def scalar(value: float) -> Array:
    return np.array(value, dtype=np.float32)


@dataclass(frozen=True)
class Case:
    """One node (or a few) from x to y."""

    op: str
    opset: int = 13
    shape: Sequence[int | str] = ("N", 3)
    more: Sequence[str] = ()
    tensors: Mapping[str, Array] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    first: Sequence[str] = ("x",)
    rank: int = 2

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"{self.op}-{self.opset}-{shape}-{','.join([*self.more, *map(str, self.attributes)])}"


CUBE = ("N", 2, 3)
CASES = [
    *(Case(op, opset) for op in ("Relu", "Abs", "Neg", "Sigmoid", "Tanh") for opset in (6, 13, 21)),
    Case("Atan", 7),
    Case("Gemm", 7, tensors={"W": f32(3, 4), "b": f32(4)}, more=("W", "b")),
    Case("Gemm", 9, tensors={"W": f32(4, 3), "b": f32(1, 4)}, more=("W", "b"), attributes={"transB": 1}),
    Case("Gemm", 13, tensors={"W": f32(3, 4)}, more=("W",), attributes={"alpha": 0.3}),
    Case("Gemm", 13, tensors={"W": f32(3, 4), "b": f32(1)}, more=("W", "b"), attributes={"alpha": 0.3, "beta": 0.7}),
    Case("MatMul", 9, tensors={"W": f32(3, 4)}, more=("W",)),
    Case("MatMul", 13, CUBE, tensors={"W": f32(3, 4)}, more=("W",), rank=3),
    Case("MatMul", 13, CUBE, tensors={"W": f32(5, 2)}, first=("W",), more=("x",), rank=3),
    Case("MatMul", 13, (3,), tensors={"W": f32(4, 3)}, first=("W",), more=("x",), rank=1),
    Case("MatMul", 13, (3,), tensors={"W": f32(3, 4)}, more=("W",), rank=1),
    Case("MatMul", 13, CUBE, tensors={"w": f32(3)}, more=("w",)),
    *(Case(op, 7, tensors={"c": f32(3)}, more=("c",)) for op in ("Add", "Sub", "Mul", "Div")),
    *(Case(op, 14, CUBE, tensors={"c": f32(2, 1)}, more=("c",), rank=3) for op in ("Add", "Sub", "Mul", "Div")),
    *(Case(op, 13, ("N", 1), tensors={"c": f32(1, 4)}, more=("c",)) for op in ("Add", "Sub", "Mul", "Div")),
    *(Case(op, 13, tensors={"c": scalar(1.7)}, first=("c",), more=("x",)) for op in ("Add", "Sub", "Mul")),
    Case("Div", 13, tensors={"c": scalar(4.0)}, more=("c",)),
    Case("Add", 13, more=("x",)),
    Case("Sub", 13, more=("x",)),
    Case("LeakyRelu", 6),
    Case("LeakyRelu", 16, attributes={"alpha": 0.3}),
    Case("PRelu", 7, tensors={"s": f32(3)}, more=("s",)),
    Case("PRelu", 16, CUBE, tensors={"s": f32(2, 1)}, more=("s",), rank=3),
    Case("Shrink", 9, attributes={"lambd": 1.0}),
    Case("Shrink", 9, attributes={"lambd": 1.0, "bias": 1.0}),
    Case("Shrink", 9, attributes={"lambd": 1.0, "bias": 0.25}),
    *(Case(op, opset, tensors={"c": f32(3)}, more=("c",)) for op in ("Max", "Min") for opset in (8, 13)),
    Case("Max", 13, tensors={"c": f32(3), "d": scalar(0.5)}, more=("c", "d")),
    Case("Min", 13),
    Case("Clip", 6, attributes={"min": -1.0, "max": 1.5}),
    Case("Clip", 6, attributes={"max": 0.5}),
    Case("Clip", 11, tensors={"lo": scalar(0.0)}, more=("lo",)),
    Case("Clip", 13, tensors={"hi": scalar(0.5)}, more=("", "hi")),
    Case("Clip", 13, tensors={"lo": scalar(1.0), "hi": scalar(-1.0)}, more=("lo", "hi")),
    Case("HardSigmoid", 6),
    Case("HardSwish", 14),
    Case("Elu", 6),
    Case("Elu", 22, attributes={"alpha": 0.3}),
    Case("Softplus", 6),
    Case("Softplus", 22),
    Case("HardSigmoid", 22, attributes={"alpha": 0.3, "beta": 0.4}),
    Case("Flatten", 9, CUBE),
    Case("Flatten", 13, CUBE, attributes={"axis": -1}),
    Case("Reshape", 7, CUBE, tensors={"s": i64(0, -1)}, more=("s",)),
    Case("Reshape", 14, CUBE, tensors={"s": i64(1, 3, 2)}, more=("s",), rank=3, attributes={"allowzero": 1}),
    Case("Transpose", 6, CUBE, attributes={"perm": [0, 2, 1]}, rank=3),
    Case("Transpose", 13, CUBE, rank=3),
    Case("Squeeze", 11, ("N", 1, 3), attributes={"axes": [1]}),
    Case("Squeeze", 13, ("N", 1, 3), tensors={"a": i64(-2)}, more=("a",)),
    Case("Squeeze", 13, (1, 1, 3), rank=1),
    Case("Unsqueeze", 11, attributes={"axes": [1]}, rank=3),
    Case("Unsqueeze", 13, tensors={"a": i64(-1)}, more=("a",), rank=3),
    Case("Concat", 6, tensors={"c": f32(1, 2)}, first=("c",), more=("x", "x"), attributes={"axis": 1}, shape=(1, 3)),
    Case("Concat", 13, CUBE, more=("x",), attributes={"axis": -1}, rank=3),
    Case("Concat", 13, CUBE, more=("x",), attributes={"axis": 1}, rank=3),
    Case("Slice", 9, attributes={"starts": [1], "ends": [9], "axes": [1]}),
    Case("Slice", 10, CUBE, tensors={"s": i64(0, -1), "e": i64(2, -9), "a": i64(1, 2), "t": i64(1, -2)},
         more=("s", "e", "a", "t"), rank=3),
    Case("Slice", 13, tensors={"s": i64(0), "e": i64(-1), "a": i64(1)}, more=("s", "e", "a")),
    Case("Gather", 11, tensors={"i": i64(2, 0, -1, 2)}, more=("i",), attributes={"axis": 1}),
    Case("Gather", 13, CUBE, tensors={"i": np.array(1)}, more=("i",), attributes={"axis": 1}),
    Case("Identity", 13),
    Case("Cast", 9, attributes={"to": 1}),
    Case("Dropout", 7, attributes={"ratio": 0.5}),
    Case("Dropout", 13),
    Case("BatchNormalization", 9, tensors={"g": f32(3), "b": f32(3), "m": f32(3), "v": abs(f32(3))},
         more=("g", "b", "m", "v")),
    Case("BatchNormalization", 15, CUBE, tensors={"g": f32(2), "b": f32(2), "m": f32(2), "v": abs(f32(2))},
         more=("g", "b", "m", "v"), attributes={"epsilon": 0.01}, rank=3),
    Case("Mul", 14, more=("x",)),
    Case("Expand", 13, tensors={"s": i64(2, 3)}, more=("s",)),
    Case("Expand", 13, (1, 3, 1), tensors={"s": i64(1, 1, 2)}, more=("s",), rank=3),
    Case("Conv", 11, (1, 1, 1, 3), tensors={"W": f32(4, 1, 1, 3), "b": f32(4)}, more=("W", "b"), rank=4),
    Case("Einsum", 12, tensors={"W": f32(4, 3)}, first=("W",), more=("x",), attributes={"equation": "ij,bj->bi"}),
    Case("Einsum", 12, CUBE, tensors={"W": f32(3, 2)}, more=("W",), attributes={"equation": "bij, ji -> ib"}),
    Case("Einsum", 20, CUBE, tensors={"W": f32(4)}, more=("W",), attributes={"equation": "bij,k->kb"}),
    Case("Einsum", 20, ("N", 3, 3), tensors={"W": f32(3)}, more=("W",), attributes={"equation": "bii,i->bi"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator_agrees_with_onnxruntime(case: Case, tmp_path: Path) -> None:
    node = helper.make_node(case.op, [*case.first, *case.more], ["y"], name="it", **case.attributes)
    made = model([node], case.tensors, opset=case.opset, shape=case.shape, rank=case.rank)
    path = save(made, tmp_path)
    network = read_network(path)
    xs = points(network.input_size)
    expected = reference(path, xs)
    assert network.output_size == expected.shape[1]
    np.testing.assert_allclose(compute(network, xs), expected, rtol=2e-6, atol=2e-6)


def test_every_operator_has_a_case() -> None:
    elsewhere = {"Constant", "Softmax", "LogSoftmax"}
    elsewhere |= {"ConstantOfShape", "GRU", "LSTM", "RNN", "Shape", "Split"}  # in test_recurrent.py
    elsewhere |= set(WINDOW_OPERATORS) | set(CONVOLUTIONS)  # in test_windows.py
    elsewhere |= set(TREES)  # in test_trees.py
    elsewhere |= {"Erf", "Gelu", "LayerNormalization", "Mish", "Swish"}  # in test_activations.py
    assert {case.op for case in CASES} | elsewhere | BREADTH == set(OPERATORS)  # the last in test_breadth.py


BREADTH = {
    *("And", "Ceil", "Celu", "Cos", "DepthToSpace", "Equal", "Exp", "Floor", "Greater", "GreaterOrEqual", "Less"),
    *(
        "DequantizeLinear",
        "QuantizeLinear",
        "LessOrEqual",
        "Log",
        "Mean",
        "Not",
        "Or",
        "Pad",
        "Pow",
        "Reciprocal",
        "Resize",
        "Round",
        "Selu",
        "Sign",
        "Sin",
    ),
    *("Softsign", "SpaceToDepth", "Sqrt", "Sum", "Tan", "ThresholdedRelu", "Tile", "Upsample", "Where"),
}


def one(tmp_path: Path, op: str, *more: str, opset: int = 13, tensors: Mapping[str, Array] | None = None,
        shape: Sequence[int | str] = ("N", 3), **attributes: Any) -> Path:  # fmt: skip
    node = helper.make_node(op, ["x", *more], ["y"], name="it", **attributes)
    return save(model([node], tensors, opset=opset, shape=shape), tmp_path)


# Old operator sets that onnxruntime no longer runs --------------------------------------------------------------------


def test_old_broadcast_along_an_axis(tmp_path: Path) -> None:
    tensors = {"c": f32(2)}
    path = one(tmp_path, "Add", "c", opset=6, tensors=tensors, shape=(1, 2, 3), broadcast=1, axis=1)
    network, xs = read_network(path), points(6)
    np.testing.assert_array_equal(compute(network, xs), xs + np.repeat(tensors["c"], 3).astype(np.float64))


def test_old_prelu_has_a_slope_for_each_channel(tmp_path: Path) -> None:
    tensors = {"s": f32(2)}
    network = read_network(one(tmp_path, "PRelu", "s", opset=6, tensors=tensors, shape=(1, 2, 3)))
    xs = points(6)
    slopes = np.repeat(tensors["s"], 3).astype(np.float64)
    np.testing.assert_array_equal(compute(network, xs), np.where(xs >= 0, xs, slopes * xs))


def test_gemm_of_a_tensor_of_rank_four(tmp_path: Path) -> None:
    tensors = {"W": f32(4, 3), "b": f32(4)}
    path = one(tmp_path, "Gemm", "W", "b", opset=6, tensors=tensors, shape=(1, 1, 1, 3), transB=1, broadcast=1)
    xs = points(3)
    np.testing.assert_allclose(compute(read_network(path), xs), xs @ tensors["W"].T + tensors["b"], rtol=1e-12)


# Exactness ------------------------------------------------------------------------------------------------------------


def test_attributes_are_float32_numbers(tmp_path: Path) -> None:
    network = read_network(one(tmp_path, "LeakyRelu"))
    assert isinstance(network.output, LeakyRelu)
    assert network.output.slopes == (Fraction(float(np.float32(0.01))),)


def test_bias_joins_its_weights(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node("Add", ["b", "z"], ["y"])]
    tensors = {"W": f32(3, 2), "b": f32(2)}
    network = read_network(save(model(nodes, tensors), tmp_path))
    assert isinstance(network.output, Affine)
    assert network.output.args == (network.inputs,)
    np.testing.assert_array_equal(network.output.bias.array, tensors["b"].astype(np.float64))


def test_a_sum_that_would_round_stays_a_sum(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gemm", ["x", "W", "b"], ["z"]), helper.make_node("Add", ["z", "c"], ["y"])]
    tensors = {"W": f32(3, 1), "b": np.array([1e20], np.float32), "c": np.array([1e-20], np.float32)}
    network = read_network(save(model(nodes, tensors), tmp_path))
    assert isinstance(network.output, Add)
    constant = network.output.args[1]
    assert isinstance(constant, Const)
    assert constant.values == (Fraction(float(np.float32(1e-20))),)


def test_factors_join_float32_weights_but_not_float64_ones(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node("Mul", ["z", "c"], ["y"])]
    for kind, expected in ((np.float32, Affine), (np.float64, Mul)):
        tensors = {"W": np.array([[0.1], [0.2], [0.3]], kind), "c": np.array([0.7], kind)}
        network = read_network(save(model(nodes, tensors), tmp_path))
        assert isinstance(network.output, expected)
    assert isinstance(network.output.args[1], Const)


def test_constants_meet_constants_exactly(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["third"], value_float=3.0),
        helper.make_node("Div", ["one", "third"], ["c"]),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    network = read_network(save(model(nodes, {"one": scalar(1.0)}), tmp_path))
    values = [node.values for node in order([network.output]) if isinstance(node, Const)]
    assert values == [(Fraction(1, 3),)]


def test_moves_collapse_into_one(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Reshape", ["t", "s"], ["r"]),
        helper.make_node("Gather", ["r", "i"], ["y"], axis=1),
    ]
    network = read_network(save(model(nodes, {"s": i64(1, 6), "i": i64(1, 2)}, shape=CUBE), tmp_path))
    assert isinstance(network.output, Gather)
    assert network.output.args == (network.inputs,)
    assert network.output.indices == (3, 1)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value_ints": [2, 0]}, (2, 0)),
        ({"value": helper.make_tensor("v", 7, [2], [1, 1])}, (1, 1)),
        ({"value_int": 1}, (1,)),
    ],
)
def test_constant_nodes(attributes: dict[str, Any], expected: tuple[int, ...], tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["i"], **attributes),
        helper.make_node("Gather", ["x", "i"], ["y"], axis=1),
    ]
    network = read_network(save(model(nodes), tmp_path))
    assert isinstance(network.output, Gather)
    assert network.output.indices == expected


# The end of a network -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [9, 13])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_at_the_end_is_left_out_and_remembered(op: str, opset: int, tmp_path: Path) -> None:
    path = one(tmp_path, op, opset=opset)
    network = read_network(path)
    assert (network.dropped, network.softmax_dropped) == (op, True)
    xs = points(3)[1:]
    assert (compute(network, xs).argmax(axis=1) == reference(path, xs).argmax(axis=1)).all()


def test_a_network_without_its_softmax_may_act_in_any_way(tmp_path: Path) -> None:
    network = read_network(one(tmp_path, "Softmax"))
    make_agent("a", [network], [1, 2, 3], "argmax")
    for use in (
        lambda: make_agent("a", [network], [1, 2, 3], "raw"),
        lambda: make_agent("a", [network], [1, 2, 3], [output_var(3)[0]]),
        lambda: network(1, 2, 3),
    ):
        assert use() is not None


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_values_of_a_last_softmax_are_computed_where_they_are_asked_about(op: str, tmp_path: Path) -> None:
    path = one(tmp_path, op)
    xs = points(3)
    assert compute(read_network(path).with_values(), xs) == pytest.approx(reference(path, xs), abs=1e-6)


@pytest.mark.parametrize("opset", [9, 13])
@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_inside(op: str, axis: int, opset: int, tmp_path: Path) -> None:
    """Over any axis; before opset 13 over all from there on."""
    node = helper.make_node(op, ["x"], ["y"], axis=axis)
    path = save(model([node], opset=opset, shape=(1, 2, 3), rank=3), tmp_path)
    network = read_network(path)
    assert network.dropped is None or (opset == 9 and axis == 1)
    xs = points(6)
    assert compute(network.with_values(), xs) == pytest.approx(reference(path, xs), abs=1e-6)


def test_attention_is_read(tmp_path: Path) -> None:
    """One head over three tokens of two numbers, against onnxruntime."""
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=(2, 2)).astype(np.float32) for name in "qkv"}
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["t"])]
    nodes += [helper.make_node("MatMul", ["t", f"w{name}"], [name]) for name in "qkv"]
    nodes += [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Softmax", ["s"], ["a"], axis=-1),
        helper.make_node("MatMul", ["a", "v"], ["o"]),
        helper.make_node("Flatten", ["o"], ["y"]),
    ]
    constants = {f"w{name}": array for name, array in weights.items()}
    path = save(model(nodes, {**constants, "shape": i64(1, 3, 2)}, shape=(1, 6)), tmp_path)
    network, xs = read_network(path), points(6)
    assert compute(network, xs) == pytest.approx(reference(path, xs), abs=1e-5)
    centre = np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.2])
    box: dict[Expr, Value] = {network.inputs: Range((centre - 0.05)[None], (centre + 0.05)[None])}
    (found,) = bounds([network.output], box)
    inside = compute(network, np.random.default_rng(1).uniform(centre - 0.05, centre + 0.05, (500, 6)))
    assert (inside >= found.lower[0]).all()
    assert (inside <= found.upper[0]).all()
    spread = inside.max(axis=0) - inside.min(axis=0)
    assert (found.upper[0] - found.lower[0] < 3 * spread).all()


def test_argmax_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperator, match='act = "argmax"'):
        read_network(one(tmp_path, "ArgMax", axis=1))


# What does not fit ----------------------------------------------------------------------------------------------------

WRONG = [
    (Case("Det"), UnsupportedOperator, r"'it' uses Det.*supported: Abs, Add"),
    (Case("Einsum", 12, more=("x",), attributes={"equation": "bi,bj->ij"}), UnsupportedOperator, "matrix product"),
    (Case("Einsum", 12, tensors={"W": f32(3, 2)}, more=("W",), attributes={"equation": "bi,ij->b"}),
     UnsupportedOperator, "sums weights"),
    (Case("Einsum", 12, tensors={"W": f32(4)}, more=("W",), attributes={"equation": "bi,i->b"}), FormatError, "fit"),
    (Case("Einsum", 12, tensors={"W": f32(3)}, more=("W",), attributes={"equation": "b...,i->b"}),
     UnsupportedOperator, "matrix product"),
    (Case("SplitToSequence", 12), UnsupportedOperator, "export one step"),
    (Case("Div", tensors={"c": np.zeros(3, np.float32)}, more=("c",)), FormatError, "constant 0"),
    (Case("MatMul", more=("x",)), FormatError, "do not fit"),
    (Case("Pow", tensors={"c": f32(3)}, more=("c",)), UnsupportedOperator, "several exponents"),
    (Case("Pow", tensors={"c": scalar(0.1)}, more=("c",)), UnsupportedOperator, "exponent that is not read"),
    (Case("MatMul", tensors={"W": f32(4, 2)}, more=("W",)), FormatError, "do not fit"),
    (Case("Gemm", tensors={"W": f32(4, 2)}, more=("W",)), FormatError, "do not fit"),
    (Case("Gemm", tensors={"W": f32(3, 2)}, more=("W",), attributes={"transA": 1}), FormatError, "do not fit"),
    (Case("Gemm", tensors={"W": f32(3, 2), "b": f32(5)}, more=("W", "b")), FormatError, "do not fit"),
    (Case("Add", tensors={"c": f32(4)}, more=("c",)), FormatError, "do not fit"),
    (Case("Reshape", tensors={"s": i64(1, 4)}, more=("s",)), FormatError, "cannot arrange"),
    (Case("Reshape", more=("x",)), UnsupportedOperator, "constant"),
    (Case("Transpose", attributes={"perm": [0, 0]}), FormatError, "permutation"),
    (Case("Squeeze", tensors={"a": i64(1)}, more=("a",)), FormatError, "not 1"),
    (Case("Flatten", attributes={"axis": 7}), FormatError, "axis 7"),
    (Case("Gather", tensors={"i": i64(3)}, more=("i",), attributes={"axis": 1}), FormatError, "picks"),
    (Case("Slice", tensors={"s": i64(3), "e": i64(9), "a": i64(1)}, more=("s", "e", "a")), FormatError, "nothing"),
    (Case("Cast", attributes={"to": 7}), UnsupportedOperator, "element type 7"),
    (Case("Shrink", 9, attributes={"lambd": -1.0}), UnsupportedOperator, "negative"),
    (Case("LeakyRelu", 16, attributes={"alpha": float("nan")}), FormatError, "finite"),
    (Case("Relu", attributes={"speed": 3}), UnsupportedOperator, "'speed'"),
    (Case("Relu", 5), FormatError, "operator set 5"),
    (Case("Relu", 99), FormatError, "operator set 99"),
    (Case("Relu", first=("ghost",)), FormatError, "'ghost'"),
    (Case("PRelu", tensors={"s": f32(5)}, more=("s",)), FormatError, "do not fit"),
    (Case("BatchNormalization", 9, tensors={"g": f32(3), "b": f32(3), "m": f32(3), "v": -np.ones(3, np.float32)},
          more=("g", "b", "m", "v")), FormatError, "variance"),
    (Case("Relu", shape=("N", "M")), FormatError, "not known"),
    (Case("Relu", shape=(4, 3)), FormatError, "batch of 4"),
    (Case("Relu", shape=(1, 2**30)), FormatError, "too large"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "error", "message"), WRONG, ids=[f"{case}-{text[:12]}" for case, _, text in WRONG])
def test_what_does_not_fit_is_refused_by_name(
    case: Case, error: type[FormatError], message: str, tmp_path: Path
) -> None:
    node = helper.make_node(case.op, [*case.first, *case.more], ["y"], name="it", **case.attributes)
    path = save(model([node], case.tensors, opset=case.opset, shape=case.shape), tmp_path)
    with pytest.raises(error, match=message) as caught:
        read_network(path)
    assert "sample.onnx" in str(caught.value)
