"""The recurrent operators of ONNX: against onnxruntime over long sequences, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.formats.samples import Array, graph, save, sequence, session, walk
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.limits import ReadLimits
from vernal.formats.networks import read_network
from vernal.interpret import exact

RANDOM = np.random.default_rng(11)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LENGTH = 50


def f32(*shape: int, scale: float = 0.6) -> Array:
    return (scale * RANDOM.normal(size=shape)).astype(np.float32)


# The operators remember by themselves ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One recurrent node from a sequence to Y, with its attributes."""

    op: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bias: bool = True
    start: bool = False
    opset: int = 14
    inputs: int = 3
    hidden: int = 4

    def __str__(self) -> str:
        return f"{self.op}-{self.opset}-{'-'.join(map(str, self.attributes))}{'-start' * self.start}"

    def tensors(self) -> dict[str, Array]:
        rows = GATES[self.op] * self.hidden
        made = {"W": f32(1, rows, self.inputs), "R": f32(1, rows, self.hidden)}
        if self.bias:
            made["B"] = f32(1, 2 * rows)
        if self.start:
            made["h0"] = f32(1, 1, self.hidden)
            made |= {"c0": f32(1, 1, self.hidden)} if self.op == "LSTM" else {}
        return made

    def model(self, steps: int | str = "T", *outputs: str) -> onnx.ModelProto:
        tensors = self.tensors()
        more = ("B", "lengths", "h0", "c0") if self.op == "LSTM" else ("B", "lengths", "h0")
        given = ["x", "W", "R", *(name if name in tensors else "" for name in more)]
        made = list(outputs) or ["y"]
        node = helper.make_node(self.op, given, made, name="cell", hidden_size=self.hidden, **self.attributes)
        return graph([node], tensors, {"x": [steps, 1, self.inputs]}, {made[-1]: [None] * 4}, opset=self.opset)


CASES = [
    *(Case(op, opset=opset) for op in GATES for opset in (7, 14)),
    *(Case(op, start=True) for op in GATES),
    *(Case(op, bias=False) for op in GATES),
    Case("RNN", {"activations": ["Relu"]}),
    Case("RNN", {"activations": ["Sigmoid"]}, start=True),
    Case("RNN", {"activations": ["HardSigmoid"], "activation_alpha": [0.3], "activation_beta": [0.4]}),
    Case("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.2]}),
    Case("GRU", {"linear_before_reset": 1}),
    Case("GRU", {"linear_before_reset": 1}, start=True),
    Case("GRU", {"activations": ["HardSigmoid", "Relu"], "activation_alpha": [0.2], "activation_beta": [0.5]}),
    Case("LSTM", {"activations": ["Sigmoid", "Relu", "Tanh"]}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators_agree_with_onnxruntime_along_a_sequence(case: Case, tmp_path: Path) -> None:
    """Our network is given one observation at a time, onnxruntime the whole sequence at once."""
    path = save(case.model(), tmp_path)
    network = read_network(path)
    xs = sequence(case.inputs)
    (expected,) = session(path).run(None, {"x": xs[:, None, :].astype(np.float32)})
    assert network.input_size == case.inputs
    assert network.memory_size == case.hidden * (2 if case.op == "LSTM" else 1)
    np.testing.assert_allclose(walk(network, xs), expected.reshape(LENGTH, -1), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("op", GATES)
def test_a_batch_first_layout(op: str, tmp_path: Path) -> None:
    """onnxruntime does not run layout 1; ONNX's own reference does."""
    case = Case(op, {"layout": 1, **({"linear_before_reset": 1} if op == "GRU" else {})})
    tensors = case.tensors()
    node = helper.make_node(op, ["x", "W", "R", "B"], ["", "y"], hidden_size=case.hidden, **case.attributes)
    made = graph([node], tensors, {"x": [1, 1, 3]}, {"y": [1, 1, case.hidden]})
    network = read_network(save(made, tmp_path))
    xs = sequence(3, 1)
    (expected,) = ReferenceEvaluator(made).run(None, {"x": xs[None].astype(np.float32)})
    np.testing.assert_allclose(walk(network, xs)[0], np.asarray(expected).ravel(), rtol=1e-5, atol=1e-6)


def test_the_last_memory_and_the_sequence_are_the_same_step(tmp_path: Path) -> None:
    case = Case("LSTM")
    tensors = case.tensors()
    xs = sequence(3, 5)
    rows = []
    for outputs, shape in ((["y"], 4), (["", "y"], 3), (["", "", "y"], 3)):
        node = helper.make_node("LSTM", ["x", "W", "R", "B"], outputs, hidden_size=4)
        made = graph([node], tensors, {"x": ["T", 1, 3]}, {"y": [None] * shape})
        path = save(made, tmp_path)
        (expected,) = session(path).run(None, {"x": xs[:, None, :].astype(np.float32)})
        rows.append(walk(read_network(path), xs)[-1])
        np.testing.assert_allclose(rows[-1], expected.reshape(-1, 4)[-1], rtol=1e-5, atol=1e-6)
    assert np.array_equal(rows[0], rows[1])
    assert not np.allclose(rows[0], rows[2])


def plumbed() -> onnx.ModelProto:
    """Two layers as torch exports them, batch first, the start made from the shape of the input."""
    tensors = {
        **{f"W{i}": f32(1, 12, size) for i, size in enumerate((3, 4))},
        **{f"R{i}": f32(1, 12, 4) for i in range(2)},
        **{f"B{i}": f32(1, 24) for i in range(2)},
        "V": f32(2, 4),
        "v": f32(2),
        "zero": np.array(0, dtype=np.int64),
        "axis": np.array([0], dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
        "four": np.array([4], dtype=np.int64),
    }
    made = helper.make_node
    nodes = [
        made("Shape", ["x"], ["shape"]),
        made("Gather", ["shape", "zero"], ["batch"]),
        made("Unsqueeze", ["batch", "axis"], ["batch1"]),
        made("Concat", ["one", "batch1", "four"], ["wanted"], axis=0),
        made("ConstantOfShape", ["wanted"], ["h0"]),
        made("Transpose", ["x"], ["turned"], perm=[1, 0, 2]),
        made("GRU", ["turned", "W0", "R0", "B0", "", "h0"], ["y0"], hidden_size=4, linear_before_reset=1),
        made("Squeeze", ["y0", "one"], ["z0"]),
        made("GRU", ["z0", "W1", "R1", "B1", "", "h0"], ["y1"], hidden_size=4, linear_before_reset=1),
        made("Squeeze", ["y1", "one"], ["z1"]),
        made("Transpose", ["z1"], ["back"], perm=[1, 0, 2]),
        made("Transpose", ["V"], ["Vt"], perm=[1, 0]),
        made("MatMul", ["back", "Vt"], ["product"]),
        made("Add", ["product", "v"], ["y"]),
    ]
    return graph(nodes, tensors, {"x": ["N", "T", 3]}, {"y": [None] * 3})


def test_layers_and_the_plumbing_around_them(tmp_path: Path) -> None:
    path = save(plumbed(), tmp_path)
    network = read_network(path)
    assert [var.size for var, _ in network.memory] == [4, 4]
    xs = sequence(3)
    (expected,) = session(path).run(None, {"x": xs[None].astype(np.float32)})
    np.testing.assert_allclose(walk(network, xs), expected[0], rtol=2e-5, atol=2e-5)


def around(before: Sequence[onnx.NodeProto] = (), after: Sequence[onnx.NodeProto] = (), rank: int = 4) -> Any:
    """A layer over a sequence of any length, with something done to the sequence before (`x` to `z`) or after it."""
    cell = helper.make_node("RNN", ["z" if before else "x", "W", "R", "B"], ["w" if after else "y"], hidden_size=4)
    numbers = {"zero": 0, "one": 1, "last": -1, "low": -(2**40)}
    tensors = Case("RNN").tensors()
    tensors |= {name: np.array([value], dtype=np.int64) for name, value in numbers.items()}
    return graph([*before, cell, *after], tensors, {"x": ["T", 1, 3]}, {"y": [None] * rank})


MADE = helper.make_node
ACROSS = {
    "the first output": ([], [MADE("Gather", ["w", "zero"], ["y"], axis=0)]),
    "backwards": ([MADE("Slice", ["x", "last", "low", "zero", "last"], ["z"])], []),
    "without the first": ([MADE("Slice", ["x", "zero", "one", "zero"], ["u"]), MADE("Sub", ["x", "u"], ["z"])], []),
    "by its length": (
        [
            MADE("Shape", ["x"], ["s"], end=1),
            MADE("Cast", ["s"], ["t"], to=1),
            MADE("Div", ["x", "t"], ["z"]),
        ],
        [],
    ),
}


@pytest.mark.parametrize("case", ACROSS)
def test_a_graph_that_looks_across_a_sequence_is_refused(case: str, tmp_path: Path) -> None:
    """Fed one step at a time it would be another network."""
    made = around(*ACROSS[case])
    with pytest.raises(UnsupportedOperator, match=r"'x' is a sequence.*does not follow step by step.*h_in and h_out"):
        read_network(save(made, tmp_path))


def test_the_last_output_of_a_sequence_is_that_of_a_step(tmp_path: Path) -> None:
    path = save(around([], [MADE("Gather", ["w", "last"], ["y"], axis=0)]), tmp_path)
    network, xs = read_network(path), sequence(3, 6)
    for length in range(1, 7):
        (expected,) = session(path).run(None, {"x": xs[:length, None, :].astype(np.float32)})
        np.testing.assert_allclose(walk(network, xs[:length])[-1], expected.ravel(), rtol=1e-5, atol=1e-5)


# What is refused ------------------------------------------------------------------------------------------------------


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"direction": "bidirectional"}, "cannot see the future"),
    ({"direction": "reverse"}, "cannot see the future"),
    ({"clip": 3.0}, "clips its gates"),
    ({"activations": ["Softsign"]}, r"'Softsign'.*supported: .*Relu"),
    ({"activations": ["Relu", "Relu"]}, "wants 1 activations"),
    ({"activations": ["Relu"], "activation_alpha": [1.0]}, "more parameters"),
    ({"layout": 2}, "neither 0 nor 1"),
    ({"hidden_size": 7}, "says hidden_size 7"),
]


@pytest.mark.parametrize(("attributes", "words"), REFUSED, ids=lambda item: str(item)[:40])
def test_attributes_that_change_the_meaning_are_refused(attributes: dict[str, Any], words: str, tmp_path: Path) -> None:
    case = Case("RNN")
    node = helper.make_node("RNN", ["x", "W", "R", "B"], ["y"], name="cell", **{"hidden_size": 4, **attributes})
    made = graph([node], case.tensors(), {"x": ["T", 1, 3]}, {"y": [None] * 4})
    with pytest.raises(FormatError, match=f"cell.*{words}"):
        read_network(save(made, tmp_path))


TENSORS: list[tuple[str, dict[str, Array], dict[str, Sequence[int | str]], str]] = [
    ("RNN", {"W": f32(1, 5, 3)}, {}, "do not fit data"),
    ("RNN", {"R": f32(2, 4, 4)}, {}, "do not fit data"),
    ("RNN", {"B": f32(1, 4)}, {}, "biases of shape"),
    ("RNN", {"lengths": np.array([3], dtype=np.int32)}, {}, "given lengths"),
    ("RNN", {"h0": f32(1, 1, 5)}, {}, r"memory of shape \(1, 1, 5\)"),
    ("LSTM", {"P": f32(1, 12)}, {}, "peepholes"),
    ("RNN", {}, {"x": [5, 1, 3]}, "a sequence of 5"),
    ("RNN", {}, {"x": [1, 5, 3]}, "a batch of 5"),
    ("RNN", {}, {"x": ["T", 3]}, "do not fit data"),
]


@pytest.mark.parametrize(("op", "tensors", "inputs", "words"), TENSORS, ids=lambda item: str(item)[:30])
def test_tensors_that_do_not_fit_are_refused(
    op: str, tensors: dict[str, Array], inputs: dict[str, Sequence[int | str]], words: str, tmp_path: Path
) -> None:
    all_tensors = {**Case(op).tensors(), **tensors}
    names = ["x", "W", "R", *(name if name in all_tensors else "" for name in ("B", "lengths", "h0", "c0", "P"))]
    node = helper.make_node(op, names, ["y"], name="cell", hidden_size=4)
    made = graph([node], all_tensors, inputs or {"x": ["T", 1, 3]}, {"y": [None] * 4})
    with pytest.raises(FormatError, match=words):
        read_network(save(made, tmp_path))


def test_many_layers_that_share_large_weights_are_refused(tmp_path: Path) -> None:
    """A small file must not make us copy its weights again and again."""
    tensors = {"W": f32(1, 3, 3), "R": f32(1, 3, 3)}
    names = [f"y{i}" for i in range(12)]
    nodes = [helper.make_node("RNN", [x, "W", "R"], ["", y], hidden_size=3) for x, y in pairwise(["x", *names])]
    made = graph(nodes, tensors, {"x": ["T", 1, 3]}, {"y11": [1, 1, 3]})
    with pytest.raises(FormatError, match="more than Vernal reads"):
        read_network(save(made, tmp_path), limits=ReadLimits(entries=100))


def test_a_start_computed_from_data_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "V"], ["h0"]),
        helper.make_node("RNN", ["x", "W", "R", "B", "", "h0"], ["y"], name="cell", hidden_size=4),
    ]
    made = graph(nodes, {**Case("RNN").tensors(), "V": f32(3, 4)}, {"x": [1, 1, 3]}, {"y": [None] * 4})
    with pytest.raises(UnsupportedOperator, match="memory computed from data"):
        read_network(save(made, tmp_path))


def test_a_layer_that_forgets_beside_one_that_does_not_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("RNN", ["x", "W", "R", "B", "", "h"], ["", "hn"], hidden_size=4),
        helper.make_node("RNN", ["x", "W", "R", "B"], ["y"], name="other", hidden_size=4),
    ]
    made = graph(nodes, Case("RNN").tensors(), {"x": [1, 1, 3], "h": [1, 1, 4]}, {"y": [None] * 4, "hn": [1, 1, 4]})
    with pytest.raises(UnsupportedOperator, match=r"other.*starts anew at every step"):
        read_network(save(made, tmp_path))


def test_biases_are_added_without_rounding(tmp_path: Path) -> None:
    """1 + 1e-30 is no double; both biases stay."""
    tensors = {
        "W": np.zeros((1, 1, 1), dtype=np.float32),
        "R": np.zeros((1, 1, 1), dtype=np.float32),
        "B": np.array([[1, 1e-30]], dtype=np.float32),
    }
    node = helper.make_node("RNN", ["x", "W", "R", "B"], ["y"], hidden_size=1, activations=["Relu"])
    network = read_network(save(graph([node], tensors, {"x": [1, 1, 1]}, {"y": [None] * 4}), tmp_path))
    nothing = (Fraction(0),)
    (value,) = exact.evaluate([network.output], {network.inputs: nothing, network.memory[0][0]: nothing})
    assert value == (1 + Fraction(float(np.float32(1e-30))),)
