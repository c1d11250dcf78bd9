"""Recurrent networks from ONNX: the three operators and paired states, against onnxruntime over long sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.formats.samples import Array, save, session, walk
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.formats.recurrent import rnn
from vernal.model.network import Network

RANDOM = np.random.default_rng(11)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LENGTH = 50


def f32(*shape: int, scale: float = 0.6) -> Array:
    return (scale * RANDOM.normal(size=shape)).astype(np.float32)


def sequence(size: int, length: int = LENGTH) -> Array:
    """Observations of both signs, large ones among them."""
    return np.random.default_rng(5).normal(scale=2, size=(length, size)).astype(np.float32).astype(np.float64)


def graph(
    nodes: Sequence[onnx.NodeProto],
    tensors: Mapping[str, Array],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str | None]],
    *,
    opset: int = 14,
) -> onnx.ModelProto:
    """A model of several inputs and outputs."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in inputs.items()]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs.items()]
    initialisers = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    body = helper.make_graph(list(nodes), "sample", given, made, initialisers)
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


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
    np.testing.assert_allclose(run(network, xs), expected.reshape(LENGTH, -1), rtol=2e-5, atol=2e-5)


def run(network: Network, xs: Array) -> Array:
    """The outputs along a sequence, from the start the file says."""
    if not network.starts:
        return walk(network, xs)
    shifted = {var: network.starts[sum(v.size for v, _ in network.memory[:i]):][: var.size] for i, (var, _) in
               enumerate(network.memory)}  # fmt: skip
    from vernal.interpret.concrete import evaluate

    memory = {var: np.array([[float(value) for value in values]]) for var, values in shifted.items()}
    rows = []
    for x in xs:
        output, *after = evaluate(network.roots, {network.inputs: x[None, :], **memory})
        memory = dict(zip(memory, after, strict=True))
        rows.append(output[0])
    return np.array(rows)


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
    np.testing.assert_allclose(walk(network, xs)[0], expected.ravel(), rtol=1e-5, atol=1e-6)


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


# Memory as inputs and outputs -----------------------------------------------------------------------------------------


def paired(old: Sequence[str] = ("h", "c"), new: Sequence[str] = ("hn", "cn"), *, softmax: bool = False) -> Any:
    """Two LSTM layers whose memory comes in and goes out; cut and joined as torch does."""
    tensors = {
        **{f"W{i}": f32(1, 16, size) for i, size in enumerate((3, 4))},
        **{f"R{i}": f32(1, 16, 4) for i in range(2)},
        **{f"B{i}": f32(1, 32) for i in range(2)},
        "V": f32(2, 4),
        "v": f32(2),
        "axes": np.array([0, 1], dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
    }
    h, c = old
    made = helper.make_node
    nodes = [
        made("Unsqueeze", ["obs", "one"], ["x"]),
        made("Split", [h], ["h0", "h1"], axis=0),
        made("Split", [c], ["c0", "c1"], axis=0),
        made("LSTM", ["x", "W0", "R0", "B0", "", "h0", "c0"], ["y0", "h0n", "c0n"], hidden_size=4),
        made("Squeeze", ["y0", "one"], ["z0"]),
        made("LSTM", ["z0", "W1", "R1", "B1", "", "h1", "c1"], ["y1", "h1n", "c1n"], hidden_size=4),
        made("Concat", ["h0n", "h1n"], [new[0]], axis=0),
        made("Concat", ["c0n", "c1n"], [new[1]], axis=0),
        made("Squeeze", ["y1", "axes"], ["z1"]),
        made("Gemm", ["z1", "V", "v"], ["scores" if softmax else "action"], transB=1),
    ]
    if softmax:
        nodes.append(made("Softmax", ["scores"], ["action"], axis=1))
    states = {name: [2, 1, 4] for name in old}
    return graph(nodes, tensors, {"obs": [1, 3], **states}, {"action": [1, 2], **{name: [2, 1, 4] for name in new}})


def stepped(path: Path, xs: Array, carry: Mapping[str, str], seen: str = "obs", acts: str = "action") -> Array:
    """What onnxruntime computes step by step, its outputs fed back into its inputs."""
    running = session(path)
    shapes = {entry.name: [s if isinstance(s, int) else 1 for s in entry.shape] for entry in running.get_inputs()}
    kind = np.float64 if "double" in running.get_inputs()[0].type else np.float32
    names = [output.name for output in running.get_outputs()]
    memory = {name: np.zeros(shapes[name], dtype=kind) for name in carry}
    rows = []
    for x in xs:
        made = dict(zip(names, running.run(None, {seen: x.reshape(shapes[seen]).astype(kind), **memory}), strict=True))
        rows.append(made[acts].ravel())
        memory = {old: made[new] for old, new in carry.items()}
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("h", "c"), ("hn", "cn")),
        (("h0", "c0_"), ("hn", "c0__out")),
        (("state_in", "cell_in"), ("state_out", "cell_out")),
        (("prev_h", "prev_c"), ("h", "c")),
        (("h", "c"), ("next_h", "c_next")),
    ],
    ids=lambda names: "-".join(names),
)
def test_states_are_paired_by_name(old: tuple[str, str], new: tuple[str, str], tmp_path: Path) -> None:
    if "h0" in old:  # the graph has tensors called so
        made = paired(("ha", "ca"), ("hz", "cz"))
        text = {"ha": "hidden0", "ca": "cell_0", "hz": "hiddenn", "cz": "cell_n"}
        for node in made.graph.node:
            for names in (node.input, node.output):
                names[:] = [text.get(name, name) for name in names]
        for item in (*made.graph.input, *made.graph.output):
            item.name = text.get(item.name, item.name)
        old, new = ("hidden0", "cell_0"), ("hiddenn", "cell_n")
    else:
        made = paired(old, new)
    path = save(made, tmp_path)
    network = read_network(path)
    assert (network.input_size, network.output_size, network.memory_size) == (3, 2, 16)
    xs = sequence(3)
    expected = stepped(path, xs, dict(zip(old, new, strict=True)))
    np.testing.assert_allclose(walk(network, xs), expected, rtol=2e-5, atol=2e-5)


def elman(inputs: Mapping[str, int], outputs: Mapping[str, int], *, tensors: Mapping[str, Array] | None = None) -> Any:
    """h' = relu(W o + R h), a = V h', written out in plain operators; inputs and outputs in any order and name."""
    (seen, size), (old, hidden) = inputs.items()
    (acts, count), (new, _) = outputs.items()
    weights = tensors or {"W": f32(size, hidden), "R": f32(hidden, hidden), "V": f32(hidden, count)}
    nodes = [
        helper.make_node("MatMul", [seen, "W"], ["wx"]),
        helper.make_node("MatMul", [old, "R"], ["rh"]),
        helper.make_node("Add", ["wx", "rh"], ["sum"]),
        helper.make_node("Relu", ["sum"], [new]),
        helper.make_node("MatMul", [new, "V"], [acts]),
    ]
    return graph(nodes, weights, {n: ["N", s] for n, s in inputs.items()}, {n: ["N", s] for n, s in outputs.items()})


def test_states_are_paired_by_shape_where_that_is_clear(tmp_path: Path) -> None:
    path = save(elman({"a": 3, "b": 5}, {"c": 2, "d": 5}), tmp_path)
    network = read_network(path)
    assert (network.input_size, network.output_size, network.memory_size) == (3, 2, 5)
    xs = sequence(3)
    np.testing.assert_allclose(walk(network, xs), stepped(path, xs, {"b": "d"}, "a", "c"), rtol=1e-4, atol=1e-3)


def test_states_can_be_said(tmp_path: Path) -> None:
    path = save(elman({"a": 3, "b": 3}, {"c": 3, "d": 3}), tmp_path)
    with pytest.raises(FormatError, match=r"not clear which are its memory.*carry = "):
        read_network(path)
    network = read_network(path, carry={"b": "d"})
    xs = sequence(3, 8)
    np.testing.assert_allclose(walk(network, xs), stepped(path, xs, {"b": "d"}, "a", "c"), rtol=1e-5, atol=1e-4)
    for wrong, words in (
        ({"q": "d"}, "no input 'q'"),
        ({"b": "q"}, "no output 'q'"),
        ({"a": "d", "b": "d"}, "two inputs"),
        ({"a": "c", "b": "d"}, "inputs none"),
    ):
        with pytest.raises(FormatError, match=words):
            read_network(path, carry=wrong)


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ({"o": 3, "h": 5}, {"a": 5, "b": 5}, "not clear"),
        ({"o": 3, "h": 5}, {"a": 2, "hn": 4}, "different shapes"),
        ({"o": 3, "p": 5}, {"a": 2, "q": 4}, "no inputs and outputs have equal shapes"),
        ({"o": 3, "h": 5}, {"h_out": 5, "hn": 5}, "several outputs"),
        ({"h": 5, "g": 5}, {"h_out": 5, "g_out": 5}, "inputs none and outputs none"),
    ],
)
def test_unclear_states_are_refused_with_advice(
    inputs: Mapping[str, int], outputs: Mapping[str, int], words: str, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node("MatMul", [source, f"W{i}"], [name])
        for i, (source, name) in enumerate(zip(inputs, outputs, strict=True))
    ]
    tensors = {
        f"W{i}": f32(inputs[source], size)
        for i, (source, size) in enumerate(zip(inputs, outputs.values(), strict=True))
    }
    made = graph(nodes, tensors, {n: [1, s] for n, s in inputs.items()}, {n: [1, s] for n, s in outputs.items()})
    with pytest.raises(FormatError, match=words):
        read_network(save(made, tmp_path))


def test_a_softmax_on_the_action_is_left_out_and_one_on_the_memory_refused(tmp_path: Path) -> None:
    path = save(paired(softmax=True), tmp_path)
    assert read_network(path).dropped == "Softmax"
    nodes = [
        helper.make_node("MatMul", ["o", "W"], ["a"]),
        helper.make_node("MatMul", ["h", "R"], ["r"]),
        helper.make_node("Softmax", ["r"], ["hn"], axis=1),
    ]
    tensors = {"W": f32(3, 2), "R": f32(4, 4)}
    made = graph(nodes, tensors, {"o": [1, 3], "h": [1, 4]}, {"a": [1, 2], "hn": [1, 4]})
    with pytest.raises(UnsupportedOperator, match="not in the memory 'hn'"):
        read_network(save(made, tmp_path))


def test_a_hand_written_gated_cell(tmp_path: Path) -> None:
    """What torch makes of a GRUCell: one product with all gates, cut into three."""
    tensors = {"W": f32(12, 3), "R": f32(12, 4), "b": f32(12), "c": f32(12), "one": np.ones(1, dtype=np.float32)}
    made = helper.make_node
    nodes = [
        made("Gemm", ["o", "W", "b"], ["wx"], transB=1),
        made("Gemm", ["h", "R", "c"], ["rh"], transB=1),
        made("Split", ["wx"], ["wr", "wz", "wn"], axis=1),
        made("Split", ["rh"], ["rr", "rz", "rn"], axis=1),
        made("Add", ["wr", "rr"], ["r_"]),
        made("Sigmoid", ["r_"], ["r"]),
        made("Add", ["wz", "rz"], ["z_"]),
        made("Sigmoid", ["z_"], ["z"]),
        made("Mul", ["r", "rn"], ["m"]),
        made("Add", ["wn", "m"], ["n_"]),
        made("Tanh", ["n_"], ["n"]),
        made("Sub", ["h", "n"], ["d"]),
        made("Mul", ["z", "d"], ["e"]),
        made("Add", ["n", "e"], ["h_out"]),
        made("Relu", ["h_out"], ["a"]),
    ]
    made_model = graph(nodes, tensors, {"o": [1, 3], "h": [1, 4]}, {"a": [1, 4], "h_out": [1, 4]})
    path = save(made_model, tmp_path)
    xs = sequence(3)
    expected = stepped(path, xs, {"h": "h_out"}, "o", "a")
    np.testing.assert_allclose(walk(read_network(path), xs), expected, rtol=2e-5, atol=2e-5)


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


# From weights ---------------------------------------------------------------------------------------------------------


def test_a_network_from_weights() -> None:
    network = rnn([([[1, -1]], [[1]], [0.5])], [([[1], [-1]], [0, 0]), ([[1, 2]], [1])])
    xs = np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    # h = 1.5, 0, 2.5 and relu(h) + 2 relu(-h) + 1
    assert walk(network, xs).ravel().tolist() == [2.5, 1.0, 3.5]


def test_a_linear_state_space_from_weights() -> None:
    network = rnn([([[1], [0]], [[0.5, 0], [1, 0]], [0, 0])], [([[1, -1]], [0]), ([[1]], [0])], activation="linear")
    # h = A h + B o with a ReLU on what is read: (1, 0), (0.5, 1), (0.25, 0.5)
    assert walk(network, np.array([[1.0], [0.0], [-4.0]])).ravel().tolist() == [1.0, 0.0, 0.0]
    assert walk(network, np.array([[-4.0], [0.0], [0.0]])).ravel().tolist() == [0.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("cells", "head", "words"),
    [
        ([], [], "at least one cell"),
        ([([[1, 2]], [[1, 2]], [0])], [], r"cell 0.*R \(1, 2\)"),
        ([([1], [[1]], [0])], [], "cell 0 wants a matrix"),
        ([([[1]], [[1]], [0]), ([[1, 2]], [[1]], [0])], [], "cell 1.*on 1 inputs"),
        ([([[1]], [[1]], [0])], [([[1, 2]], [0])], "head 0.*on 1 inputs"),
        ([([[1]], [["x"]], [0])], [], "not an array of numbers"),
        ([([[1]], [[float("nan")]], [0])], [], "NaN"),
    ],
)
def test_weights_that_do_not_fit_are_refused(cells: Any, head: Any, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        rnn(cells, head)


def test_biases_are_added_without_rounding(tmp_path: Path) -> None:
    """1 + 1e-30 is no double; both biases stay."""
    tensors = {
        "W": np.zeros((1, 1, 1), dtype=np.float32),
        "R": np.zeros((1, 1, 1), dtype=np.float32),
        "B": np.array([[1, 1e-30]], dtype=np.float32),
    }
    node = helper.make_node("RNN", ["x", "W", "R", "B"], ["y"], hidden_size=1, activations=["Relu"])
    network = read_network(save(graph([node], tensors, {"x": [1, 1, 1]}, {"y": [None] * 4}), tmp_path))
    from vernal.interpret import exact

    ((value,),) = exact.evaluate([network.output], {network.inputs: (0,), network.memory[0][0]: (0,)})
    assert value == 1 + Fraction(float(np.float32(1e-30)))
